package httpjob

import (
	"fmt"
	"net/http"

	"github.com/fencerow/fencerow/machine"
)

// Webhook says how a call of the remote is read.
type Webhook struct {
	ID     Pointer
	Status Pointer
	// Snapshot is where the job stands in the form in which observe.url answers; nil: it is the whole call, or nowhere.
	Snapshot *Pointer
	// Signature says how a call is verified; nil: the file does not say.
	Signature *Signature
	// Unsigned is set where the file says that calls have no signature.
	Unsigned bool
}

// ReadCall reads a call of the remote about one of its jobs, which somebody has verified. The words are those of
// observe; one that stands in no list is reported as pending, and logged the first time. Whose job it is the call does not
// say: provider and account are left empty. An error means that the call is not about a job.
func (h *Handler) ReadCall(_ *http.Request, body []byte) (machine.Notice, error) {
	w := h.spec.Webhook
	if w == nil {
		return machine.Notice{}, fmt.Errorf("reading a call: %s has no webhook section", h.spec.File)
	}
	n, err := h.readCall(w, body)
	if err != nil {
		return machine.Notice{}, h.redact.error(fmt.Errorf("reading a call: %w", err))
	}
	return n, nil
}

func (h *Handler) readCall(w *Webhook, body []byte) (machine.Notice, error) {
	doc, err := parseDocument(body)
	if err != nil {
		return machine.Notice{}, err
	}
	found, err := doc.at(w.ID)
	if err != nil {
		return machine.Notice{}, fmt.Errorf("the remote job id: %w", err)
	}
	id, err := h.usableID(found)
	if err != nil {
		return machine.Notice{}, fmt.Errorf("the remote job id at %s: %w", w.ID, err)
	}
	job, whole := h.jobIn(doc)
	state, detail := h.judgeWord(doc, w.Status, job, whole)
	return machine.Notice{
		RemoteJobID: id, Says: string(state),
		Snapshot: h.redact.body(job, maxEvidence, 0),
		Detail:   printable(h.redact.text(detail), maxDetail),
	}, nil
}

// jobIn finds the job as observe.url would answer it, and says whether it has that form: its status word stands where
// observe looks for it, and is the one that the call has. What is not of that form is the whole call.
func (h *Handler) jobIn(doc document) (job document, whole bool) {
	w := h.spec.Webhook
	job = doc
	if w.Snapshot != nil {
		var err error
		if job, err = doc.at(*w.Snapshot); err != nil {
			return doc, false
		}
	}
	said, err := doc.at(w.Status)
	if err != nil {
		return doc, false
	}
	word, ok := said.text()
	there, err := job.at(h.spec.Observe.Status)
	if err != nil {
		return doc, false
	}
	if same, isText := there.text(); !ok || !isText || same != word {
		return doc, false
	}
	return job, true
}
