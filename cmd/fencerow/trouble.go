package main

import (
	"errors"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
)

// trouble tells of a database that does not answer once when it begins and once when it is over.
type trouble struct {
	app   *app
	doing string
	since time.Time
	tries int
}

// note reports whether err is trouble, and tells what is new.
func (t *trouble) note(err error) bool {
	switch {
	case err != nil && t.tries == 0:
		t.since = time.Now()
		t.app.sayf("fencerow: %s: %s; it is tried again until it works: %v", t.doing, complaint(err), err)
		t.tries = 1
	case err != nil:
		t.tries++
	case t.tries > 0:
		t.app.sayf("fencerow: %s: the database works again, after %s", t.doing, time.Since(t.since).Round(time.Second))
		t.tries = 0
	}
	return err != nil
}

func (t *trouble) pause() time.Duration {
	return min(250*time.Millisecond<<min(t.tries, 6), 5*time.Second)
}

// complaint says what to look at. The words are those of SQLite's SQLITE_FULL and PostgreSQL's 53100.
func complaint(err error) string {
	text := strings.ToLower(err.Error())
	for _, words := range []string{"disk is full", "no space left", "sqlstate 53100", "disk full"} {
		if strings.Contains(text, words) {
			return "the database has no room left; make some"
		}
	}
	var unknown *machine.UnknownError
	if errors.As(err, &unknown) {
		return "the database's answer was lost"
	}
	return "the database does not answer"
}
