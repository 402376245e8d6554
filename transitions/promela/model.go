package promela

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// world is everything beside the row: workers, reviewers, the remote, what is in flight and the clock. It is the same
// for every table.
//
//go:embed world.pml
var world string

// Model writes the program as a Promela model of one operation (see the package comment). The same program and options
// give the same text. An error says which bound is out of range, which event the table lacks, or which expression says
// something that the model's numbers cannot.
func Model(p *transitions.Program, o Options) (text string, err error) {
	if err := o.validate(p); err != nil {
		return "", err
	}
	defer func() {
		if e := recover(); e != nil {
			u, ok := e.(unfit)
			if !ok {
				panic(e)
			}
			text, err = "", fmt.Errorf("model table %s: %s", p.Name, string(u))
		}
	}()
	m := &model{program: p, options: o, cone: Cone(p), moving: map[string]bool{}}
	for _, r := range p.Rules {
		for _, s := range r.Sets {
			if !r.New && slices.ContainsFunc(m.cone, func(c transitions.Column) bool { return c.Name == s.Col }) {
				m.moving[s.Col] = true
			}
		}
	}
	m.tr = &translator{program: p, words: map[string]int{}, moving: m.moving, asked: map[string]bool{}}
	return m.write(), nil
}

// model is a model in the making.
type model struct {
	program *transitions.Program
	options Options
	cone    []transitions.Column
	moving  map[string]bool
	tr      *translator
	text    strings.Builder
}

func (m *model) printf(format string, args ...any) { fmt.Fprintf(&m.text, format, args...) }

// number is an event's number, from 1.
func (m *model) number(r *transitions.Rule) int { return slices.Index(m.program.Rules, r) + 1 }

// write puts the parts together. The events come first, because they decide which words and constants there are.
func (m *model) write() string {
	for _, w := range spoken {
		m.tr.word(w)
	}
	for _, r := range m.program.Rules {
		m.rule(r)
	}
	m.dispatch()
	m.passing()
	m.sweeps()
	m.lost()
	events := m.text.String()

	m.text.Reset()
	m.printf("/* The table %q as a Promela model of one operation. Made from the compiled table: do not edit.\n   %s */\n", m.program.Name, m.options)
	m.bounds()
	m.constants()
	m.printf("\n/* scratch, meaningless between two steps */\n#ifdef BREADTH\n#define SCRATCH\n#else\n#define SCRATCH hidden\n#endif\n")
	m.printf("%s", invariants())
	m.row()
	m.printf("%s", books)
	return m.text.String() + events + "\n" + world
}

// bounds writes the options as constants.
func (m *model) bounds() {
	o := m.options
	number := func(name string, value int) { m.printf("#define %s %d\n", name, value) }
	truth := func(name string, value bool) {
		m.printf("#define %s %s\n", name, map[bool]string{true: "true", false: "false"}[value])
	}
	m.printf("\n/* bounds, and what the world is like */\n")
	number("REQUESTS", o.Requests)
	number("REVISIONS", o.Revisions)
	number("LATE", o.Late)
	number("EVIDENCE", o.Evidence)
	number("LEASE", o.LeaseTicks)
	number("TRANSIT", o.TransitTicks)
	truth("SAME_OWNER", o.SameOwner)
	truth("CANCEL", o.Cancel)
	truth("REDONE", o.Redone)
	m.printf("#define elsewhere %s\n", map[bool]string{true: "1", false: "null"}[o.IDElsewhere])
	truth("OVERRIDE", o.Override)
	truth("NO_DEADLINE", o.NoDeadline)
	truth("MISTAKEN", o.Mistaken)
	truth("LOOKS_EARLY", o.LooksEarly)
	truth("ASSUMES_BEGUN", o.AssumesBegun)
}

// constants writes the words, the events, the parameters that never vary and the columns that never change.
func (m *model) constants() {
	fixed := m.fixed() // before the words and parameters, of which it may bring more
	m.printf("\n/* values: null, now (0 is also every time that has passed), texts, remote job ids from 1 */\n")
	m.printf("#define null 255\n#define now 0\n#define blank %d\n#define said %d\n", firstWord-2, firstWord-1)
	words := slices.SortedFunc(maps.Keys(m.tr.words), func(a, b string) int { return m.tr.words[a] - m.tr.words[b] })
	for _, w := range words {
		m.printf("#define w_%s %d\n", w, m.tr.words[w])
	}
	m.printf("\n/* events */\n#define EVENTS %d\n", len(m.program.Rules))
	for _, r := range m.program.Rules {
		m.printf("#define ev_%s %d\n", r.Event, m.number(r))
	}
	m.printf("\n/* what every statement is given alike */\n")
	given := m.options.asked()
	for _, name := range slices.Sorted(maps.Keys(m.tr.asked)) {
		value, ok := given[name]
		if !ok {
			refuse("it asks for a parameter %q, and the model does not know what to give", name)
		}
		m.printf("#define asked_%s %s\n", name, value)
	}
	m.printf("\n/* columns that no event changes after the first */\n%s", fixed)
}

// fixed writes the columns that no event changes after the first.
func (m *model) fixed() string {
	var b strings.Builder
	m.tr.creating = true
	for _, c := range m.cone {
		if !m.moving[c.Name] {
			fmt.Fprintf(&b, "#define fixed_%s %s\n", c.Name, m.tr.value(m.created(c)))
		}
	}
	return b.String()
}

// created is what the event that creates the row stores in a column.
func (m *model) created(c transitions.Column) transitions.Expr {
	for _, r := range m.program.Rules {
		for _, s := range r.Sets {
			if r.New && s.Col == c.Name {
				return s.Expr
			}
		}
	}
	return transitions.Expr{Op: transitions.OpLit, Value: c.Default}
}

// row declares the columns that move, the row in the making and the parameters of a statement.
func (m *model) row() {
	m.printf("\n/* the row: the columns on which a guard depends */\ntypedef Row {")
	var fields []string
	for _, c := range m.cone {
		if m.moving[c.Name] {
			m.printf("\n\tbyte %s; /* %s */", c.Name, c.Doc)
			fields = append(fields, c.Name)
		}
	}
	m.printf("\n}\n")
	m.printf("\ntypedef Given {\n\tbyte %s;\n\tbyte holds /* the truth: whether the lease that the row has is the stating claim's */\n}\n", strings.Join(varying, ";\n\tbyte "))
	m.printf("SCRATCH Row next, kept;\nSCRATCH Given given;\nSCRATCH byte applied;\n")
	m.printf("\nRow row;\n")
	m.printf("\n/* before the first event: every column's default */\ninline blank_row()\n{\n")
	for _, c := range m.cone {
		if m.moving[c.Name] {
			m.printf("\trow.%s = %s;\n", c.Name, m.tr.literal(c.Default))
		}
	}
	m.printf("\tskip\n}\n")
	m.scratch(fields)
}

// scratch writes how the row is put aside, and how a search that keeps scratch in its states wipes it after each step.
func (m *model) scratch(fields []string) {
	each := func(format string, names []string) {
		for _, f := range names {
			m.printf("%s", strings.ReplaceAll(format, "%", f))
		}
	}
	m.printf("\ninline keep_row()\n{\n")
	each("\tkept.% = row.%;\n", fields)
	m.printf("\tskip\n}\n\ninline restore_row()\n{\n")
	each("\trow.% = kept.%;\n", fields)
	each("\tkept.% = 0;\n", fields)
	m.printf("\tskip\n}\n\n#ifdef BREADTH\ninline wipe_scratch()\n{\n")
	each("\tnext.% = 0;\n", fields)
	each("\tgiven.% = 0;\n", append(slices.Clone(varying), "holds"))
	each("\t% = 0;\n", Invariants)
	m.printf("\tapplied = 0\n}\n#else\n#define wipe_scratch() skip\n#endif\n")
}

// dispatch writes the one place where a statement reaches the database.
func (m *model) dispatch() {
	m.printf("\n/* a statement is executed */\ninline execute(WHAT)\n{\n\tif\n")
	for _, r := range m.program.Rules {
		if !r.New {
			m.printf("\t:: WHAT == ev_%s -> fire_%s()\n", r.Event, r.Event)
		}
	}
	m.printf("\tfi\n}\n")
}

// passing writes what a tick does to the row's times, and what the end of all of them is.
func (m *model) passing() {
	times := m.times()
	m.printf("\n/* the row's times come nearer; 0 is past */\ninline row_ticks()\n{\n")
	for _, c := range times {
		m.printf("\tif :: row.%s != null && row.%s > 0 -> row.%s-- :: else fi;\n", c, c, c)
	}
	m.printf("\tskip\n}\n\n#define row_waits (false")
	for _, c := range times {
		m.printf(" \\\n\t|| (row.%s != null && row.%s > 0)", c, c)
	}
	m.printf(")\n")
}

func (m *model) times() []string {
	var names []string
	for _, c := range m.cone {
		if c.Kind == transitions.Time && m.moving[c.Name] {
			names = append(names, c.Name)
		}
	}
	return names
}

// sweeps writes what the reconciler may do: whatever the table gives it.
func (m *model) sweeps() {
	var steps, nth strings.Builder
	count := 0
	for _, r := range m.program.Rules {
		if r.Actor == "reconciler" {
			fmt.Fprintf(&steps, " \\\n\t:: d_step { may_%s -> fire_%s(); done() }", r.Event, r.Event)
			fmt.Fprintf(&nth, "\t:: I == %d -> TO = ev_%s\n", count, r.Event)
			count++
		}
	}
	m.printf("\n/* the reconciler's sweeps */\n#define SWEEPS %d\n#define SWEEP_STEPS%s\n", count, steps.String())
	m.printf("\ninline nth_sweep(I, TO)\n{\n\tif\n%s\tfi\n}\n", nth.String())
}

// lost writes which statements can never apply any more, so that the world forgets them at once. That is only where the
// guards of this table see to it: a revision or an evidence_seq that only grows and has to be the one that was seen.
func (m *model) lost() {
	bound := func(r *transitions.Rule, col string) bool {
		want := transitions.Eq(transitions.Col(col), transitions.Param(col, transitions.Int)).String()
		return !m.options.Unreduced && m.grows(col) && slices.ContainsFunc(r.Guards, func(g transitions.Guard) bool { return g.Expr.String() == want })
	}
	held := !m.options.Unreduced
	var decisions strings.Builder
	for _, r := range m.program.Rules {
		switch r.Fence {
		case transitions.Held:
			held = held && bound(r, "revision")
		case transitions.Seen, transitions.Noticed:
			fmt.Fprintf(&decisions, " \\\n\t|| E == ev_%s && (%t && R != row.revision || %t && Q != row.evidence_seq)",
				r.Event, bound(r, "revision"), bound(r, "evidence_seq"))
		}
	}
	m.printf("\n/* statements that can never apply any more */\n#define lost_claim(R) (%t && (R) != row.revision)\n", held)
	m.printf("#define lost_decision(E, R, Q) (false%s)\n", decisions.String())
}

// grows reports whether every event leaves the column as it is or adds to it.
func (m *model) grows(col string) bool {
	var adds func(x transitions.Expr) bool
	adds = func(x transitions.Expr) bool {
		switch x.Op {
		case transitions.OpCol:
			return x.Name == col
		case transitions.OpIf:
			return adds(x.Args[1]) && adds(x.Args[2])
		case transitions.OpPlus:
			return adds(x.Args[0]) && x.Args[1].Op == transitions.OpLit && x.Args[1].Value.Int() >= 0
		default:
			return false
		}
	}
	for _, r := range m.program.Rules {
		for _, s := range r.Sets {
			if s.Col == col && !r.New && !adds(s.Expr) {
				return false
			}
		}
	}
	return true
}

// Invariants are the names under which an assertion is reported: the number of the invariant in the lifecycle, and
// what would be true if it held.
var Invariants = []string{
	"I1_requests_within_proofs", "I1_one_remote_job", "I1_no_proof_against_a_known_job", "I2_sent_under_its_own_claim",
	"I3_outcome_never_changes", "I3_no_snapshot_after_the_outcome", "I4_nothing_under_a_dead_lease",
	"I5_no_blank_remote_job_id", "I5_nothing_blank_is_observed",
	"I6_no_other_way_from_uncertain_to_prepared", "I6_no_other_way_from_submitting_to_prepared",
	"I6_not_created_under_the_senders_lease", "I7_a_way_out_without_the_dead",
	"I8_evidence_is_never_refused", "I8_evidence_moves_nothing",
}

// invariants declares them; they are variables so that the checker reports them by name.
func invariants() string {
	return "\n/* the invariants; each is asserted where it could break */\nSCRATCH byte " + strings.Join(Invariants, ",\n\t") + ";\n"
}

// books is what is true whatever the row says.
const books = `
/* the books: what is true whatever the row says */
byte posts;           /* requests that left a worker */
byte jobs;            /* jobs that the remote created; the n-th has the id n */
byte not_created;     /* submit_not_created and review_not_created that were applied */
byte begun_revision;  /* history: under which revision sending was last begun */
`
