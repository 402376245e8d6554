package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// seldom passes a warning on once a minute: several loops meet the same outage, and each would tell of it. Errors are
// always passed on.
type seldom struct {
	slog.Handler
	told *told
}

type told struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func newSeldom(log *slog.Logger) *slog.Logger {
	return slog.New(seldom{log.Handler(), &told{last: map[string]time.Time{}}})
}

// Handle passes a record on, or not.
func (s seldom) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError || s.told.first(r.Message, r.Time) {
		return s.Handler.Handle(ctx, r)
	}
	return nil
}

func (t *told) first(message string, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[message]; ok && at.Sub(last) < time.Minute {
		return false
	}
	t.last[message] = at
	return true
}

// WithAttrs is part of slog.Handler.
func (s seldom) WithAttrs(attrs []slog.Attr) slog.Handler {
	return seldom{s.Handler.WithAttrs(attrs), s.told}
}

// WithGroup is part of slog.Handler.
func (s seldom) WithGroup(name string) slog.Handler { return seldom{s.Handler.WithGroup(name), s.told} }
