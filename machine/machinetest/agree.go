package machinetest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fencerow/fencerow/transitions"
)

// Agree holds a store against transitions.Program.Eval, which is the meaning of the table: for every row and event the
// same verdict, the same reasons, the same row afterwards, the same history and evidence. It goes through every event,
// phase and state of the fence, then through what claims and sweeps find on a page of rows, then through random rows and
// random sequences of events, with remote job ids of
// every kind that a remote may think of. A counterexample is shrunk before it is shown. The flag -rapid.checks makes it
// look longer. Two stores that pass agree with each other.
//
// Where events are named it fires these only, and no sequences: for who wants to know quickly whether one event is right.
func Agree(t *testing.T, newStore func(t *testing.T) Subject, events ...string) {
	t.Helper()
	for _, part := range []struct {
		name string
		test func(*testing.T, *suite)
	}{
		{"every guard alone", everyGuard}, {"every event in every phase and state of the fence", everyFence},
		{"every claim and sweep on a page of rows", everyTake},
		{"random rows", randomRows}, {"random sequences of events", randomSequences},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t, newStore(t))
			s.only = events
			part.test(t, s)
		})
	}
}

// everyGuard lets every guard of a table decide alone. Of the standard table Run does that.
func everyGuard(_ *testing.T, s *suite) {
	if len(s.only) > 0 || s.p.String() != transitions.MustCompile(transitions.Standard()).String() {
		everyEventInEveryPhase(s)
	}
}

// putHolders gives the remote job id that the trials find taken to other operations.
func (s *suite) putHolders() {
	s.Helper()
	if s.p.Column("remote_job_id") < 0 {
		return
	}
	phase := s.p.Phases[0].Name
	for n, where := range holders {
		g := &generator{p: s.p, rule: s.p.Rules[0], now: s.now, rng: rand.New(rand.NewPCG(2, uint64(n)))}
		row := g.anyRow(fmt.Sprintf("holder-%d", n), phase)
		s.put(s.with(row, where, values{"remote_job_id": taken, "redo_of": nil}))
	}
}

// fences are the states of a lease and what a holder binds.
var fences = func() (all []fenceState) {
	for _, lease := range []string{"no lease", "a live lease", "an expired lease"} {
		for _, owner := range []string{"w", "w2"} {
			for _, behind := range []int64{0, 1} {
				all = append(all, fenceState{lease, owner, behind})
			}
		}
	}
	return all
}()

type fenceState struct {
	lease  string
	owner  string // that the event binds; the row's is w
	behind int64  // how many revisions the event's is older
}

func everyFence(t *testing.T, s *suite) {
	s.putHolders()
	fired := 0
	for n, rule := range s.rules() {
		if !rule.New && s.fires(rule) {
			fired += s.everyFenceOf(n, rule)
		}
	}
	t.Logf("agreement: %d events fired on %T", fired, s.Store)
}

// everyFenceOf fires one event in every phase and state of the fence, and tells how often that was.
func (s *suite) everyFenceOf(n int, rule *transitions.Rule) int {
	s.Helper()
	g := &generator{p: s.p, rule: rule, now: s.now, rng: rand.New(rand.NewPCG(3, uint64(n)))}
	var trials []trial
	for _, phase := range s.p.PhaseNames() {
		base := g.closest("base", phase)
		for _, f := range fences {
			if f.owner != "w" && !rule.Uses("owner") || f.behind > 0 && !rule.Uses("revision") {
				continue
			}
			trials = append(trials, s.fenced(base, f, fmt.Sprintf("%s-%d", rule.Event, len(trials))))
		}
	}
	s.fireAll(g, trials)
	return len(trials)
}

// fenced is a trial under a state of the fence, and with a name of its own.
func (s *suite) fenced(base trial, f fenceState, id string) trial {
	rename := func(v transitions.Value) transitions.Value {
		if v.Kind() != transitions.Text {
			return v
		}
		return transitions.TextValue(strings.ReplaceAll(v.Text(), base.id, id))
	}
	c := trial{id: id, row: slices.Clone(base.row), params: transitions.Params{}}
	for i, v := range c.row {
		c.row[i] = rename(v)
	}
	for name, v := range base.params {
		c.params[name] = rename(v)
	}
	switch f.lease {
	case "no lease":
		c.row = s.with(c.row, values{"lease_owner": nil, "lease_until": nil})
	case "a live lease":
		c.row = s.with(c.row, s.leased())
	default:
		c.row = s.with(c.row, s.lapsed())
	}
	c.params["owner"] = value(f.owner)
	c.params["revision"] = value(c.row[s.p.Column("revision")].Int() - f.behind)
	return c
}

// checks is how many random cases are tried of each kind, unless a flag says how many.
const checks = 60

// property tries a property on random cases.
func property(t *testing.T, try func(*rapid.T)) {
	limit, ran, failed := checks, 0, false
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rapid.checks" {
			limit = 1 << 30
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		if ran++; ran > limit && !failed {
			return // rapid itself knows one number of checks for all properties
		}
		done := false
		defer func() { failed = failed || !done || r.Failed() }()
		try(r)
		done = true
	})
}

// drawn are the dice of a case that rapid can shrink.
type drawn struct{ r *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.r, fmt.Sprintf("one of %d", n)) }

// hostile are remote job ids as no remote should make them, and some that look like it and are good.
var hostile = []string{
	"", " ", "job-1\n", " job-1", "job 1", "job\x00-1", "\x00", "\xff\xfe", "job-\xc3", "\u00a0", "job\u00a01", "\u200b", "job\u200b1",
	"\ufeffjob", "\u202ejob-1", "j\u00f6b", "jo\u0308b", "\u0301", "\u2800", "\u3164", "\x7f", "\x1bjob", "\U000e0001", "\U0001f4a3", "\ufffd",
	strings.Repeat("a", transitions.MaxRemoteJobID), strings.Repeat("a", transitions.MaxRemoteJobID+1), strings.Repeat("\u00e9", 600),
	"!", "~", "'", `"`, `\`, "%s", "$1", "?1", "'; --", `{"a":1}`, "null", "NULL", "0", "JOB-1", "job-1",
}

func (s *suite) drawing(r *rapid.T) *suite {
	inner := *s
	inner.reporter = r
	return &inner
}

// generating makes trials of a rule out of what rapid draws.
func (s *suite) generating(r *rapid.T) *generator {
	anything := rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringN(0, 20, 40),
		rapid.Custom(func(r *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(r, "bytes")) }))
	invisible := rapid.StringOfN(rapid.SampledFrom([]rune(transitions.BlankCharacters+"a\u0301\u180f\u202d\u2065\ue000")), 0, 4, -1)
	return &generator{
		p: s.p, now: s.now, rng: drawn{r},
		remoteJobID: func() string { return anything.Draw(r, "remote job id") },
		shown:       func() string { return invisible.Draw(r, "text") },
	}
}

func randomRows(t *testing.T, s *suite) {
	s.putHolders()
	rules := slices.DeleteFunc(s.rules(), func(r *transitions.Rule) bool { return !s.fires(r) })
	n := 0
	property(t, func(r *rapid.T) {
		s, g := s.drawing(r), s.generating(r)
		for range rapid.IntRange(1, 5).Draw(r, "rows") {
			n++
			g.rule = rapid.SampledFrom(rules).Draw(r, "event")
			c := g.random(fmt.Sprintf("row-%d", n), rapid.SampledFrom(s.p.PhaseNames()).Draw(r, "phase"))
			if c.row != nil {
				s.put(c.row)
			}
			answer, err := s.Store.Apply(s.ctx, g.rule.Event, c.params)
			if err != nil {
				s.Fatalf("fire %s: %v\non %v\nwith %v", g.rule.Event, err, s.readable(c.row), c.params)
			}
			s.agrees(g, c, answer, s.getAll(c.id)[c.id])
		}
	})
	t.Logf("agreement: %d random rows on %T", n, s.Store)
}

func randomSequences(t *testing.T, s *suite) {
	if len(s.only) > 0 {
		return // one event makes no sequence
	}
	s.putHolders()
	n, steps := 0, 0
	property(t, func(r *rapid.T) {
		n++
		s, g := s.drawing(r), s.generating(r)
		c := trial{id: fmt.Sprintf("life-%d", n)}
		for range rapid.IntRange(1, 12).Draw(r, "events") {
			steps++
			s.oneMore(r, g, &c)
		}
	})
	t.Logf("agreement: %d random sequences of %d events on %T", n, steps, s.Store)
}

// oneMore fires one more event on an operation. The first creates it, or finds a row that was made by hand.
func (s *suite) oneMore(r *rapid.T, g *generator, c *trial) {
	var here []*transitions.Rule // prefer what may come next
	for _, rule := range s.rules() {
		if rule.New == (c.row == nil) && (c.row == nil || rule.Leaves(c.row[s.p.Column("phase")].Text())) {
			here = append(here, rule)
		}
	}
	g.rule = rapid.SampledFrom(here).Draw(r, "event")
	if c.row == nil && rapid.Bool().Draw(r, "made by hand") {
		c.row = g.anyRow(c.id, rapid.SampledFrom(s.p.PhaseNames()).Draw(r, "phase"))
		s.put(c.row)
		return
	}
	g.now = s.clock()
	c.params = transitions.Params{}
	for _, d := range g.rule.Params {
		c.params[d.Name] = g.param(d, *c)
	}
	if rapid.IntRange(0, 3).Draw(r, "a stranger") == 0 && c.row != nil {
		for param, column := range map[string]string{"owner": "lease_owner", "revision": "revision", "evidence_seq": "evidence_seq"} {
			if i := s.p.Column(column); i >= 0 && g.rule.Uses(param) {
				c.params[param] = c.row[i]
			}
		}
	}
	if !g.possible(*c) {
		return
	}
	answer, err := s.Store.Apply(s.ctx, g.rule.Event, c.params)
	if err != nil {
		s.Fatalf("fire %s: %v\non %v\nwith %v", g.rule.Event, err, s.readable(c.row), c.params)
	}
	g.now = s.clock()
	s.agrees(g, *c, answer, s.getAll(c.id)[c.id])
	if answer.Exists {
		c.row, c.entries, c.evidence = answer.Row, len(s.history(c.id)), len(s.evidence(c.id))
	}
}

// clock reads the store's clock.
func (s *suite) clock() time.Time {
	s.Helper()
	now, err := s.Now(s.ctx)
	if err != nil {
		s.Fatalf("read the store's clock: %v", err)
	}
	return now
}
