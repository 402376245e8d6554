package reconcile

import (
	"context"
	"fmt"

	"github.com/fencerow/fencerow/machine"
)

// A contradicted operation and the one that repeats it are marked by two events. What died between them, or could not
// write the second, is made good for here; machine.Begin looks before anything is sent.

// markPage is how many marked operations are read at once, and markPages how many pages Run reads in one interval.
const (
	markPage  = 20
	markPages = 25
)

// mark reads contradicted operations from a place on, at most so many pages (0: all), and marks what repeats them. At the
// end it begins anew.
func (r *Reconciler) mark(ctx context.Context, at *machine.ReviewCursor, pages int) error {
	if r.machine.Store().Program().Rule("redo") == nil {
		return nil // another table
	}
	for n := 0; (pages == 0 || n < pages) && ctx.Err() == nil; n++ {
		next, noted, err := r.machine.MarkRepeated(ctx, *at, markPage)
		if noted > 0 {
			r.options.Log.Warn("marked what repeats operations that have a remote job after all", "operations", noted)
		}
		if *at = next; err != nil {
			return fmt.Errorf("mark what repeats contradicted operations: %w", err)
		}
		if next == (machine.ReviewCursor{}) {
			break
		}
	}
	return nil
}
