package httpjob_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

const result = "the hedge, filmed at dawn"

func delivered(key, body string) worker.Delivered {
	return worker.Delivered{ObjectKey: key, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(body))), Bytes: int64(len(body))}
}

func delivery(url string) worker.Delivery {
	return worker.Delivery{OperationID: "op-1", Kind: "video", Provider: "video", Account: "a", RemoteJobID: "job-1", Attempt: 1,
		Snapshot: fmt.Appendf(nil, `{"status":"succeeded","output":{"url":%q}}`, url)}
}

// files gives the visible content of a folder, and how many files of half an object lie in it.
func files(t *testing.T, dir string) (map[string]string, int) {
	t.Helper()
	got, parts := map[string]string{}, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case strings.HasSuffix(name, ".part"):
			parts++
		case !strings.HasPrefix(name, ".fencerow"):
			text, err := os.ReadFile(path)
			got[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, parts
}

// fileServer serves body at every path and counts.
func fileServer(t *testing.T, body string) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var count atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count.Add(1)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server, &count
}

func TestAResultComesHomeOnce(t *testing.T) {
	t.Parallel()
	server, count := fileServer(t, result)
	dir := t.TempDir()
	h := newHandler(t, server.URL, httpjob.Options{OutDir: dir})
	for range 2 {
		got, err := h.Deliver(context.Background(), delivery(server.URL+"/f"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(delivered("op-1.mp4", result), got); diff != "" {
			t.Error(diff)
		}
	}
	got, parts := files(t, dir)
	if diff := cmp.Diff(map[string]string{"op-1.mp4": result}, got); diff != "" || parts != 0 || count.Load() != 1 {
		t.Errorf("%d parts, %d fetches %s", parts, count.Load(), diff)
	}
}

func TestACutDownloadNeverBecomesTheObject(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut by length":  "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + result,
		"cut in a chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n" + result,
		"no chunk's end": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"no marked end":  "HTTP/1.1 200 OK\r\n\r\n" + result,
		"a page":         framed(200, "<html>log in</html>", "Content-Type: text/html; charset=utf-8"),
		"a part":         framed(206, result),
		"500":            framed(500, result),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, answer(text))
			dir := t.TempDir()
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{OutDir: dir})
			_, err := h.Deliver(context.Background(), delivery("http://"+remote.addr+"/f"))
			if err == nil || worker.IsDeliverFailed(err) {
				t.Errorf("got %v", err)
			}
			if got, parts := files(t, dir); len(got) != 0 || parts != 0 {
				t.Errorf("left behind: %v and %d parts", got, parts)
			}
		})
	}
}

func TestAnExpiredAddressIsReadAnewOnce(t *testing.T) {
	t.Parallel()
	for _, code := range []int{401, 403, 404, 410} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			var statuses atomic.Int64
			fresh := "/fresh"
			mux := http.NewServeMux()
			mux.HandleFunc("GET /v1/jobs/job-1", func(w http.ResponseWriter, _ *http.Request) {
				statuses.Add(1)
				_, _ = fmt.Fprintf(w, `{"status":"succeeded","output":{"url":%q}}`, fresh)
			})
			mux.HandleFunc("GET /old", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
			mux.HandleFunc("GET /fresh", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, result) })
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			h := newHandler(t, server.URL, httpjob.Options{OutDir: t.TempDir()})
			got, err := h.Deliver(context.Background(), delivery("/old"))
			if diff := cmp.Diff(delivered("op-1.mp4", result), got); diff != "" || err != nil || statuses.Load() != 1 {
				t.Errorf("%v, %d looks %s", err, statuses.Load(), diff)
			}
			// A fresh address that is no good either is not read again and again.
			fresh = "/old"
			d := delivery("/old")
			d.OperationID = "op-2"
			_, err = h.Deliver(context.Background(), d)
			if err == nil || worker.IsDeliverFailed(err) || statuses.Load() != 2 {
				t.Errorf("%v, %d looks", err, statuses.Load())
			}
		})
	}
}

func TestASnapshotWithoutAnAddressIsReadAnew(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/jobs/job-1", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"succeeded","output":{"url":"/f"}}`)
	})
	mux.HandleFunc("GET /f", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, result) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for i, snapshot := range []string{"", "null", `{"output":{"url":"http`, `{"output":{"url":null}}`, `{"output":{"url":"http://[redacted]/f"}}`} {
		h := newHandler(t, server.URL, httpjob.Options{OutDir: t.TempDir()})
		d := delivery("")
		d.Snapshot = []byte(snapshot)
		if _, err := h.Deliver(context.Background(), d); err != nil {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

func TestADownloadElsewhereGoesWithoutTheHeaders(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
		_, _ = io.WriteString(w, result)
	}))
	t.Cleanup(store.Close)
	h := newHandler(t, "http://127.0.0.1:1", httpjob.Options{OutDir: t.TempDir()})
	if _, err := h.Deliver(context.Background(), delivery(store.URL)); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "" {
		t.Errorf("the other host was given %q", got)
	}
	h = newHandler(t, store.URL, httpjob.Options{OutDir: t.TempDir()})
	if _, err := h.Deliver(context.Background(), delivery(store.URL)); err != nil {
		t.Fatal(err)
	}
	if want, got := "Bearer "+secret+secret, <-seen; got != want {
		t.Errorf("the API was given %q", got)
	}
}

func TestADamagedObjectIsFetchedAgain(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"", "half", "the hedge, filmed at dusk"} {
		server, count := fileServer(t, result)
		dir := t.TempDir()
		h := newHandler(t, server.URL, httpjob.Options{OutDir: dir})
		for range 2 {
			if _, err := h.Deliver(context.Background(), delivery(server.URL)); err != nil {
				t.Fatal(err)
			}
			if got, _ := files(t, dir); got["op-1.mp4"] != result {
				t.Errorf("after the damage %q: %v", damage, got)
			}
			if err := os.WriteFile(filepath.Join(dir, "op-1.mp4"), []byte(damage), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if count.Load() != 2 {
			t.Errorf("%d fetches", count.Load())
		}
	}
}

func TestAFileOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	server, count := fileServer(t, result)
	dir := t.TempDir()
	path := filepath.Join(dir, "op-1.mp4")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, server.URL, httpjob.Options{OutDir: dir})
	_, err := h.Deliver(context.Background(), delivery(server.URL))
	got, _ := files(t, dir)
	if !worker.IsDeliverFailed(err) || got["op-1.mp4"] != "mine" || count.Load() != 0 {
		t.Errorf("got %v, %v", err, got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Deliver(context.Background(), delivery(server.URL)); err != nil {
		t.Error(err)
	}
}

func TestASecondOperationWithTheKeyIsRefusedByName(t *testing.T) {
	t.Parallel()
	server, _ := fileServer(t, result)
	dir := t.TempDir()
	h := newHandler(t, server.URL, httpjob.Options{OutDir: dir}, "{operation_id}.mp4", "{operation_id}{kind}.mp4")
	first, second := delivery(server.URL), delivery(server.URL)
	first.OperationID, first.Kind = "op", "-1"
	second.OperationID, second.Kind = "op-", "1"
	if _, err := h.Deliver(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	_, err := h.Deliver(context.Background(), second)
	if !worker.IsDeliverFailed(err) || !strings.Contains(err.Error(), `operation "op"`) {
		t.Errorf("got %v", err)
	}
	// The same id with another remote job comes from another database: that result was paid for as well.
	other := first
	other.RemoteJobID = "job-2"
	if _, err := h.Deliver(context.Background(), other); !worker.IsDeliverFailed(err) || !strings.Contains(err.Error(), "job-1") {
		t.Errorf("got %v", err)
	}
}

func TestTwoDeliverersAtOnceLeaveOneWholeObject(t *testing.T) {
	t.Parallel()
	// Each answer is another content, as of a remote that encodes anew for every download.
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "content %d", n.Add(1))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	var all sync.WaitGroup
	var mu sync.Mutex
	sums := map[string]bool{}
	for i := range 8 {
		h := newHandler(t, server.URL, httpjob.Options{OutDir: dir})
		all.Go(func() {
			d := delivery(server.URL)
			d.Attempt = i + 1
			got, err := h.Deliver(context.Background(), d)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				sums[got.SHA256] = true
			}
		})
	}
	all.Wait()
	got, parts := files(t, dir)
	want := map[string]bool{delivered("", got["op-1.mp4"]).SHA256: true}
	if diff := cmp.Diff(want, sums); diff != "" || parts != 0 {
		t.Errorf("%d parts: the answers and the object differ: %s", parts, diff)
	}
}

func TestWhatACrashedAttemptLeftBehindIsRemoved(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	quit := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			started <- struct{}{}
			<-quit
			return
		}
		_, _ = io.WriteString(w, result)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	h := newHandler(t, server.URL, httpjob.Options{OutDir: dir})
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error, 1)
	go func() { _, err := h.Deliver(ctx, delivery("/slow")); first <- err }()
	<-started
	if _, parts := files(t, dir); parts != 1 {
		t.Errorf("%d parts while the first attempt is at work", parts)
	}
	d := delivery("/f")
	d.Attempt = 2
	if _, err := h.Deliver(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	if _, parts := files(t, dir); parts != 0 {
		t.Errorf("%d parts after the second", parts)
	}
	cancel()
	close(quit)
	if err := <-first; err == nil {
		t.Error("the first attempt succeeded with half an object")
	}
	if got, _ := files(t, dir); got["op-1.mp4"] != result {
		t.Errorf("got %v", got)
	}
}

func TestNoKeyLeadsOutOfTheFolder(t *testing.T) {
	t.Parallel()
	server, _ := fileServer(t, result)
	base := t.TempDir()
	dir, outside := filepath.Join(base, "out"), filepath.Join(base, "outside")
	for _, folder := range []string{dir, outside} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"video": outside, "link.mp4": filepath.Join(outside, "x")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ key, id string }{
		{"{kind}/{operation_id}.mp4", "op-1"}, {"{operation_id}.mp4", "link"}, {"{operation_id}.jsonl", "results"},
	} {
		h := newHandler(t, server.URL, httpjob.Options{OutDir: dir}, "\"{operation_id}.mp4\"", fmt.Sprintf("%q", c.key))
		d := delivery(server.URL)
		d.OperationID = c.id
		if _, err := h.Deliver(context.Background(), d); err == nil {
			t.Errorf("%s of %s was written", c.key, c.id)
		}
	}
	if got, _ := files(t, outside); len(got) != 0 {
		t.Errorf("outside lies %v", got)
	}
	h := newHandler(t, server.URL, httpjob.Options{OutDir: dir})
	ids := []string{"..", "../../x", "/etc/passwd", "a\\b", "a\x00b", ".hidden", "a.", "ä", "A/b", "a%2Fb", "A%2fb", strings.Repeat("é", 500), strings.Repeat("é", 501)}
	keys := map[string]string{}
	for _, id := range ids {
		d := delivery(server.URL)
		d.OperationID = id
		got, err := h.Deliver(context.Background(), d)
		if err != nil {
			t.Errorf("%q: %v", id, err)
		}
		if other, taken := keys[got.ObjectKey]; taken || strings.ContainsAny(got.ObjectKey, "/\\") {
			t.Errorf("%q and %q have the key %q", id, other, got.ObjectKey)
		}
		keys[got.ObjectKey] = id
	}
	if got, _ := files(t, dir); len(got) != len(ids) {
		t.Errorf("%d files, want %d", len(got), len(ids))
	}
}

func TestATemplateMayNameTheResult(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.RequestURI
		_, _ = io.WriteString(w, result)
	}))
	t.Cleanup(server.Close)
	h := newHandler(t, server.URL, httpjob.Options{OutDir: t.TempDir()}, "  from: /output/url", "  url: ${BASE}/v1/jobs/{remote_job_id}/content")
	if _, err := h.Deliver(context.Background(), delivery("")); err != nil {
		t.Fatal(err)
	}
	if got := <-paths; got != "/v1/jobs/job-1/content" {
		t.Errorf("got %s", got)
	}
}

func TestACanceledDeliveryLeavesNothing(t *testing.T) {
	t.Parallel()
	server, _ := fileServer(t, result)
	dir := t.TempDir()
	h := newHandler(t, server.URL, httpjob.Options{OutDir: dir})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Deliver(ctx, delivery(server.URL)); err == nil || worker.IsDeliverFailed(err) {
		t.Errorf("got %v", err)
	}
	if got, parts := files(t, dir); len(got) != 0 || parts != 0 {
		t.Errorf("left behind: %v and %d parts", got, parts)
	}
}
