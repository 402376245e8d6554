package reports_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// B94: leases that end at different fractions of one second end in that order and at that moment: a claim that the
// database judged before the end is refused, and one that it judged after it is granted, on every store alike (rules:
// times are numbers, or the server's own, and never text; the guard lease_vacant at the millisecond).
func TestB94LeasesEndWithinTheSecondInTheirOrder(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		second := s.now().Truncate(time.Second).Add(2 * time.Second)
		ends := map[string]time.Time{}
		for id, fraction := range map[string]time.Duration{
			"at the second": 0, "a tenth": 100 * time.Millisecond, "a tenth less": 99 * time.Millisecond, "six digits": 123_456 * time.Microsecond, "one digit": 900 * time.Millisecond,
		} {
			s.at(transitions.Prepared, requestOf(id))
			s.fromNow(id, "lease_until", 2*time.Hour)
			ends[id] = second.Add(fraction)
		}
		for id, end := range ends {
			s.endsAt(id, end)
		}
		var order []string
		for len(ends) > 0 {
			for id, end := range ends {
				before := s.now()
				_, err := s.machine.Claim(t.Context(), transitions.Dispatch, id, video)
				after := s.now()
				denied, ok := machine.IsDenied(err)
				switch {
				case err != nil && !ok:
					t.Fatal(err)
				case ok && !before.Before(end):
					t.Errorf("%s ended at %s, and at %s a claim was refused: %v", id, end, before, denied.Failed)
				case !ok && after.Before(end.Truncate(time.Millisecond)):
					t.Errorf("%s ends at %s, and at %s a claim was granted", id, end, after)
				}
				if !ok {
					order = append(order, id)
					delete(ends, id)
				}
			}
		}
		if order[len(order)-1] != "one digit" {
			t.Errorf("they ended in the order %q", order)
		}
	})
}

// endsAt ends a lease by hand at a moment.
func (s *stand) endsAt(id string, at time.Time) {
	s.Helper()
	var err error
	switch {
	case s.memory != nil:
		row := s.op(id).Row()
		row[s.store.Program().Column("lease_until")] = transitions.TimeValue(at)
		err = s.memory.Put(row)
	default:
		err = s.exec("UPDATE fencerow_operations SET lease_until = $1 WHERE operation_id = $2", s.plain(transitions.TimeValue(at)), id)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// B94: a moment is the same whatever time zone the caller writes it in and the session shows it in, and due work is
// served in the order of the moments, not of their texts (rule: times are instants).
func TestB94AMomentIsTheSameInEveryTimeZone(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		if s.pool != nil {
			s.machine = s.another(asking(s.url, "TimeZone=Asia/Kathmandu"), pgstore.Options{}, machine.Config{})
		}
		base := s.now().Truncate(time.Second).Add(2 * time.Second)
		zones := []*time.Location{time.UTC, time.FixedZone("", 5*3600+45*60), time.FixedZone("", -11*3600)}
		fractions := []time.Duration{0, 99 * time.Millisecond, 100 * time.Millisecond, 123 * time.Millisecond, 900 * time.Millisecond, time.Second}
		var want []string
		for i, f := range fractions {
			r := requestOf(fmt.Sprintf("z-%d", len(fractions)-i)) // the ids say the opposite
			r.NotBefore = base.Add(f).In(zones[i%len(zones)])
			s.prepare(r)
			want = append(want, r.OperationID)
			if got := s.op(r.OperationID); !got.NotBefore.Equal(r.NotBefore) || !got.DueAt.Equal(r.NotBefore) {
				t.Errorf("%s became %s, due at %s", r.NotBefore, got.NotBefore, got.DueAt)
			}
		}
		await(t, "all are due", func() bool { return s.now().After(base.Add(time.Second)) })
		leases, err := s.machine.ClaimMany(t.Context(), transitions.Dispatch, video, len(want))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range leases {
			got = append(got, l.Operation.OperationID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the order in which they are served (-want +got):\n%s", diff)
		}
	})
}

// B94: every time in the file is an integer, and a column of times takes no other form of one: neither the driver's text
// of a time.Time nor SQLite's CURRENT_TIMESTAMP (rule: STRICT tables with INTEGER times).
func TestB94AColumnOfTimesTakesNoText(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	l := s.at(transitions.Delivering, requestOf("a"))
	if _, err := s.machine.Note(t.Context(), "a", machine.Evidence{Kind: "note"}); err != nil {
		t.Fatal(err)
	}
	columns := map[string][]string{"fencerow_history": {"at"}, "fencerow_evidence": {"at"}, "fencerow_migrations": {"at"}, "fencerow_operations": {"wake_at"}}
	for _, c := range s.store.Program().Columns {
		if c.Kind == transitions.Time {
			columns["fencerow_operations"] = append(columns["fencerow_operations"], c.Name)
		}
	}
	for table, names := range columns {
		for _, name := range names {
			var other int
			query := fmt.Sprintf("SELECT count(*) FROM %s WHERE typeof(%s) NOT IN ('integer', 'null')", table, name)
			if err := s.sqlite.DB().QueryRowContext(context.Background(), query).Scan(&other); err != nil || other > 0 {
				t.Errorf("%s.%s is no integer in %d rows (%v)", table, name, other, err)
			}
			if name == "wake_at" {
				continue // computed from the others
			}
			for _, value := range []any{time.Now(), "2026-01-02 03:04:05", 1.5} {
				if err := s.exec(fmt.Sprintf("UPDATE %s SET %s = ?", table, name), value); err == nil {
					t.Errorf("%s.%s took %v", table, name, value)
				}
			}
			if err := s.exec(fmt.Sprintf("UPDATE %s SET %s = CURRENT_TIMESTAMP", table, name)); err == nil {
				t.Errorf("%s.%s took CURRENT_TIMESTAMP", table, name)
			}
		}
	}
	if t.Failed() {
		return // of a row that cannot be read nothing more can be said
	}
	if _, err := s.machine.Delivered(t.Context(), l, "a.mp4", "", 1); err != nil {
		t.Error(err)
	}
	s.sound("a")
}
