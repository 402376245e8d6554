package machinetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// How many trials an event gets, beside one for every guard that alone decides.
const (
	appliedTrials  = 5 // that every guard lets pass
	randomTrials   = 3 // in every phase
	clockTolerance = 5 * time.Second
)

// rules are the events, and after them what the table joins.
func (s *suite) rules() []*transitions.Rule { return slices.Concat(s.p.Rules, s.p.Joined) }

// everyEventInEveryPhase holds the store against Eval on hand-made rows, event by event: applied ones, ones that
// exactly one guard refuses, and random ones in every phase.
func everyEventInEveryPhase(s *suite) {
	s.putHolders()
	for n, rule := range s.rules() {
		if s.fires(rule) {
			g := &generator{p: s.p, rule: rule, now: s.now, rng: rand.New(rand.NewPCG(1, uint64(n)))}
			s.fireAll(g, s.trialsOf(g))
		}
	}
}

// fireAll fires an event on the rows of trials, the first ones one by one and the others in one call: both ways have to
// mean the same. It holds each answer against Eval.
func (s *suite) fireAll(g *generator, trials []trial) {
	s.Helper()
	var rows []transitions.Row
	var many []transitions.Params
	var ids []string
	alone := min(2, len(trials))
	for i, c := range trials {
		ids = append(ids, c.id)
		if c.row != nil {
			rows = append(rows, c.row)
		}
		if i >= alone {
			many = append(many, c.params)
		}
	}
	s.put(rows...)
	var answers []machine.Answer
	for _, c := range trials[:alone] {
		answer, err := s.Store.Apply(s.ctx, g.rule.Event, c.params)
		if err != nil {
			s.Fatalf("fire %s: %v", g.rule.Event, err)
		}
		answers = append(answers, answer)
	}
	more, err := s.Store.ApplyMany(s.ctx, g.rule.Event, many)
	if err != nil {
		s.Fatalf("fire %d times %s: %v", len(many), g.rule.Event, err)
	}
	if len(more) != len(many) {
		s.Fatalf("fire %d times %s: got %d answers", len(many), g.rule.Event, len(more))
	}
	stored := s.getAll(ids...)
	for i, answer := range append(answers, more...) {
		s.agrees(g, trials[i], answer, stored[trials[i].id])
	}
}

// getAll reads rows by id, in one call.
func (s *suite) getAll(ids ...string) map[string]transitions.Row {
	s.Helper()
	rows, err := s.Store.Get(s.ctx, ids...)
	if err != nil {
		s.Fatalf("read %d rows: %v", len(ids), err)
	}
	found := map[string]transitions.Row{}
	for _, row := range rows {
		found[row[s.p.Column("operation_id")].Text()] = row
	}
	return found
}

// trialsOf makes an event's trials. That every rule can be applied, and every guard can decide alone, is held against
// the table in this package's own tests.
func (s *suite) trialsOf(g *generator) []trial {
	var trials []trial
	name := func(what string) string { return fmt.Sprintf("%s-%s-%d", g.rule.Event, what, len(trials)) }
	phases := g.rule.From
	if g.rule.New {
		phases = []string{""}
	}
	for range appliedTrials {
		if g.rule.Then == nil {
			break
		}
		if c, ok := g.search(name("both"), phases, bothApplied); ok {
			trials = append(trials, c)
		}
	}
	for range appliedTrials {
		if c, ok := g.search(name("applied"), phases, applied); ok {
			trials = append(trials, c)
		}
	}
	for _, guard := range g.rule.Guards {
		among := phases
		if guard.Name == "operation_id" {
			continue // no row can have a blank id; it has a clause of its own
		}
		if guard.Name == "phase" {
			among = s.p.PhaseNames()
		}
		if c, ok := g.search(name(guard.Name), among, deniedOnlyBy(guard.Name)); ok {
			trials = append(trials, c)
		}
	}
	if g.rule.Then != nil {
		for _, guard := range g.rule.Then.Guards {
			if c, ok := g.search(name("then-"+guard.Name), phases, thenDeniedOnlyBy(guard.Name)); ok {
				trials = append(trials, c)
			}
		}
	}
	for _, phase := range s.p.PhaseNames() {
		for range randomTrials {
			trials = append(trials, g.random(name("random"), phase))
		}
	}
	return trials
}

// agrees holds an answer, the row that is stored, the history and the evidence against Eval.
func (s *suite) agrees(g *generator, c trial, got machine.Answer, stored transitions.Row) {
	s.Helper()
	world := g.world()
	if got.Applied {
		world.Now = got.Row[s.p.Column("updated_at")].Micros()
	}
	want := s.p.Eval(g.rule.Event, c.row, c.params, world)
	exists := c.row != nil || want.Applied
	if diff := cmp.Diff(
		machine.Answer{Applied: want.Applied, Exists: exists, Failed: want.Failed},
		machine.Answer{Applied: got.Applied, Exists: got.Exists, Failed: got.Failed}, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("%s: the verdict (-want +got):\n%s\non %v\nwith %v", c.id, diff, s.readable(c.row), c.params)
		return
	}
	if !exists {
		return
	}
	s.same(c.id+": the row of the answer", s.readable(want.Row), s.readable(s.near(want.Row, got.Row)))
	s.same(c.id+": the row that is stored", s.readable(got.Row), s.readable(stored))
	s.sameTraces(g, c, want, got.Row)
}

// sameTraces holds what an event left behind beside the row against Eval.
func (s *suite) sameTraces(g *generator, c trial, want transitions.Verdict, row transitions.Row) {
	s.Helper()
	told := []*transitions.Entry{want.Entry}
	if want.Then != nil {
		told = append(told, want.Then.Entry)
	}
	told = slices.DeleteFunc(told, func(e *transitions.Entry) bool { return e == nil })
	var entries []machine.HistoryEntry
	for _, e := range told {
		entries = append(entries, machine.HistoryEntry{
			OperationID: c.id, Event: e.Event, From: e.From, To: e.To, Owner: e.Owner.Text(), Revision: e.Revision,
			Reason: e.Reason.Text(), Reviewer: e.Reviewer.Text(), Detail: e.Detail.Text(),
		})
	}
	var noted []machine.EvidenceEntry
	if e := want.Evidence; e != nil {
		noted = append(noted, machine.EvidenceEntry{
			OperationID: c.id, Kind: e.Kind.Text(), Revision: e.Revision.Int(), Owner: e.Owner.Text(),
			Provider: want.Row[s.p.Column("provider")].Text(), Account: want.Row[s.p.Column("account")].Text(),
			RemoteJobID: e.RemoteJobID.Text(), Detail: e.Detail.Bytes(),
		})
	}
	history, evidence := s.history(c.id), s.evidence(c.id)
	history, evidence = history[min(c.entries, len(history)):], evidence[min(c.evidence, len(evidence)):]
	if raw := c.params["remote_job_id"].Text(); !utf8.ValidString(raw) || strings.ContainsRune(raw, 0) {
		s.keptSomewhere(c, raw, entries, history, noted, evidence)
	}
	s.sameEntries(c.id, entries, history)
	if g.rule.Then != nil { // the row that is left tells of the second only
		for i, e := range told[:min(len(told), len(history))] {
			s.sameChanges(c, e.Changes, history[i], clockTolerance)
		}
		if n := len(told); n > 0 && n == len(history) {
			s.same(c.id+": when, by its last history row and by its row", row[s.p.Column("updated_at")].Time(), history[n-1].At.UTC())
		}
	} else if want.Entry != nil && len(history) == 1 {
		apart := time.Second // where there may be no history, the row's clock may be read apart
		if !g.rule.Quiet.IsSet() {
			apart = 0
			s.same(c.id+": when, by its history and by its row", row[s.p.Column("updated_at")].Time(), history[0].At.UTC())
		}
		s.sameChanges(c, s.asStored(want.Entry.Changes, row), history[0], apart)
	}
	s.sameEvidences(c.id, noted, evidence)
}

// keptSomewhere allows for a remote job id that no text column of a database takes: it is kept where it can be, and
// nothing else may differ.
func (s *suite) keptSomewhere(c trial, raw string, entries, history []machine.HistoryEntry, noted, evidence []machine.EvidenceEntry) {
	s.Helper()
	if len(entries) != 1 || len(history) != 1 {
		return // told by whoever compares them
	}
	quoted := strconv.QuoteToASCII(raw)
	if len(noted) == 1 && len(evidence) == 1 && evidence[0].RemoteJobID != raw {
		if string(evidence[0].Detail) != raw && !strings.Contains(history[0].Detail, quoted) && entries[0].Detail == "" {
			s.Errorf("%s: the remote job id %s is kept neither as evidence nor in history", c.id, quoted)
		}
		noted[0].RemoteJobID = ""
		if string(evidence[0].Detail) == raw {
			noted[0].Detail = []byte(raw)
		}
	}
	if entries[0].Detail == "" && strings.Contains(history[0].Detail, quoted) {
		entries[0].Detail = history[0].Detail
	}
}

// sameChanges holds what a history row records against what was assigned. A time may be another by less than what the
// clock may have been read apart.
func (s *suite) sameChanges(c trial, want []transitions.Change, entry machine.HistoryEntry, apart time.Duration) {
	s.Helper()
	expected, got := map[string]string{}, map[string]string{}
	recorded := s.decode(entry.Changes)
	for name, v := range recorded {
		got[name] = v.String()
	}
	for _, change := range want {
		v := change.Value
		if r := recorded[change.Column]; v.Kind() == transitions.Time && r.Kind() == transitions.Time && v.Time().Sub(r.Time()).Abs() < apart {
			v = r
		}
		expected[change.Column] = v.String()
	}
	s.same(c.id+": what history records of "+entry.Event, expected, got)
}

// asStored are changes with the values that a row has.
func (s *suite) asStored(changes []transitions.Change, row transitions.Row) []transitions.Change {
	stored := slices.Clone(changes)
	for i := range stored {
		stored[i].Value = row[s.p.Column(stored[i].Column)]
	}
	return stored
}

// near is got with the times of want, where they differ by no more than the statement took: a database may read its
// clock more than once in an event.
func (s *suite) near(want, got transitions.Row) transitions.Row {
	out := make(transitions.Row, len(got))
	for i, v := range got {
		out[i] = v
		if v.Kind() != transitions.Time || i >= len(want) || want[i].Kind() != transitions.Time {
			continue
		}
		if apart := v.Time().Sub(want[i].Time()); apart.Abs() <= clockTolerance {
			out[i] = want[i]
		}
	}
	return out
}

// sameEvidence compares an operation's evidence.
func (s *suite) sameEvidence(id string, want ...machine.EvidenceEntry) {
	s.Helper()
	s.sameEvidences(id, want, s.evidence(id))
}

// sameEvidences compares evidence, the sequence and the clock apart.
func (s *suite) sameEvidences(id string, want, got []machine.EvidenceEntry) {
	s.Helper()
	apart := cmpopts.IgnoreFields(machine.EvidenceEntry{}, "Seq", "At")
	if diff := cmp.Diff(want, got, apart, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("the evidence of %s (-want +got):\n%s", id, diff)
	}
}
