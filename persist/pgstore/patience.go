package pgstore

import (
	"context"
	"fmt"
	"time"
)

// answerGrace is how long an answer may take beyond the server's own bound of its statement.
const answerGrace = time.Second

// patient waits for an answer no longer than within, whatever the caller's patience. A reply that the network lost would
// otherwise be waited for until the process ends, and its holder would neither ask history nor try again (contract B9).
// The server's own bound is shorter, so that by then the statement has ended, or will never begin.
type patient struct {
	runner
	within time.Duration
}

func (p patient) run(ctx context.Context, sql string, args []any, each func(row) error) (bool, error) {
	bounded, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	sent, err := p.runner.run(bounded, sql, args, each)
	if ctx.Err() == nil {
		err = impatient(bounded, p.within, err)
	}
	return sent, err
}

// impatient adds to an error that nobody waited for longer.
func impatient(bounded context.Context, within time.Duration, err error) error {
	if err == nil || bounded.Err() == nil {
		return err
	}
	return fmt.Errorf("no answer within %s: %w", within, err)
}
