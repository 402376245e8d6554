package workertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/worker"
	"github.com/fencerow/fencerow/worker/workertest"
)

// recorder is a testing.TB that keeps what a test would have failed with.
type recorder struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) { r.TB.Fatalf(format, args...) }

// sends is a handler that sends with a client of any kind.
type sends struct {
	base   string
	client *http.Client
	change func(*http.Request)
	again  func(tries int, response *http.Response, err error) bool // nil: never
	claims func(error) error                                        // what it makes of an error; nil: nothing
}

func (s *sends) Submit(ctx context.Context, sub worker.Submission) (worker.Accepted, error) {
	for tries := 1; ; tries++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base, bytes.NewReader(sub.Request))
		if err != nil {
			return worker.Accepted{}, err
		}
		if s.change != nil {
			s.change(request)
		}
		response, err := s.client.Do(request)
		if s.again != nil && s.again(tries, response, err) {
			if err == nil {
				_ = response.Body.Close()
			}
			continue
		}
		accepted, err := read(response, err)
		if err != nil && s.claims != nil {
			err = s.claims(err)
		}
		return accepted, err
	}
}

func read(response *http.Response, err error) (a worker.Accepted, _ error) {
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return a, err
	}
	if response.StatusCode != http.StatusOK {
		return a, errors.New(response.Status)
	}
	var answer struct{ ID string }
	err = json.Unmarshal(body, &answer)
	return worker.Accepted{RemoteJobID: answer.ID}, err
}

func (*sends) Observe(context.Context, worker.Observation) (worker.Status, error) {
	return worker.Status{}, nil
}

// single sends with a client of Go's own on connections that are kept, but follows no redirect.
func single(base string) *sends {
	return &sends{base: base, client: &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func TestAHandlerThatSendsOncePasses(t *testing.T) {
	t.Parallel()
	workertest.SendsOnce(t, workertest.Remote{}, func(base string) worker.Handler { return single(base) })
}

// thrice tries three times for as long as told.
func thrice(unless func(*http.Response, error) bool) func(int, *http.Response, error) bool {
	return func(tries int, response *http.Response, err error) bool {
		return tries < 3 && !unless(response, err)
	}
}

var ended = regexp.MustCompile(`a request that (.*?): (?:one call of Submit (sent \d+)|Submit (says .*?):)`)

// findings are what the helper said, in short.
func (r *recorder) findings() []string {
	short := []string{}
	for _, text := range r.said {
		found := ended.FindStringSubmatch(text)
		if found == nil {
			short = append(short, text)
			continue
		}
		short = append(short, found[1]+": "+found[2]+found[3])
	}
	return short
}

// Reports B04 and B24: clients that send again beneath their caller are found by their number of requests, whether they
// retry on a status, on an error that hides the method, on a header that invites it (B19) or on a redirect (B21); and
// so is a handler that claims more than it knows (B03, B25). The rule: one call of Submit, one request.
func TestAHandlerThatSendsTwiceOrClaimsTooMuchFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*sends)
		want   []string
	}{
		{"B04: a client that retries on 502, 503 and 504", func(s *sends) {
			s.again = thrice(func(r *http.Response, err error) bool { return err != nil || r.StatusCode < 502 }) //nolint:bodyclose // the client under test closes them
		}, []string{"is answered 502: sent 3", "is answered 503: sent 3", "is answered 504: sent 3"}},
		{"B24: a filter that reads the method from the response", func(s *sends) {
			s.again = thrice(func(r *http.Response, err error) bool { //nolint:bodyclose // the client under test closes them
				return err == nil && r.StatusCode == 200 || r != nil && r.Request.Method == http.MethodPost || errors.Is(err, context.Canceled)
			})
		}, []string{"is taken and the connection cut: sent 3", "is taken and the connection reset: sent 3"}},
		{"B19: a header that makes Go's client send again on a kept connection", func(s *sends) {
			s.change = func(r *http.Request) { r.Header.Set("Idempotency-Key", "k") }
		}, []string{"is taken and the connection cut: sent 2", "is taken and the connection reset: sent 2"}},
		{"B21: a client that follows redirects", func(s *sends) { s.client.CheckRedirect = nil },
			[]string{"is redirected with 307: sent 10"}},
		{"B25: every error without an answer is called not sent", func(s *sends) {
			s.claims = func(err error) error {
				if strings.HasPrefix(err.Error(), "Post ") {
					return worker.NotSent(err)
				}
				return err
			}
		}, []string{
			"is taken and the connection cut: says that it was not sent", "is taken and the connection reset: says that it was not sent",
			"is taken and never answered: says that it was not sent",
		}},
		{"B03: a 5xx is called refused", func(s *sends) {
			s.claims = func(err error) error {
				if strings.HasPrefix(err.Error(), "50") {
					return worker.Refused(err, 0)
				}
				return err
			}
		}, []string{
			"is answered 500: says that it is known what became of it", "is answered 502: says that it is known what became of it",
			"is answered 503: says that it is known what became of it", "is answered 504: says that it is known what became of it",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			workertest.SendsOnce(r, workertest.Remote{}, func(base string) worker.Handler {
				s := single(base)
				c.change(s)
				return s
			})
			if diff := cmp.Diff(c.want, r.findings()); diff != "" {
				t.Errorf("what it found (-want +got):\n%s", diff)
			}
		})
	}
}

// A handler that sends nothing, or does not understand the answer, proves nothing by passing.
func TestAHandlerThatSendsNothingFails(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	workertest.SendsOnce(r, workertest.Remote{}, func(string) worker.Handler { return silent{} })
	if len(r.said) == 0 || !strings.Contains(r.said[0], "0 requests arrived") {
		t.Errorf("it says %q", r.said)
	}
}

type silent struct{ *sends }

func (silent) Submit(context.Context, worker.Submission) (worker.Accepted, error) {
	return worker.Accepted{RemoteJobID: "job-1"}, nil
}

// A log-in before the request is no second request.
func TestALogInIsNotCounted(t *testing.T) {
	t.Parallel()
	remote := workertest.Remote{
		Accepted: `{"ID":"x"}`, Request: []byte("order"),
		Sends: func(r *http.Request) bool { return r.URL.Path != "/login" },
	}
	workertest.SendsOnce(t, remote, func(base string) worker.Handler { return &loggingIn{single(base)} })
}

type loggingIn struct{ *sends }

func (l *loggingIn) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	response, err := l.client.Post(l.base+"/login", "", strings.NewReader("me"))
	if err != nil {
		return worker.Accepted{}, worker.NotSent(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return l.sends.Submit(ctx, s)
}
