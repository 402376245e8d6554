package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

func (a *app) workVerb() *cobra.Command {
	var f workFlags
	var leashed bool
	c := &cobra.Command{
		Use:   "work",
		Short: "Work on operations that others prepare, until interrupted",
		Long: `Work sends, observes and delivers operations of one provider and account, looks for the remote jobs of uncertain ones
if the provider file says how, and settles what others left behind.
Many of these, on many machines, may share one PostgreSQL database.`,
		Example: `  fencerow work --provider video.yaml --db postgres://db.example.com/jobs --out /srv/results`,
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			if leashed {
				ctx = leash(ctx, a.stdin)
			}
			return a.work(ctx, &f)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&leashed, "leashed", false, "drain when standard input ends")
	_ = c.Flags().MarkHidden("leashed") // for demo, whose workers must not outlive it
	return c
}

func (a *app) work(ctx context.Context, f *workFlags) error {
	spec, err := a.provider(f.provider)
	if err != nil {
		return err
	}
	if err := f.check(spec); err != nil {
		return err
	}
	log, err := a.log(slog.LevelInfo)
	if err != nil {
		return err
	}
	s, err := a.open(ctx, creating, f.machine())
	if err != nil {
		return err
	}
	defer s.close()
	e, err := a.start(ctx, f, s.machine, spec, log)
	if err != nil {
		return err
	}
	a.sayf("fencerow: working on operations of %s", providerWords(spec))
	<-ctx.Done()
	a.stopping()
	if err := e.stop(); err != nil {
		return err
	}
	return errInterrupted
}

func (a *app) stopping() {
	a.sayf("fencerow: stopping: what is in flight is finished first; the same signal again, later than half a second, ends it at once")
}

// leash gives a context that ends when r does.
func leash(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, r)
		cancel()
	}()
	return ctx
}
