package main

import (
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/provider/sandbox"
)

func TestARunOutlivesADatabaseThatGoesAwayAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{SlowFor: 500 * time.Millisecond})
	server := pgtest.NewServer(t, pgtest.Fast)
	c.db = server.URL()
	in := c.file("in.jsonl", request("a", sandbox.Slow)+request("b", sandbox.Slow)+request("c", "none"))
	ended := make(chan result, 1)
	go func() { ended <- c.run(c.runFile(in, "--workers", "1")...) }()
	c.until(func() bool { return c.received() > 0 })
	server.Stop(pgtest.StopImmediate)
	time.Sleep(time.Second) // sleep: the answer of the first request must come while the database is away
	server.Start()
	r := <-ended
	if r.code != exitOK {
		t.Fatalf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if n := strings.Count(r.stderr, "reading how far the operations are: the database"); n != 2 {
		t.Errorf("want it to be said once that the database is away and once that it is back:\n%s", r.stderr)
	}
	if n := c.received(); n != 3 {
		t.Errorf("the remote received %d requests", n)
	}
}
