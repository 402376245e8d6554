package machinetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/testdata/suites"
	"github.com/fencerow/fencerow/transitions"
)

func TestASuiteIsPlayedWithoutATestAroundIt(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	s, err := ReadSuite(suites.Files, p)
	if err != nil {
		t.Fatal(err)
	}
	ran, faults, err := PlaySuite(t.Context(), MemorySubject(p), suites.Files, p, nil)
	if err != nil || ran != len(s.Cases()) || len(faults) > 0 {
		t.Errorf("played %d cases, want %d, without a fault; got %v and %v", ran, len(s.Cases()), err, faults)
	}
}

// lapsing is a case, told as the standard table has it.
const lapsing = usualInTests + "B3, I6: a sender that is gone\ngiven a submitting, lease_owner w, lease_until +30m, quarantine_ms 0\n" +
	"when 1h passes\nwhen submit_lapsed on a\nthen applied\n" +
	"and a has phase uncertain, next_action review, lease_owner null, lease_until null, revision 4, due_at null,\n  uncertain_reason no_response, quarantine_until now\n" +
	"and history of a: submit_lapsed submitting to uncertain, revision 4, owner w, reason no_response\n"

// resends is the standard table, but that a submission that lapsed is sent again.
func resends(t *testing.T) *transitions.Program {
	t.Helper()
	table := transitions.Standard()
	for i := range table.Events {
		if table.Events[i].Name == "submit_lapsed" {
			table.Events[i].To = transitions.Prepared
		}
	}
	p, err := transitions.CompileUnchecked(table)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheStoresOwnProgramDecidesWhatComesOfACase(t *testing.T) {
	t.Parallel()
	standard, broken := transitions.MustCompile(transitions.Standard()), resends(t)
	files := func(text string) fstest.MapFS { return fstest.MapFS{"a.txt": {Data: []byte(text)}} }
	told, err := Tell(lapsing, nil, broken)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(strings.Replace(lapsing, "a has phase uncertain", "a has phase prepared", 1), "to uncertain", "to prepared", 1); want != told {
		t.Errorf("the case as the broken program has it (-want +got):\n%s", cmp.Diff(want, told))
	}
	for name, c := range map[string]struct {
		text           string
		suite, store   *transitions.Program
		faults, saying string
	}{
		"both standard":                          {lapsing, standard, standard, "", ""},
		"both broken":                            {told, broken, broken, "", ""},
		"the broken store is held to what is so": {lapsing, standard, broken, "a.txt:4: B3, I6: a sender that is gone", "a.txt:7: what came is not what the file says"},
		"the good store is held to what is not":  {told, broken, standard, "a.txt:4: B3, I6: a sender that is gone", "a.txt:7: what came is not what the file says"},
	} {
		ran, faults, err := PlaySuite(t.Context(), MemorySubject(c.store), files(c.text), c.suite, nil)
		if err != nil || ran != 1 {
			t.Fatalf("%s: played %d cases, want 1: %v", name, ran, err)
		}
		if (len(faults) > 0) != (c.faults != "") || len(faults) > 0 && (faults[0].Case.String() != c.faults || !strings.Contains(faults[0].Says, c.saying)) {
			t.Errorf("%s: got %v, want %q with %q", name, faults, c.faults, c.saying)
		}
	}
}

func TestACaseTellsWhatItIsAbout(t *testing.T) {
	t.Parallel()
	s, err := ReadSuite(fstest.MapFS{"a.txt": {Data: []byte(lapsing)}}, transitions.MustCompile(transitions.Standard()))
	if err != nil {
		t.Fatal(err)
	}
	want := []Case{{File: "a.txt", Line: 4, Title: "B3, I6: a sender that is gone", Clauses: []string{"B3", "I6"}, Events: []string{"submit_lapsed"}}}
	if diff := cmp.Diff(want, s.Cases()); diff != "" {
		t.Errorf("the cases (-want +got):\n%s", diff)
	}
}

func TestPlayingEndsWhenEnoughWasHeardOrTheContextEnds(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	broken, err := p.Without("renew", "lease_live")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadSuite(suites.Files, p)
	if err != nil {
		t.Fatal(err)
	}
	about := func(c Case) bool { return strings.Contains(strings.Join(c.Events, " "), "renew") }
	heard, every := 0, 0
	few, err := s.Play(t.Context(), MemorySubject(broken), about, func(Fault) bool { heard++; return false })
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Play(t.Context(), MemorySubject(broken), about, func(Fault) bool { every++; return true })
	if err != nil {
		t.Fatal(err)
	}
	if heard != 1 || every < 2 || few >= all {
		t.Errorf("heard %d faults in %d cases, and %d in %d; want one fault and fewer cases, then every fault", heard, few, every, all)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Play(ctx, MemorySubject(p), nil, func(Fault) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context is over", err)
	}
}

func TestTimeThatPassesMovesEveryAppointmentAndNothingElse(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	subject := MemorySubject(p)
	set, err := readSuites(fstest.MapFS{"a.txt": {Data: []byte("a case\ngiven a prepared\nwhen 90m passes\nwhen renew on a\n")}}, p)
	if err != nil {
		t.Fatal(err)
	}
	g := newStage(t.Context(), set, subject)
	row := func(later int64) transitions.Row {
		now := g.now.UnixMicro() + later
		s := &suite{reporter: t, p: p, now: g.now}
		r := s.row("a.0", transitions.Prepared)
		for i, c := range p.Columns {
			switch {
			case c.Name == "created_at" || c.Name == "updated_at":
				r[i] = transitions.MicrosValue(g.now.UnixMicro())
			case c.Name == "not_before":
				r[i] = transitions.NullValue
			case c.Kind == transitions.Time:
				r[i] = transitions.MicrosValue(now + int64(i)*1_000_000)
			}
		}
		return r
	}
	g.now, err = subject.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.ids = map[string]string{"a": "a.0"}
	if err := subject.Put(t.Context(), row(0)); err != nil {
		t.Fatal(err)
	}
	if err := g.pass(set.files[0].cases[0].steps[0]); err != nil {
		t.Fatal(err)
	}
	s := &suite{reporter: t, p: p, Subject: subject, ctx: t.Context()}
	if diff := cmp.Diff(s.readable(row(-5_400_000_000)), s.readable(s.get("a.0"))); diff != "" {
		t.Errorf("90 minutes later (-want +got):\n%s", diff)
	}
	if h := s.history("a.0"); len(h) > 0 {
		t.Errorf("time that passes leaves history: %v", h)
	}
}

func TestTheRewriterWritesNothingBelowTimeThatPasses(t *testing.T) {
	t.Parallel()
	begun := lapsing[:strings.Index(lapsing, "then ")]
	told, err := Tell(begun, nil, transitions.MustCompile(transitions.Standard()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lapsing, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
