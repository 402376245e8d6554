package reports_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// cut holds a stored text to its bound: its beginning is there, and so is a count of the rest.
func cut(t *testing.T, what string, got []byte, whole string, limit int) {
	t.Helper()
	kept, told, _ := strings.Cut(string(got), "… (")
	var rest int
	if _, err := fmt.Sscanf(told, "%d more bytes)", &rest); err != nil || len(got) > limit || len(got) < limit-4 ||
		!strings.HasPrefix(whole, kept) || len(kept)+rest != len(whole) {
		t.Errorf("%s has %d bytes of %d and ends with %q; want at most %d, the first and a count of the rest", what, len(got), len(whole), got[max(0, len(got)-40):], limit)
	}
}

// B77: a large request is stored and sent whole; a remote's error text of 5 MB and a result list of 10,000 addresses
// break no write: what is kept of them is bounded, and the rest is counted. No notification carries them,
// since there is none (rules: Text and Bounded, MaxDetail and MaxRaw).
func TestB77WhatIsHugeBreaksNoWrite(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte(`{"prompt":"fence"}`), 1<<20/18)
	long := strings.Repeat("très long ", 5<<20/11)
	var list strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&list, `"https://cdn.example.com/results/%032d.mp4",`, i)
	}
	onStores(t, func(t *testing.T, s *stand) {
		sent := make(chan []byte, 10)
		h := api{
			submit: func(_ context.Context, sub worker.Submission) (worker.Accepted, error) {
				sent <- sub.Request
				switch sub.OperationID {
				case "unknown":
					return worker.Accepted{}, &worker.SubmitError{Class: worker.ClassUnknown, Reason: worker.ReasonUnclearAnswer, Raw: []byte(long), Err: errors.New(long)}
				case "rejected":
					return worker.Accepted{}, worker.Rejected(errors.New(long))
				}
				return worker.Accepted{RemoteJobID: "job-" + sub.OperationID}, nil
			},
			observe: func(_ context.Context, o worker.Observation) (worker.Status, error) {
				if o.OperationID == "failed" {
					return worker.Status{State: worker.Failed, Detail: long}, nil
				}
				return worker.Status{State: worker.Succeeded, Snapshot: []byte(list.String())}, nil
			},
			deliver: func(_ context.Context, d worker.Delivery) (worker.Delivered, error) {
				return worker.Delivered{}, worker.DeliverFailed(errors.New(long))
			},
		}
		ids := []string{"unknown", "rejected", "failed", "listed"}
		for _, id := range ids {
			r := requestOf(id)
			r.Request = large
			s.prepare(r)
		}
		s.working(s.machine, h).start()
		await(t, "all have ended", func() bool {
			return s.op("unknown").Phase == transitions.Uncertain && s.op("rejected").Outcome == "rejected" &&
				s.op("failed").Outcome == "failed" && s.op("listed").Delivery == "failed"
		})
		for _, id := range ids {
			if got := <-sent; !bytes.Equal(got, large) || !bytes.Equal(s.op(id).Request, large) {
				t.Errorf("of %d bytes %d were sent, and %d are stored of %s", len(large), len(got), len(s.op(id).Request), id)
			}
			last := s.history(id)[len(s.history(id))-1]
			cut(t, "the detail of "+id, []byte(last.Detail), long, machine.MaxDetail)
			if id == "failed" || id == "listed" {
				cut(t, "the reason of "+id, []byte(last.Reason), long, machine.MaxDetail)
			}
		}
		cut(t, "the snapshot", s.op("listed").Snapshot, list.String(), machine.MaxRaw)
		evidence := s.evidence("unknown")
		if len(evidence) != 2 {
			t.Fatalf("there are %d pieces of evidence, want how the request ended, and the answer", len(evidence))
		}
		words := bytes.TrimPrefix(evidence[0].Detail, []byte("class unknown, reason unclear_answer: "))
		cut(t, "the words", words, long, machine.MaxDetail)
		cut(t, "the answer", evidence[1].Detail, long, machine.MaxRaw)
		s.sound(ids...)
	})
}

func (s *stand) evidence(id string) []machine.EvidenceEntry {
	s.Helper()
	entries, err := s.store.Evidence(context.Background(), id)
	if err != nil {
		s.Fatal(err)
	}
	return entries
}

const oddFile = `kind: video
name: video
submit: {url: "%[1]s/jobs", id: /id, rejected: [400], refused: [429]}
observe: {url: "%[1]s/jobs/{remote_job_id}", status: /status, succeeded: [ok], failed: [bad], error: /error}
`

// oddities are bytes that JSON may hold in its own writing, or a broken remote sends, and that no text column takes.
var oddities = map[string]string{
	"a NUL in JSON's writing":      `\u0000`,
	"a lone surrogate":             `\ud800`,
	"a NUL":                        "\x00",
	"a byte that is not UTF-8":     "\xff",
	"half a character":             "\xc3",
	"a surrogate in UTF-8's shape": "\xed\xa0\x80",
}

// B79: the request is stored byte for byte and sent as it stands, whatever is in it, and a remote's answer and error are
// kept as the bytes that came: neither goes through a column that refuses some of them (rules: request, snapshot and
// evidence are bytes; texts of others are escaped before they are stored, machine.Text; lifecycle, "Evidence").
func TestB79NULAndLoneSurrogatesAreStoredAndSentAsTheyStand(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		received := make(chan string, 100)
		answers := map[string]string{} // by request
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, answers[r.URL.Path])
				return
			}
			body, _ := io.ReadAll(r.Body)
			received <- string(body)
			what, _, _ := strings.Cut(string(body), "|")
			status := map[string]int{"id": 201, "body": 200, "error": 500, "rejected": 400, "end": 201}[what]
			answer := answers[string(body)]
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(server.Close)
		spec, err := httpjob.Parse("odd.yaml", fmt.Appendf(nil, oddFile, server.URL), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		h, err := httpjob.New(spec, httpjob.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close() })
		var requests []string
		for name, odd := range oddities {
			for what, answer := range map[string]string{
				"id": `{"id":"job` + odd + `1"}`, "body": `{"error":"` + odd + `"}` + odd, "error": "sorry: " + odd, "rejected": "no: " + odd,
				"end": `{"id":"job-` + strings.ReplaceAll(name, " ", "-") + `"}`,
			} {
				if what == "end" && !strings.HasPrefix(odd, `\`) {
					continue // a status that is no JSON teaches nothing
				}
				request := what + "|" + odd + "|" + name
				requests, answers[request] = append(requests, request), answer
				r := requestOf(what + " with " + name)
				r.Request, r.WantsDelivery = []byte(request), false
				s.prepare(r)
			}
			answers["/jobs/job-"+strings.ReplaceAll(name, " ", "-")] = `{"status":"bad","error":"` + odd + `"}`
		}
		w := s.working(s.machine, h)
		w.config.Brake = -1
		w.start()
		ended := map[string]string{"id": "uncertain", "body": "uncertain", "error": "uncertain unclear_answer", "rejected": "terminal rejected", "end": "terminal failed"}
		for name := range oddities {
			for what, want := range ended {
				if what != "end" || strings.HasPrefix(oddities[name], `\`) {
					s.endsOddly(what+" with "+name, want)
				}
			}
		}
		var got []string
		for range requests {
			got = append(got, <-received)
		}
		slices.Sort(requests)
		slices.Sort(got)
		if diff := cmp.Diff(requests, got); diff != "" {
			t.Errorf("what was received (-want +got):\n%s", diff)
		}
		s.keptOddly(answers)
	})
}

// endsOddly waits for an operation's end.
func (s *stand) endsOddly(id, want string) {
	s.Helper()
	var op machine.Operation
	late := time.After(20 * time.Second)
	for op.Phase != transitions.Uncertain && op.Outcome == "" {
		select {
		case <-late:
			s.Fatalf("%s is still %s", id, op.Phase)
		case <-time.After(5 * time.Millisecond):
			op = s.op(id)
		}
	}
	if got := strings.TrimSpace(op.Phase + " " + op.UncertainReason + op.Outcome); !strings.HasPrefix(got, want) {
		s.Errorf("%s ended as %s, want %s", id, got, want)
	}
	s.sound(id)
}

// keptOddly holds what is kept of each answer to the bytes that came.
func (s *stand) keptOddly(answers map[string]string) {
	s.Helper()
	for name, odd := range oddities {
		for _, what := range []string{"id", "body", "error"} {
			var kept []string
			for _, e := range s.evidence(what + " with " + name) {
				if e.Kind == machine.EvidenceAnswer {
					kept = append(kept, string(e.Detail))
				}
			}
			if diff := cmp.Diff([]string{answers[what+"|"+odd+"|"+name]}, kept); diff != "" {
				s.Errorf("the evidence of %s with %s (-want +got):\n%s", what, name, diff)
			}
		}
		if !strings.HasPrefix(odd, `\`) {
			continue
		}
		if want, got := `{"status":"bad","error":"`+odd+`"}`, string(s.op("end with "+name).Snapshot); want != got {
			s.Errorf("the snapshot of a failure with %s is %q, want %q", name, got, want)
		}
	}
}

// B79: an id, a kind, a provider or an account that no text column takes is refused by name before anything is sent to
// the database; a handler's own error text is escaped instead, since nothing that was learnt may be lost (rules:
// Request.Validate; machine.Text).
func TestB79NamesWithANULAreRefusedAndErrorTextsAreEscaped(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		for _, odd := range []string{"a\x00b", "a\xff", "\xed\xa0\x80"} {
			for field, set := range map[string]func(*machine.Request){
				"id": func(r *machine.Request) { r.OperationID = odd }, "kind": func(r *machine.Request) { r.Kind = odd },
				"provider": func(r *machine.Request) { r.Provider = odd }, "account": func(r *machine.Request) { r.Account = odd },
			} {
				r := requestOf("refused")
				set(&r)
				_, err := s.machine.Prepare(t.Context(), r)
				var invalid *machine.InvalidError
				if !errors.As(err, &invalid) || invalid.Field != field || machine.IsUnknown(err) {
					t.Errorf("prepare with the %s %q: %v, want a refusal that names it", field, odd, err)
				}
			}
			if _, err := s.machine.Get(t.Context(), odd); !errors.Is(err, machine.ErrNotFound) {
				t.Errorf("get %q: %v, want that there is none", odd, err)
			}
		}
		s.prepare(requestOf("a"))
		s.working(s.machine, api{submit: func(context.Context, worker.Submission) (worker.Accepted, error) {
			return worker.Accepted{}, worker.Rejected(errors.New("bad \x00 and \xff"))
		}}).start()
		await(t, "it is rejected", func() bool { return s.op("a").Outcome == "rejected" })
		history := s.history("a")
		if diff := cmp.Diff(`bad \x00 and \xff`, history[len(history)-1].Detail); diff != "" {
			t.Errorf("the detail (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}
