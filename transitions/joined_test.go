package transitions_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

const claimAndBegin = "dispatch_claim+submit_begin"

// A row on which a claim and a begin can be fired one after the other, and the parameters of the two joined.
func claimable(p *transitions.Program) (transitions.Row, transitions.Params, transitions.World) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	world := transitions.World{Now: now.UnixMicro()}
	v := p.Eval("prepare", nil, transitions.Params{
		"operation_id": transitions.TextValue("a"), "kind": transitions.TextValue("video"), "request": transitions.BytesValue([]byte("{}")),
	}, world)
	return v.Row, transitions.Params{
		"operation_id": transitions.TextValue("a"), "owner": transitions.TextValue("w"), "ttl_ms": transitions.IntValue(1000),
		"provider": transitions.TextValue("video"), "account": transitions.TextValue(""),
	}, world
}

func TestJoinedEventsDoWhatTheTwoDoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	row, params, world := claimable(p)
	first := p.Eval("dispatch_claim", row, params, world)
	second := p.Eval("submit_begin", first.Row, transitions.Params{
		"operation_id": params["operation_id"], "owner": params["owner"], "revision": transitions.IntValue(1), "detail": transitions.TextValue("told"),
	}, world)
	params["then_detail"] = transitions.TextValue("told")
	got := p.Eval(claimAndBegin, row, params, world)
	want := first
	want.Row, want.Then = second.Row, &second
	if diff := cmp.Diff(want, got, everything); diff != "" {
		t.Errorf("joined (-one after the other +joined):\n%s", diff)
	}
}

func TestTheSecondOfJoinedEventsIsNotFiredWhereTheFirstIsDenied(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	row, params, world := claimable(p)
	params["provider"] = transitions.TextValue("print")
	got := p.Eval(claimAndBegin, row, params, world)
	want := transitions.Verdict{Failed: []string{"provider"}, Row: row}
	if diff := cmp.Diff(want, got, everything); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
}

func TestTheFirstOfJoinedEventsStandsWhereTheSecondIsDenied(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	row, params, world := claimable(p)
	params["ttl_ms"] = transitions.IntValue(0) // a lease that is over as soon as it is taken
	got := p.Eval(claimAndBegin, row, params, world)
	if !got.Applied || got.Then == nil || got.Then.Applied {
		t.Fatalf("applied %t, then %+v; want the claim without the begin", got.Applied, got.Then)
	}
	if diff := cmp.Diff([]string{"lease_live"}, got.Then.Failed); diff != "" {
		t.Errorf("why the begin was denied (-want +got):\n%s", diff)
	}
	alone := p.Eval("dispatch_claim", row, params, world)
	if diff := cmp.Diff(alone.Row, got.Row, everything); diff != "" {
		t.Errorf("the row (-claim alone +joined):\n%s", diff)
	}
}

// A guard or an effect that is taken from an event is gone where it is joined too: the checker and the mutation run would
// otherwise not see what comes of it.
func TestAnAlteredEventIsAlteredWhereItIsJoined(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	row, params, world := claimable(p)
	row[p.Column("due_at")] = transitions.MicrosValue(world.Now + 1)
	q, err := p.Without("dispatch_claim", "due")
	if err != nil {
		t.Fatal(err)
	}
	if v := q.Eval(claimAndBegin, row, params, world); !v.Applied {
		t.Errorf("without guard due: denied for %v, want applied", v.Failed)
	}
	if v := p.Eval(claimAndBegin, row, params, world); v.Applied {
		t.Error("what is not due yet was claimed: the program itself was altered")
	}
}

func TestAJoinThatTheTableCannotHaveIsAFinding(t *testing.T) {
	t.Parallel()
	for want, joined := range map[string][]transitions.Joined{
		"dispatch_claim+submit: it joins what is no event of the table":          {{First: "dispatch_claim", Then: "submit"}},
		"dispatch_claim+release: an event of the table is called as the two are": {{First: "dispatch_claim", Then: "release"}},
		claimAndBegin + ": it is declared twice":                                 {{First: "dispatch_claim", Then: "submit_begin"}, {First: "dispatch_claim", Then: "submit_begin"}},
	} {
		table := transitions.Standard()
		table.Joined = joined
		if joined[0].Then == "release" {
			table.Events = append(table.Events, *table.Event("renew"))
			table.Events[len(table.Events)-1].Name = joined[0].Name()
		}
		var got []string
		for _, f := range transitions.Check(table) {
			got = append(got, f.Code+" "+f.Row+": "+f.Text)
		}
		if diff := cmp.Diff([]string{"FR041 " + want}, got); diff != "" {
			t.Errorf("the findings (-want +got):\n%s", diff)
		}
	}
}

func TestWhatDoesNotFitIsNotJoined(t *testing.T) {
	t.Parallel()
	for _, joined := range []transitions.Joined{
		{First: "prepare", Then: "dispatch_claim"},              // it creates
		{First: "submit_lapsed", Then: "investigate_claim"},     // nobody holds the lease
		{First: "dispatch_claim", Then: "cancel_request"},       // anybody's
		{First: "investigate_claim", Then: "investigate_found"}, // evidence
		{First: "observe_claim", Then: "observe_pending"},       // may leave no history
		{First: "submit_rejected", Then: "observe_claim"},       // never comes after it
	} {
		table := transitions.Standard()
		table.Joined = append(table.Joined, joined)
		p, err := transitions.Compile(table)
		if err != nil {
			t.Fatal(err)
		}
		if p.Rule(joined.Name()) != nil || len(p.Joined) != len(transitions.Standard().Joined) {
			t.Errorf("%s is joined", joined.Name())
		}
	}
}
