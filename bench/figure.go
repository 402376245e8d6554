package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
)

// options are those of a run of the program.
type options struct {
	out    io.Writer
	pairs  int
	length time.Duration
	rates  bool
	server *pgtest.Server
}

// figure is one number: ours against theirs, or a count of ours alone.
type figure struct {
	name   string
	says   string
	ours   way
	theirs way // nil: there is nothing to compare with
	counts string
	count  func(tally) float64 // what is counted; nil: operations a second
}

// way is a way to bring operations through the lifecycle. It opens on a database of its own.
type way func(ctx context.Context, url string) (lane, error)

// lane is a way on its database.
type lane interface {
	// work brings operations through for about so long, and one at least.
	work(ctx context.Context, length time.Duration) (tally, error)
	close()
}

// tally is what one run came to.
type tally struct {
	operations int
	took       time.Duration
	statements int64
	walBytes   int64
	each       time.Duration // the median of what is timed one by one
}

func (t tally) rate() float64 { return float64(t.operations) / t.took.Seconds() }

func (t tally) statementsEach() float64 { return float64(t.statements) / float64(t.operations) }

func (t tally) millisEach() float64 { return float64(t.each.Microseconds()) / 1000 }

func (t tally) walEach() float64 { return float64(t.walBytes) / float64(t.operations) }

// measure runs the two ways in turn, first one then the other within a pair and the other way round in the next, after
// one run of each that does not count.
func (f figure) measure(ctx context.Context, o options) error {
	ours, err := f.start(ctx, f.ours, o)
	if err != nil {
		return err
	}
	defer ours.close()
	if f.theirs == nil {
		return f.alone(ctx, ours, o)
	}
	theirs, err := f.start(ctx, f.theirs, o)
	if err != nil {
		return err
	}
	defer theirs.close()
	var a, b, ratios []float64
	for pair := range o.pairs + 1 {
		order := []*contender{ours, theirs}
		if pair%2 == 1 {
			slices.Reverse(order)
		}
		for _, c := range order {
			if err := c.once(ctx, o.length); err != nil {
				return err
			}
		}
		if pair > 0 {
			x, y := f.value(ours.last), f.value(theirs.last)
			a, b, ratios = append(a, x), append(b, y), append(ratios, x/y)
		}
	}
	fmt.Fprintln(o.out, line(f.name, "ratio", ratios))
	if o.rates {
		fmt.Fprintln(o.out, line("  ours", f.unit(), a))
		fmt.Fprintln(o.out, line("  theirs", f.unit(), b))
	}
	return nil
}

func (f figure) alone(ctx context.Context, ours *contender, o options) error {
	var a []float64
	for n := range o.pairs + 1 {
		if err := ours.once(ctx, o.length); err != nil {
			return err
		}
		if n > 0 {
			a = append(a, f.value(ours.last))
		}
	}
	fmt.Fprintln(o.out, line(f.name, f.unit(), a))
	return nil
}

func (f figure) value(t tally) float64 {
	if f.count == nil {
		return t.rate()
	}
	return f.count(t)
}

func (f figure) unit() string {
	if f.counts == "" {
		return "operations/s"
	}
	return f.counts
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
