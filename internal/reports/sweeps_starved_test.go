package reports_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
)

// B28: two pages of old rows that wait for a person, and one of submissions whose lease is live, hide no lapsed submission
// behind them: one sweep finds every one (rules: submit_lapsed's own condition in the statement that takes its page; B3).
func TestB28RowsThatNeedNothingHideNoneBehindThem(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		const page = 10
		var waiting, lapsed []string
		for i := range 2 * page {
			waiting = append(waiting, fmt.Sprintf("a-%02d", i))
		}
		s.prepareUncertain(waiting...)
		for i := range page {
			s.at(transitions.Submitting, order(fmt.Sprintf("b-%02d", i)))
		}
		for i := range 5 {
			lapsed = append(lapsed, fmt.Sprintf("c-%02d", i))
			s.at(transitions.Submitting, order(lapsed[i]))
		}
		s.expire(lapsed...)
		r, err := reconcile.New(s.machine, reconcile.Options{Page: page, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		moved, err := r.Once(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		found := map[string][]string{}
		for _, m := range moved {
			for _, op := range m.Operations {
				found[m.Event] = append(found[m.Event], op.OperationID)
			}
		}
		slices.Sort(found["submit_lapsed"])
		if diff := cmp.Diff(map[string][]string{"submit_lapsed": lapsed}, found); diff != "" {
			t.Errorf("one sweep moved (-want +got):\n%s", diff)
		}
		s.ends(transitions.Uncertain, "no_response", lapsed...)
	})
}
