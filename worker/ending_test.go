package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// Contract B5: how a request ended of which nobody knows what it did is evidence before it is in review, with its class
// and what the connection carried, where that was counted. An answer's body is a piece of its own.
func TestHowARequestEndedIsEvidence(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"counted", &worker.SubmitError{
			Class: worker.ClassUnknown, Reason: worker.ReasonNoResponse, Wire: &worker.Wire{Handed: 412, Received: 9}, Err: errors.New("reset"),
		}, []string{"error under 1: class unknown, reason no_response, 412 bytes of the request handed to the connection, 9 bytes received: reset"}},
		{"with an answer", &worker.SubmitError{
			Class: worker.ClassUnknown, Reason: worker.ReasonUnclearAnswer, Raw: []byte("<h1>"), Wire: &worker.Wire{Handed: 1}, Err: errors.New("502"),
		}, []string{"error under 1: class unknown, reason unclear_answer, 1 bytes of the request handed to the connection, 0 bytes received: 502",
			"answer under 1: <h1>"}},
		{"not counted", worker.Unknown(errors.New("reset"), worker.ReasonNoResponse), []string{"error under 1: class unknown, reason no_response: reset"}},
		{"not classified", errors.New("what?"), []string{"error under 1: class unknown, reason unclassified: what?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, &remote{submit: func(context.Context, worker.Submission) (worker.Accepted, error) {
					return worker.Accepted{}, c.err
				}})
				b.prepare("a")
				b.run(time.Minute)
				if diff := cmp.Diff(c.want, b.pieces("a")); diff != "" {
					t.Error(diff)
				}
				if op := b.get("a"); op.Phase != transitions.Uncertain || op.EvidenceSeq != int64(len(c.want)) {
					t.Errorf("%s with evidence number %d, want uncertain with %d", op.Phase, op.EvidenceSeq, len(c.want))
				}
			})
		})
	}
}

// Contract B9: an end that proves something, and came after the lease was over, proves it to the reviewer.
func TestAnEndThatCameLateIsEvidenceWithItsClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remote{}
		b := newBench(t, r)
		r.submit = func(context.Context, worker.Submission) (worker.Accepted, error) {
			time.Sleep(2 * time.Minute) // sleep: synthetic, past the lease
			if _, err := b.m.Sweep(context.Background(), "submit_lapsed", 1); err != nil {
				t.Error(err)
			}
			return worker.Accepted{}, &worker.SubmitError{Class: worker.ClassRejected, Wire: &worker.Wire{Handed: 412, Received: 80}, Err: errors.New("422")}
		}
		b.prepare("a")
		b.run(5 * time.Minute)
		want := []string{"late_rejected under 1: class rejected, 412 bytes of the request handed to the connection, 80 bytes received: 422"}
		if diff := cmp.Diff(want, b.pieces("a")); diff != "" {
			t.Error(diff)
		}
	})
}

// pieces is an operation's evidence, "kind under revision: text".
func (b *bench) pieces(id string) []string {
	b.Helper()
	entries, err := b.m.Store().Evidence(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%s under %d: %s", e.Kind, e.Revision, e.Detail))
	}
	return got
}
