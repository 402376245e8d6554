package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// program is the compiled standard table.
var program = sync.OnceValue(func() *transitions.Program { return transitions.MustCompile(transitions.Standard()) })

func contains(words []string, word string) bool { return slices.Contains(words, word) }

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellQuote writes a word so that a shell reads exactly it, with nothing in it that a terminal would act on or not show:
// such bytes are octal, which bash, zsh and ksh read within $'…' (a hexadecimal number would not end everywhere).
func shellQuote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	if clean(word) != word {
		var b strings.Builder
		for _, c := range []byte(word) {
			if c < ' ' || c > '~' || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, `\%03o`, c)
			} else {
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// command writes a fencerow command line for this database, for a person to copy. The flags are repeated only where
// they were given: the rest comes from the environment again. For a command about an operation there is commandOn.
func (a *app) command(words ...string) string { return a.commandLine(words, nil) }

// commandOn writes a command about one operation: the verb, the id, the flags. An id that looks like a flag would be
// read as one, so it comes last, after the word that ends the flags.
func (a *app) commandOn(id string, verb []string, flags ...string) string {
	if strings.HasPrefix(id, "-") {
		return a.commandLine(slices.Concat(verb, flags), []string{"--", id})
	}
	return a.commandLine(slices.Concat(verb, []string{id}, flags), nil)
}

func (a *app) commandLine(words, last []string) string {
	words = slices.Clone(words)
	for _, f := range []struct{ flag, value string }{
		{"--db", redact(a.db)}, {"--schema", a.schema}, {"--table-prefix", a.prefix},
	} {
		if f.value != "" {
			words = append(words, f.flag, f.value)
		}
	}
	words = append(words, last...)
	for i, w := range words {
		words[i] = shellQuote(w)
	}
	return "fencerow " + strings.Join(words, " ")
}

// decisionFlags are who decides, why, and what was looked at.
type decisionFlags struct{ reviewer, reason, seen string }

// The words of the printed commands that a person has to replace. A command that is pasted as it stands decides nothing.
const (
	placeholderReviewer = "YOU"
	placeholderReason   = "WHY"
	placeholderID       = "ID"
)

func (f decisionFlags) decision(needed bool) (machine.Decision, error) {
	d := machine.Decision{Reviewer: f.reviewer, Reason: f.reason}
	switch {
	case needed && transitions.IsBlank(f.reviewer):
		return d, usagef("--reviewer is missing: say who decides; it is kept")
	case needed && transitions.IsBlank(f.reason):
		return d, usagef("--reason is missing: say why; it is kept")
	case f.reviewer == placeholderReviewer || f.reason == placeholderReason:
		return d, usagef("--reviewer %s --reason %s: these are the words of the printed command; say who decides and why, both are kept", f.reviewer, f.reason)
	case f.seen == "":
		return d, nil
	}
	seen, err := machine.ParseSeen(f.seen)
	switch {
	case err != nil:
		return d, usagef("--seen: %w", err)
	case seen.Revision < 0 || seen.EvidenceSeq < 0:
		return d, usagef("--seen %q: want REVISION.EVIDENCE, such as 4.1, neither below zero", f.seen)
	}
	d.Seen = seen
	return d, nil
}

func words(names []string) string { return strings.Join(names, ", ") }
