package reports_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// B06 and the first half of B11: a worker process is killed when the remote has taken its request: before the id is
// stored, the operation goes to a reviewer; after it, before the first look, any worker reads on by the stored id. The
// remote gets one request in both (rules: submit_lapsed leads to uncertain, B3; observing resumes from the row, C1).
func TestB06AWorkerThatIsKilledAfterTheRemoteAcceptedSendsNothingTwice(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		for _, c := range []struct{ id, step, phase, reason, remoteJob string }{
			{"before it is stored", worker.StepAnswered, transitions.Uncertain, "no_response", ""},
			{"after it is stored", worker.StepStored, transitions.Terminal, "", "job-1"},
		} {
			k, r := newTill(t), &remote{}
			s.prepare(order(c.id))
			dead := s.spawn("work", k.URL, "dead", c.step)
			dead.awaitOneOf("at " + c.step)
			dead.signal(syscall.SIGKILL)
			<-dead.ended
			if c.phase == transitions.Uncertain {
				s.expire(c.id)
			} else {
				s.fromNow(c.id, "due_at", -time.Second) // the dead worker's first look was to be in a minute
			}
			stop := s.working(s.engine(machine.Config{Label: "new"}), r).start()
			await(t, "the reconciler and the new worker have done what they can", func() bool {
				_, err := s.reconciler(10).Once(t.Context())
				return err == nil && s.op(c.id).Phase == c.phase
			})
			stop()
			s.ends(c.phase, c.reason, c.id)
			if diff := cmp.Diff([]int{1, 0}, []int{len(k.received()), r.sent(c.id)}); diff != "" {
				t.Errorf("%s: requests of the dead worker and of the new one (-want +got):\n%s", c.id, diff)
			}
			if diff := cmp.Diff(c.remoteJob, s.op(c.id).RemoteJobID); diff != "" {
				t.Errorf("%s: remote job id (-want +got):\n%s", c.id, diff)
			}
		}
	})
}

// B11, the second half: a remote that no longer knows the job whose id it gave proves nothing about the request: the
// operation goes to a reviewer and is not sent anew (guard not_found_grace_over and target of observe_lost; invariant 6).
func TestB11AJobThatTheRemoteNoLongerKnowsIsNotOrderedAnew(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		remote := newShop(t, &shop{tell: func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }})
		a := order("a")
		a.NotFoundGrace = 300 * time.Millisecond
		s.prepare(a)
		s.sweeping(s.machine, 20*time.Millisecond)
		s.working(s.machine, fromFile(t, remote.URL)).start()
		s.await(transitions.Uncertain, "a")
		s.prepare(order("b"))
		await(t, "the worker goes on", func() bool { return s.op("b").RemoteJobID != "" })
		s.ends(transitions.Uncertain, "remote_not_found", "a")
		remote.soldOnce(t, "a", "b")
		if id := s.op("a").RemoteJobID; id != "job-a" {
			t.Errorf("the reviewer is not told the id that was given: it is %q", id)
		}
	})
}

// B07: the database goes away while the remote takes the request. Back within the lease, the answer is stored by the
// holder itself, under its own revision; back after it, the operation was uncertain meanwhile and the id comes in as
// evidence, which is attached. It is neither failed nor sent again (rules: the holder keeps trying, B9; a late answer
// is evidence, B5).
func TestB07AnAnswerOutlivesADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ttl   time.Duration
		after bool // it comes back after the lease
		want  []string
	}{
		{"within the lease", 30 * time.Second, false, []string{"prepare", "dispatch_claim", "submit_begin", "submit_accepted"}},
		{"after the lease", 2 * time.Second, true,
			[]string{"prepare", "dispatch_claim", "submit_begin", "submit_lapsed", "evidence_noted", "evidence_attach"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := onPostgres(t)
			proxy, away := pgproxy.New(t, s.url)
			store, err := pgstore.Open(t.Context(), away, patient)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			m, err := machine.New(store, machine.Config{TTL: c.ttl})
			if err != nil {
				t.Fatal(err)
			}
			tried := make(chan struct{}, 1000)
			remote := newShop(t, &shop{
				sell: func(w http.ResponseWriter, _ *http.Request, id string) {
					proxy.Choose(func(sql string) pgproxy.Fate {
						if strings.Contains(sql, "submit_accepted") {
							select {
							case tried <- struct{}{}:
							default:
							}
						}
						return pgproxy.CutRequest
					})
					accept(w, id)
				},
				tell: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"running"}`)) },
			})
			s.prepare(order("a"))
			w := s.working(m, fromFile(t, remote.URL))
			w.config.Every, w.config.MaxEvery = time.Hour, time.Hour
			w.start()
			w.awaitLine("the database does not do its work")
			<-tried
			if c.after {
				s.lapse("a")
				await(t, "it is given up", func() bool {
					_, err := s.reconciler(10).Once(t.Context())
					return err == nil && s.op("a").Phase == transitions.Uncertain
				})
			}
			proxy.Heal()
			await(t, "the id is in the row", func() bool {
				if c.after {
					_, _ = s.reconciler(10).Once(t.Context())
				}
				return s.op("a").RemoteJobID == "job-a"
			})
			if diff := cmp.Diff(c.want, s.events("a")[:len(c.want)]); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			if claim, stored := s.history("a")[1], s.history("a")[3]; !c.after && (stored.Owner != claim.Owner || stored.Revision != claim.Revision) {
				t.Errorf("stored by %s under %d, claimed by %s under %d", stored.Owner, stored.Revision, claim.Owner, claim.Revision)
			}
			remote.soldOnce(t, "a")
			s.sound("a")
		})
	}
}

// B07, where the database does not come back before the worker must leave: the id stands in its log, with the operation
// and the revision, in one line, and the worker does not end as if all were well (rule: B9).
func TestB07AnAnswerThatCannotBeStoredIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t)
		gone := &vanishing{Store: s.store}
		m, err := machine.New(gone, machine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := &remote{submit: func(context.Context, string) (string, error) {
			gone.away.Store(true)
			return "job-that-was-paid-for", nil
		}}
		s.prepare(order("a"))
		w := s.working(m, r)
		w.config.Poll = time.Second
		end := w.begin()
		w.awaitLine("store what was learnt")
		if err := end(); err == nil || !strings.Contains(err.Error(), "1 answers could not be stored") {
			t.Errorf("the worker ends with %v, want that an answer could not be stored", err)
		}
		kept := slices.ContainsFunc(strings.Split(w.log.all(), "\n"), func(line string) bool {
			return strings.Contains(line, "operation=a") && strings.Contains(line, "revision=1") && strings.Contains(line, "remote_job_id=job-that-was-paid-for")
		})
		if !kept {
			t.Errorf("no line of the log holds operation, revision and remote job id:\n%s", w.log.all())
		}
		s.ends(transitions.Submitting, "", "a")
		s.expire("a")
		if _, err := s.reconciler(10).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.ends(transitions.Uncertain, "no_response", "a")
	})
}

// vanishing is a store that can be away.
type vanishing struct {
	machine.Store
	away atomic.Bool
}

var errAway = errors.New("no connection to the database")

func (v *vanishing) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	if v.away.Load() {
		return machine.Answer{}, errAway
	}
	return v.Store.Apply(ctx, event, p)
}

func (v *vanishing) Take(ctx context.Context, event string, p transitions.Params) ([]transitions.Row, error) {
	if v.away.Load() {
		return nil, errAway
	}
	return v.Store.Take(ctx, event, p)
}

// B08: every worker dies with five requests on the wire, ten jobs under way and five requests not begun. The new ones
// send the last five and nothing else, read on where an id is stored, and leave the first five to a reviewer (rules: a
// claim to dispatch takes prepared ones only; submit_lapsed, B3; C1).
func TestB08ARestartSendsOnlyWhatWasNotBegun(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		var begun, running, waiting []string
		revisions := map[string]int64{}
		for i := range 5 {
			id := fmt.Sprint(i)
			s.at(transitions.Submitting, order("begun-"+id))
			s.at(transitions.Observing, order("observing-"+id))
			l := s.at(transitions.Submitting, order("submitted-"+id))
			if _, err := s.machine.Accepted(t.Context(), l, "job-submitted-"+id, nil, 0); err != nil {
				t.Fatal(err)
			}
			s.prepare(order("waiting-" + id))
			s.expire("begun-"+id, "observing-"+id)
			begun, waiting = append(begun, "begun-"+id), append(waiting, "waiting-"+id)
			running = append(running, "observing-"+id, "submitted-"+id)
		}
		for _, id := range running {
			revisions[id] = s.op(id).Revision
		}
		r := &remote{}
		for n := range 2 {
			s.working(s.engine(machine.Config{Label: fmt.Sprint("new-", n)}), r).start()
		}
		s.sweeping(s.machine, 20*time.Millisecond)
		s.await(transitions.Uncertain, begun...)
		s.await(transitions.Terminal, append(slices.Clone(running), waiting...)...)
		s.ends(transitions.Uncertain, "no_response", begun...)
		for _, id := range append(slices.Clone(begun), running...) {
			if n := r.sent(id); n != 0 {
				t.Errorf("%s was sent %d times by the new workers", id, n)
			}
		}
		for _, id := range waiting {
			if n := r.sent(id); n != 1 {
				t.Errorf("%s was sent %d times, want once", id, n)
			}
		}
		for _, id := range running {
			op := s.op(id)
			if op.RemoteJobID != "job-"+id || op.Revision <= revisions[id] || r.looked(id) == 0 {
				t.Errorf("%s: %d looks, job %q, revision %d after %d", id, r.looked(id), op.RemoteJobID, op.Revision, revisions[id])
			}
		}
		s.sound(append(running, waiting...)...)
	})
}
