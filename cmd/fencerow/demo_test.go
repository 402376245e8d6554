package main

import (
	"strings"
	"testing"
	"time"
)

func TestTheDemoKeepsItsPromisesWithinAMinuteAndExplainsItself(t *testing.T) {
	// Not parallel: it changes the working folder and the environment of its workers.
	c := newCLI(t)
	t.Chdir(c.dir)
	t.Setenv(asProgram, "1")
	began := time.Now()
	r := c.want(exitOK, "demo")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	c.contains(r.stdout, "Worker 1 was killed with SIGKILL", "killed-mid-request", "Held against the remote's own counts",
		"What to type next:", "fencerow review list --db sqlite:fencerow-demo-", "fencerow show killed-mid-request")
	if !matches(`  [1-9]\d* found again: `, r.stdout) || !matches("  [1-9]\\d* uncertain: ", r.stdout) {
		t.Errorf("none was found again, or none is uncertain:\n%s", r.stdout)
	}
	if strings.Contains(r.stderr, "BROKEN") {
		t.Error(r.stderr)
	}
	db := "sqlite:" + strings.TrimSpace(strings.Split(strings.Split(r.stdout, "--db sqlite:")[1], " ")[0])
	c.contains(c.want(exitOK, "review", "list", "--db", db).stdout, "error-500", "redirect-307")
	c.contains(c.want(exitOK, "show", "killed-mid-request", "--db", db).stdout, "submit_lapsed", "investigate_found", "matched by /op = ")
}
