package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// surely fires a lease holder's event until it is known whether it landed, or ctx ends: an unknown answer is asked
// of history, and the same event is fired again under the same fence, which is harmless where the first one landed
// late. A denial that follows an unknown answer may be one's own earlier success, so history is asked before it is
// reported (contract A8, B9). Where ctx ends first, the error is the last one, and an *UnknownError if any was; the lease
// remembers that, so that the same verb, called again, does not take its own earlier success for a denial.
func (m *Machine) surely(ctx context.Context, l *Lease, event string, params transitions.Params) (op Operation, err error) {
	id, revision := l.Operation.OperationID, l.Revision
	landing := event
	if r := m.store.Program().Rule(event); r != nil && r.First != nil {
		landing = r.First.Event // of two joined events the second never lands alone
	}
	unknown := l.doubted(event)
	tried := false
	defer func() {
		if tried && err == nil {
			m.told(event, id, nil)
		}
		l.doubt(event, err)
	}()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		op, err = m.Fire(ctx, event, params)
		if IsUnknown(err) {
			unknown = err
		}
		if err == nil || (!IsUnknown(err) && !notRun(err) && unknown == nil) {
			return op, err
		}
		if unknown != nil {
			landed, askErr := m.Landed(ctx, id, landing, revision)
			_, denied := IsDenied(err)
			switch {
			case askErr == nil && landed:
				if op, err = m.Get(ctx, id); err == nil {
					return op, nil
				}
				// It is stored; only the look at the row failed, and is made again.
			case askErr == nil && denied:
				return op, err // it ran, it was refused, and nothing of this revision is in history
			}
		}
		tried = true
		m.told(event, id, err)
		select {
		case <-ctx.Done():
			if unknown != nil {
				return Operation{}, unknown
			}
			return Operation{}, fmt.Errorf("%s on operation %q: gave up after %w", event, id, err)
		case <-time.After(wait):
		}
	}
}
