package render

import (
	"slices"
	"strings"
)

// terms are the words of the engine. One that is about a column is left out where the table has no such column.
var terms = []struct{ word, column, meaning string }{
	{"operation", "", "one row: one thing that is to be done at the remote once"},
	{"phase", "", "where an operation is; everything that is true of it in that phase stands in the table above"},
	{"event", "", "the only thing that changes an operation: one row of the transition table, and one statement"},
	{"guard", "", "a condition of an event, judged in the statement that fires it, on the row that is locked"},
	{"denied", "", "the answer when a guard did not hold: nothing was changed; it names those guards and shows the row"},
	{"unknown", "", "the answer when nobody can tell whether the statement ran; it is neither applied nor denied"},
	{"fence", "", "what an event asks of whoever fires it, so that who was overtaken cannot write"},
	{"claim", "lease_owner", "an event that gives the lease to one worker, for one action"},
	{"lease", "lease_until", "the right to work on an operation until a moment, by the database's clock"},
	{"owner", "lease_owner", "who holds the lease"},
	{"revision", "revision", "counts the changes of hands: who comes with an older one is denied"},
	{"due", "due_at", "the operation may be claimed from then on"},
	{"sweep", "", "a statement by which the reconciler fires an event on every operation whose guards hold"},
	{"batch", "", "a statement that claims several operations at once"},
	{"history", "", "a row for every event that changed something, written in the same statement"},
	{"evidence", "evidence_seq", "what came to light about an operation, kept as it was; it is never changed or taken back"},
}

func (g *page) glossary() {
	g.say("## Glossary\n")
	g.head("word", "meaning")
	for _, t := range terms {
		if t.column == "" || g.program.Column(t.column) >= 0 {
			g.row(t.word, t.meaning)
		}
	}
	for _, group := range []struct {
		what  string
		words []string
	}{
		{"outcomes", g.program.Outcomes}, {"reasons of doubt", g.program.Reasons}, {"who fires events", g.actors()}, {"phases of doubt", g.doubts()},
	} {
		if len(group.words) > 0 {
			g.row(group.what, codes(group.words))
		}
	}
	g.say("")
}

func (g *page) actors() []string {
	var all []string
	for _, r := range g.program.Rules {
		if r.Actor != "" && !slices.Contains(all, r.Actor) {
			all = append(all, r.Actor)
		}
	}
	slices.SortFunc(all, strings.Compare)
	return all
}

func (g *page) doubts() []string {
	var all []string
	for i := range g.program.Phases {
		if isDoubt(&g.program.Phases[i]) {
			all = append(all, g.program.Phases[i].Name)
		}
	}
	return all
}
