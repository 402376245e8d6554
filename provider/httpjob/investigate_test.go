package httpjob_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

// looking adds how to look for a lost job, and how to cancel one.
const looking = `
investigate:
  url: ${BASE}/v1/jobs?op={operation_id}
  items: /data
  id: /id
  keep: {status_url: /urls/get}
  match: {/op: "{operation_id}", /kind: "{kind}"}
cancel: {url: "${BASE}/v1/jobs/{remote_job_id}/cancel"}
`

func newLooking(t *testing.T, base string, changes ...string) *httpjob.Handler {
	t.Helper()
	sections := strings.NewReplacer(changes...).Replace(looking)
	return newHandler(t, base, httpjob.Options{}, append(changes, "  error: /error\n", "  error: /error\n"+sections)...)
}

func investigation() worker.Investigation {
	return worker.Investigation{OperationID: "op-1", Kind: "video", Provider: "video", Account: "a", Request: []byte("{}"), Attempts: 1}
}

func listed(items ...string) string { return `{"data":[` + strings.Join(items, ",") + `]}` }

func item(id, op string) string { return fmt.Sprintf(`{"id":%q,"op":%q,"kind":"video"}`, id, op) }

const how = `/kind = "video", /op = "op-1"`

// Contract D4: an item is the operation's only if it meets every condition, exactly; each one that does is reported.
func TestOnlyAnItemThatMeetsEveryConditionIsFound(t *testing.T) {
	t.Parallel()
	mine := func(ids ...string) []worker.Find {
		found := []worker.Find{}
		for _, id := range ids {
			found = append(found, worker.Find{RemoteJobID: id, OperationID: "op-1", How: how})
		}
		return found
	}
	for name, c := range map[string]struct {
		body string
		want []worker.Find
	}{
		"one":                       {listed(item("job-1", "op-1")), mine("job-1")},
		"one among others":          {listed(item("job-0", "op-0"), item("job-1", "op-1"), item("job-2", "op-12")), mine("job-1")},
		"two":                       {listed(item("job-1", "op-1"), item("job-2", "op-1")), mine("job-1", "job-2")},
		"the same one twice":        {listed(item("job-1", "op-1"), item("job-1", "op-1")), mine("job-1", "job-1")},
		"none":                      {listed(), nil},
		"another operation's":       {listed(item("job-1", "op-2")), nil},
		"another kind's":            {listed(`{"id":"job-1","op":"op-1","kind":"audio"}`), nil},
		"no kind":                   {listed(`{"id":"job-1","op":"op-1"}`), nil},
		"a longer name":             {listed(item("job-1", "op-1 ")), nil},
		"upper case":                {listed(item("job-1", "OP-1")), nil},
		"a key in upper case":       {listed(`{"id":"job-1","OP":"op-1","kind":"video"}`), nil},
		"a list where a text is":    {listed(`{"id":"job-1","op":["op-1"],"kind":"video"}`), nil},
		"items that are no objects": {listed(`"op-1"`, `null`, `[]`, `7`, item("job-1", "op-1")), mine("job-1")},
		"kept values": {listed(`{"id":"job-1","op":"op-1","kind":"video","urls":{"get":"/v1/jobs/job-1"}}`), []worker.Find{
			{RemoteJobID: "job-1", OperationID: "op-1", How: how, Keep: map[string]string{"status_url": "/v1/jobs/job-1"}}}},
		"an id that is a number":   {listed(`{"id":12345678901234567890,"op":"op-1","kind":"video"}`), mine("12345678901234567890")},
		"one after 5 MB of others": {manyOthers(5 << 20), mine("job-1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, answer(framed(200, c.body)))
			got, err := newLooking(t, "http://"+remote.addr).Investigate(context.Background(), investigation())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Found); diff != "" {
				t.Error(diff)
			}
			if len(got.Raw) == 0 || len(got.Raw) > 65<<10 {
				t.Errorf("%d bytes are kept of an answer of %d", len(got.Raw), len(c.body))
			}
			for _, f := range got.Found {
				if !strings.Contains(string(got.Raw), f.RemoteJobID) {
					t.Errorf("what is kept of the answer does not show %s", f.RemoteJobID)
				}
			}
		})
	}
}

// manyOthers is a list of so many bytes in which the last item is the operation's.
func manyOthers(size int) string {
	other := item(strings.Repeat("x", 1000), "op-0")
	return listed(strings.Repeat(other+",", size/(len(other)+1)) + item("job-1", "op-1"))
}

// Contract D4: an answer that cannot be read whole, or of which it cannot be said what it names, is an error and not
// nothing found.
func TestAnAnswerThatIsNoListIsAnError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"500":                      framed(500, listed()),
		"401":                      framed(401, listed()),
		"404":                      framed(404, listed()),
		"410":                      framed(410, listed()),
		"HTML":                     framed(200, "<html>"),
		"cut":                      "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + listed(),
		"no end":                   "HTTP/1.1 200 OK\r\n\r\n" + listed(),
		"nothing":                  "",
		"no list":                  framed(200, `{"items":[]}`),
		"null":                     framed(200, `{"data":null}`),
		"an object":                framed(200, `{"data":{"0":`+item("job-1", "op-1")+`}}`),
		"the list twice":           framed(200, `{"data":[],"data":[`+item("job-1", "op-1")+`]}`),
		"an item says two things":  framed(200, listed(item("job-1", "op-1"), `{"id":"job-2","op":"op-2","op":"op-1","kind":"video"}`)),
		"a match without an id":    framed(200, listed(`{"op":"op-1","kind":"video"}`)),
		"a match with a blank id":  framed(200, listed(item("  ", "op-1"))),
		"a match with the id null": framed(200, listed(`{"id":null,"op":"op-1","kind":"video"}`)),
		"one good and one bad id":  framed(200, listed(item("job-1", "op-1"), item("", "op-1"))),
		"over 8 MiB":               framed(200, manyOthers(9<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, answer(text))
			got, err := newLooking(t, "http://"+remote.addr).Investigate(context.Background(), investigation())
			if err == nil || len(got.Found) > 0 {
				t.Errorf("found %v, error %v", got.Found, err)
			}
		})
	}
}

// Contract D4: an investigator looks and does nothing else: one GET, with the API's headers at its own origin only.
func TestALookIsOneGETAndTellsNobodyElseTheHeaders(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 10)
	note := func(name string, r *http.Request) {
		seen <- fmt.Sprintf("%s %s %s %t %d", name, r.Method, r.URL.RequestURI(), r.Header.Get("Authorization") == "Bearer "+secret, r.ContentLength)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note("other", r)
		_, _ = w.Write([]byte(listed(item("job-1", "op 1&x=y"))))
	}))
	t.Cleanup(other.Close)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note("api", r)
		http.Redirect(w, r, other.URL+"/list", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(api.Close)
	look := investigation()
	look.OperationID = "op 1&x=y"
	got, err := newLooking(t, api.URL).Investigate(context.Background(), look)
	if err != nil || len(got.Found) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	close(seen)
	var all []string
	for s := range seen {
		all = append(all, s)
	}
	want := []string{"api GET /v1/jobs?op=op%201%26x%3Dy true 0", "other GET /list false 0"}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// A job that could not be observed is not attached: what observe.url is made of must be in its item.
func TestAMatchThatLacksAValueOfItsAddressesIsAnError(t *testing.T) {
	t.Parallel()
	for found, want := range map[string]string{
		`{"id":"job-1","op":"op-1","kind":"video","urls":{"get":"/v1/jobs/job-1"}}`: "",
		item("job-1", "op-1"): "a job matches: observe.url is built from the kept value {status_url}",
		`{"id":"job-1","op":"op-1","kind":"video","urls":{"get":"file:///etc/passwd"}}`: "a job matches: observe.url: the address",
	} {
		remote := startRaw(t, nil, answer(framed(200, listed(found))))
		h := newLooking(t, "http://"+remote.addr, "url: ${BASE}/v1/jobs/{remote_job_id}", `url: "{status_url}"`)
		got, err := h.Investigate(context.Background(), investigation())
		if (want == "") != (err == nil && len(got.Found) == 1) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", found, got.Found, err)
		}
	}
}

func TestALookShowsNoSecretThatTheRemoteEchoes(t *testing.T) {
	t.Parallel()
	echo := fmt.Sprintf(`{"id":"job-1","op":"op-1","kind":"video","sent":{"authorization":"Bearer %s"}}`, secret)
	for name, text := range map[string]string{
		"found":    framed(200, listed(echo)),
		"no match": framed(200, listed(strings.Replace(echo, "op-1", "op-2", 1))),
		"error":    framed(500, echo),
		"bad id":   framed(200, listed(strings.Replace(echo, `"job-1"`, `""`, 1))),
	} {
		remote := startRaw(t, nil, answer(text))
		got, err := newLooking(t, "http://"+remote.addr).Investigate(context.Background(), investigation())
		if all := fmt.Sprint(got.Found, string(got.Raw), err); strings.Contains(all, "s3cr3t") || !strings.Contains(all, "[redacted]") {
			t.Errorf("%s: %s", name, all)
		}
	}
}

func TestALookThatTakesTooLongEndsAndHandsTheRemotesWishOn(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) { _, _ = r.readRequest(c); <-r.quit })
	began := time.Now()
	_, err := newLooking(t, "http://"+remote.addr, "timeout: 5s", "timeout: 100ms").Investigate(context.Background(), investigation())
	if err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	remote = startRaw(t, nil, answer(framed(429, "", "Retry-After: 7")))
	_, err = newLooking(t, "http://"+remote.addr).Investigate(context.Background(), investigation())
	if got := worker.RetryAfter(err); got != 7*time.Second {
		t.Errorf("got %v of %v", got, err)
	}
}

func TestAFileWithoutTheSectionsCannotLookAndCannotCancel(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(framed(200, listed())))
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	_, looked := h.Investigate(context.Background(), investigation())
	_, asked := h.Cancel(context.Background(), worker.Cancellation{OperationID: "op-1", Kind: "video", RemoteJobID: "job-1"})
	if !errors.Is(looked, errors.ErrUnsupported) || !errors.Is(asked, errors.ErrUnsupported) || remote.conns.Load() != 0 {
		t.Errorf("got %v and %v, %d connections", looked, asked, remote.conns.Load())
	}
}
