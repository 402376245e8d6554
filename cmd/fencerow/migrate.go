package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/persist"
)

func (a *app) migrateVerb() *cobra.Command {
	c := &cobra.Command{
		Use:     "migrate",
		Short:   "Create or upgrade the tables, or print the SQL that does",
		Example: "  fencerow migrate up --db postgres://db.example.com/jobs\n  fencerow migrate print --dialect postgres > 001_fencerow.sql",
		Args:    only,
		RunE:    func(*cobra.Command, []string) error { return nil },
	}
	var dialect string
	up := &cobra.Command{
		Use: "up", Short: "Create the tables, or bring them up to date", Args: exactly(),
		Example: "  fencerow migrate up --db postgres://db.example.com/jobs",
		RunE:    func(c *cobra.Command, _ []string) error { return a.migrateUp(c.Context()) },
	}
	status := &cobra.Command{
		Use: "status", Short: "Say which steps were made", Args: exactly(),
		Example: "  fencerow migrate status",
		RunE:    func(c *cobra.Command, _ []string) error { return a.migrateStatus(c.Context()) },
	}
	show := &cobra.Command{
		Use: "print", Short: "Print the SQL, for a migration tool of your own", Args: exactly(),
		Example: "  fencerow migrate print --dialect postgres --schema jobs > 001_fencerow.sql",
		RunE:    func(*cobra.Command, []string) error { return a.migratePrint(dialect) },
	}
	show.Flags().StringVar(&dialect, "dialect", "", "postgres or sqlite (default: the database's)")
	c.AddCommand(up, status, show)
	return c
}

func (a *app) migrateUp(ctx context.Context) error {
	at, err := a.address()
	if err != nil {
		return err
	}
	a.sayf("fencerow: using the database %s", at.name)
	if at.sqlite != "" && !exists(at.sqlite) {
		if err := at.hasFolder(); err != nil {
			return err
		}
		a.sayf("fencerow: this is a new database; it knows of nothing that was sent before")
	}
	db, err := a.connect(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	before, err := db.status(ctx)
	if err != nil {
		return fmt.Errorf("reading which steps were made in %s: %w", at.name, err)
	}
	if err := db.migrate(ctx); err != nil {
		return fmt.Errorf("making the tables in %s: %w", at.name, err)
	}
	made := 0
	for _, s := range before {
		if s.at.IsZero() {
			made++
			fmt.Fprintf(a.stdout, "made %d %s\n", s.version, s.name)
		}
	}
	if made == 0 {
		fmt.Fprintln(a.stdout, "the tables are up to date")
	}
	return nil
}

func (a *app) migrateStatus(ctx context.Context) error {
	at, err := a.address()
	if err != nil {
		return err
	}
	if at.sqlite != "" && !exists(at.sqlite) {
		return &noDatabaseError{at, "the file does not exist"}
	}
	db, err := a.connect(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	steps, err := db.status(ctx)
	if err != nil {
		return fmt.Errorf("reading which steps were made in %s: %w", at.name, err)
	}
	if a.json {
		return a.statusJSON(steps)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERSION\tNAME\tMADE")
	for _, s := range steps {
		made := stamp(s.at)
		if made == "" {
			made = "not yet; run " + a.command("migrate", "up")
		}
		fmt.Fprintf(w, "%d\t%s\t%s\n", s.version, cell(s.name, 60), clean(made))
	}
	return w.Flush()
}

func (a *app) statusJSON(steps []step) error {
	encoder := json.NewEncoder(a.stdout)
	for _, s := range steps {
		line := map[string]any{"version": s.version, "name": s.name, "at": nil}
		if !s.at.IsZero() {
			line["at"] = s.at.UTC()
		}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) migratePrint(name string) error {
	if name == "" {
		at, err := a.address()
		if err != nil {
			return err
		}
		name = string(persist.PostgreSQL)
		if at.sqlite != "" {
			name = string(persist.SQLite)
		}
	}
	dialect, err := dialectOf(name)
	if err != nil {
		return err
	}
	steps, err := persist.Schema(program(), dialect, a.names())
	if err != nil {
		return usage(err)
	}
	ledger := persist.LedgerOf(dialect, a.names())
	fmt.Fprintf(a.stdout, "-- The ledger of the steps: fencerow reads there which were made.\n%s\n", ledger.Create)
	for _, s := range steps {
		fmt.Fprintf(a.stdout, "-- %d %s\n%s\n\n%s\n\n", s.Version, s.Name, s.SQL, recorded(dialect, ledger, s))
	}
	return nil
}

// recorded is the ledger's entry of a step as a plain statement.
func recorded(d persist.Dialect, l persist.Ledger, m persist.Migration) string {
	version, name := "$1::integer", "$2::text"
	if d == persist.SQLite {
		version, name = "?1", "?2"
	}
	return strings.NewReplacer(version, strconv.Itoa(m.Version), name, "'"+m.Name+"'").Replace(l.Record) + ";"
}
