package worker

import (
	"context"
	"errors"
)

// Worker runs the dispatcher, the observer and the deliverer of one process.
type Worker struct{ cfg Config }

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Worker{cfg: cfg}, nil
}

// Run works until ctx ends, then drains: it claims nothing more, gives a request in flight the drain budget, writes
// what is still open as uncertain with reason shutdown, and returns.
func (w *Worker) Run(ctx context.Context) error {
	return errors.New("under construction")
}
