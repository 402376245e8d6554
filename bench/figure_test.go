package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestAFigureIsTheMedianAndTheEndsOfItsPairs(t *testing.T) {
	for want, values := range map[string][]float64{
		"x ratio 2.00 (1.00–3.00)": {3, 1, 2},
		"x ratio 1.50 (1.00–2.00)": {2, 1},
		"x ratio 15.0 (9.50–1234)": {1234, 9.5, 15},
	} {
		if got := line("x", "ratio", values); got != want {
			t.Errorf("%v: got %q, want %q", values, got, want)
		}
	}
}

func TestFiguresHaveNamesOfTheirOwnAndSayWhatTheyCompare(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range figures {
		if f.says == "" || seen[f.name] || strings.ContainsAny(f.name, " \t") {
			t.Errorf("figure %q: want one word, used once, and what it says", f.name)
		}
		seen[f.name] = true
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-list"}, &out); err != nil || strings.Count(out.String(), "\n") != len(figures) {
		t.Errorf("-list: %v\n%s", err, &out)
	}
	for _, bad := range [][]string{{"-only", "("}, {"-only", "nothing"}, {"-pairs", "0"}, {"-lifecycles", "0"}, {"more"}, {"-only", "growth", "-lifecycles", "1"}} {
		if err := run(t.Context(), bad, &out); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestWhatTakesManyMinutesIsChosenOnlyOnDemand(t *testing.T) {
	for _, long := range []bool{false, true} {
		chosen, err := command{options: options{long: long}}.choose()
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(chosen, func(f figure) bool { return f.long }); got != long {
			t.Errorf("-long=%t: such a figure is chosen: %t", long, got)
		}
	}
}

// Every way brings operations through to their end, and counts what it sent.
func TestEveryWayBringsOperationsThrough(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-pairs", "1", "-length", "50ms"}, &out); err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, f := range figures {
		if !f.long {
			want++
		}
	}
	if got := strings.Count(out.String(), "\n"); got != want {
		t.Errorf("%d lines for %d figures:\n%s", got, want, &out)
	}
	if !strings.Contains(out.String(), "statements_an_operation statements 5.00 (5.00–5.00), target at most 8, met\n") {
		t.Errorf("want 5 statements an operation (prepare, three joined pairs of events, and delivered):\n%s", &out)
	}
}

func TestGrowthIsThatOfTheTableAndThatWithItsIndexes(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-long", "-only", "growth", "-lifecycles", "300", "-rates"}, &out); err != nil {
		t.Fatal(err)
	}
	var starts []string
	for line := range strings.Lines(out.String()) {
		starts = append(starts, strings.Join(strings.Fields(line)[:2], " "))
	}
	want := []string{
		"growth_million_lifecycles ratio", "ours bytes", "theirs bytes",
		"growth_million_lifecycles_table ratio", "ours bytes", "theirs bytes",
	}
	if !slices.Equal(starts, want) {
		t.Errorf("got lines that begin %q, want %q", starts, want)
	}
}
