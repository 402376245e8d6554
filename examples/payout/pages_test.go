package payout_test

import (
	"testing"

	"github.com/fencerow/fencerow/persist/pages"
)

func TestThePagesSayWhatTheTableSays(t *testing.T) {
	t.Parallel()
	if err := pages.Check(".", "payout", program); err != nil {
		t.Error(err)
	}
}
