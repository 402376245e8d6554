package reports_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// attempt is an event on a row of which something is null.
type attempt struct {
	event  string
	row    transitions.Row
	params transitions.Params
	nulls  []string // columns, and parameters with a colon
}

// nullable are the attempts of every event in every phase that it leaves: once with nothing null that is usual, and then
// with every column that may be null, and every parameter, null one by one; and owner and lease null on both sides.
func nullable(p *transitions.Program, now time.Time) []attempt {
	var all []attempt
	for _, rule := range p.Rules {
		if rule.New {
			continue
		}
		variants := [][]string{nil, {"lease_owner", ":owner"}, {"lease_owner", "lease_until", ":owner"}, {"remote_job_id", ":remote_job_id"}}
		for _, c := range p.Columns {
			if !c.NotNull && c.Name != "operation_id" {
				variants = append(variants, []string{c.Name})
			}
		}
		for _, d := range rule.Params {
			if d.Name != "operation_id" {
				variants = append(variants, []string{":" + d.Name})
			}
		}
		for _, phase := range rule.From {
			for i, nulls := range variants {
				all = append(all, attemptOf(p, rule, phase, fmt.Sprintf("%s-%s-%02d", rule.Event, phase, i), nulls, now))
			}
		}
	}
	return all
}

// attemptOf makes a row on which the event can be applied, as far as a row can be usual for all, and what it is fired with.
func attemptOf(p *transitions.Program, rule *transitions.Rule, phase, id string, nulls []string, now time.Time) attempt {
	text, number, yes := transitions.TextValue, transitions.IntValue, transitions.BoolValue(true)
	past, future := transitions.TimeValue(now.Add(-time.Hour)), transitions.TimeValue(now.Add(time.Hour))
	lease := past
	if rule.Fence == transitions.Held {
		lease = future
	}
	values := map[string]transitions.Value{
		"operation_id": text(id), "kind": text("video"), "provider": text("video"), "account": text(""), "phase": text(phase),
		"request": transitions.BytesValue([]byte("{}")), "revision": number(3), "lease_owner": text("w"), "lease_until": lease,
		"due_at": past, "created_at": past, "updated_at": past, "remote_job_id": text("job-" + id), "keep": text("{}"),
		"late_remote_job_id": text("late-" + id), "snapshot": transitions.BytesValue([]byte("s")), "delivery": text("failed"),
		"observe_deadline": past, "not_found_until": past, "quarantine_until": past, "not_before": past, "submitted_at": past,
		"cancel_requested_at": past, "observe_deadline_ms": number(5), "object_key": text("k"), "object_sha256": text("h"),
		"object_bytes": number(1), "uncertain_reason": text("overdue"), "not_created_revision": number(1), "not_created_attempts": number(1),
		"redo_of": text("of-" + id), "wants_delivery": yes, "delivery_attempts": number(1),
	}
	for column, v := range usual[phase] {
		values[column] = text(v)
	}
	row := make(transitions.Row, len(p.Columns))
	for i, c := range p.Columns {
		row[i] = c.Default
		if v, ok := values[c.Name]; ok {
			row[i] = v
		}
	}
	params := transitions.Params{}
	for _, d := range rule.Params {
		params[d.Name] = map[transitions.Kind]transitions.Value{
			transitions.Text: text("x"), transitions.Int: number(3), transitions.Bool: yes, transitions.Bytes: transitions.BytesValue([]byte("b")),
		}[d.Kind]
	}
	for name, v := range map[string]transitions.Value{
		"operation_id": text(id), "owner": text("w"), "evidence_seq": number(0), "provider": text("video"), "account": text(""),
		"remote_job_id": values["remote_job_id"], "proof": text("refused"), "reason": text("overdue"), "ttl_ms": number(60_000),
	} {
		if !params[name].IsNull() {
			params[name] = v
		}
	}
	for _, name := range nulls {
		if param, ok := strings.CutPrefix(name, ":"); ok {
			params[param] = transitions.NullValue
		} else {
			row[p.Column(name)] = transitions.NullValue
		}
	}
	return attempt{rule.Event, row, params, nulls}
}

// verdicts fires every attempt on the stand's store and tells what came of each, by operation.
func (s *stand) verdicts(all []attempt) map[string]string {
	s.Helper()
	got := map[string]string{}
	p := s.store.Program()
	for _, group := range byEvent(all) {
		params := make([]transitions.Params, len(group))
		for i, a := range group {
			params[i] = a.params
		}
		answers, err := s.store.ApplyMany(context.Background(), group[0].event, params)
		for i, a := range group {
			var answer machine.Answer
			id := a.params["operation_id"].Text()
			if err == nil {
				answer = answers[i]
			} else if alone, err := s.store.Apply(context.Background(), a.event, a.params); err == nil {
				answer = alone
			} else {
				got[id] = "refused"
				continue
			}
			got[id] = fmt.Sprintf("applied %t, failed %v, %s, outcome %q", answer.Applied, answer.Failed,
				machine.OperationOf(p, answer.Row).Phase, machine.OperationOf(p, answer.Row).Outcome)
		}
	}
	return got
}

func byEvent(all []attempt) [][]attempt {
	var groups [][]attempt
	for i, a := range all {
		if i == 0 || all[i-1].event != a.event {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], a)
	}
	return groups
}

// load writes many rows by hand, at once.
func (s *stand) load(rows []transitions.Row) {
	s.Helper()
	columns := s.store.Program().Columns
	names, marks, plain := make([]string, len(columns)), make([]string, len(columns)), make([][]any, len(rows))
	for i, c := range columns {
		names[i], marks[i] = c.Name, "?"
	}
	for i, row := range rows {
		for _, v := range row {
			plain[i] = append(plain[i], s.plain(v))
		}
	}
	if s.pool != nil {
		if _, err := s.pool.CopyFrom(context.Background(), pgx.Identifier{"fencerow_operations"}, names, pgx.CopyFromRows(plain)); err != nil {
			s.Fatal(err)
		}
		return
	}
	tx, err := s.sqlite.DB().Begin()
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	sql := fmt.Sprintf("INSERT INTO fencerow_operations (%s) VALUES (%s)", strings.Join(names, ", "), strings.Join(marks, ", "))
	for _, args := range plain {
		if _, err := tx.Exec(sql, args...); err != nil {
			s.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		s.Fatal(err)
	}
}

// B86: with a null in every column and parameter in turn both databases accept and refuse what the table's meaning says,
// for the same reasons. A null owner is nobody's, not even where the claim's is null too, and a lease without an end is
// not unexpired (rules: a guard that is null does not hold; the guards owner and lease_live of the held fence; I10).
func TestB86NullMeansTheSameOnEveryStore(t *testing.T) {
	t.Parallel()
	memory, postgres, sqlite := inMemory(t), onPostgres(t), onSQLite(t)
	p := memory.store.Program()
	var all []attempt
	var rows []transitions.Row
	for _, a := range nullable(p, time.Now().Truncate(time.Second)) {
		if memory.memory.Put(a.row) == nil { // else no table takes the row
			all, rows = append(all, a), append(rows, a.row)
		}
	}
	postgres.load(rows)
	sqlite.load(rows)
	want := memory.verdicts(all)
	for name, s := range map[string]*stand{"PostgreSQL": postgres, "SQLite": sqlite} {
		if diff := cmp.Diff(want, s.verdicts(all)); diff != "" {
			t.Errorf("%s (-the table's meaning +its answers):\n%s", name, diff)
		}
	}
	applied := map[string]bool{}
	for _, a := range all {
		verdict := want[a.params["operation_id"].Text()]
		if strings.HasPrefix(verdict, "applied true") {
			applied[a.event] = true
		}
		for null, guard := range map[string]string{"lease_owner": "owner", ":owner": "owner", "lease_until": "lease_live", ":revision": "revision"} {
			if p.Rule(a.event).Fence == transitions.Held && slices.Contains(a.nulls, null) && !strings.Contains(verdict, guard) {
				t.Errorf("%s with %v null: %s, want the guard %s to fail", a.event, a.nulls, verdict, guard)
			}
		}
	}
	if n := len(applied); n < 25 {
		t.Errorf("of all events only %d are applied to any row: %v", n, slices.Sorted(maps.Keys(applied)))
	}
	t.Logf("%d attempts, %d events applied to some", len(all), len(applied))
}
