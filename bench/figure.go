package main

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
)

// options are those of a run of the program.
type options struct {
	out        io.Writer
	pairs      int
	length     time.Duration
	rates      bool
	long       bool // also the figures that take many minutes each
	lifecycles int  // whole lifecycles after which the growth of the table is judged
	server     *pgtest.Server
}

// figure is one number: ours against theirs, or a count of ours alone.
type figure struct {
	name   string
	says   string
	ours   way
	theirs way // nil: there is nothing to compare with
	counts string
	count  func(tally) float64 // what is counted; nil: operations a second
	target target
	long   bool                                                             // it takes many minutes, and is measured on demand only
	once   func(ctx context.Context, f figure, o options) ([]result, error) // in place of the ways: measured once, with no pairs
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
func (f figure) measure(ctx context.Context, o options) ([]result, error) {
	if f.once != nil {
		return f.once(ctx, f, o)
	}
	ours, err := f.start(ctx, f.ours, o)
	if err != nil {
		return nil, err
	}
	defer ours.close()
	r := result{name: f.name, says: f.says, target: f.target, unit: ratio, each: f.unit()}
	if f.theirs == nil {
		r.unit = f.unit()
		r.values, err = f.alone(ctx, ours, o)
		return []result{r}, err
	}
	theirs, err := f.start(ctx, f.theirs, o)
	if err != nil {
		return nil, err
	}
	defer theirs.close()
	for pair := range o.pairs + 1 {
		order := []*contender{ours, theirs}
		if pair%2 == 1 {
			slices.Reverse(order)
		}
		for _, c := range order {
			if err := c.once(ctx, o.length); err != nil {
				return nil, err
			}
		}
		if pair > 0 {
			x, y := f.value(ours.last), f.value(theirs.last)
			r.ours, r.theirs, r.values = append(r.ours, x), append(r.theirs, y), append(r.values, x/y)
		}
	}
	return []result{r}, nil
}

func (f figure) alone(ctx context.Context, ours *contender, o options) ([]float64, error) {
	var values []float64
	for n := range o.pairs + 1 {
		if err := ours.once(ctx, o.length); err != nil {
			return nil, err
		}
		if n > 0 {
			values = append(values, f.value(ours.last))
		}
	}
	return values, nil
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
