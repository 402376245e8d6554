package e2e

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions"
)

// The kill test's size: at least 30 kills over at least 150 operations.
const (
	kills      = 30
	operations = 160
)

// everyFault is each fault of the sandbox that ends by itself, and none several times: a good answer must survive too.
var everyFault = []string{
	"none", sandbox.AcceptCut, "none", sandbox.Accept500, "none", sandbox.NoID, "none", sandbox.BlankID,
	"none", sandbox.Stall, "none", sandbox.HalfAnswer, "none", sandbox.HTML, "none", sandbox.Slow,
	"none", sandbox.Redirect307, "none", sandbox.Refuse429, "none", sandbox.Reject422, "none", sandbox.Late404,
	"none", sandbox.GoesBack, "none", sandbox.FailedJob, "none", sandbox.CutDownload, "none", sandbox.ExpiredURL,
}

// seed is random and printed; FENCEROW_TEST_SEED repeats a run's choices.
func seed(t *testing.T) *rand.Rand {
	n := rand.Uint64()
	if text := os.Getenv("FENCEROW_TEST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("FENCEROW_TEST_SEED=%q: %v", text, err)
		}
	}
	t.Logf("seed %d (set FENCEROW_TEST_SEED to repeat its choices)", n)
	return rand.New(rand.NewPCG(n, 0))
}

// The program is killed with SIGKILL at random moments and started anew, and still no request is accepted twice, and
// none is received twice but for recorded refusals; what was accepted and stored comes home with the right bytes
// (contract E2; lifecycle invariants 1 and 2; reports B01, B06, B08, B11, B29).
func TestKilledAtRandomMomentsNothingIsSentTwice(t *testing.T) {
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := newSite(t, db.url(t, dir), sandbox.Options{
				Queued: 100 * time.Millisecond, Running: 200 * time.Millisecond,
				SlowFor: 600 * time.Millisecond, LateFor: 500 * time.Millisecond,
			})
			s.provider("timeout: 5s", "timeout: 1s")
			ids := s.requests(operations, everyFault...)
			random := seed(t)
			args := []string{"run", "requests.jsonl", "--provider", "api.yaml", "--out", "out",
				"--brake", "0", "--lease", "1500ms", "--workers", "6", "--drain", "5s", "--poll", "100ms"}
			for n := range kills {
				p := s.start(args...)
				s.letRun(p, random)
				select {
				case <-p.ended:
					t.Fatalf("the program ended by itself before kill %d, with %d:\n%s", n+1, p.status, tail(p.output()))
				default:
				}
				p.kill9()
			}
			status, output := s.run(2*time.Minute, args...)
			if status != 3 {
				t.Errorf("run ended with %d, want 3: some operations are uncertain or failed\n%s", status, tail(output))
			}
			s.check(ids)
		})
	}
}

// letRun waits for a random number of requests to reach the remote and a random while beyond, or for the program's
// end.
func (s *site) letRun(p *process, random *rand.Rand) {
	for range random.IntN(6) {
		select {
		case <-s.posts:
		case <-p.ended:
			return
		case <-time.After(2 * time.Second):
		}
	}
	select {
	case <-time.After(time.Duration(random.IntN(120)) * time.Millisecond):
	case <-p.ended:
	}
}

// open reads the site's database directly. It is opened once a test: a session costs a server more than all that is read
// in one.
func (s *site) open() machine.Store {
	s.Helper()
	if s.store != nil {
		return s.store
	}
	program := transitions.MustCompile(transitions.Standard())
	ctx := context.Background()
	var store machine.Store
	var err error
	if path, ok := bytes.CutPrefix([]byte(s.db), []byte("sqlite:")); ok {
		store, err = sqlitestore.Open(ctx, string(path), sqlitestore.Options{Program: program})
	} else {
		store, err = pgstore.Open(ctx, s.db, pgstore.Options{Program: program})
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = store.Close() })
	s.store = store
	return store
}

// check holds what the program says against what the remote counted.
func (s *site) check(ids []string) {
	s.Helper()
	if said := s.stdout("audit"); !strings.Contains(said, " 0 findings") {
		s.Errorf("audit says:\n%s", said)
	}
	s.checkAgainstTheRemote(ids, s.list())
}

func (s *site) checkAgainstTheRemote(ids []string, listed map[string]operation) {
	s.Helper()
	store, counts := s.open(), s.remote.Counts()
	tally := map[string]int{}
	for _, id := range ids {
		op, count := listed[id], counts[id]
		history, err := store.History(context.Background(), id)
		if err != nil {
			s.Fatal(err)
		}
		happened := map[string]int{}
		for _, e := range history {
			happened[e.Event]++
		}
		proven := happened["submit_not_created"] + happened["review_not_created"]
		if count.Accepted > 1 {
			s.Errorf("%s: the remote accepted %d requests (%s)", id, count.Accepted, count.Fault)
		}
		if count.Received > 1+proven {
			s.Errorf("%s: the remote received %d requests, and %d proofs that nothing was created are recorded (%s)", id, count.Received, proven, count.Fault)
		}
		if count.Received > op.Attempts || op.Attempts != happened["submit_begin"] {
			s.Errorf("%s: the remote received %d requests, the row counts %d, history %d begins", id, count.Received, op.Attempts, happened["submit_begin"])
		}
		if op.RemoteJobID != "" && (len(count.IDs) != 1 || count.IDs[0] != op.RemoteJobID) {
			s.Errorf("%s: the row holds remote job id %q, the remote has %q", id, op.RemoteJobID, count.IDs)
		}
		s.checkEnd(op, happened)
		tally[op.Phase+" "+op.Outcome+op.UncertainReason+" "+op.Delivery]++
	}
	s.Logf("ends: %v", tally)
}

// checkEnd checks that an operation has come to an end that its history explains.
func (s *site) checkEnd(op operation, happened map[string]int) {
	s.Helper()
	switch {
	case op.Phase == "uncertain":
		if op.UncertainReason == "" {
			s.Errorf("%s is uncertain without a reason", op.ID)
		}
		if happened["submit_accepted"] > 0 {
			s.Errorf("%s is uncertain (%s) although its good answer was stored", op.ID, op.UncertainReason)
		}
	case op.Phase != "terminal":
		s.Errorf("%s is left %s", op.ID, op.Phase)
	case op.Outcome == "succeeded":
		if op.Delivery != "delivered" {
			s.Errorf("%s succeeded and its delivery is %q", op.ID, op.Delivery)
			return
		}
		got, err := os.ReadFile(filepath.Join(s.dir, "out", op.ObjectKey))
		if err != nil {
			s.Errorf("%s: %v", op.ID, err)
			return
		}
		if !bytes.Equal(got, sandbox.Result([]byte(s.bodies[op.ID]))) {
			s.Errorf("%s: the object %s has the wrong bytes (%d of them)", op.ID, op.ObjectKey, len(got))
		}
	}
}
