package sandbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fencerow/fencerow/provider/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that a test moves on by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// api is a sandbox, its clock and a client that does nothing on its own.
type api struct {
	*sandbox.Sandbox
	clock  *clock
	url    string
	client *http.Client
}

func start(t *testing.T, opts sandbox.Options) *api {
	t.Helper()
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	opts.Now = c.Now
	s := sandbox.New(opts)
	server, err := s.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); _ = server.Close() })
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &api{Sandbox: s, clock: c, url: server.URL, client: client}
}

// reply is an answer as far as it came.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func (a *api) post(body string) reply {
	return read(a.client.Post(a.url+"/v1/generations", "application/json", strings.NewReader(body)))
}

// get fetches a path of the sandbox, or a whole address.
func (a *api) get(address string) reply {
	if strings.HasPrefix(address, "/") {
		address = a.url + address
	}
	return read(a.client.Get(address))
}

func read(resp *http.Response, err error) reply {
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body), err}
}

type generation struct {
	ID, Op, Status string
	Error          *string
	Output         *struct{ URL string }
}

func parse(t *testing.T, r reply) generation {
	t.Helper()
	var g generation
	if err := json.Unmarshal([]byte(r.body), &g); err != nil || r.err != nil {
		t.Fatalf("%d %q: %v, %v", r.status, r.body, err, r.err)
	}
	return g
}

func TestAJobGoesFromQueuedToItsResult(t *testing.T) {
	t.Parallel()
	a := start(t, sandbox.Options{})
	request := `{"op":"op-1","prompt":"a hedge"}`
	created := a.post(request)
	g := parse(t, created)
	if created.status != 201 || g.ID == "" || g.Status != "queued" {
		t.Fatalf("got %+v", created)
	}
	var got []string
	for range 3 {
		got = append(got, parse(t, a.get("/v1/generations/"+g.ID)).Status)
		a.clock.advance(500 * time.Millisecond)
	}
	if diff := cmp.Diff([]string{"queued", "running", "succeeded"}, got); diff != "" {
		t.Error(diff)
	}
	file := a.get(parse(t, a.get("/v1/generations/"+g.ID)).Output.URL)
	if file.status != 200 || !bytes.Equal([]byte(file.body), sandbox.Result([]byte(request))) {
		t.Errorf("got %d, %d bytes", file.status, len(file.body))
	}
	want := map[string]sandbox.Count{"op-1": {Received: 1, Accepted: 1, IDs: []string{g.ID}}}
	if diff := cmp.Diff(want, a.Counts()); diff != "" {
		t.Error(diff)
	}
}

// Each row says what the first request of a fault sees, and the second, and how many jobs exist then.
func TestAFaultOfASubmissionDoesWhatItSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault         string
		first, second string
		jobs          int
	}{
		{sandbox.AcceptCut, "cut", "201 id", 2},
		{sandbox.Accept500, "500", "201 id", 2},
		{sandbox.NoID, "201", "201 id", 2},
		{sandbox.BlankID, "201", "201 id", 2},
		{sandbox.Stall, "cut", "201 id", 2},
		{sandbox.HalfAnswer, "201 half", "201 id", 2},
		{sandbox.HTML, "200", "201 id", 2},
		{sandbox.Slow, "201 id", "201 id", 2},
		{sandbox.Error500, "500", "201 id", 1},
		{sandbox.Redirect307, "307", "201 id", 1},
		{sandbox.Refuse429, "429", "201 id", 1},
		{sandbox.NoCredit, "402", "402", 0},
		{sandbox.Reject422, "422", "422", 0},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			a := start(t, sandbox.Options{StallFor: 50 * time.Millisecond, SlowFor: 50 * time.Millisecond})
			body := fmt.Sprintf(`{"op":"op-1","fault":%q}`, c.fault)
			first, second := a.post(body), a.post(body)
			if diff := cmp.Diff([]string{c.first, c.second}, []string{describe(first), describe(second)}); diff != "" {
				t.Error(diff)
			}
			count := a.Counts()["op-1"]
			if diff := cmp.Diff([]int{2, c.jobs, 2 - c.jobs}, []int{count.Received, count.Accepted, count.Refused}); diff != "" {
				t.Error(diff)
			}
			if c.fault == sandbox.Refuse429 && first.header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q", first.header.Get("Retry-After"))
			}
			if c.fault == sandbox.Redirect307 && first.header.Get("Location") != a.url+"/v1/generations" {
				t.Errorf("Location is %q", first.header.Get("Location"))
			}
		})
	}
}

// describe says what a reply is to somebody who needs an id.
func describe(r reply) string {
	switch {
	case r.status == 0:
		return "cut"
	case errors.Is(r.err, io.ErrUnexpectedEOF):
		return fmt.Sprint(r.status, " half")
	}
	var g generation
	if json.Unmarshal([]byte(r.body), &g) == nil && strings.TrimSpace(g.ID) != "" {
		return fmt.Sprint(r.status, " id")
	}
	return fmt.Sprint(r.status)
}

func TestEveryFaultIsExplainedAndKnownByItsName(t *testing.T) {
	t.Parallel()
	var names []string
	for _, f := range sandbox.Faults() {
		if f.Explains == "" || strings.HasSuffix(f.Explains, ".") {
			t.Errorf("%s is explained as %q", f.Name, f.Explains)
		}
		names = append(names, f.Name)
	}
	all, err := sandbox.ParseFaults(" all ,")
	if diff := cmp.Diff(names, all); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := sandbox.ParseFaults("stall,nonsense"); err == nil || !strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("got %v", err)
	}
	a := start(t, sandbox.Options{})
	if got := a.post(`{"fault":"nonsense"}`); got.status != 400 {
		t.Errorf("got %+v", got)
	}
}

// statuses reads the job's status n times, a step apart.
func (a *api) statuses(t *testing.T, id string, n int, step time.Duration) []string {
	t.Helper()
	var got []string
	for range n {
		r := a.get("/v1/generations/" + id)
		if r.status != 200 {
			got = append(got, fmt.Sprint(r.status))
		} else {
			got = append(got, parse(t, r).Status)
		}
		a.clock.advance(step)
	}
	return got
}

func TestAFaultOfAJobShowsInItsStatus(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string][]string{
		sandbox.Late404:     {"404", "404", "succeeded", "succeeded", "succeeded"},
		sandbox.OddWord:     {"warming_up", "warming_up", "succeeded", "succeeded", "succeeded"},
		sandbox.GoesBack:    {"queued", "running", "succeeded", "running", "running", "succeeded"},
		sandbox.FailedJob:   {"queued", "running", "failed", "failed"},
		sandbox.CanceledJob: {"queued", "running", "canceled", "canceled"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			a := start(t, sandbox.Options{})
			g := parse(t, a.post(fmt.Sprintf(`{"op":"op-1","fault":[%q]}`, fault)))
			if diff := cmp.Diff(want, a.statuses(t, g.ID, len(want), 500*time.Millisecond)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFaultOfADownloadShowsOnce(t *testing.T) {
	t.Parallel()
	a := start(t, sandbox.Options{})
	request := fmt.Sprintf(`{"op":"op-1","fault":[%q,%q]}`, sandbox.CutDownload, sandbox.ExpiredURL)
	g := parse(t, a.post(request))
	a.clock.advance(time.Minute)
	type download struct {
		Status     int
		Whole, Cut bool
	}
	var got []download
	for range 3 {
		r := a.get(parse(t, a.get("/v1/generations/"+g.ID)).Output.URL)
		got = append(got, download{r.status, r.body == string(sandbox.Result([]byte(request))), errors.Is(r.err, io.ErrUnexpectedEOF)})
	}
	if diff := cmp.Diff([]download{{403, false, false}, {200, false, true}, {200, true, false}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAJobIsListedByItsOperationAndCanBeCanceled(t *testing.T) {
	t.Parallel()
	a := start(t, sandbox.Options{})
	one := parse(t, a.post(`{"op":"a b"}`))
	a.post(`{"op":"other"}`)
	var list struct{ Data []generation }
	if err := json.Unmarshal([]byte(a.get("/v1/generations?op=a%20b").body), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Data) != 1 || list.Data[0].ID != one.ID || list.Data[0].Op != "a b" {
		t.Errorf("got %+v", list)
	}
	if got := a.get("/v1/generations?op=none").body; got != "{\"data\":[]}\n" {
		t.Errorf("got %s", got)
	}
	cancel := func(id string) reply {
		return read(a.client.Post(a.url+"/v1/generations/"+id+"/cancel", "", nil))
	}
	if got := parse(t, cancel(one.ID)); got.Status != "canceled" {
		t.Errorf("got %+v", got)
	}
	two := parse(t, a.post(`{"op":"late"}`))
	a.clock.advance(time.Minute)
	if got := cancel(two.ID).status; got != 409 {
		t.Errorf("a job that is done was canceled: %d", got)
	}
	if got := cancel("none").status; got != 404 {
		t.Errorf("got %d", got)
	}
}

func TestAWrongKeyIsRefusedAndCounted(t *testing.T) {
	t.Parallel()
	a := start(t, sandbox.Options{APIKey: "right"})
	if got := a.post(`{"op":"op-1"}`).status; got != 401 {
		t.Errorf("got %d", got)
	}
	if got := a.get("/v1/generations/x").status; got != 401 {
		t.Errorf("got %d", got)
	}
	if diff := cmp.Diff(map[string]sandbox.Count{"op-1": {Received: 1, Refused: 1, IDs: []string{}}}, a.Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameSeedGivesTheSameFaults(t *testing.T) {
	t.Parallel()
	all, err := sandbox.ParseFaults("accept-500,reject-422,no-credit")
	if err != nil {
		t.Fatal(err)
	}
	run := func(seed uint64) map[string]string {
		a := start(t, sandbox.Options{Seed: seed, Faults: all, Rate: 0.5})
		for i := range 40 {
			a.post(fmt.Sprintf(`{"op":"op-%d"}`, i))
		}
		met := map[string]string{}
		for operation, c := range a.Counts() {
			met[operation] = c.Fault
		}
		return met
	}
	first := run(7)
	if diff := cmp.Diff(first, run(7)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(first, run(8)) {
		t.Error("another seed gives the same faults")
	}
	kinds := map[string]int{}
	for _, fault := range first {
		kinds[fault]++
	}
	if len(kinds) != 4 || kinds[""] < 8 {
		t.Errorf("got %v", kinds)
	}
}

func TestARequestSentTwiceIsSeenInTheCounts(t *testing.T) {
	t.Parallel()
	a := start(t, sandbox.Options{})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { a.post(`{"op":"op-1"}`); a.post(`{"prompt":"no name"}`) })
	}
	all.Wait()
	if got := a.Duplicates(); len(got) != 2 || got[0] != "op-1" || !strings.HasPrefix(got[1], "sha256:") {
		t.Errorf("got %v", got)
	}
	var counts map[string]sandbox.Count
	if err := json.Unmarshal([]byte(a.get("/_sandbox/counts").body), &counts); err != nil || counts["op-1"].Received != 10 {
		t.Errorf("%v %v", err, counts)
	}
	var requests []sandbox.Request
	if err := json.Unmarshal([]byte(a.get("/_sandbox/requests").body), &requests); err != nil || len(requests) != 20 {
		t.Errorf("%v, %d requests", err, len(requests))
	}
}
