package main

import (
	"context"
	"fmt"

	"github.com/fencerow/fencerow/transitions"
)

// inBatches is the loop that sends one statement an event for so many operations, with so many such loops at once.
func inBatches(loops, batch int) way {
	return func(ctx context.Context, url string) (lane, error) { return newByHand(ctx, url, loops, batch) }
}

// bringMany brings a batch through in step.
func (h *byHand) bringMany(ctx context.Context, who int) (int, error) {
	batch := make([]hand, h.batch)
	for i := range batch {
		batch[i] = hand{id: fmt.Sprintf("op-%d", h.number.Add(1)), owner: fmt.Sprintf("bench/%d", who)}
	}
	for i := range h.steps {
		if err := h.stepMany(ctx, &h.steps[i], batch); err != nil {
			return 0, fmt.Errorf("%s by hand of %d: %w", h.steps[i].Event, len(batch), err)
		}
	}
	return len(batch), nil
}

func (h *byHand) stepMany(ctx context.Context, s *step, batch []hand) error {
	given := make([]any, len(s.args))
	for i, arg := range s.args {
		given[i] = column(s.kind(i), arg, batch)
	}
	rows, err := h.pool.Query(ctx, s.SQL, given...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var ordinal int
	var applied bool
	var revision int64
	into := make([]any, s.columns)
	into[0], into[1], into[s.revision] = &ordinal, &applied, &revision
	moved := 0
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		batch[ordinal-1].revision = revision
		if applied {
			moved++
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if moved != len(batch) {
		return fmt.Errorf("%d were applied", moved)
	}
	return nil
}

func (s *step) kind(param int) transitions.Kind {
	for _, d := range s.Rule.Params {
		if d.Name == s.Params[param] {
			return d.Kind
		}
	}
	return transitions.NoKind
}

// column is one parameter of a whole batch; nil where all are null, which the statement takes for as many nulls.
func column(kind transitions.Kind, arg func(*hand) any, batch []hand) any {
	if arg(&batch[0]) == nil {
		return nil
	}
	switch kind {
	case transitions.Text:
		return list[string](arg, batch)
	case transitions.Int:
		return list[int64](arg, batch)
	case transitions.Bool:
		return list[bool](arg, batch)
	default:
		return list[[]byte](arg, batch)
	}
}

func list[T any](arg func(*hand) any, batch []hand) []T {
	out := make([]T, len(batch))
	for i := range batch {
		out[i], _ = arg(&batch[i]).(T)
	}
	return out
}
