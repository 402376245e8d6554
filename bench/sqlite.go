package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/sqlitestore"
)

// lite is the engine on a SQLite file, whose commits wait for the disk, with a transaction for every event.
type lite struct {
	*engine
	file *sqlitestore.Store
	dir  string
}

func bySQLite(many int, o sqlitestore.Options) way {
	return func(ctx context.Context, _ string) (lane, error) {
		dir, err := os.MkdirTemp("", "fencerow-bench-")
		if err != nil {
			return nil, err
		}
		l := &lite{engine: &engine{apart: true}, dir: dir}
		l.many = many
		if l.file, err = sqlitestore.Open(ctx, filepath.Join(dir, "fencerow.db"), o); err != nil {
			return nil, err
		}
		if _, err := l.file.Migrate(ctx); err != nil {
			return nil, err
		}
		l.verbs, err = machine.New(l.file, machine.Config{Label: "bench"})
		return l, err
	}
}

func (l *lite) close() {
	_ = l.file.Close()
	_ = os.RemoveAll(l.dir)
}
