package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow/machine"
)

func TestTroubleWithTheDatabaseIsCalledByItsName(t *testing.T) {
	t.Parallel()
	lost := &machine.UnknownError{Event: "prepare", Cause: errors.New("EOF")}
	for want, errs := range map[string][]error{
		"the database has no room left; make some": {
			errors.New("commit: database or disk is full (13)"), errors.New("ERROR: could not extend file (SQLSTATE 53100)"),
			errors.New("write: no space left on device"),
		},
		"the database's answer was lost": {lost, fmt.Errorf("preparing: %w", lost)},
		"the database does not answer":   {errors.New("connection refused")},
	} {
		for _, err := range errs {
			if diff := cmp.Diff(want, complaint(err)); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
		}
	}
}

func TestOnlyADatabaseThatMayComeBackIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want bool
		err  error
	}{
		{true, &net.OpError{Op: "dial", Err: errors.New("connection refused")}},
		{true, &pgconn.PgError{Code: "57P03"}}, // starting up
		{true, &pgconn.PgError{Code: "53300"}}, // no connection free
		{false, &fs.PathError{Op: "open", Path: "/none/x.db", Err: syscall.ENOENT}},
		{false, &pgconn.PgError{Code: "28P01"}}, // wrong password
		{false, &pgconn.PgError{Code: "3D000"}}, // no such database
		{false, errors.New("the schema's name is too long")},
	} {
		if got := mayPass(fmt.Errorf("open: %w", c.err)); got != c.want {
			t.Errorf("%v: want %t, got %t", c.err, c.want, got)
		}
	}
}
