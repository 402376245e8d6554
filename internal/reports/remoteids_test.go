package reports_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// answering is a remote whose answer to an operation's request is what a test wants.
func answering(t testing.TB, answers map[string]string) *shop {
	return newShop(t, &shop{
		sell: func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answers[id]))
		},
		tell: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"running"}`)) },
	})
}

// sellAll sends all of these and stops.
func (s *stand) sellAll(remote *shop, ids ...string) {
	s.Helper()
	for _, id := range ids {
		s.prepare(order(id))
	}
	w := s.working(s.machine, fromFile(s, remote.URL))
	w.config.Brake = -1
	stop := w.start()
	await(s, "all were answered", func() bool {
		for _, id := range ids {
			if phase := s.op(id).Phase; phase == transitions.Prepared || phase == transitions.Submitting {
				return false
			}
		}
		return true
	})
	stop()
}

// B64: an answer without an id, whatever stands in its place, leads to no job that could be looked at: the operation is
// uncertain with the whole answer kept, and no statement by hand makes such a row of it either (rule: only a usable id
// is stored, B4; the CHECK constraint of remote_job_id).
func TestB64AnAnswerWithoutAnIDIsForAReviewer(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"empty": `{"id":""}`, "spaces": `{"id":"   "}`, "null": `{"id":null}`, "missing": `{"status":"queued"}`,
		"nested": `{"data":{"id":"job-7"}}`, "another name": `{"task_id":"job-7"}`, "a list": `{"id":["job-7"]}`,
		"an object": `{"id":{"id":"job-7"}}`, "true": `{"id":true}`, "invisible": `{"id":"\u200b\u2060"}`, "no object": `"job-7"`,
	}
	onStores(t, func(t *testing.T, s *stand) {
		ids := []string{}
		for id := range answers {
			ids = append(ids, id)
		}
		remote := answering(t, answers)
		s.sellAll(remote, ids...)
		for _, id := range ids {
			op := s.op(id)
			if diff := cmp.Diff([]string{transitions.Uncertain, "missing_remote_id", ""}, []string{op.Phase, op.UncertainReason, op.RemoteJobID}); diff != "" {
				t.Errorf("%s: phase, reason and remote job (-want +got):\n%s", id, diff)
			}
			s.keptAnswer(id, answers[id])
		}
		if n := len(remote.told()); n != 0 {
			t.Errorf("%d looks at jobs that have no id: %q", n, remote.told())
		}
		remote.soldOnce(t, ids...)
		s.sound(ids...)
	})
}

// B64, by hand: the database itself takes no blank id.
func TestB64ABlankIDCannotBeWrittenByHandEither(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		s.prepareUncertain("a")
		for _, blank := range []string{"", " ", "   ", "\t", "\u00a0", "\u200b", "a b"} {
			err := s.exec("UPDATE fencerow_operations SET phase = 'submitted', remote_job_id = $1 WHERE operation_id = 'a'", blank)
			if err == nil || !strings.Contains(err.Error(), "remote_job_id_allowed") {
				t.Errorf("the id %q is written by hand: %v", blank, err)
			}
		}
		s.ends(transitions.Uncertain, "no_response", "a")
	})
}

// B66: an id is what the remote wrote, byte for byte. What could be confused on its way, or with another one, is not an
// id: it is kept as it came, for a reviewer. What is one is not trimmed, folded or cut, so that ids which differ in case
// or at their end are two, and the same one twice is found out (rule: an id is 1 to 1,024 printable ASCII characters
// without a space; B8).
func TestB66AnIDIsTakenByteForByteOrNotAtAll(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 299)
	taken := map[string]string{
		"lower": "job-a", "upper": "JOB-A", "300 a": long + "a", "300 b": long + "b", "1024": strings.Repeat("y", 1024),
		"marks": `a%20b/?&#"\`, "digits": "007", "dots": "..",
	}
	odd := map[string]string{
		"space inside": "a b", "space before": " a", "space behind": "a ", "no-break space": "a\u00a0", "composed": "\u00e9",
		"decomposed": "e\u0301", "cyrillic": "\u0430", "NUL": "a\x00", "line": "a\n", "1025": strings.Repeat("y", 1025),
	}
	answers, ids := map[string]string{}, []string{}
	for _, set := range []map[string]string{taken, odd} {
		for name, id := range set {
			text, _ := json.Marshal(id)
			answers[name] = fmt.Sprintf(`{"id":%s}`, text)
			ids = append(ids, name)
		}
	}
	answers["the same again"], ids = answers["lower"], append(ids, "the same again")
	onStores(t, func(t *testing.T, s *stand) {
		remote := answering(t, answers)
		s.sellAll(remote, ids...)
		held := map[string]string{}
		for _, name := range ids {
			op := s.op(name)
			held[name] = op.RemoteJobID
			if _, isOdd := odd[name]; isOdd {
				if diff := cmp.Diff([]string{transitions.Uncertain, "missing_remote_id"}, []string{op.Phase, op.UncertainReason}); diff != "" {
					t.Errorf("%s: phase and reason (-want +got):\n%s", name, diff)
				}
				s.keptAnswer(name, answers[name])
			}
		}
		s.oneOfTwo(held)
		for name := range odd {
			taken[name] = ""
		}
		want := map[string]string{}
		for name, id := range taken {
			want[name] = id
		}
		for _, name := range []string{"lower", "the same again"} {
			delete(want, name)
			delete(held, name)
		}
		if diff := cmp.Diff(want, held); diff != "" {
			t.Errorf("the ids that are held (-want +got):\n%s", diff)
		}
		remote.soldOnce(t, ids...)
		s.sound(ids...)
	})
}

// oneOfTwo checks that of the two operations whose remote named one job one has it, and the other is for a reviewer,
// who is told of it.
func (s *stand) oneOfTwo(held map[string]string) {
	s.Helper()
	first, second := "lower", "the same again"
	if held[first] == "" {
		first, second = second, first
	}
	op := s.op(second)
	got := []string{held[first], op.RemoteJobID, op.Phase, op.UncertainReason, op.LateRemoteJobID}
	if diff := cmp.Diff([]string{"job-a", "", transitions.Uncertain, "remote_id_taken", "job-a"}, got); diff != "" {
		s.Errorf("two operations with one remote job (-want +got):\n%s", diff)
	}
}

// B66, the caller's ids: what differs in a byte is another operation, on every store (rule: an id is compared byte for
// byte), and what cannot be seen or stored is refused with the field's name.
func TestB66TheCallersIDsAreComparedByteForByte(t *testing.T) {
	t.Parallel()
	different := []string{"a", " a", "a ", "A", "a\u00a0", "\u00e9", "e\u0301", "\u0430", "a b", "a  b", strings.Repeat("z", 300)}
	onStores(t, func(t *testing.T, s *stand) {
		for _, id := range different {
			s.prepare(order(id))
		}
		ops, err := s.machine.List(t.Context(), machine.Query{})
		if err != nil || len(ops) != len(different) {
			t.Fatalf("%d operations of %d ids, %v", len(ops), len(different), err)
		}
		for _, id := range different {
			if got := s.op(id).OperationID; got != id {
				t.Errorf("asked for %q, got %q", id, got)
			}
		}
		for _, id := range []string{"", " ", "\u00a0\u2003", "\u200b", "a\x00"} {
			_, err := s.machine.Prepare(t.Context(), order(id))
			var invalid *machine.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != "id" {
				t.Errorf("the id %q: %v, want an error that names the id", id, err)
			}
		}
	})
}
