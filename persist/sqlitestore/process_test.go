package sqlitestore_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// The variables that make the test's own program another process.
const (
	envRole = "FENCEROW_TEST_ROLE"
	envFile = "FENCEROW_TEST_FILE"
)

func TestMain(m *testing.M) {
	var err error
	switch role := os.Getenv(envRole); role {
	case "":
		os.Exit(m.Run())
	case "work":
		err = work(os.Getenv(envFile))
	case "prepare":
		err = prepareForEver(os.Getenv(envFile))
	default:
		err = fmt.Errorf("no such role: %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func process(ctx context.Context, role, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"="+role, envFile+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// tally is what one process did.
type tally struct {
	Claimed, Renewed, Completed int64
	Lost                        int64 // events that were denied to a holder
	Errors                      []string
}

const (
	operations = 3000
	workers    = 4 // goroutines a process
	workFor    = 3 * time.Second
)

// work claims, renews and completes operations until the time is over.
func work(path string) error {
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	var sum tally
	var mu sync.Mutex
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		sum.Errors = append(sum.Errors, err.Error())
	}
	var done sync.WaitGroup
	until := time.Now().Add(workFor)
	for n := range workers {
		done.Go(func() {
			m, err := machine.New(store, machine.Config{Label: fmt.Sprintf("%d-%d", os.Getpid(), n)})
			if err != nil {
				fail(err)
				return
			}
			for time.Now().Before(until) {
				leases, err := m.ClaimMany(ctx, transitions.Dispatch, machine.Who{Provider: "clip"}, 3)
				if err != nil {
					fail(err)
					continue
				}
				atomic.AddInt64(&sum.Claimed, int64(len(leases)))
				for _, err := range m.Renew(ctx, leases) {
					count(&sum.Renewed, &sum.Lost, err, fail)
				}
				for _, l := range leases {
					complete(ctx, store, l, &sum, fail)
				}
			}
		})
	}
	done.Wait()
	if err := store.Close(); err != nil {
		fail(err)
	}
	return json.NewEncoder(os.Stdout).Encode(&sum)
}

func complete(ctx context.Context, store *sqlitestore.Store, l *machine.Lease, sum *tally, fail func(error)) {
	held := params(l.Operation.OperationID, map[string]any{
		"owner": l.Owner, "revision": int(l.Revision), "remote_job_id": "job-" + l.Operation.OperationID,
	})
	for _, event := range []string{"submit_begin", "submit_accepted"} {
		answer, err := store.Apply(ctx, event, held)
		if err == nil && !answer.Applied {
			err = &machine.DeniedError{Event: event, OperationID: l.Operation.OperationID, Failed: answer.Failed}
		}
		if err != nil {
			count(&sum.Completed, &sum.Lost, err, fail)
			return
		}
	}
	atomic.AddInt64(&sum.Completed, 1)
}

func count(won, lost *int64, err error, fail func(error)) {
	var denied *machine.DeniedError
	switch {
	case err == nil:
		atomic.AddInt64(won, 1)
	case errors.As(err, &denied):
		atomic.AddInt64(lost, 1)
	default:
		fail(err)
	}
}

// B90: transactions begin immediate, so that those of twelve goroutines in three processes wait for each other and none is
// told that the file is locked.
func TestThreeProcessesShareAFileWithoutAnErrorAndWithoutADoubleClaim(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	var requests []transitions.Params
	for i := range operations {
		requests = append(requests, request(fmt.Sprintf("a-%04d", i)))
	}
	if _, err := f.ApplyMany(f.ctx, "prepare", requests); err != nil {
		t.Fatal(err)
	}
	sums := make([]tally, 3)
	var done sync.WaitGroup
	for i := range sums {
		done.Go(func() {
			out, err := process(f.ctx, "work", f.Path()).Output()
			if err == nil {
				err = json.NewDecoder(bytes.NewReader(out)).Decode(&sums[i])
			}
			if err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	done.Wait()
	var all tally
	for _, s := range sums {
		all.Claimed, all.Renewed, all.Completed, all.Lost = all.Claimed+s.Claimed, all.Renewed+s.Renewed, all.Completed+s.Completed, all.Lost+s.Lost
		all.Errors = append(all.Errors, s.Errors...)
	}
	t.Logf("three processes: %+v", all)
	if len(all.Errors) > 0 {
		t.Errorf("%d errors surfaced, the first: %s", len(all.Errors), all.Errors[0])
	}
	if all.Claimed == 0 || all.Lost > 0 {
		t.Errorf("claimed %d, lost to others %d; want some and none", all.Claimed, all.Lost)
	}
	counted := map[string]int64{}
	rows, err := f.DB().QueryContext(f.ctx, "SELECT event, count(*) FROM fencerow_history GROUP BY event")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var event string
		var n int64
		if err := rows.Scan(&event, &n); err != nil {
			t.Fatal(err)
		}
		counted[event] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"prepare": operations, "dispatch_claim": all.Claimed, "submit_begin": all.Completed, "submit_accepted": all.Completed}
	if diff := cmp.Diff(want, counted); diff != "" {
		t.Errorf("history rows by event, against what the processes were told (-want +got):\n%s", diff)
	}
}

// prepareForEver prepares operations and says each id once it was told that it is stored.
func prepareForEver(path string) error {
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("%d-%d", os.Getpid(), i)
		if _, err := store.Apply(ctx, "prepare", request(id)); err != nil {
			return err
		}
		if _, err := fmt.Println(id); err != nil {
			return err
		}
	}
}

func TestWhatWasAnsweredIsThereAfterAKill(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	told := map[string]bool{}
	const rounds = 5
	for round := range rounds {
		cmd := process(f.ctx, "prepare", f.Path())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 20+7*round && lines.Scan(); n++ {
			told[lines.Text()] = true
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			told[lines.Text()] = true // answered before the kill
		}
		_ = cmd.Wait() // it was killed
	}
	stored := map[string]bool{}
	for _, id := range f.ids() {
		stored[id] = true
	}
	for id := range told {
		if !stored[id] {
			t.Errorf("operation %s was answered and is gone", id)
		}
	}
	if more := len(stored) - len(told); more > rounds {
		t.Errorf("%d operations are stored that nobody was told of; at most one a kill can be", more)
	}
	f.applied("prepare", request("after"))
}
