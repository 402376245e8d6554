package mutants

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/fencerow/fencerow/internal/pgtest"
)

// request is what the driver asks of a worker. One of its fields is set.
type request struct {
	Try   *Mutant
	Cover string // the dialect whose Cover is wanted
	Learn map[string]Cover
}

// reply is what the worker answers.
type reply struct {
	Verdict *Verdict
	Cover   *Cover
	Error   string
}

// Worker is the main program of a worker: it reads requests from its standard input and answers on file 3, one line of
// JSON each, until the input ends. It does not return. Only a build with the overlay can judge mutants of SQL. It judges
// those of one table, and is started in the project's root.
func Worker(table string, checker Checker) {
	serve := func(t *testing.T) {
		folder, clean, err := scratch()
		if err != nil {
			t.Fatal(err)
		}
		defer clean()
		j, err := newJudge(table, ".", folder, checker)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		open := func(dialect string) (bench, error) {
			if dialect == SQLite {
				return openSQLite(ctx, folder, j.of.program)
			}
			return openPostgres(ctx, pgtest.URL(t), j.of.program)
		}
		defer func() {
			for _, b := range j.benches {
				b.close()
			}
		}()
		if err := j.serve(ctx, os.Stdin, os.NewFile(3, "replies"), open); err != nil {
			t.Fatal(err)
		}
	}
	testing.Main(matches, []testing.InternalTest{{Name: "worker", F: serve}}, nil, nil)
}

// serve answers requests until there are none. A dialect's bench is opened when it is first needed.
func (j *judge) serve(ctx context.Context, in io.Reader, out io.Writer, open func(dialect string) (bench, error)) error {
	ready := func(dialect string) error {
		if dialect == Table || j.benches[dialect] != nil {
			return nil
		}
		b, err := open(dialect)
		if err != nil {
			return fmt.Errorf("open a store on %s: %w", dialect, err)
		}
		j.benches[dialect] = b
		return nil
	}
	answer := func(r request) (reply, error) {
		switch {
		case r.Learn != nil:
			j.cover = r.Learn
			return reply{}, nil
		case r.Cover != "":
			if err := ready(r.Cover); err != nil {
				return reply{}, err
			}
			c, err := j.covered(ctx, r.Cover)
			return reply{Cover: &c}, err
		case r.Try != nil:
			if err := ready(r.Try.Of); err != nil {
				return reply{}, err
			}
			v := j.try(ctx, *r.Try)
			return reply{Verdict: &v}, nil
		}
		return reply{}, errors.New("a request that asks for nothing")
	}
	lines, replies := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var r request
		if err := lines.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		a, err := answer(r)
		if err != nil {
			a.Error = err.Error()
		}
		if err := replies.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}
