package reconcile_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing that a test started may be left running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
