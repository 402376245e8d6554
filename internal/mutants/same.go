package mutants

import (
	"context"
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/internal/mutants/clause"
	"github.com/fencerow/fencerow/internal/mutants/cut"
	"github.com/fencerow/fencerow/persist"
)

// A clause that the database does not need cannot be missed by anybody: SQLite's EXPLAIN gives the program that it runs,
// and where that is the same without the clause, so is everything. PostgreSQL's plans depend on what is in the tables, so
// only of MATERIALIZED is the plan taken for a proof: whether it is kept apart is in every plan.

// same compares what a mutant's statements do on the database with what the true ones do.
func (j *judge) same(ctx context.Context, b bench, m Mutant, v *Verdict) error {
	if m.Of == Postgres && m.Kind != string(clause.Materialized) {
		return nil
	}
	cuts := m.Cuts
	cut.Make()
	whole, err := j.texts(m.Of)
	if err != nil {
		return err
	}
	cut.Make(cuts...)
	lacking, err := j.texts(m.Of)
	if err != nil {
		return err
	}
	for _, c := range cuts {
		before, after := whole[c.Statement], lacking[c.Statement]
		if before.sql == after.sql {
			return fmt.Errorf("judge %s: its statement is what it was", m.ID)
		}
		plan, err := b.plan(ctx, before.sql, before.params)
		if err != nil {
			return err
		}
		other, err := b.plan(ctx, after.sql, after.params)
		if err != nil { // what the database does not take at all is not the same; whoever plays it notices
			return ctx.Err()
		}
		if plan != other {
			return nil
		}
	}
	v.Same = "EXPLAIN tells of the same program"
	if m.Of == Postgres {
		v.Same = "EXPLAIN tells of the same plan"
	}
	return nil
}

type statementText struct {
	sql    string
	params int
}

// texts are the SQL of every statement, as they are compiled now, by the names that package cut knows.
func (j *judge) texts(dialect string) (map[string]statementText, error) {
	set, err := persist.Compile(j.of.program, persist.Dialect(dialect), persist.Names{})
	if err != nil {
		return nil, err
	}
	all := map[string]statementText{cut.Name(j.of.name, dialect, "note_unmatched"): {set.NoteUnmatched.SQL, len(set.NoteUnmatched.Params)}}
	for _, list := range [][]persist.Statement{set.Statements, set.Many} {
		for _, s := range list {
			name := cut.Name(j.of.name, dialect, s.Event, string(s.Form))
			all[name] = statementText{s.SQL, len(s.Params)}
			for _, then := range s.Then {
				all[cut.Name(name, then.What)] = statementText{then.SQL, len(then.Params)}
			}
		}
	}
	for _, r := range set.Readers {
		all[cut.Name(j.of.name, dialect, "reader", r.Name)] = statementText{r.SQL, len(r.Params)}
	}
	return all, nil
}

func (b *onSQLite) plan(ctx context.Context, sql string, params int) (string, error) {
	rows, err := b.last.DB().QueryContext(ctx, "EXPLAIN "+sql, make([]any, params)...)
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for rows.Next() {
		fields := make([]any, 8) // addr, opcode, p1 to p5, comment
		places := make([]any, len(fields))
		for i := range fields {
			places[i] = &fields[i]
		}
		if err := rows.Scan(places...); err != nil {
			return "", fmt.Errorf("explain: %w", err)
		}
		lines = append(lines, fmt.Sprint(fields[:7]...))
	}
	return strings.Join(lines, "\n"), rows.Err()
}

func (b *onPostgres) plan(ctx context.Context, sql string, params int) (string, error) {
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", params), ", ")
	if nulls != "" {
		nulls = "(" + nulls + ")"
	}
	for _, text := range []string{"SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE mutant AS " + sql} {
		if _, err := tx.Exec(ctx, text); err != nil {
			return "", fmt.Errorf("explain: %w", err)
		}
	}
	rows, err := tx.Query(ctx, "EXPLAIN (VERBOSE, COSTS OFF) EXECUTE mutant"+nulls)
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", fmt.Errorf("explain: %w", err)
		}
		lines = append(lines, line)
	}
	if rows.Close(); rows.Err() != nil {
		return "", fmt.Errorf("explain: %w", rows.Err())
	}
	_, err = tx.Exec(ctx, "DEALLOCATE mutant")
	return strings.Join(lines, "\n"), err
}
