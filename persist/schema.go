package persist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Migration is one step of the tables' making. Its SQL is several statements; it runs in one transaction, and holds no
// lock for which a writer would have to wait long.
type Migration struct {
	Version int
	Name    string
	SQL     string
}

// Schema lists the migrations of a program's tables, oldest first.
func Schema(p *transitions.Program, d Dialect, n Names) ([]Migration, error) {
	e := &emitter{program: p, dialect: d, names: n}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("write the tables of %s: %w", p.Name, err)
	}
	return []Migration{{Version: 1, Name: "tables", SQL: e.tables()}}, nil
}

// Ledger is the table of the migrations that were made.
type Ledger struct {
	Create string // makes the table if it is not there, and its schema
	Read   string // version, name, at, oldest first
	Record string // version, name
}

// LedgerOf writes the statements about the migrations table.
func LedgerOf(d Dialect, n Names) Ledger {
	now, types, parameters := "clock_timestamp()", []string{"integer", "text", "timestamptz"}, "$1::integer, $2::text"
	create, storage := "", ""
	if n.Schema != "" {
		create = "CREATE SCHEMA IF NOT EXISTS " + quoted(n.Schema) + ";\n"
	}
	if d == SQLite {
		now, types, parameters, create, storage = sqliteNow, []string{"INTEGER", "TEXT", "INTEGER"}, "?1, ?2", "", " STRICT"
	}
	return Ledger{
		Create: create + fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (\n  version %s PRIMARY KEY,\n  name %s NOT NULL,\n  at %s NOT NULL\n)%s;\n", n.migrations(), types[0], types[1], types[2], storage),
		Read:   fmt.Sprintf("SELECT version, name, at FROM %s ORDER BY version", n.migrations()),
		Record: fmt.Sprintf("INSERT INTO %s (version, name, at) VALUES (%s, %s)", n.migrations(), parameters, now),
	}
}

func (e *emitter) tables() string {
	parts := []string{e.operationsTable()}
	parts = append(parts, e.operationsIndexes()...)
	parts = append(parts, e.historyTables()...)
	parts = append(parts, e.evidenceTable(), e.index("evidence_operation", "", e.names.evidence(), "operation_id, seq", ""),
		e.index("evidence_remote_job_id", "", e.names.evidence(), "provider, account, remote_job_id", ""))
	return strings.Join(parts, "\n")
}

func (e *emitter) operationsTable() string {
	width := 0
	for _, c := range e.columnNames() {
		width = max(width, len(c))
	}
	var lines []string
	add := func(name, rest string) { lines = append(lines, fmt.Sprintf("  %-*s %s", width, name, rest)) }
	for _, c := range e.stored() {
		add(ident(c.Name), e.columnRest(c))
	}
	add("wake_at", e.typeOf(transitions.Time)+" GENERATED ALWAYS AS ("+e.wakeAt()+") STORED")
	if rank := e.reviewRank(); rank != "" {
		add("review_rank", e.typeOf(transitions.Int)+" GENERATED ALWAYS AS ("+rank+") STORED")
	}
	for _, c := range e.program.Columns {
		if check := e.columnCheck(c); check != "" {
			lines = append(lines, fmt.Sprintf("  CONSTRAINT %s CHECK (%s)", quoted(c.Name+"_allowed"), check))
		}
	}
	if check := e.outcomeCheck(); check != "" {
		lines = append(lines, "  CONSTRAINT outcome_by_phase CHECK ("+check+")")
	}
	storage := " STRICT"
	if e.dialect == PostgreSQL {
		storage = pgStorage
	}
	return "CREATE TABLE " + e.names.operations() + " (\n" + strings.Join(lines, ",\n") + "\n)" + storage + ";"
}

// pgStorage: with room in every page a new version of a row mostly stays in its page, whose dead ones are cleared by
// whoever writes there next. Operations that were through within a second needed a fifth less disk at 70 than at 85, and
// no less at 60 or 50; docs/performance.md has the figures. A busy queue's dead entries are vacuumed early, and without
// pauses: only a vacuum frees those of the indexes.
const pgStorage = " WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)"

// stored are the columns in the order in which a row keeps them, which is nobody's but the database's: statements name
// them. Those that the fewest events write come first. PostgreSQL logs of a new version what lies between the
// first byte that differs from the old one's and the last.
func (e *emitter) stored() []transitions.Column {
	columns := slices.Clone(e.program.Columns)
	if e.dialect == SQLite {
		return columns
	}
	writes := map[string]int{}
	for _, r := range e.program.Rules {
		for _, set := range r.Sets {
			if !r.New {
				writes[set.Col]++
			}
		}
	}
	slices.SortStableFunc(columns, func(a, b transitions.Column) int { return cmp.Compare(writes[a.Name], writes[b.Name]) })
	return columns
}

func (e *emitter) columnNames() []string {
	names := []string{"wake_at", "review_rank"}
	for _, c := range e.program.Columns {
		names = append(names, ident(c.Name))
	}
	return names
}

func (e *emitter) typeOf(k transitions.Kind) string {
	if e.dialect == SQLite {
		return sqliteTypes[k]
	}
	if k == transitions.Text {
		return `text COLLATE "C"` // compared and ordered byte by byte, whatever the database's language
	}
	return pgTypes[k]
}

func (e *emitter) columnRest(c transitions.Column) string {
	rest := e.typeOf(c.Kind)
	if c.NotNull || c.Name == "operation_id" {
		rest += " NOT NULL"
	}
	if !c.Default.IsNull() {
		rest += " DEFAULT " + e.dialect.literal(c.Default, c.Kind)
	}
	if c.Name == "operation_id" {
		rest += " PRIMARY KEY"
	}
	return rest
}

// columnCheck is what a column may hold. A null passes every CHECK.
func (e *emitter) columnCheck(c transitions.Column) string {
	name := ident(c.Name)
	words := e.program.Words(c)
	switch {
	case len(words) > 0:
		literals := make([]string, len(words))
		for i, w := range words {
			literals[i] = textLiteral(w)
		}
		return name + " IN (" + strings.Join(literals, ", ") + ")"
	case c.Check == "usable":
		return e.dialect.usableText(name)
	case c.Check == "natural":
		return fmt.Sprintf("%s BETWEEN 0 AND %d", name, transitions.MaxNatural)
	case c.Kind == transitions.Time && e.dialect == SQLite:
		return fmt.Sprintf("%s BETWEEN %d AND %d", name, transitions.MinTime.UnixMilli(), transitions.MaxTime.UnixMilli())
	case c.Kind == transitions.Time:
		return fmt.Sprintf("%s BETWEEN '%s' AND '%s'", name, transitions.MinTime.Format(time.RFC3339), transitions.MaxTime.Format(time.RFC3339))
	case c.Kind == transitions.Bool && e.dialect == SQLite:
		return name + " IN (0, 1)"
	}
	return ""
}

// outcomeCheck ties the outcome to the phases that have one.
func (e *emitter) outcomeCheck() string {
	var phases []string
	for _, p := range e.program.Phases {
		if p.HasOutcome {
			phases = append(phases, textLiteral(p.Name))
		}
	}
	if len(phases) == 0 || !e.has("outcome") {
		return ""
	}
	return "(phase IN (" + strings.Join(phases, ", ") + ")) = (outcome IS NOT NULL)"
}

// wakeAt is the one time by which work is found: the later of schedule and lease, whichever is set. A row that was made
// by hand with neither, in a phase to which somebody must come back, is found too (contract B4).
func (e *emitter) wakeAt() string {
	later := "greatest(due_at, lease_until)"
	if e.dialect == SQLite {
		later = "max(coalesce(due_at, lease_until), coalesce(lease_until, due_at))"
	}
	restless := e.program.RestlessPhases()
	if len(restless) == 0 || !e.has("created_at") {
		return later
	}
	return "coalesce(" + later + ", CASE WHEN phase IN (" + wordList(restless) + ") THEN created_at END)"
}

func wordList(words []string) string {
	literals := make([]string, len(words))
	for i, w := range words {
		literals[i] = textLiteral(w)
	}
	return strings.Join(literals, ", ")
}

// operationsIndexes: claims find their work by one index. The phase is in none of its columns: every change of it would
// cost an entry.
func (e *emitter) operationsIndexes() []string {
	on := e.names.operations()
	indexes := []string{
		e.index("operations_due", "", on, strings.Join(dueIndexFixed, ", ")+", priority DESC, wake_at, operation_id", "wake_at IS NOT NULL"),
		e.index("operations_newest", "", on, "created_at DESC, operation_id DESC", ""),
	}
	if e.has("remote_job_id") {
		indexes = append(indexes, e.index("operations_remote_job_id", "UNIQUE ", on, "provider, account, remote_job_id", "remote_job_id IS NOT NULL"))
	}
	if e.reviewRank() != "" {
		indexes = append(indexes, e.index("operations_review", "", on, "review_rank, created_at, operation_id", "review_rank IS NOT NULL"))
	}
	if e.has("redo_of") {
		indexes = append(indexes, e.index("operations_redo_of", "UNIQUE ", on, "redo_of", "redo_of IS NOT NULL"))
	}
	return append(indexes, e.sweepIndexes()...)
}

// sweepIndexes: a sweep looks for what should hardly ever be there, in any provider and account. An index that holds
// only what its guards could let pass makes it cheap whatever else is due.
func (e *emitter) sweepIndexes() []string {
	var indexes []string
	used := map[string]bool{}
	s := site{emitter: e, params: &placeholders{}, bare: true}
	for _, r := range e.program.Rules {
		if !r.Has(transitions.Sweep) {
			continue
		}
		where := []string{"wake_at IS NOT NULL"}
		for _, g := range r.Guards {
			if ofTheRowAlone(g.Expr) {
				where = append(where, s.operand(g.Expr, transitions.Bool, bindsAnd))
			}
		}
		// PostgreSQL cuts names at 63 bytes.
		name := "sweep_" + r.Event[:min(len(r.Event), 24)]
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("sweep_%s_%d", r.Event[:min(len(r.Event), 20)], n)
		}
		used[name] = true
		indexes = append(indexes, e.index(name, "", e.names.operations(), "wake_at, operation_id", strings.Join(where, "\n    AND ")))
	}
	return indexes
}

// ofTheRowAlone reports whether an expression needs neither parameters nor the clock nor another row.
func ofTheRowAlone(x transitions.Expr) bool {
	alone := true
	x.Walk(func(x transitions.Expr) {
		alone = alone && x.Op != transitions.OpParam && x.Op != transitions.OpNow && x.Op != transitions.OpTaken
	})
	return alone
}

// index writes one index. In PostgreSQL its schema is its table's; in SQLite the schema stands before the index.
func (e *emitter) index(name, unique, on, columns, where string) string {
	name = quoted(e.names.prefix() + name)
	if e.dialect == SQLite && e.names.Schema != "" {
		name, on = quoted(e.names.Schema)+"."+name, strings.TrimPrefix(on, quoted(e.names.Schema)+".")
	}
	if where != "" {
		where = "\n  WHERE " + where
	}
	return fmt.Sprintf("CREATE %sINDEX %s\n  ON %s (%s)%s;", unique, name, on, columns, where)
}

// sequence is a column that numbers the rows as they are written.
func (e *emitter) sequence() string {
	if e.dialect == SQLite {
		return "INTEGER PRIMARY KEY AUTOINCREMENT"
	}
	return "bigint GENERATED ALWAYS AS IDENTITY"
}

// historyTables: every event writes a row of history. In PostgreSQL it has one index, in which the rows of one operation
// lie together; a second one by number alone was seen to cost a twentieth of an operation's WAL, and served nobody.
func (e *emitter) historyTables() []string {
	changes, key := "jsonb", "PRIMARY KEY (operation_id, seq)"
	if e.dialect == SQLite {
		changes, key = "TEXT", ""
	}
	tables := []string{e.plainTable(e.names.history(), key, [][2]string{
		{"seq", e.sequence()},
		{"operation_id", e.typeOf(transitions.Text) + " NOT NULL"},
		{"event", e.typeOf(transitions.Text) + " NOT NULL"},
		{"from_phase", e.typeOf(transitions.Text)},
		{"to_phase", e.typeOf(transitions.Text) + " NOT NULL"},
		{"owner", e.typeOf(transitions.Text)},
		{"revision", e.typeOf(transitions.Int) + " NOT NULL"},
		{"reason", e.typeOf(transitions.Text)},
		{"reviewer", e.typeOf(transitions.Text)},
		{"detail", e.typeOf(transitions.Text)},
		{"changes", changes + " NOT NULL"},
		{"at", e.typeOf(transitions.Time) + " NOT NULL"},
	})}
	if e.dialect == SQLite {
		tables = append(tables, e.index("history_operation", "", e.names.history(), "operation_id, seq", ""))
	}
	return tables
}

func (e *emitter) evidenceTable() string {
	key := "PRIMARY KEY (seq)"
	if e.dialect == SQLite {
		key = ""
	}
	return e.plainTable(e.names.evidence(), key, [][2]string{
		{"seq", e.sequence()},
		{"operation_id", e.typeOf(transitions.Text)},
		{"provider", e.typeOf(transitions.Text)},
		{"account", e.typeOf(transitions.Text)},
		{"kind", e.typeOf(transitions.Text)},
		{"revision", e.typeOf(transitions.Int)},
		{"owner", e.typeOf(transitions.Text)},
		{"remote_job_id", e.typeOf(transitions.Text)},
		{"detail", e.typeOf(transitions.Bytes)},
		{"at", e.typeOf(transitions.Time) + " NOT NULL"},
	})
}

func (e *emitter) plainTable(name, key string, columns [][2]string) string {
	width := 0
	for _, c := range columns {
		width = max(width, len(c[0]))
	}
	lines := make([]string, len(columns))
	for i, c := range columns {
		lines[i] = fmt.Sprintf("  %-*s %s", width, c[0], c[1])
	}
	if key != "" {
		lines = append(lines, "  "+key)
	}
	storage := ""
	if e.dialect == SQLite {
		storage = " STRICT"
	}
	return "CREATE TABLE " + name + " (\n" + strings.Join(lines, ",\n") + "\n)" + storage + ";"
}
