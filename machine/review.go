package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// The choices that a reviewer has; the table's event of each is review_ and its name.
const (
	ChoiceAttach      = "attach"      // the remote has a job of it
	ChoiceNotCreated  = "not_created" // the remote provably has none: it is sent again
	ChoiceAbandon     = "abandon"     // it is given up
	ChoiceAcknowledge = "acknowledge" // the marks were seen to
)

// Choices lists them in the order in which they are to be considered.
var Choices = []string{ChoiceAttach, ChoiceNotCreated, ChoiceAbandon, ChoiceAcknowledge}

// Review is a person's decision about one operation, bound to what was looked at (contract D3).
type Review struct {
	Choice      string
	OperationID string
	Decision
	// RemoteJobID is the job that was found, and Keep further values of it by which a provider finds its status, as a
	// submission's answer would have given them; for ChoiceAttach. Values that are known of that job stay, but for those
	// that Keep names.
	RemoteJobID string
	Keep        map[string]string
	// Override takes the risk of ChoiceNotCreated before the quarantine is over. It is recorded.
	Override bool
	// DespiteCandidates takes the risk of ChoiceNotCreated while the remote has told of jobs that nobody here knows. It
	// is recorded, with their ids.
	DespiteCandidates bool

	despite []Candidate // what DespiteCandidates was about
}

// Event is the table's event of the choice.
func (r Review) Event() string { return "review_" + r.Choice }

// overridden is the detail of a decision that did not wait for the quarantine.
const overridden = "quarantine overridden"

func (r Review) params() (transitions.Params, error) {
	p := r.Decision.params(r.OperationID)
	switch r.Choice {
	case ChoiceAttach:
		if transitions.UsableRemoteJobID(r.RemoteJobID) {
			p["remote_job_id"] = transitions.TextValue(r.RemoteJobID)
		}
		keep := keepValue(r.Keep)
		if n := len(keep.Text()); n > MaxRaw {
			return nil, &InvalidError{"keep", fmt.Sprintf("has %d bytes; at most %d are kept", n, MaxRaw)}
		}
		p["keep"] = keep
	case ChoiceNotCreated:
		var risks []string
		if r.Override {
			p["override"] = transitions.BoolValue(true)
			risks = append(risks, overridden)
		}
		if len(r.despite) > 0 {
			risks = append(risks, "despite "+candidateNames(r.despite))
		}
		p["detail"] = transitions.OptText(Text(strings.Join(risks, "; ")))
	case ChoiceAbandon, ChoiceAcknowledge:
	default:
		return nil, &InvalidError{"choice", fmt.Sprintf("%q is none of %v", r.Choice, Choices)}
	}
	return p, nil
}

// Decide fires a reviewer's decision. It is denied where a guard does not hold, where the row moved since it was looked
// at or where evidence came; the *DeniedError then says what happened since. Of a decision that is sent twice one is
// applied. ChoiceNotCreated is denied by NoCandidate too, unless DespiteCandidates takes that risk.
//
// A marked operation that is prepared is recalled before its marks are cleared, as the reconciler would have done: it is
// uncertain then, and only ChoiceNotCreated sends it.
func (m *Machine) Decide(ctx context.Context, r Review) (Operation, error) {
	r, err := m.withKept(ctx, r)
	if err != nil {
		return Operation{}, err
	}
	if r, err = m.withCandidates(ctx, r); err != nil {
		return Operation{}, err
	}
	params, err := r.params()
	if err != nil {
		return Operation{}, err
	}
	if r.Choice == ChoiceAcknowledge {
		if err := m.recall(ctx, r); err != nil {
			return Operation{}, err
		}
	}
	return m.decide(ctx, r.Event(), r.Seen, params)
}

// recalled is the event that takes back what was believed not to exist.
const recalled = "evidence_recalled"

// recall takes an operation back whose marks a reviewer is about to clear: with the marks gone nothing would keep it from
// being sent, and to have seen them is no proof. Where it holds a lease the decision is denied; it was not begun, since
// the marks forbid that.
func (m *Machine) recall(ctx context.Context, r Review) error {
	p := m.store.Program()
	if p.Rule(recalled) == nil {
		return nil // a table of one's own
	}
	op, err := m.Get(ctx, r.OperationID)
	if err != nil || !recallable(p, op) || op.EvidenceSeq != r.Seen.EvidenceSeq {
		return err
	}
	_, err = m.Fire(ctx, recalled, transitions.Params{"operation_id": transitions.TextValue(op.OperationID)})
	denied, ok := IsDenied(err)
	switch {
	case !ok:
		return err
	case !recallable(p, denied.Seen):
		return nil // somebody else did
	}
	return &DeniedError{Event: r.Event(), OperationID: op.OperationID, Failed: denied.Failed, Seen: denied.Seen}
}

// recallable reports whether an operation is marked in a phase that the table takes back.
func recallable(p *transitions.Program, op Operation) bool {
	rule := p.Rule(recalled)
	return rule != nil && op.Marked() && slices.Contains(rule.From, op.Phase)
}

// withKept adds the values that are known of the job that is attached. They cannot change between this look and the
// decision: what changes them moves the row or its evidence, and the decision is denied.
func (m *Machine) withKept(ctx context.Context, r Review) (Review, error) {
	if r.Choice != ChoiceAttach || len(r.Keep) == 0 {
		return r, nil
	}
	op, err := m.Get(ctx, r.OperationID)
	if err != nil {
		return r, err
	}
	r.Keep = op.KeptOf(r.RemoteJobID, r.Keep)
	return r, nil
}

// KeptOf gives the values that are kept when a remote job is attached: those that are known of that job, and more.
func (o Operation) KeptOf(remoteJobID string, more map[string]string) map[string]string {
	kept := map[string]string{}
	known := o.RemoteJobID
	if known == "" {
		known = o.LateRemoteJobID
	}
	if known == remoteJobID && o.Keep != "" && json.Unmarshal([]byte(o.Keep), &kept) != nil {
		kept = map[string]string{} // somebody wrote something else by hand
	}
	maps.Copy(kept, more)
	return kept
}

// Preview is what a decision would do.
type Preview struct {
	Event  string
	Failed []string  // the guards that do not hold; nil: it would be applied
	Before Operation // the row as it is
	After  Operation // the row as it would be; as it is where it would be denied
	Now    time.Time // by the database's clock
}

// Preview evaluates a decision on the row as it is now, and changes nothing.
func (m *Machine) Preview(ctx context.Context, r Review) (Preview, error) {
	op, err := m.Get(ctx, r.OperationID)
	if err != nil {
		return Preview{}, err
	}
	if r.Choice == ChoiceAttach && len(r.Keep) > 0 {
		r.Keep = op.KeptOf(r.RemoteJobID, r.Keep)
	}
	params, err := r.params()
	if err != nil {
		return Preview{}, err
	}
	now, err := m.store.Now(ctx)
	if err != nil {
		return Preview{}, err
	}
	taken := false
	if id := params["remote_job_id"].Text(); id != "" {
		holder, err := m.store.Find(ctx, op.Provider, op.Account, id)
		if err != nil {
			return Preview{}, err
		}
		taken = holder != nil && OperationOf(m.store.Program(), holder).OperationID != op.OperationID
	}
	v := judged(m.store.Program(), r, op, params, transitions.World{
		Now: now.UnixMicro(), Taken: func(string, string, string) bool { return taken },
	})
	if v.Applied {
		r.Seen = op.Seen()
		if _, err := m.withCandidates(ctx, r); err != nil {
			denied, ok := IsDenied(err)
			if !ok {
				return Preview{}, err
			}
			return Preview{r.Event(), denied.Failed, op, op, now}, nil
		}
	}
	return Preview{r.Event(), v.Failed, op, OperationOf(m.store.Program(), v.Row), now}, nil
}

// judged evaluates what Decide would do.
func judged(p *transitions.Program, r Review, op Operation, params transitions.Params, w transitions.World) transitions.Verdict {
	row := op.Row()
	if r.Choice == ChoiceAcknowledge && recallable(p, op) {
		back := p.Eval(recalled, row, transitions.Params{"operation_id": transitions.TextValue(op.OperationID)}, w)
		if !back.Applied {
			return back
		}
		row = back.Row
	}
	return p.Eval(r.Event(), row, params, w)
}

// Choice is what one choice would come to now.
type Choice struct {
	Name    string
	Refused []string  // the guards that would refuse it; nil: it is allowed
	From    time.Time // from then on it is allowed, where only the quarantine refuses it
}

// choicesOf evaluates every choice on a row. An id that a person would have to find first counts as found.
func choicesOf(p *transitions.Program, op Operation, now time.Time) []Choice {
	id := op.LateRemoteJobID
	if id == "" {
		id = op.RemoteJobID
	}
	if id == "" {
		id = "found"
	}
	var choices []Choice
	for _, name := range Choices {
		r := Review{Choice: name, OperationID: op.OperationID, Decision: Decision{op.Seen(), "reviewer", "reason"}, RemoteJobID: id}
		params, err := r.params()
		if err != nil || p.Rule(r.Event()) == nil {
			continue // a table of one's own
		}
		c := Choice{Name: name, Refused: judged(p, r, op, params, transitions.World{Now: now.UnixMicro()}).Failed}
		if len(c.Refused) == 1 && c.Refused[0] == "quarantine_over" {
			c.From = op.QuarantineUntil
		}
		choices = append(choices, c)
	}
	return choices
}
