package reports_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// skewed runs a part of a scenario as a process whose own clocks are off by so much: in a bubble of synthetic time, on a
// store that it opens itself.
func skewed(t *testing.T, real time.Time, off time.Duration, open func(testing.TB) *stand, part func(*stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(real.Add(off)))
		s := open(t)
		if got := time.Since(s.now()); got < off-time.Minute || got > off+time.Minute {
			t.Fatalf("the process's clock is off by %s, want %s", got, off)
		}
		part(s)
	})
}

// B45: the database's clock alone judges a lease. Of two processes whose clocks are twenty minutes apart neither takes
// over the other's live lease of 45 seconds, by a claim or by a sweep, and either takes it over once it has ended;
// whichever of them is early (column now of the guards lease_live, lease_vacant and due; A2, A4).
func TestB45ClocksThatAreOffTakeNothingOverEarlyAndMissNothing(t *testing.T) {
	const off = 10 * time.Minute
	file := filepath.Join(t.TempDir(), "fencerow.db")
	url := pgtest.URL(t)
	for database, open := range map[string]func(testing.TB) *stand{
		"postgres": func(t testing.TB) *stand { return postgresAt(t, url) },
		"sqlite":   func(t testing.TB) *stand { return sqliteAt(t, file) },
	} {
		for name, first := range map[string]time.Duration{"early": -off, "late": off} {
			t.Run(database+", "+name, func(t *testing.T) {
				prepared, sent, other := "prepared-"+name, "sent-"+name, -first
				real := open(t).now()
				skewed(t, real, first, open, func(s *stand) {
					s.at(transitions.Prepared, requestOf(prepared))
					s.at(transitions.Submitting, requestOf(sent))
				})
				skewed(t, real, other, open, func(s *stand) {
					if _, err := s.machine.Claim(s.Context(), transitions.Dispatch, prepared, video); !only(err, "lease_vacant") {
						s.Errorf("a claim under a live lease was told %v", err)
					}
					if got, err := s.machine.ClaimMany(s.Context(), transitions.Dispatch, video, 10); err != nil || len(got) > 0 {
						s.Errorf("a batch took %d under live leases, %v", len(got), err)
					}
					if moved, err := s.reconciler(10).Once(s.Context()); err != nil || len(moved) > 0 {
						s.Errorf("a sweep moved %v, %v", moved, err)
					}
					s.expire(prepared, sent)
					if got, err := s.machine.ClaimMany(s.Context(), transitions.Dispatch, video, 10); err != nil || len(got) != 1 {
						s.Errorf("a batch took %d after the leases ended, %v; want the prepared one", len(got), err)
					}
					if _, err := s.reconciler(10).Once(s.Context()); err != nil || s.op(sent).Phase != transitions.Uncertain {
						s.Errorf("after the sweep it is %s, %v", s.op(sent).Phase, err)
					}
					s.sound(prepared, sent)
				})
			})
		}
	}
}

// B45: no instant of an application's clock comes into any statement but the caller's own not_before: every other time
// is the database's clock plus a length (F1).
func TestB45NoStatementTakesAnInstantFromTheApplication(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	given := map[string][]string{}
	for _, rule := range p.Rules {
		for _, d := range rule.Params {
			if d.Kind == transitions.Time {
				given[rule.Event] = append(given[rule.Event], d.Name)
			}
		}
	}
	if diff := cmp.Diff(map[string][]string{"prepare": {"not_before"}}, given); diff != "" {
		t.Errorf("the instants that events take (-want +got):\n%s", diff)
	}
	set, err := persist.Compile(p, persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	instant := regexp.MustCompile(`(?i)\$\d+::timestamp|\bnow\(\)|current_timestamp|localtimestamp|transaction_timestamp|'\d{4}-\d\d-\d\d`)
	for _, s := range append(set.Statements, set.Many...) {
		if found := instant.FindString(s.SQL); found != "" && s.Event != "prepare" {
			t.Errorf("%s, form %s, speaks of %s", s.Event, s.Form, found)
		}
	}
}

// zones are as far from each other and from whole hours as zones are.
var zones = []string{"Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati"}

// B48: sessions whose time zones are hours apart agree about every lease and every due time: what one claims the others
// see as held, until it is over and not longer (type timestamptz of every time column).
func TestB48SessionsOfDifferentTimeZonesAgree(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var all []*stand
	for _, zone := range zones {
		all = append(all, postgresAt(t, url+"&timezone="+zone))
	}
	for i, s := range all {
		r := requestOf(zones[i])
		r.NotBefore = time.Now().Add(-time.Minute)
		s.prepare(r)
		later := requestOf("later " + zones[i])
		later.NotBefore = time.Now().Add(30 * time.Minute)
		s.prepare(later)
	}
	for i, s := range all {
		l := s.claim(s.machine, transitions.Dispatch, zones[i])
		for _, other := range all {
			if _, err := other.machine.Claim(t.Context(), transitions.Dispatch, zones[i], video); !only(err, "lease_vacant") {
				t.Errorf("a claim in another zone was told %v", err)
			}
			if left := other.op(zones[i]).LeaseUntil.Sub(other.now()); left <= 0 || left > machine.DefaultTTL {
				t.Errorf("in another zone %s of the lease are left", left)
			}
			if got, err := other.machine.ClaimMany(t.Context(), transitions.Dispatch, machine.Who{Provider: "none"}, 1); err != nil || len(got) > 0 {
				t.Error(got, err)
			}
		}
		next := all[(i+1)%len(all)]
		next.expire(zones[i])
		if taken := next.claim(next.machine, transitions.Dispatch, zones[i]); taken.Revision != l.Revision+1 {
			t.Errorf("it was taken over at revision %d", taken.Revision)
		}
	}
	for _, s := range all {
		if got, err := s.machine.ClaimMany(t.Context(), transitions.Dispatch, video, 10); err != nil || len(got) > 0 {
			t.Errorf("a batch took %d that are held or not due for half an hour, %v", len(got), err)
		}
	}
}

// B48: no column holds a time without its zone: PostgreSQL's are timestamptz, SQLite's are integers, and as many.
func TestB48NoColumnHoldsATimeWithoutItsZone(t *testing.T) {
	t.Parallel()
	pg, lite := onPostgres(t), onSQLite(t)
	rows, err := pg.pool.Query(t.Context(), `SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns
		WHERE table_schema = 'public' AND (data_type LIKE 'time%' OR data_type LIKE 'date%') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	times := 0
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			t.Fatal(err)
		}
		if times++; !strings.HasSuffix(column, " timestamp with time zone") {
			t.Errorf("%s", column)
		}
	}
	if err := rows.Err(); err != nil || times < 10 {
		t.Errorf("%d columns hold times, %v", times, err)
	}
	for _, c := range lite.store.Program().Columns {
		if c.Kind != transitions.Time {
			continue
		}
		var declared string
		err := lite.sqlite.DB().QueryRowContext(t.Context(), "SELECT type FROM pragma_table_info('fencerow_operations') WHERE name = ?", c.Name).Scan(&declared)
		if err != nil || declared != "INTEGER" {
			t.Errorf("%s of SQLite is %s, %v", c.Name, declared, err)
		}
	}
}
