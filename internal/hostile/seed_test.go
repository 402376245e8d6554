package hostile_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedVariable repeats the choices of an earlier run.
const seedVariable = "FENCEROW_TEST_SEED"

// seeded gives the seed of a test's random choices, and says it when the test fails.
func seeded(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the choices were those of %s=%d", seedVariable, seed)
		}
	})
	return seed
}
