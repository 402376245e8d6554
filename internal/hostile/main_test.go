package hostile_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain lets twice as many tests run at once as there are processors: most of them wait, for answers that never come
// or for leases to end.
func TestMain(m *testing.M) {
	flag.Parse()
	usual := strconv.Itoa(runtime.GOMAXPROCS(0))
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == usual {
		_ = f.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}
