package reports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/transitions"
)

// shop is a real HTTP server that counts each request by operation before it acts on it.
type shop struct {
	*httptest.Server
	sell func(w http.ResponseWriter, r *http.Request, id string) // a POST; nil: accepted
	tell func(w http.ResponseWriter, r *http.Request)            // a GET; nil: the job has succeeded
	idle time.Duration                                           // after which it closes what is not used; 0: never

	mu    sync.Mutex
	posts map[string]int
	gets  []string // the paths
}

// newShop opens s, once it is clear how it sells and tells.
func newShop(t testing.TB, s *shop) *shop {
	s.posts = map[string]int{}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.IdleTimeout = s.idle
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var order struct{ Op string }
	body, err := io.ReadAll(r.Body)
	if r.Method == http.MethodPost && (err != nil || json.Unmarshal(body, &order) != nil || order.Op == "") {
		order.Op = fmt.Sprintf("what nobody asked for: %q", body)
	}
	s.mu.Lock()
	if r.Method == http.MethodPost {
		s.posts[order.Op]++
	} else {
		s.gets = append(s.gets, r.URL.Path)
	}
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && s.sell != nil:
		s.sell(w, r, order.Op)
	case r.Method == http.MethodPost:
		accept(w, order.Op)
	case s.tell != nil:
		s.tell(w, r)
	default:
		_, _ = io.WriteString(w, `{"status":"succeeded"}`)
	}
}

// accept is the answer that a job was created.
func accept(w http.ResponseWriter, id string) { _, _ = fmt.Fprintf(w, `{"id":"job-%s"}`, id) }

// cutOff ends the connection without a word.
func cutOff(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }

// sold tells how often an operation's request arrived.
func (s *shop) sold(id string) int { s.mu.Lock(); defer s.mu.Unlock(); return s.posts[id] }

// told gives the paths that were read.
func (s *shop) told() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.gets) }

// soldOnce fails the test unless each of these arrived exactly once and nothing else arrived.
func (s *shop) soldOnce(t testing.TB, ids ...string) {
	t.Helper()
	want := map[string]int{}
	for _, id := range ids {
		want[id] = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.posts); diff != "" {
		t.Errorf("requests that arrived (-want +got):\n%s", diff)
	}
}

// order is a request that the shop knows by its id, with nothing to deliver.
func order(id string) machine.Request {
	return machine.Request{OperationID: id, Kind: "video", Request: fmt.Appendf(nil, `{"op":%q}`, id)}
}

func orders(n int) (ids []string, all []machine.Request) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("op-%03d", i))
		all = append(all, order(ids[i]))
	}
	return ids, all
}

// fromFile is the handler of a provider file for an address, with changes of the text.
func fromFile(t testing.TB, base string, changes ...string) *httpjob.Handler {
	t.Helper()
	text := strings.NewReplacer(changes...).Replace(`kind: video
submit: {url: "` + base + `/jobs", id: /id, timeout: 30s}
observe: {url: "` + base + `/jobs/{remote_job_id}", status: /status, pending: [running], succeeded: [succeeded]}
`)
	spec, err := httpjob.Parse("shop.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpjob.New(spec, httpjob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// await waits until each of these is in a phase.
func (s *stand) await(phase string, ids ...string) {
	s.Helper()
	await(s, fmt.Sprintf("%d operations are %s", len(ids), phase), func() bool {
		there, err := s.machine.List(context.Background(), machine.Query{Phase: phase, Limit: 1000})
		if err != nil {
			s.Fatal(err)
		}
		missing := len(ids)
		for _, op := range there {
			if slices.Contains(ids, op.OperationID) {
				missing--
			}
		}
		return missing == 0
	})
}

// last is the last entry of an operation's history.
func (s *stand) last(id string) machine.HistoryEntry {
	s.Helper()
	all := s.history(id)
	return all[len(all)-1]
}

// ends checks where operations have come to, and that their histories say so.
func (s *stand) ends(phase, reason string, ids ...string) {
	s.Helper()
	for _, id := range ids {
		s.is(phase, reason, id)
	}
	s.sound(ids...)
}

// is checks where an operation is, one that was changed by hand perhaps.
func (s *stand) is(phase, reason, id string) {
	s.Helper()
	op := s.op(id)
	if diff := cmp.Diff([]string{phase, reason}, []string{op.Phase, op.UncertainReason}); diff != "" {
		s.Errorf("phase and reason of %s (-want +got):\n%s", id, diff)
	}
}

// B18: a remote that closes a connection as soon as it has answered, without having said so, or keeps it, gets every
// request once, and each over a connection of its own: there is no stale one on which the client would have to find out
// whether it may send again (rule: a submission's connection is never used again).
func TestB18EverySubmissionHasAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		var connections sync.Map
		var requests atomic.Int64
		remote := newShop(t, &shop{sell: func(w http.ResponseWriter, r *http.Request, id string) {
			if _, again := connections.LoadOrStore(r.RemoteAddr, id); again {
				t.Errorf("%s came over a connection that was used before", id)
			}
			if requests.Add(1)%2 == 0 {
				accept(w, id)
				return
			}
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			body := fmt.Sprintf(`{"id":"job-%s"}`, id)
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: keep-alive\r\n\r\n%s", len(body), body)
			_ = c.Close()
		}})
		ids, all := orders(20)
		s.prepare(all...)
		w := s.working(s.machine, fromFile(t, remote.URL))
		w.config.Slots = 1
		stop := w.start()
		s.await(transitions.Terminal, ids...)
		stop()
		s.ends(transitions.Terminal, "", ids...)
		remote.soldOnce(t, ids...)
	})
}

// B19: an Idempotency-Key is leave for Go's client to send again on a connection that it has used before. With the
// header forced into the handler, and a remote that keeps connections, reads the request and cuts, one request arrives
// and the operation is uncertain (rules: a connection of its own, no second body, the header is left out). That the
// provider file's reader refuses the header is provider/httpjob's TestAFaultOfTheFileIsNamedWithItsLine, and that Go's
// client does send again here is worker/workertest's B19.
func TestB19AHeaderThatInvitesASecondRequestGetsNone(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		remote := newShop(t, &shop{sell: func(w http.ResponseWriter, r *http.Request, id string) {
			if r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != "" {
				t.Errorf("%s came with the header", id)
			}
			if strings.HasPrefix(id, "warm") {
				accept(w, id)
				return
			}
			cutOff(w, r, id)
		}})
		h := fromFile(t, remote.URL)
		h.Spec().Submit.Headers = http.Header{"Idempotency-Key": {"k"}, "X-Idempotency-Key": {"k"}}
		w := s.working(s.machine, h)
		stop := w.start()
		for i := range 3 {
			warm, cold := fmt.Sprint("warm-", i), fmt.Sprint("cold-", i)
			s.prepare(order(warm))
			s.await(transitions.Terminal, warm)
			s.prepare(order(cold))
			s.await(transitions.Uncertain, cold)
		}
		stop()
		s.ends(transitions.Uncertain, "no_response", "cold-0", "cold-1", "cold-2")
		remote.soldOnce(t, "warm-0", "cold-0", "warm-1", "cold-1", "warm-2", "cold-2")
	})
}

// B21: a redirect of a submission is not followed: not by a second POST (307, 308), nor by a GET whose page would be
// taken for the answer (302). The operation goes to a reviewer, who is told where it pointed (rule: 3xx is unclear).
func TestB21ARedirectIsNeitherSentAgainNorTakenForSuccess(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		codes := map[string]int{"moved": 301, "page": 302, "other": 303, "again": 307, "forever": 308}
		remote := newShop(t, &shop{
			sell: func(w http.ResponseWriter, r *http.Request, id string) {
				http.Redirect(w, r, "/elsewhere/"+id, codes[id])
			},
			tell: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"id":"of-the-page","status":"succeeded"}`)
			},
		})
		ids := []string{"moved", "page", "other", "again", "forever"}
		for _, id := range ids {
			s.prepare(order(id))
		}
		w := s.working(s.machine, fromFile(t, remote.URL))
		w.config.Brake = -1
		stop := w.start()
		s.await(transitions.Uncertain, ids...)
		stop()
		s.ends(transitions.Uncertain, "unclear_answer", ids...)
		remote.soldOnce(t, ids...)
		if diff := cmp.Diff(0, len(remote.told())); diff != "" {
			t.Errorf("pages that were read (-want +got):\n%s", diff)
		}
		for _, id := range ids {
			if detail := s.last(id).Detail; !strings.Contains(detail, "/elsewhere/"+id) {
				t.Errorf("the reviewer of %s is told %q, which does not say where it pointed", id, detail)
			}
		}
	})
}

// B22: 500 submissions at a remote that drops idle connections after a moment all go well, since none is kept; at one
// that drops each connection once it has read the request, each is uncertain. In neither a request arrives twice
// (rules: a connection of its own; an end without an answer is unknown).
func TestB22ARemoteThatDropsConnectionsGetsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, phase, reason string
		sell                func(http.ResponseWriter, *http.Request, string)
	}{
		{"idle ones, before it reads", transitions.Terminal, "", nil},
		{"each, after it has read", transitions.Uncertain, "no_response", cutOff},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, remote := inMemory(t), newShop(t, &shop{sell: c.sell, idle: time.Millisecond})
			ids, all := orders(500)
			s.prepare(all...)
			w := s.working(s.machine, fromFile(t, remote.URL))
			w.config.Brake = -1
			stop := w.start()
			s.await(c.phase, ids...)
			stop()
			s.ends(c.phase, c.reason, ids...)
			remote.soldOnce(t, ids...)
		})
	}
}

// B25: what failed before a byte left is proven not sent and may be sent later, with the attempt on record; a timeout
// while the answer is awaited proves nothing (rule: only what was never handed to the connection was not sent).
func TestB25OnlyAConnectionThatNeverWasProvesThatNothingWasSent(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = closed.Close()
		for name, base := range map[string]string{
			"a name that does not exist":     "http://no-such-host.invalid",
			"a port on which nobody listens": "http://" + closed.Addr().String(),
		} {
			s.prepare(order(name))
			stop := s.working(s.machine, fromFile(t, base)).start()
			await(t, "it was tried", func() bool { return s.last(name).Event == "submit_not_created" })
			stop()
			tried := s.last(name)
			if diff := cmp.Diff([]string{transitions.Prepared, machine.ProofNotSent}, []string{tried.To, tried.Reason}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if n := s.op(name).Attempts; n < 1 {
				t.Errorf("%s: %d attempts are on record", name, n)
			}
			s.fromNow(name, "due_at", time.Hour) // out of the way of the next
			s.sound(name)
		}
		quit := make(chan struct{})
		defer close(quit)
		remote := newShop(t, &shop{sell: func(http.ResponseWriter, *http.Request, string) { <-quit }})
		s.prepare(order("a timeout"))
		stop := s.working(s.machine, fromFile(t, remote.URL, "timeout: 30s", "timeout: 300ms")).start()
		s.await(transitions.Uncertain, "a timeout")
		stop()
		s.ends(transitions.Uncertain, "no_response", "a timeout")
		remote.soldOnce(t, "a timeout")
	})
}
