package reports_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// library is a remote that has a result for each of its jobs; hand gives out the nth of all.
func library(t testing.TB, hand func(w http.ResponseWriter, n int64)) (remote *shop, handed *atomic.Int64) {
	handed = &atomic.Int64{}
	return newShop(t, &shop{tell: func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/files/") {
			hand(w, handed.Add(1))
			return
		}
		_, _ = io.WriteString(w, `{"status":"succeeded"}`)
	}}), handed
}

// courier is the handler of a provider file that brings results to a folder.
func courier(t testing.TB, base, out string) *httpjob.Handler {
	t.Helper()
	text := `kind: video
submit: {url: "` + base + `/jobs", id: /id, timeout: 30s}
observe: {url: "` + base + `/jobs/{remote_job_id}", status: /status, pending: [running], succeeded: [succeeded]}
deliver: {url: "` + base + `/files/{remote_job_id}", key: "videos/{operation_id}.bin"}
`
	spec, err := httpjob.Parse("library.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpjob.New(spec, httpjob.Options{OutDir: out, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

const delivered = "videos/a.bin"

// inItsPlace checks that what lies in the folder is what the row says, and what it holds.
func (s *stand) inItsPlace(out, want string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(out, delivered))
	if err != nil {
		s.Fatal(err)
	}
	sum := sha256.Sum256(text)
	op := s.op("a")
	got := []any{op.Outcome, op.Delivery, op.ObjectKey, op.ObjectSHA256, op.ObjectBytes, string(text)}
	if diff := cmp.Diff([]any{"succeeded", "delivered", delivered, hex.EncodeToString(sum[:]), int64(len(text)), want}, got); diff != "" {
		s.Errorf("outcome, delivery, key, hash, length and text (-want +got):\n%s", diff)
	}
}

// B108: the place of results refuses after the job has succeeded, or its address does, until no attempt is left. The
// outcome stays, the delivery is visibly failed, and days later it is delivered, with no request but the first (rules:
// a failed delivery never changes an outcome; redeliver sends nothing).
func TestB108AFailedDeliveryNeedsNoSecondJob(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		var mended atomic.Bool
		remote, _ := library(t, func(w http.ResponseWriter, n int64) {
			switch {
			case mended.Load():
				_, _ = io.WriteString(w, "a hedge")
			case n%2 == 1:
				http.Error(w, "access denied", http.StatusForbidden)
			default:
				panic(http.ErrAbortHandler)
			}
		})
		out := t.TempDir()
		obstacle := filepath.Join(out, "videos") // no folder can be made there
		if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a := orderToDeliver("a")
		a.DeliveryAttempts = 3
		s.prepare(a)
		w := s.working(s.machine, courier(t, remote.URL, out))
		w.start()
		await(t, "a first attempt has failed at the place", func() bool { return s.op("a").DeliveryAttempts > 0 && s.op("a").LeaseOwner == "" })
		if diff := cmp.Diff([]string{"succeeded", "pending"}, []string{s.op("a").Outcome, s.op("a").Delivery}); diff != "" {
			t.Errorf("outcome and delivery between attempts (-want +got):\n%s", diff)
		}
		if err := os.Remove(obstacle); err != nil {
			t.Fatal(err)
		}
		await(t, "no attempt is left", func() bool { return s.op("a").Delivery == "failed" })
		failed, err := s.machine.List(t.Context(), machine.Query{Delivery: "failed"})
		if err != nil || len(failed) != 1 || failed[0].Outcome != "succeeded" {
			t.Errorf("who looks for failed deliveries finds %v, %v", failed, err)
		}
		if !strings.Contains(w.log.all(), "failed for good") {
			t.Errorf("the log does not tell of it:\n%s", w.log.all())
		}
		mended.Store(true)
		if _, err := s.machine.Redeliver(t.Context(), "a", s.decided("a")); err != nil {
			t.Fatal(err)
		}
		await(t, "it is delivered", func() bool { return s.op("a").Delivery == "delivered" })
		s.inItsPlace(out, "a hedge")
		remote.soldOnce(t, "a")
		s.sound("a")
	})
}

// B110: a deliverer is held up in the middle of its download, loses its lease, and another delivers meanwhile; the
// remote gives each another content. Whichever comes to its end first, what lies in the place is whole and is what the
// row says, and the one without the lease writes nothing there (rules: an object is put where nothing is, by a link;
// deliver_done is for the holder).
func TestB110TwoDeliverersLeaveOneWholeObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		oldFirst bool
	}{{"the new one ends first", false}, {"the old one ends first", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onStores(t, func(t *testing.T, s *stand) {
				begun, goOn := [2]chan struct{}{make(chan struct{}), make(chan struct{})}, [2]chan struct{}{make(chan struct{}), make(chan struct{})}
				remote, _ := library(t, func(w http.ResponseWriter, n int64) {
					w.Header().Set("Content-Length", "11")
					_, _ = io.WriteString(w, []string{"old", "new"}[n-1])
					_ = http.NewResponseController(w).Flush()
					close(begun[n-1])
					<-goOn[n-1]
					_, _ = io.WriteString(w, " content")
				})
				out := t.TempDir()
				old := s.at(transitions.Delivering, orderToDeliver("a"))
				oldDone := bringing(courier(t, remote.URL, out), old)
				<-begun[0]
				s.expire("a")
				fresh := s.claim(s.engine(machine.Config{Label: "new"}), transitions.Deliver, "a")
				newDone := bringing(courier(t, remote.URL, out), fresh)
				<-begun[1]
				first, second := 1, 0
				if c.oldFirst {
					first, second = 0, 1
				}
				done := [2]chan brought{oldDone, newDone}
				var b [2]brought
				for _, i := range []int{first, second} {
					close(goOn[i])
					b[i] = <-done[i]
				}
				if b[1].err != nil {
					t.Fatalf("the holder of the lease does not deliver: %v", b[1].err)
				}
				if _, err := s.machine.Delivered(t.Context(), old, delivered, "00", 1); !failsOn(err, "revision") {
					t.Errorf("the old one's delivery says %v, want that its revision is gone", err)
				}
				if _, err := s.machine.Delivered(t.Context(), fresh, b[1].ObjectKey, b[1].SHA256, b[1].Bytes); err != nil {
					t.Fatal(err)
				}
				s.inItsPlace(out, "new content")
				s.sound("a")
			})
		})
	}
}

type brought struct {
	worker.Delivered
	err error
}

// bringing has a handler deliver under a lease.
func bringing(h *httpjob.Handler, l *machine.Lease) chan brought {
	done := make(chan brought, 1)
	go func() {
		op := l.Operation
		d, err := h.Deliver(context.Background(), worker.Delivery{
			OperationID: op.OperationID, Kind: op.Kind, Provider: op.Provider, Account: op.Account,
			RemoteJobID: op.RemoteJobID, Snapshot: op.Snapshot, Attempt: int(op.DeliveryAttempts),
		})
		done <- brought{d, err}
	}()
	return done
}

// B112: a result is in its place, and the one that put it there is gone before that is on record. The next one finds it,
// whole, by its hash, and delivers it without fetching it again (rule: what is there already is looked for first, C4).
func TestB112AnObjectThatIsThereIsNotDeliveredAgain(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		remote, handed := library(t, func(w http.ResponseWriter, _ int64) { _, _ = io.WriteString(w, "a hedge") })
		out := t.TempDir()
		if b := <-bringing(courier(t, remote.URL, out), s.at(transitions.Delivering, orderToDeliver("a"))); b.err != nil {
			t.Fatal(b.err)
		}
		there, err := os.Stat(filepath.Join(out, delivered))
		if err != nil {
			t.Fatal(err)
		}
		s.expire("a")
		s.working(s.engine(machine.Config{Label: "next"}), courier(t, remote.URL, out)).start()
		await(t, "it is delivered", func() bool { return s.op("a").Delivery == "delivered" })
		s.inItsPlace(out, "a hedge")
		if now, err := os.Stat(filepath.Join(out, delivered)); err != nil || !os.SameFile(there, now) {
			t.Errorf("another file is in its place (%v)", err)
		}
		if diff := cmp.Diff(int64(1), handed.Load()); diff != "" {
			t.Errorf("results that the remote handed out (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// B112, where the answer of the database is what is lost: the delivery is asked for in history, or stored again, and is
// neither made again nor failed (rule: an unknown answer is resolved, A8).
func TestB112ADeliveryWhoseAnswerIsLostIsADelivery(t *testing.T) {
	t.Parallel()
	for _, fate := range []pgproxy.Fate{pgproxy.CutReply, pgproxy.CutBeforeReady, pgproxy.CutRequest} {
		t.Run(fate.String(), func(t *testing.T) {
			t.Parallel()
			s := onPostgres(t)
			proxy, through := pgproxy.New(t, s.url)
			store, err := pgstore.Open(t.Context(), through, patient)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			m, err := machine.New(store, machine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			remote, handed := library(t, func(w http.ResponseWriter, _ int64) { _, _ = io.WriteString(w, "a hedge") })
			out := t.TempDir()
			s.prepare(orderToDeliver("a"))
			proxy.Arm("deliver_done", fate)
			s.working(m, courier(t, remote.URL, out)).start()
			await(t, "it is delivered", func() bool { return s.op("a").Delivery == "delivered" })
			s.inItsPlace(out, "a hedge")
			want := []string{"deliver_claim", "deliver_done"}
			if events := s.events("a"); len(events) < 2 || cmp.Diff(want, events[len(events)-2:]) != "" {
				t.Errorf("history ends with %q, want %q", events, want)
			}
			if n := proxy.Counts()[fate]; n != 1 || handed.Load() != 1 {
				t.Errorf("%d statements met their fate and %d results were handed out, want 1 and 1", n, handed.Load())
			}
			remote.soldOnce(t, "a")
			s.sound("a")
		})
	}
}

// B113: fifty workers meet a remote that answers 429 to each first request, with every form of Retry-After. Nothing was
// created: each is prepared again, due when the remote wished within a cap, none is uncertain or failed, sending goes on
// for others, and each is taken the second time (rules: 429 is refused; Retry-After and its cap; the brake does not
// count a rate).
func TestB113ARefusalForRateIsHonouredAndBurnsNothing(t *testing.T) {
	t.Parallel()
	wishes := map[string]struct {
		header      string
		least, most time.Duration
	}{
		"seconds": {"30", 30 * time.Second, 33 * time.Second},
		"date":    {"date", 28 * time.Second, 34 * time.Second},
		"absent":  {"", 0, time.Second},
		"absurd":  {"999999", time.Hour, 66 * time.Minute},
		"words":   {"soon", 0, time.Second},
	}
	onStores(t, func(t *testing.T, s *stand) {
		var ids []string
		kind := map[string]string{}
		for name := range wishes {
			for n := range 10 {
				id := name + "-" + string(rune('a'+n))
				kind[id] = name
				ids = append(ids, id)
			}
		}
		open := make(chan struct{})
		remote := newShop(t, &shop{sell: func(w http.ResponseWriter, _ *http.Request, id string) {
			select {
			case <-open:
				accept(w, id)
				return
			default:
			}
			switch header := wishes[kind[id]].header; header {
			case "":
			case "date":
				w.Header().Set("Retry-After", time.Now().Add(30*time.Second).UTC().Format(http.TimeFormat))
			default:
				w.Header().Set("Retry-After", header)
			}
			http.Error(w, `{"error":"slow down"}`, http.StatusTooManyRequests)
		}})
		for _, id := range ids {
			s.prepare(order(id))
		}
		w := s.working(s.machine, fromFile(t, remote.URL))
		w.config.Slots = 50
		w.config.Braked = func(reason string) { t.Errorf("the brake: %q", reason) }
		stop := w.start()
		await(t, "each was refused", func() bool {
			for _, id := range ids {
				if s.op(id).Attempts == 0 || s.op(id).Phase != transitions.Prepared {
					return false
				}
			}
			return true
		})
		stop()
		for _, id := range ids {
			refused := s.history(id)[3]
			if diff := cmp.Diff([]string{"submit_not_created", machine.ProofRefused}, []string{refused.Event, refused.Reason}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
			wish := wishes[kind[id]]
			if op := s.op(id); op.Attempts == 1 && (op.DueAt.Sub(refused.At) < wish.least || op.DueAt.Sub(refused.At) > wish.most) {
				t.Errorf("%s is due %s after it was refused, want %s to %s", id, op.DueAt.Sub(refused.At), wish.least, wish.most)
			}
			s.fromNow(id, "due_at", -time.Second)
		}
		close(open)
		s.working(s.machine, fromFile(t, remote.URL)).start()
		s.await(transitions.Terminal, ids...)
		s.ends(transitions.Terminal, "", ids...)
		for _, id := range ids {
			if op := s.op(id); op.Outcome != "succeeded" || int(op.Attempts) != remote.sold(id) {
				t.Errorf("%s ended %s after %d attempts, and the remote counts %d requests", id, op.Outcome, op.Attempts, remote.sold(id))
			}
		}
	})
}
