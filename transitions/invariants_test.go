package transitions_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencerow/fencerow/transitions"
)

// life is one operation to which anything happens: workers with fresh and stale claims, late answers, webhooks,
// reviewers and a clock that only goes on.
type life struct {
	program    *transitions.Program
	row        transitions.Row
	now        int64
	sent       int // requests that may have left
	notCreated int // proofs that one created nothing
}

func (l *life) get(col string) transitions.Value { return l.row[l.program.Column(col)] }

func born(t *rapid.T, p *transitions.Program) *life {
	v := p.Eval("prepare", nil, transitions.Params{
		"operation_id": transitions.TextValue("op"), "kind": transitions.TextValue("video"),
		"request": transitions.BytesValue([]byte("{}")), "quarantine_ms": transitions.IntValue(20),
		"observe_deadline_ms": transitions.IntValue(100), "delivery_attempts_max": transitions.IntValue(2),
		"wants_delivery":  transitions.BoolValue(rapid.Bool().Draw(t, "wants delivery")),
		"can_investigate": transitions.BoolValue(rapid.Bool().Draw(t, "can investigate")),
	}, transitions.World{Now: noon})
	if !v.Applied {
		t.Fatalf("prepare was denied: %v", v.Failed)
	}
	return &life{program: p, row: v.Row, now: noon}
}

// params are mostly right, so that sequences go far, and sometimes stale, blank or missing.
func (l *life) params(t *rapid.T) transitions.Params {
	mostly := func(name string, right transitions.Value, wrong ...transitions.Value) transitions.Value {
		return rapid.SampledFrom(append(slices.Repeat([]transitions.Value{right}, 6), wrong...)).Draw(t, name)
	}
	text := transitions.TextValue
	owner := l.get("lease_owner")
	if owner.IsNull() {
		owner = text("w1")
	}
	return transitions.Params{
		"operation_id":  text("op"),
		"provider":      text("video"),
		"account":       text(""),
		"owner":         mostly("owner", owner, text("w2")),
		"revision":      mostly("revision", l.get("revision"), transitions.IntValue(l.get("revision").Int()-1)),
		"evidence_seq":  mostly("evidence", l.get("evidence_seq"), transitions.IntValue(0)),
		"ttl_ms":        transitions.IntValue(45),
		"delay_ms":      mostly("delay", transitions.IntValue(0), transitions.NullValue, transitions.IntValue(5)),
		"remote_job_id": mostly("remote job id", text("job-1"), text("job-2"), text(""), text(" "), text("\u200b"), transitions.NullValue),
		"proof":         mostly("proof", text("refused"), text("not_sent"), text("hoped"), transitions.NullValue),
		"override":      mostly("override", transitions.NullValue, transitions.BoolValue(true)),
		"kind":          mostly("kind", text("accepted"), text("ended_failed"), text("ended_succeeded"), transitions.NullValue),
		"reviewer":      mostly("reviewer", text("ann"), text(" ")),
		"reason":        mostly("reason", text("no_response"), transitions.NullValue),
		"object_key":    mostly("key", text("op.mp4"), transitions.NullValue),
	}
}

// happens lets one event happen, and says what may not follow from it.
func (l *life) happens(t *rapid.T, event string) {
	l.now += rapid.SampledFrom([]int64{0, 0, 0, 1_000, 50_000}).Draw(t, "time passes")
	before := l.row
	v := l.program.Eval(event, before, l.params(t), transitions.World{Now: l.now})
	if !v.Applied {
		return
	}
	was, from, to := l.get("outcome"), l.get("phase").Text(), ""
	revision := l.get("revision").Int()
	l.row = v.Row
	to = l.get("phase").Text()

	r := l.program.Rule(event)
	if !r.Leaves(from) || r.Lands(from) != to {
		t.Fatalf("%s went from %s to %s, which the table does not say", event, from, to)
	}
	if !was.IsNull() && l.get("outcome") != was {
		t.Fatalf("%s changed the outcome from %s to %s", event, was, l.get("outcome"))
	}
	if has := !l.get("outcome").IsNull(); has != l.program.Phase(to).HasOutcome {
		t.Fatalf("after %s the operation is %s with the outcome %s", event, to, l.get("outcome"))
	}
	if id := l.get("remote_job_id"); !id.IsNull() && !transitions.UsableRemoteJobID(id.Text()) {
		t.Fatalf("%s stored the remote job id %s", event, id)
	}
	if d := l.get("revision").Int() - revision; d != 0 && d != 1 {
		t.Fatalf("%s moved the revision by %d", event, d)
	}
	if r.IsClaim() && l.get("revision").Int() == revision {
		t.Fatalf("%s claimed under the revision of the claim before it", event)
	}
	if from == transitions.Uncertain && to == transitions.Prepared && event != "review_not_created" {
		t.Fatalf("%s led from uncertain to prepared", event)
	}
	if from == transitions.Submitting && to == transitions.Prepared && event != "submit_not_created" {
		t.Fatalf("%s led from submitting to prepared", event)
	}
	l.count(t, event)
	l.wellFormed(t, event)
}

func (l *life) count(t *rapid.T, event string) {
	switch event {
	case "submit_begin":
		l.sent++
	case "submit_not_created", "review_not_created":
		l.notCreated++
	}
	if l.sent > 1+l.notCreated {
		t.Fatalf("%d requests may have left after %d proofs that one created nothing", l.sent, l.notCreated)
	}
	if got := l.get("attempts").Int(); got != int64(l.sent) {
		t.Fatalf("the row counts %d attempts, and %d were begun", got, l.sent)
	}
}

// wellFormed holds the row against what the columns allow: the databases would refuse it otherwise.
func (l *life) wellFormed(t *rapid.T, event string) {
	for i, c := range l.program.Columns {
		v := l.row[i]
		if c.NotNull && v.IsNull() {
			t.Fatalf("%s left %s null", event, c.Name)
		}
		if !v.IsNull() && v.Kind() != c.Kind {
			t.Fatalf("%s stored a %s in %s", event, v.Kind(), c.Name)
		}
		if words := l.program.Words(c); words != nil && !v.IsNull() && !slices.Contains(words, v.Text()) {
			t.Fatalf("%s stored %s in %s, which is none of %v", event, v, c.Name, words)
		}
		if c.Check == "natural" && v.Int() < 0 {
			t.Fatalf("%s stored %s in %s", event, v, c.Name)
		}
	}
	if l.get("lease_owner").IsNull() != l.get("lease_until").IsNull() {
		t.Fatalf("%s left half a lease", event)
	}
	if !l.get("lease_owner").IsNull() && l.program.Phase(l.get("phase").Text()).Action == "" {
		t.Fatalf("%s left a lease in %s, where nobody may hold one", event, l.get("phase"))
	}
}

// step lets some event happen that the phase allows, or now and then any: the walk would otherwise stay where it is.
func (l *life) step(t *rapid.T) {
	anything := rapid.IntRange(0, 9).Draw(t, "anything") == 0
	var events []string
	for _, r := range l.program.Rules {
		if !r.New && (anything || r.Leaves(l.get("phase").Text())) {
			events = append(events, r.Event)
		}
	}
	l.happens(t, rapid.SampledFrom(events).Draw(t, "event"))
}

func TestWhateverHappensNothingIsSentTwiceAndNoOutcomeChanges(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	rapid.Check(t, func(t *rapid.T) {
		l := born(t, p)
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			l.step(t)
		}
	})
}

// The properties say nothing about a phase that no random life comes to.
func TestRandomLivesComeEverywhere(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	phases := rapid.Custom(func(t *rapid.T) []string {
		l := born(t, p)
		var phases []string
		for range 60 {
			l.step(t)
			phases = append(phases, l.get("phase").Text())
		}
		return phases
	})
	seen := map[string]bool{}
	for seed := range 200 {
		for _, phase := range phases.Example(seed) {
			seen[phase] = true
		}
	}
	for _, phase := range p.PhaseNames() {
		if !seen[phase] {
			t.Errorf("no random life came to %s", phase)
		}
	}
}
