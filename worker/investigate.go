package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// maxNoted bounds the finds of one look that are noted one by one; the number of the others is said.
const maxNoted = 10

// investigates reports whether any handler here can look for lost jobs.
func (w *Worker) investigates() bool {
	for _, h := range w.cfg.Handlers {
		if _, ok := h.(Investigator); ok {
			return true
		}
	}
	return false
}

// investigate looks once for the remote job of an uncertain operation. It attaches one unambiguous find; everything else
// is recorded as inconclusive (contract D4).
func (w *Worker) investigate(l *machine.Lease) {
	op := l.Operation
	investigator, ok := w.cfg.Handlers[op.Kind].(Investigator)
	if !ok {
		w.giveBack(l, time.Minute, fmt.Sprintf("no investigator here for kind %q", op.Kind))
		return
	}
	if op.LateRemoteJobID != "" {
		// Somebody has named a job already. The reconciler attaches it, or where it may not, a reviewer decides.
		w.inconclusive(l, 0, "an id came to light", fmt.Sprintf("the remote job id %q came to light before this look", op.LateRemoteJobID))
		return
	}
	ctx, done := w.renewer.hold(w.soft, l, w.cfg.Hold)
	defer done()
	looked, err := w.machine.Investigations(ctx, op.OperationID)
	if err != nil {
		w.giveBack(l, w.cfg.Poll, err.Error())
		return
	}
	found, err := w.search(ctx, investigator, op, looked)
	if err != nil && stopped(ctx) {
		w.giveBack(l, 0, "")
		return
	}
	w.conclude(l, looked, judgeFindings(op, found, err), found.Raw)
}

// search calls the handler. Its context ends before the lease does, so that a look that never ends is inconclusive and
// not repeated for ever.
func (w *Worker) search(ctx context.Context, i Investigator, op machine.Operation, looked int) (f Findings, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Hold)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("a handler panicked in Investigate", "operation", op.OperationID, "panic", p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return i.Investigate(ctx, Investigation{
		OperationID: op.OperationID, Kind: op.Kind, Provider: op.Provider, Account: op.Account, Request: op.Request,
		Attempts: int(op.Attempts), SubmittedAt: op.SubmittedAt, RemoteJobID: op.RemoteJobID, Looked: looked,
	})
}

// verdict is what a look comes to.
type verdict struct {
	find           *Find // the one to attach; nil: inconclusive
	reason, detail string
	evidence       []machine.Evidence
	last           bool          // looking again would not help
	wish           time.Duration // the remote's own for the next look
}

// judgeFindings decides about a look (contract D4). Only one find that names the operation, that says how it was matched
// and that is news is attached. Jobs that a find ascribes to the operation are evidence of kind accepted only where there
// are several of them, which the table then marks as a suspected duplicate; every other find is evidence that the table
// does not look at.
func judgeFindings(op machine.Operation, f Findings, err error) verdict {
	if err != nil {
		v := verdict{reason: "the look failed", detail: err.Error(), wish: RetryAfter(err)}
		if errors.Is(err, errors.ErrUnsupported) {
			v.reason, v.last = "nobody here can look", true
		}
		v.note(machine.EvidenceInvestigation, f.Found)
		return v
	}
	var own []Find // one for each id
	for _, found := range f.Found {
		if why := unfit(op, found); why != "" {
			v := verdict{reason: "a find is not fit", detail: why}
			for _, f := range f.Found[:min(len(f.Found), maxNoted)] {
				kind := machine.EvidenceInvestigation
				if f.OperationID == op.OperationID {
					kind = machine.EvidenceFound
				}
				v.note(kind, []Find{f})
			}
			return v
		}
		if !slices.ContainsFunc(own, func(o Find) bool { return o.RemoteJobID == found.RemoteJobID }) {
			own = append(own, found)
		}
	}
	switch {
	case len(own) == 0:
		return verdict{reason: "nothing was found", detail: "nothing was found; that is no proof that nothing was created"}
	case len(own) > 1:
		v := verdict{reason: "several were found", last: true}
		v.detail = fmt.Sprintf("%d remote jobs say that they are this operation's: %s", len(own), list(own))
		v.note(machine.EvidenceAccepted, own)
		return v
	case own[0].RemoteJobID == op.RemoteJobID:
		return verdict{reason: "nothing new was found", detail: fmt.Sprintf("found %q, which the operation holds already; matched by %s", own[0].RemoteJobID, own[0].How)}
	default:
		return verdict{find: &own[0]}
	}
}

// unfit says why a find cannot be attached.
func unfit(op machine.Operation, f Find) string {
	switch {
	case !transitions.UsableRemoteJobID(f.RemoteJobID):
		return fmt.Sprintf("a job was found whose id cannot be one: %q", f.RemoteJobID)
	case f.OperationID != op.OperationID:
		return fmt.Sprintf("the job %q names the operation %q", f.RemoteJobID, f.OperationID)
	case transitions.IsBlank(f.How):
		return fmt.Sprintf("the find of job %q does not say how it was matched", f.RemoteJobID)
	}
	return ""
}

// note makes evidence of finds.
func (v *verdict) note(kind string, found []Find) {
	for _, f := range found[:min(len(found), maxNoted)] {
		text := fmt.Sprintf("names operation %q, matched by %s", f.OperationID, f.How)
		if !transitions.UsableRemoteJobID(f.RemoteJobID) {
			text = fmt.Sprintf("id %q, %s", f.RemoteJobID, text)
		}
		v.evidence = append(v.evidence, machine.Evidence{Kind: kind, RemoteJobID: f.RemoteJobID, Keep: f.Keep, Raw: []byte(text)})
	}
}

func list(found []Find) string {
	ids := make([]string, min(len(found), maxNoted))
	for i := range ids {
		ids[i] = found[i].RemoteJobID
	}
	text := strings.Join(ids, ", ")
	if more := len(found) - len(ids); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// conclude stores what a look came to, and what the remote said as evidence before it.
func (w *Worker) conclude(l *machine.Lease, looked int, v verdict, raw []byte) {
	if len(raw) > 0 {
		w.keep(w.last, l, machine.Evidence{Kind: machine.EvidenceInvestigation, Raw: raw})
	}
	if v.find != nil {
		found := *v.find
		how := machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: found.RemoteJobID, Keep: found.Keep, Raw: []byte("matched by " + found.How)}
		after, err := w.machine.Found(w.last, l, found.RemoteJobID, found.Keep, "matched by "+found.How)
		w.wakeAfter(after)
		if denied, ok := machine.IsDenied(err); !ok || !slices.Contains(denied.Failed, "remote_job_id_free") {
			// Where the lease was gone the find is kept like a late answer: nothing is sent again past it.
			w.refused(w.last, l, err, how)
			return
		}
		v = verdict{reason: "another operation holds the find", detail: fmt.Sprintf("another operation of this provider and account holds the job %q that was found; %s", found.RemoteJobID, how.Raw)}
		v.note(machine.EvidenceAccepted, []Find{found}) // as of an answer that names it: past it nothing is sent
	}
	for _, e := range v.evidence {
		w.keep(w.last, l, e)
	}
	var next time.Duration
	if looked < len(w.cfg.LookAgain) && !v.last {
		next = max(w.cfg.LookAgain[looked], v.wish)
	}
	w.inconclusive(l, next, v.reason, v.detail)
}

func (w *Worker) inconclusive(l *machine.Lease, next time.Duration, reason, detail string) {
	after, err := w.machine.Inconclusive(w.last, l, next, reason, detail)
	w.wakeAfter(after)
	if err != nil {
		w.cfg.Log.Info("an investigation was not stored; it is repeated", "operation", l.Operation.OperationID, "error", err)
	}
}
