package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pages"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/render"
)

func (a *app) transitionsVerb() *cobra.Command {
	c := &cobra.Command{
		Use:   "transitions",
		Short: "Print what is generated from the transition table",
		Example: `  fencerow transitions docs > lifecycle.md
  fencerow transitions sql --json --dialect postgres | jq -r 'select(.event == "dispatch_claim").sql'`,
		Args: only,
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	c.AddCommand(
		a.transitionsDocsVerb(),
		a.renderVerb("svg", "Print the diagram of the phases as a picture, in light and dark", render.SVG),
		a.renderVerb("mermaid", "Print the diagram of the phases for Mermaid", render.Mermaid),
		a.renderVerb("dot", "Print the diagram of the phases for Graphviz", render.DOT),
		a.transitionsSQLVerb(),
		a.transitionsJSONVerb(),
		a.transitionsCheckVerb(),
	)
	return c
}

// renderVerb prints one picture of the table.
func (a *app) renderVerb(name, short string, draw func(*transitions.Program) string) *cobra.Command {
	return &cobra.Command{
		Use:     name,
		Short:   short,
		Example: "  fencerow transitions " + name,
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.stdout, draw(program()))
			return err
		},
	}
}

func (a *app) transitionsDocsVerb() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "docs",
		Short: "Print the table as a Markdown document, with the statements of both databases",
		Long: `Print the table as one Markdown document: phases, diagram, events, guards, columns, a glossary, the rules in full, and
the exact statements for PostgreSQL and SQLite.

With --out it writes several files into a folder instead, which refer to each other: lifecycle.md, the pictures
lifecycle.svg and lifecycle-brief.svg, and the statements lifecycle-postgres.md and lifecycle-sqlite.md.`,
		Example: `  fencerow transitions docs > lifecycle.md
  fencerow transitions docs --out docs`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.transitionsDocs(out) },
	}
	c.Flags().StringVar(&out, "out", "", "write the document, its pictures and the statements into this folder")
	return c
}

func (a *app) transitionsDocs(out string) error {
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		return pages.Write(out, "lifecycle", program())
	}
	document := render.Markdown(program())
	for _, d := range []persist.Dialect{persist.PostgreSQL, persist.SQLite} {
		text, err := pages.SQL(program(), d)
		if err != nil {
			return err
		}
		document += "\n" + text
	}
	_, err := fmt.Fprint(a.stdout, document)
	return err
}

func (a *app) transitionsJSONVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "json",
		Short:   "Print the compiled table as JSON",
		Example: `  fencerow transitions json | jq -r '.events[].event'`,
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			text, err := render.JSON(program())
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
}

func (a *app) transitionsSQLVerb() *cobra.Command {
	var dialect string
	c := &cobra.Command{
		Use:   "sql",
		Short: "Print the statements that the stores execute",
		Example: `  fencerow transitions sql --dialect sqlite
  fencerow transitions sql --json --dialect postgres --schema jobs --table-prefix fr_`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.transitionsSQL(dialect) },
	}
	c.Flags().StringVar(&dialect, "dialect", string(persist.PostgreSQL), "postgres or sqlite")
	return c
}

func dialectOf(name string) (persist.Dialect, error) {
	switch d := persist.Dialect(name); d {
	case persist.PostgreSQL, persist.SQLite:
		return d, nil
	}
	return "", usagef("--dialect %q: want postgres or sqlite", name)
}

func (a *app) names() persist.Names { return persist.Names{Schema: a.schema, Prefix: a.prefix} }

// statementJSON is one line of transitions sql --json.
type statementJSON struct {
	Event  string     `json:"event"`
	Form   string     `json:"form"`
	SQL    string     `json:"sql"`
	Then   []stepJSON `json:"then"`
	Params []string   `json:"params"`
}

type stepJSON struct {
	What   string   `json:"what"`
	SQL    string   `json:"sql"`
	Params []string `json:"params"`
}

func (a *app) transitionsSQL(name string) error {
	dialect, err := dialectOf(name)
	if err != nil {
		return err
	}
	set, err := persist.Compile(program(), dialect, a.names())
	if err != nil {
		return usage(err)
	}
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	for _, s := range set.Statements {
		if !a.json {
			a.printStatement(s)
			continue
		}
		line := statementJSON{Event: s.Event, Form: s.FormName(), SQL: s.SQL, Then: []stepJSON{}, Params: list(s.Params)}
		for _, step := range s.Then {
			line.Then = append(line.Then, stepJSON{step.What, step.SQL, list(step.Params)})
		}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printStatement(s persist.Statement) {
	fmt.Fprintf(a.stdout, "-- %s, form %s\n-- params: %s\n%s\n\n", s.Event, s.FormName(), words(s.Params), s.SQL)
	for _, step := range s.Then {
		fmt.Fprintf(a.stdout, "-- %s, form %s, then: %s\n-- params: %s\n%s\n\n", s.Event, s.FormName(), step.What, words(step.Params), step.SQL)
	}
}

// list is never null in JSON.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
