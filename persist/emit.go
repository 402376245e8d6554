package persist

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// DefaultLockTimeout bounds the wait for a locked row where no option says otherwise.
const DefaultLockTimeout = 2 * time.Second

// Option changes how a program is compiled.
type Option func(*emitter)

// LockTimeout bounds how long a PostgreSQL statement waits for a locked row. It is part of the statement, so that it
// holds behind a pooler too.
func LockTimeout(d time.Duration) Option { return func(e *emitter) { e.lockTimeout = d } }

// emitter writes the statements of one program in one dialect.
type emitter struct {
	program     *transitions.Program
	dialect     Dialect
	names       Names
	lockTimeout time.Duration
	columns     []string
}

// Compile writes every statement of a program: a pure function of what it is given.
func Compile(p *transitions.Program, d Dialect, n Names, options ...Option) (*Set, error) {
	e := &emitter{program: p, dialect: d, names: n, lockTimeout: DefaultLockTimeout}
	for _, o := range options {
		o(e)
	}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("compile table %s to SQL: %w", p.Name, err)
	}
	for _, c := range p.Columns {
		e.columns = append(e.columns, c.Name)
	}
	set := &Set{Dialect: d, Names: n, Program: p, Readers: e.readers(), NoteUnmatched: e.noteUnmatched(), Prune: e.prune()}
	for _, r := range slices.Concat(p.Rules, p.Joined) {
		if d == PostgreSQL {
			set.Many = append(set.Many, e.pgMany(r, ""))
			set.Gathered = append(set.Gathered, e.pgMany(r, " SKIP LOCKED"))
			if c, ok := e.pgCopies(r); ok {
				set.Copies = append(set.Copies, c)
			}
		}
		for _, form := range r.Forms {
			set.Statements = append(set.Statements, e.statement(r, form))
		}
	}
	return set, nil
}

func (e *emitter) statement(r *transitions.Rule, form transitions.Form) Statement {
	switch {
	case e.dialect == SQLite && form == transitions.One:
		return e.sqliteOne(r)
	case e.dialect == SQLite:
		return e.sqlitePick(r, form)
	case r.New:
		return e.pgPrepare(r)
	case form == transitions.One:
		return e.pgOne(r)
	default:
		return e.pgPick(r, form)
	}
}

// structural are the columns that the statements themselves speak of, beside those that the table's guards and effects
// name.
var structural = []struct {
	name string
	kind transitions.Kind
}{
	{"operation_id", transitions.Text}, {"phase", transitions.Text}, {"revision", transitions.Int},
	{"lease_owner", transitions.Text}, {"lease_until", transitions.Time}, {"due_at", transitions.Time},
	{"priority", transitions.Int}, {"next_action", transitions.Text}, {"provider", transitions.Text},
	{"account", transitions.Text}, {"created_at", transitions.Time}, {"updated_at", transitions.Time},
}

// ours are names that the statements give to what they compute beside a row.
var ours = append([]string{"applied", "failed", "judged_at", "ordinal", "wake_at", "review_rank"}, firsts...)

func (e *emitter) check() error {
	if e.dialect != PostgreSQL && e.dialect != SQLite {
		return fmt.Errorf("dialect %q is not known; use %q or %q", e.dialect, PostgreSQL, SQLite)
	}
	for _, c := range structural {
		i := e.program.Column(c.name)
		if i < 0 {
			return fmt.Errorf("the table has no column %s; add it as %s", c.name, c.kind)
		}
		if k := e.program.Columns[i].Kind; k != c.kind {
			return fmt.Errorf("column %s is %s; make it %s", c.name, k, c.kind)
		}
	}
	for _, c := range e.program.Columns {
		if slices.Contains(ours, strings.ToLower(c.Name)) {
			return fmt.Errorf("the table has a column %s, which the statements call something of their own; rename it", c.Name)
		}
	}
	if err := e.checkParams(); err != nil {
		return err
	}
	return e.names.check()
}

// checkParams refuses parameters whose names the statements give to something of their own.
func (e *emitter) checkParams() error {
	for _, r := range slices.Concat(e.program.Rules, e.program.Joined) {
		for _, d := range r.Params {
			if slices.Contains(ours, d.Name) || d.Name == Limit {
				return fmt.Errorf("event %s takes a parameter %s, which the statements call something of their own; rename it", r.Event, d.Name)
			}
			if slices.ContainsFunc(e.program.Columns, func(c transitions.Column) bool { return strings.EqualFold(c.Name, along+d.Name) }) {
				return fmt.Errorf("the table has a column %s%s and event %s a parameter %s, which the statements call the same; rename one", along, d.Name, r.Event, d.Name)
			}
		}
	}
	return nil
}

// has reports whether the table has a column.
func (e *emitter) has(column string) bool { return e.program.Column(column) >= 0 }

// kind is a column's kind.
func (e *emitter) kind(column string) transitions.Kind {
	return e.program.Columns[e.program.Column(column)].Kind
}

// at is a place for expressions.
func (e *emitter) at(params *placeholders, row, now string) site {
	return site{emitter: e, params: params, row: row, now: now}
}

// after gives what a column holds after the rule: what it assigns, else what was there.
func (s site) afterRule(r *transitions.Rule, column string) string {
	for _, set := range r.Sets {
		if set.Col == column {
			return s.assigned(set.Expr, s.kind(column))
		}
	}
	return s.column(column)
}

// guards writes the rule's guards, one a line.
func (s site) guards(r *transitions.Rule, indent string) string {
	if len(r.Guards) == 0 {
		return s.dialect.literal(transitions.BoolValue(true), 0)
	}
	parts := make([]string, len(r.Guards))
	for i, g := range r.Guards {
		parts[i] = s.operand(g.Expr, transitions.Bool, bindsAnd)
	}
	return strings.Join(parts, "\n"+indent+"AND ")
}

// sets writes the rule's assignments, one a line.
func (s site) sets(r *transitions.Rule) string {
	parts := make([]string, len(r.Sets))
	for i, set := range r.Sets {
		parts[i] = ident(set.Col) + " = " + s.assigned(set.Expr, s.kind(set.Col))
	}
	return strings.Join(parts, ",\n      ")
}

// newRow gives the columns that a rule which creates the row fills, and their values: what it assigns, and the defaults
// of the rest, said once more so that a statement does not depend on what an older migration made the default.
func (s site) newRow(r *transitions.Rule) (columns []string, values []string) {
	for _, c := range s.program.Columns {
		assigned := slices.ContainsFunc(r.Sets, func(set transitions.Set) bool { return set.Col == c.Name })
		if assigned || !c.Default.IsNull() {
			columns = append(columns, c.Name)
			values = append(values, s.afterRule(r, c.Name))
		}
	}
	return columns, values
}

// given is the order in which a rule's parameters are numbered in every statement of one SQLite transaction: so that
// its steps can be read, and run by hand, with one list of values.
func given(r *transitions.Rule) *placeholders {
	p := &placeholders{}
	for _, d := range r.Params {
		p.names = append(p.names, d.Name)
	}
	return p
}

// givenToPick is that order where the statement finds the operations itself: their ids come last.
func givenToPick(r *transitions.Rule) *placeholders {
	p := &placeholders{}
	for _, d := range r.Params {
		if d.Name != "operation_id" {
			p.names = append(p.names, d.Name)
		}
	}
	p.names = append(p.names, Limit, "operation_id")
	return p
}

// dueIndexFixed are the first columns of the index of due work; a claim fixes all of them.
var dueIndexFixed = []string{"next_action", "provider", "account"}

// fixedByClaim gives the guards that fix the first columns of the index of due work, if all of them are.
func (s site) fixedByClaim(r *transitions.Rule) (guards []string, ok bool) {
	for _, column := range dueIndexFixed {
		for _, g := range r.Guards {
			if x := g.Expr; x.Op == transitions.OpEq && x.Args[0].Op == transitions.OpCol && x.Args[0].Name == column &&
				(x.Args[1].Op == transitions.OpLit || x.Args[1].Op == transitions.OpParam) {
				guards = append(guards, s.operand(x, transitions.Bool, bindsAnd))
			}
		}
	}
	return guards, len(guards) == len(dueIndexFixed)
}

// pickOrder is the order in which due operations are served: a batch by priority, then what has waited longest. The id
// comes last, so that the order is the same on every database; it is in the index, so that nothing is sorted.
func pickOrder(form transitions.Form) string {
	order := "o.wake_at, o.operation_id"
	if form == transitions.Batch {
		order = "o.priority DESC, " + order
	}
	return order
}

// silent reports whether the rule never leaves history.
func silent(r *transitions.Rule) bool {
	return r.Quiet.IsSet() && r.Quiet.Op == transitions.OpLit && r.Quiet.Value.Bool()
}

// historyColumns are the columns that an event's history row fills.
const historyColumns = "operation_id, event, from_phase, to_phase, owner, revision, reason, reviewer, detail, changes, at"

// evidenceColumns are the columns of an evidence row.
const evidenceColumns = "operation_id, provider, account, kind, revision, owner, remote_job_id, detail, at"

// evidenceRow writes what the rule appends to evidence about the row at this place.
func (s site) evidenceRow(r *transitions.Rule) string {
	e := r.Evidence
	return strings.Join([]string{
		s.column("operation_id"), s.column("provider"), s.column("account"),
		s.assigned(e.Kind, transitions.Text), s.assigned(e.Revision, transitions.Int), s.assigned(e.Owner, transitions.Text),
		s.assigned(e.RemoteJobID, transitions.Text), s.assigned(e.Detail, transitions.Bytes), s.now,
	}, ", ")
}
