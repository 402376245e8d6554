package mutants

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow/internal/mutants/clause"
	"github.com/fencerow/fencerow/internal/mutants/cut"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// look is a place where a statement judges the guards of its rule, one after the other.
type look struct {
	step   string // of the text; "" is the first
	kind   string // the cuts' IDs without their number: "judged guard", "where"
	before int    // conditions that stand before the first guard
}

// looks are all the places where a statement judges its guards; the first decides what is found or said.
type looks struct {
	guards int
	places []look
}

func looksOf(d persist.Dialect, s persist.Statement) looks {
	l := looks{guards: len(s.Rule.Guards)}
	found := 1 // wake_at
	if s.Form == transitions.Batch && strings.Contains(s.SQL, "FROM levels AS l") {
		found = 2 // and the priority
	}
	switch {
	case d == persist.PostgreSQL && (s.Form == transitions.Batch || s.Form == transitions.Sweep):
		l.places = []look{{"", "picked where", found}, {"", "judged guard", 0}}
		return l
	case d == persist.PostgreSQL:
		return l // judges once
	case s.Form == transitions.One && s.Rule.New:
		l.places = []look{{"history", "where", 1}} // the first text only looks whether it exists
		return l
	case s.Form == transitions.One:
		l.places = []look{{"", "guard", 0}}
	default:
		l.places = []look{{"", "where", found}}
		if found == 2 {
			l.places[0].kind = "join 1.where"
		}
	}
	for _, then := range s.Then {
		switch {
		case strings.HasPrefix(then.What, "second "): // of a joined event, which judges guards of its own, and once
		case then.What == "update" && strings.Contains(then.SQL, "changes() = 1"):
		case then.What == "update":
			l.places = append(l.places, look{"update", "where", 1})
		default:
			l.places = append(l.places, look{then.What, "where", 0})
		}
	}
	return l
}

// second tells which guard, and which part of it, a cut is of, if it is in a second look.
func (l looks) second(t text, c clause.Cut) (guard int, part string, ok bool) {
	for i, at := range l.places {
		rest, found := strings.CutPrefix(c.ID, at.kind+" ")
		if i == 0 || !found || at.step != t.step {
			continue
		}
		number, part, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(number)
		if err == nil && n > at.before && n <= at.before+l.guards {
			return n - at.before, part, true
		}
	}
	return 0, "", false
}

// toldBefore reports whether a text before this one has a second look too.
func (l looks) toldBefore(t text, texts []text) bool {
	for _, before := range texts {
		if before.name == t.name {
			return false
		}
		for _, at := range l.places[1:] {
			if at.step == before.step {
				return true
			}
		}
	}
	return false
}

// all gives the cuts that take a guard, or a part of it, out of every look.
func (l looks) all(texts []text, guard int, part string) ([]cut.Cut, error) {
	var cuts []cut.Cut
	for _, at := range l.places {
		id := fmt.Sprintf("%s %d", at.kind, at.before+guard)
		if part != "" {
			id += "." + part
		}
		found := false
		for _, t := range texts {
			for _, c := range t.cuts {
				if t.step == at.step && c.ID == id {
					cuts, found = append(cuts, cut.Cut{Statement: t.name, ID: id}), true
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: guard %d is not looked at by %q, as by the other looks; say in internal/mutants/looks.go where it is", texts[0].name, guard, id)
		}
	}
	return cuts, nil
}
