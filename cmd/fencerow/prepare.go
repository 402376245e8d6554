package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/internal/input"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
)

// A statement prepares or reads so many operations at most, and so many bytes of requests.
const (
	chunkItems = 500
	chunkBytes = 8 << 20
)

func (a *app) prepareVerb() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:     "prepare INPUT.jsonl",
		Short:   "Store every line of a file as an operation, and send nothing",
		Example: `  fencerow prepare requests.jsonl --provider video.yaml --db postgres://db.example.com/jobs`,
		Args:    exactly("INPUT.jsonl"),
		RunE:    func(c *cobra.Command, args []string) error { return a.prepare(c.Context(), args[0], file) },
	}
	providerFlag(c, &file)
	return c
}

func (a *app) prepare(ctx context.Context, path, file string) error {
	spec, err := a.provider(file)
	if err != nil {
		return err
	}
	in, err := a.input(path, spec)
	if err != nil {
		return err
	}
	defer in.Close()
	s, err := a.open(ctx, creating)
	if err != nil {
		return err
	}
	defer s.close()
	b := &batch{app: a, machine: s.machine, spec: spec, in: in}
	if err := b.known(ctx); err != nil {
		return err
	}
	b.warn()
	if err := b.prepare(ctx, func(int) {}); err != nil {
		return err
	}
	if a.json {
		_, err := fmt.Fprintf(a.stdout, "{\"prepared\":%d,\"known\":%d}\n", b.created, len(in.Items)-b.created)
		return err
	}
	fmt.Fprintf(a.stdout, "%s\n", b.summary())
	return nil
}

// input opens and checks the file of requests. A bad line is a wrong input file: nothing was changed.
func (a *app) input(path string, spec *httpjob.Spec) (*input.File, error) {
	in, err := input.Open(path, a.stdin, spec.Kind)
	var bad *input.BadError
	if errors.As(err, &bad) {
		return nil, usagef("%w\nnothing was prepared; correct the file and run it again", err)
	}
	if err != nil {
		return nil, usage(err)
	}
	if len(in.Items) == 0 {
		return nil, errors.Join(usagef(`%s has no request in it; nothing was prepared and no database was made. A line is {"id": "…", "request": …}`, in.Name), in.Close())
	}
	return in, nil
}

// batch is the operations of one input.
type batch struct {
	app     *app
	machine *machine.Machine
	spec    *httpjob.Spec
	in      *input.File

	stored  map[string]stored // what the database knows, by id
	created int               // prepared by this run
}

func (b *batch) summary() string {
	return fmt.Sprintf("%d prepared, %d known already", b.created, len(b.in.Items)-b.created)
}

// chunks cuts items into what one statement takes.
func chunks(items []input.Item) [][]input.Item {
	var all [][]input.Item
	start, size := 0, 0
	for i, item := range items {
		if i > start && (i-start >= chunkItems || size+item.Size > chunkBytes) {
			all = append(all, items[start:i])
			start, size = i, 0
		}
		size += item.Size
	}
	if start < len(items) {
		all = append(all, items[start:])
	}
	return all
}

func ids(items []input.Item) []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.ID
	}
	return names
}

// known compares the input with what is stored, before anything is prepared. An id that was prepared with another
// request is an error: its first request may have been sent.
func (b *batch) known(ctx context.Context) error {
	b.stored = map[string]stored{}
	conflicts := conflicts{app: b.app, file: b.in.Name}
	for _, chunk := range chunks(b.in.Items) {
		rows, err := b.machine.Store().Get(ctx, ids(chunk)...)
		if err != nil {
			return fmt.Errorf("comparing %s with what is stored: %w", b.in.Name, err)
		}
		existing := map[string]machine.Operation{}
		for _, row := range rows {
			op := machine.OperationOf(b.machine.Store().Program(), row)
			existing[op.OperationID] = op
		}
		for _, item := range chunk {
			op, ok := existing[item.ID]
			if !ok {
				continue
			}
			request, err := b.in.Request(item)
			if err != nil {
				return err
			}
			b.stored[item.ID] = storedOf(op)
			conflicts.add(item.Line, requestOf(b.spec, item.ID, request), op)
		}
	}
	return conflicts.err()
}

// prepare stores what is not stored yet. A database that goes away is tried again until ctx ends: preparing again is
// always safe. Step is told how many were prepared so far.
func (b *batch) prepare(ctx context.Context, step func(done int)) error {
	done := 0
	trouble := &trouble{app: b.app, doing: "preparing"}
	for _, chunk := range chunks(b.in.Items) {
		requests := make([]machine.Request, 0, len(chunk))
		for _, item := range chunk {
			if _, known := b.stored[item.ID]; known {
				continue
			}
			request, err := b.in.Request(item)
			if err != nil {
				return err
			}
			r := requestOf(b.spec, item.ID, request)
			r.Priority, r.NotBefore = item.Priority, item.NotBefore
			requests = append(requests, r)
		}
		for len(requests) > 0 {
			all, err := b.machine.PrepareMany(ctx, requests)
			var invalid *machine.InvalidError
			if errors.As(err, &invalid) || ctx.Err() != nil {
				return fmt.Errorf("preparing %s: %w", b.in.Name, errors.Join(err, ctx.Err()))
			}
			if trouble.note(err) {
				wait(ctx, trouble.pause())
				continue
			}
			for _, p := range all {
				if p.Err != nil {
					return fmt.Errorf("preparing %s: another program prepared it in the meantime: %w", b.in.Name, p.Err)
				}
				if p.Created {
					b.created++
				}
			}
			break
		}
		if done += len(requests); len(requests) > 0 {
			step(done)
		}
	}
	return nil
}

// wait returns after d, or sooner when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
