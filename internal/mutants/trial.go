package mutants

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// trials runs tests inside a program, one after the other. The process has to have been begun by testing.Main.
type trials struct{ folder string }

// run runs a test, those of its subtests that the pattern matches, and gives what it says. Tests say it on the standard
// output, which is turned aside for so long.
func (r trials) run(name, pattern string, test func(t *testing.T)) (passed bool, said string, err error) {
	for flagName, value := range map[string]string{
		"test.run": "^" + name + "$/" + pattern, "test.parallel": "1",
		"rapid.nofailfile": "true", "rapid.shrinktime": "1s",
	} {
		if err := flag.Set(flagName, value); err != nil {
			return false, "", fmt.Errorf("set up test %s: %w", name, err)
		}
	}
	aside, err := os.CreateTemp(r.folder, "said-")
	if err != nil {
		return false, "", err
	}
	defer func() {
		_ = aside.Close()
		_ = os.Remove(aside.Name())
	}()
	stdout := os.Stdout
	os.Stdout = aside
	passed = testing.RunTests(matches, []testing.InternalTest{{Name: name, F: test}})
	os.Stdout = stdout
	if _, err := aside.Seek(0, io.SeekStart); err != nil {
		return passed, "", err
	}
	text, err := io.ReadAll(io.LimitReader(aside, 1<<20))
	return passed, string(text), err
}

// matches is how the testing package asks for patterns.
func matches(pattern, text string) (bool, error) { return regexp.MatchString(pattern, text) }

// subtest is how the testing package writes the title of a subtest.
func subtest(title string) string { return strings.ReplaceAll(title, " ", "_") }

// failed finds the subtests that a test says have failed, the innermost ones.
func failed(said string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^ +--- FAIL: \S+?/(.*) \(\d`).FindAllStringSubmatch(said, -1) {
		all = append(all, strings.ReplaceAll(m[1], "_", " "))
	}
	return all
}

// first gives the beginning of a text: as much as a report has room for.
func first(text string) string {
	text = strings.TrimSpace(text)
	const room = 600
	if len(text) > room {
		text = strings.ToValidUTF8(text[:room], "") + " …"
	}
	return text
}
