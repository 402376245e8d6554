package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// some are results of every kind: with a target that is met, with one that is not, with none, and no ratio.
var some = []result{
	{name: "16_in_flight", says: "sixteen against <sixteen>", unit: ratio, values: []float64{12, 16, 15}, target: atLeast(15)},
	{name: "claim", says: "a claim & another", unit: ratio, values: []float64{1.6, 1.2}, target: atMost(1.2)},
	{name: "wal", says: "bytes against bytes", unit: ratio, values: []float64{0.05}},
	{name: "empty", says: "a claim that finds nothing", unit: "ms", values: []float64{0.25, 0.1, 0.2}, target: atMost(0.2)},
}

func TestATargetIsALeastOrAGreatestValueAndIsMetAtItsBound(t *testing.T) {
	for _, c := range []struct {
		target target
		median float64
		want   string
	}{
		{atLeast(15), 15, "at least 15, met"},
		{atLeast(15), 26.2, "at least 15, met"},
		{atLeast(15), 14.999, "at least 15, not met"},
		{atMost(1.2), 1.2, "at most 1.2, met"},
		{atMost(1.2), 0.3, "at most 1.2, met"},
		{atMost(1.2), 1.201, "at most 1.2, not met"},
		{target{}, 7, ""},
	} {
		if got := c.target.judge(c.median); got != c.want {
			t.Errorf("%v of %v: got %q, want %q", c.target, c.median, got, c.want)
		}
	}
}

func TestAFigureIsALineWithItsTarget(t *testing.T) {
	want := `16_in_flight ratio 15.0 (12.0–16.0), target at least 15, met
claim ratio 1.40 (1.20–1.60), target at most 1.2, not met
wal ratio 0.05 (0.05–0.05)
empty ms 0.20 (0.10–0.25), target at most 0.2, met
`
	var out strings.Builder
	for _, r := range some {
		r.print(&out, true)
	}
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheMarkdownIsARowAFigure(t *testing.T) {
	want := "| figure | what it compares | median | least–greatest | unit | target |\n|---|---|---|---|---|---|\n" +
		"| `16_in_flight` | sixteen against <sixteen> | 15.0 | 12.0–16.0 | ratio | at least 15, met |\n" +
		"| `claim` | a claim & another | 1.40 | 1.20–1.60 | ratio | at most 1.2, not met |\n" +
		"| `wal` | bytes against bytes | 0.05 | 0.05–0.05 | ratio |  |\n" +
		"| `empty` | a claim that finds nothing | 0.20 | 0.10–0.25 | ms | at most 0.2, met |\n"
	if got := markdown(some); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatIsAskedForIsWrittenToFiles(t *testing.T) {
	dir := t.TempDir()
	c := command{markdown: filepath.Join(dir, "table.md"), plot: filepath.Join(dir, "plot.svg")}
	if err := c.write(some); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{c.markdown: markdown(some), c.plot: plot(some)} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %v, want what was made", name, err)
		}
	}
	c.plot = filepath.Join(dir, "missing", "plot.svg")
	if err := c.write(some); err == nil {
		t.Error("no error of a file that cannot be written")
	}
}
