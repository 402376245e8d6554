package reports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// prepared is how the requests of one process ended.
type prepared struct{ Created, Same, Conflicts int }

// shared and disputed are the requests that every process of B51 prepares: with one body, and with a body of its own.
const shared, disputed = 500, 500

// prepareRole prepares the requests that the other processes prepare at the same moment, from ten goroutines, and tells
// how that ended.
func prepareRole(<-chan string) error {
	store, err := storeAt(os.Getenv(envDB))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	m, err := machine.New(store, machine.Config{})
	if err != nil {
		return err
	}
	const goroutines = 10
	var mu sync.Mutex
	var sum prepared
	var failed []error
	var done sync.WaitGroup
	for n := range goroutines {
		done.Go(func() {
			var requests []machine.Request
			for i := n; i < shared+disputed; i += goroutines {
				r := requestOf(fmt.Sprintf("op-%05d", i))
				if i >= shared {
					r.Request = fmt.Appendf(nil, "%q", os.Getenv(envLabel))
				}
				requests = append(requests, r)
			}
			all, err := m.PrepareMany(context.Background(), requests)
			for try := 1; err != nil && !machine.IsUnknown(err) && try < 20; try++ {
				// A busy database has a bound for every wait, and says that nothing was written.
				all, err = m.PrepareMany(context.Background(), requests)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
			}
			for _, p := range all {
				var conflict *machine.ConflictError
				switch {
				case p.Created:
					sum.Created++
				case p.Err == nil:
					sum.Same++
				case errors.As(p.Err, &conflict):
					sum.Conflicts++
				default:
					failed = append(failed, p.Err)
				}
			}
		})
	}
	done.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(sum); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// B51: ids are the caller's own. Of five processes that prepare the same ids at one moment each id is created once;
// whoever comes later is given the one that is there, or told of the conflict where the request is another, and never
// an error of the database or a second row (event prepare, for many at once too).
func TestB51AnIDIsCreatedOnceAndAnotherRequestOfItIsAConflict(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		const processes = 5
		children := make([]*child, processes)
		for i := range children {
			children[i] = s.spawn("prepare", "", fmt.Sprintf("process-%d", i), "")
		}
		var sum prepared
		for _, c := range children {
			c.end()
			var one prepared
			if err := json.Unmarshal([]byte(c.said.all()), &one); err != nil {
				t.Errorf("a process said %s (%v)", c.said.all(), err)
			}
			sum.Created, sum.Same, sum.Conflicts = sum.Created+one.Created, sum.Same+one.Same, sum.Conflicts+one.Conflicts
		}
		want := prepared{Created: shared + disputed, Same: (processes - 1) * shared, Conflicts: (processes - 1) * disputed}
		if diff := cmp.Diff(want, sum); diff != "" {
			t.Errorf("how it ended for all (-want +got):\n%s", diff)
		}
		for _, id := range []string{"op-00000", "op-00999"} {
			if diff := cmp.Diff([]string{"prepare"}, s.events(id)); diff != "" {
				t.Errorf("history of %s (-want +got):\n%s", id, diff)
			}
		}
	})
}

// B51: the tokens that the engine makes itself do not collide where many claims of many processes of one name fall on
// one instant (rule: a token is random, a claim).
func TestB51TokensOfOneInstantAreDistinct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const processes, goroutines, claims = 5, 50, 20
		s := inMemory(t)
		began := time.Now()
		for i := range processes * goroutines * claims {
			s.prepare(requestOf(fmt.Sprintf("op-%05d", i)))
		}
		var mu sync.Mutex
		owners := map[string]bool{}
		var done sync.WaitGroup
		for p := range processes {
			m := s.engine(machine.Config{Label: "host:1"})
			for g := range goroutines {
				done.Go(func() {
					for i := range claims {
						l := s.claim(m, transitions.Dispatch, fmt.Sprintf("op-%05d", (p*goroutines+g)*claims+i))
						mu.Lock()
						owners[l.Owner] = true
						mu.Unlock()
					}
				})
			}
		}
		done.Wait()
		if passed := time.Since(began); passed != 0 {
			t.Errorf("the clock went on by %s: this is no instant", passed)
		}
		if diff := cmp.Diff(processes*goroutines*claims, len(owners)); diff != "" {
			t.Errorf("distinct tokens (-want +got):\n%s", diff)
		}
		for owner := range owners {
			if !strings.HasPrefix(owner, "host:1/") {
				t.Fatalf("%q does not tell its process to a person", owner)
			}
		}
	})
}
