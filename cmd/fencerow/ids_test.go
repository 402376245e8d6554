package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/sandbox"
)

// lookalikes are ids that would look like one another, or do something to a terminal, if they were printed as they are.
var lookalikes = []string{
	"a\u202eb", `a\u202eb`, `"a\u202eb"`, "a\u200bb", "ab", "it's", "it\u200b's\u00adf", "\x1b[2Jx", "caf\u00e9\u202ef", `c\x`, "a b", "\u202e-x",
}

func TestAPrintedWordIsExactlyTheIDToAShell(t *testing.T) {
	t.Parallel()
	for _, id := range lookalikes {
		word := shellQuote(id)
		got, err := exec.Command("bash", "-c", "printf %s "+word).Output()
		if diff := cmp.Diff(id, string(got)); diff != "" || err != nil || clean(word) != word {
			t.Errorf("%s: %v %s", word, err, diff)
		}
	}
}

func TestNoTwoIDsLookTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, id := range lookalikes {
		text := called(id)
		if other, twice := seen[text]; twice || clean(text) != text {
			t.Errorf("%+q and %+q are both called %s", id, other, text)
		}
		seen[text] = id
	}
}

// What show prints for one operation decides about that one, and no other.
func TestThePrintedCommandsAreAboutTheOperationThatIsShown(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	m := c.engine()
	c.doubt(m, "no_response", lookalikes[0], lookalikes[1])
	for _, id := range lookalikes[:2] {
		shown := c.want(exitOK, "show", id).stdout
		c.harmless("show", shown)
		c.contains(shown, "review abandon "+shellQuote(id)+" ", called(id))
	}
	listed := c.want(exitOK, "review", "list").stdout + c.want(exitOK, "list").stdout
	c.harmless("list", listed)
	for _, id := range lookalikes[:2] {
		if strings.Count(listed, called(id)+"  ") < 2 {
			t.Errorf("%s is not listed: %s", called(id), listed)
		}
	}
}

// full is a file on a disk that has no room.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWhatCannotBePrintedEndsWithOneAndSaysWhatIsStored(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	c.doubt(c.engine(), "no_response", "a", "b", "c")
	by := []string{"--reviewer", "ada", "--reason", "x"}
	for _, r := range []struct {
		args   []string
		stored string
	}{
		{[]string{"review", "list"}, ""}, {[]string{"list"}, ""}, {[]string{"list", "--json"}, ""}, {[]string{"show", "a"}, ""},
		{[]string{"stats"}, ""}, {[]string{"audit"}, ""}, {[]string{"reconcile", "--once"}, ""}, {[]string{"--help"}, ""},
		{append([]string{"review", "abandon", "a", "--seen", "1.1"}, by...), "it was stored all the same: a is terminal"},
		{append([]string{"review", "abandon", "b", "--seen", "1.1", "--json"}, by...), "it was stored all the same: b is terminal"},
		{append([]string{"redo", "a", "--as", "a2", "--override-quarantine"}, by...), "it was stored all the same: a2 repeats a"},
	} {
		var said bytes.Buffer
		code := run(context.Background(), append(r.args, "--db", c.db), strings.NewReader(""), full{}, &said, c.lookup)
		if code != exitError || !strings.Contains(said.String(), errFull.Error()) || !strings.Contains(said.String(), r.stored) {
			t.Errorf("%v: exit %d, %s", r.args, code, said.String())
		}
		if r.stored == "" && strings.Contains(said.String(), "stored") {
			t.Errorf("%v stores nothing: %s", r.args, said.String())
		}
	}
}
