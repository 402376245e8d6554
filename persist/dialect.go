package persist

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Dialect is a kind of SQL.
type Dialect string

// The dialects, by the names that the command line gives them.
const (
	PostgreSQL Dialect = "postgres" // 14 and newer
	SQLite     Dialect = "sqlite"   // 3.40 and newer
)

// DefaultPrefix is what the tables' names begin with where Names leaves it open.
const DefaultPrefix = "fencerow_"

// Names says where the tables are and what their names begin with. The zero Names is usable.
type Names struct {
	Schema string // "" is the search path, in SQLite the main database
	Prefix string // "" is DefaultPrefix
}

// The names of the tables, quoted, with the schema.
func (n Names) operations() string { return n.table("operations") }
func (n Names) history() string    { return n.table("history") }
func (n Names) evidence() string   { return n.table("evidence") }
func (n Names) migrations() string { return n.table("migrations") }

// RemoteJobIndex names the index that keeps a remote job id with one operation of its provider and account; a unique
// violation of it is the denial remote_job_id_free.
func (n Names) RemoteJobIndex() string { return n.prefix() + "operations_remote_job_id" }

// RedoIndex names the index that lets an operation be redone once.
func (n Names) RedoIndex() string { return n.prefix() + "operations_redo_of" }

func (n Names) prefix() string {
	if n.Prefix == "" {
		return DefaultPrefix
	}
	return n.Prefix
}

func (n Names) table(name string) string {
	if n.Schema == "" {
		return quoted(n.prefix() + name)
	}
	return quoted(n.Schema) + "." + quoted(n.prefix()+name)
}

// longestPrefix leaves room for the longest name that is made of it: PostgreSQL cuts names at 63 bytes, and two names
// that are cut to the same one would be one table.
const longestPrefix = 32

func (n Names) check() error {
	if len(n.prefix()) > longestPrefix {
		return fmt.Errorf("use table prefix %q: it is longer than %d bytes; choose a shorter one", n.Prefix, longestPrefix)
	}
	if len(n.Schema) > 63 {
		return fmt.Errorf("use schema %q: it is longer than 63 bytes; choose a shorter one", n.Schema)
	}
	if strings.ContainsRune(n.Prefix+n.Schema, 0) {
		return fmt.Errorf("use schema %q and prefix %q: a name cannot hold a NUL; leave it out", n.Schema, n.Prefix)
	}
	return nil
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// reserved are words that one of the two dialects does not take as a column without quotes.
var reserved = strings.Fields(`abort action add after all alter always analyse analyze and any array as asc asymmetric attach
	autoincrement before begin between both by cascade case cast check collate column commit conflict constraint create
	cross current current_catalog current_date current_role current_time current_timestamp current_user database default
	deferrable deferred delete desc detach distinct do drop each else end escape except exclude exclusive exists explain
	fail false fetch filter first following for foreign from full generated glob grant group groups having if ignore
	immediate in index indexed initially inner insert instead intersect into is isnull join key last lateral leading left
	like limit localtime localtimestamp match materialized natural no not nothing notnull null nulls of offset on only or
	order others outer over partition placing plan pragma preceding primary query raise range recursive references regexp
	reindex release rename replace restrict returning right rollback row rows savepoint select session_user set some
	symmetric system_user table temp temporary then ties to trailing transaction trigger true unbounded union unique
	update user using vacuum values variadic view virtual when where window with without`)

// ident writes a column's name, quoted only where it must be: the statements are there to be read.
func ident(name string) string {
	if plainName.MatchString(name) && !slices.Contains(reserved, name) {
		return name
	}
	return quoted(name)
}

func idents(alias string, names []string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = alias + ident(n)
	}
	return strings.Join(parts, ", ")
}

var pgTypes = map[transitions.Kind]string{
	transitions.Text: "text", transitions.Bytes: "bytea", transitions.Int: "bigint",
	transitions.Bool: "boolean", transitions.Time: "timestamptz",
}

var sqliteTypes = map[transitions.Kind]string{
	transitions.Text: "TEXT", transitions.Bytes: "BLOB", transitions.Int: "INTEGER",
	transitions.Bool: "INTEGER", transitions.Time: "INTEGER",
}

// literal writes a constant. A null is given the type that its place wants, because PostgreSQL takes a CASE whose
// branches are all untyped nulls for text.
func (d Dialect) literal(v transitions.Value, want transitions.Kind) string {
	switch v.Kind() {
	case transitions.Text:
		return textLiteral(v.Text())
	case transitions.Bytes:
		if d == PostgreSQL {
			return fmt.Sprintf(`'\x%x'::bytea`, v.Text())
		}
		return fmt.Sprintf("x'%x'", v.Text())
	case transitions.Int:
		return strconv.FormatInt(v.Int(), 10)
	case transitions.Bool:
		if d == PostgreSQL {
			return strconv.FormatBool(v.Bool())
		}
		return strconv.FormatInt(v.Int(), 10)
	case transitions.Time:
		if d == PostgreSQL {
			return "'" + v.Time().Format("2006-01-02 15:04:05.999999-07:00") + "'::timestamptz"
		}
		return strconv.FormatInt(v.Micros()/1000, 10)
	}
	if t := pgTypes[want]; d == PostgreSQL && t != "" {
		return "NULL::" + t
	}
	return "NULL"
}

func textLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
