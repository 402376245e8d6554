package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// ratio is the unit of ours divided by theirs.
const ratio = "ratio"

// result is what was measured of a figure.
type result struct {
	name, says   string
	target       target
	unit         string
	values       []float64 // one a pair
	each         string    // the unit of ours and theirs
	ours, theirs []float64 // of which the values are the ratios
}

// print tells the result in a line, and on demand in two more what each way came to by itself.
func (r result) print(out io.Writer, rates bool) {
	fmt.Fprintln(out, r.line())
	if rates && r.theirs != nil {
		fmt.Fprintln(out, line("  ours", r.each, r.ours))
		fmt.Fprintln(out, line("  theirs", r.each, r.theirs))
	}
}

func (r result) line() string {
	told := line(r.name, r.unit, r.values)
	if judged := r.judge(); judged != "" {
		told += ", target " + judged
	}
	return told
}

func (r result) judge() string {
	_, median, _ := spread(r.values)
	return r.target.judge(median)
}

// markdown is the table of documentation, a row a result.
func markdown(results []result) string {
	var b strings.Builder
	b.WriteString("| figure | what it compares | median | least–greatest | unit | target |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		least, median, greatest := spread(r.values)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s–%s | %s | %s |\n", r.name, r.says, short(median), short(least), short(greatest), r.unit, r.judge())
	}
	return b.String()
}

// line is how a figure is told.
func line(name, unit string, values []float64) string {
	least, middle, greatest := spread(values)
	return fmt.Sprintf("%s %s %s (%s–%s)", name, unit, short(middle), short(least), short(greatest))
}

// spread gives the least, the median and the greatest; of an even number the mean of the two in the middle.
func spread(values []float64) (least, middle, greatest float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	middle = (sorted[(n-1)/2] + sorted[n/2]) / 2
	return sorted[0], middle, sorted[n-1]
}

// short writes three figures, or all that stand before the point.
func short(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
