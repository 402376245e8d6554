package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/sandbox"
)

const (
	fails = "an attempt failed; it is made again"
	well  = "attempts go well again"
)

// told counts the lines about failures and the lines about their end.
func told(stderr string) [2]int {
	return [2]int{strings.Count(stderr, fails), strings.Count(stderr, well)}
}

func TestARunSaysOnceThatTheRemoteCannotBeReached(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	c.spec = c.file("provider.yaml", strings.ReplaceAll(c.read("provider.yaml"), c.server.URL, "http://"+closed.Addr().String()))
	r := c.want(exitUnfinished, c.runFile(c.file("in.jsonl", request("a", "none")+request("b", "none")), "--give-up", "2s")...)
	if diff := cmp.Diff([2]int{1, 0}, told(r.stderr)); diff != "" {
		t.Errorf("lines (-want +got):\n%s%s", diff, r.stderr)
	}
	c.contains(r.stderr, `"trying to"=dispatch`, "connection refused")
}

func TestARunSaysOnceThatLooksFailAndOnceThatTheyDoNotAnyMore(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	var looks atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && looks.Add(1) <= 6 {
			http.Error(w, "the status is away", http.StatusServiceUnavailable)
			return
		}
		c.remote.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	c.spec = c.file("provider.yaml", strings.ReplaceAll(c.read("provider.yaml"), c.server.URL, front.URL))
	r := c.want(exitOK, c.runFile(c.file("in.jsonl", request("a", "none")+request("b", "none")))...)
	if diff := cmp.Diff([2]int{1, 1}, told(r.stderr)); diff != "" {
		t.Errorf("lines (-want +got):\n%s%s", diff, r.stderr)
	}
	c.contains(r.stderr, `"trying to"=observe`, "503")
}
