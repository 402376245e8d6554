package machine

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/fencerow/fencerow/transitions"
)

// Operation is a row of the operations table. Its fields are the standard columns, whose meaning
// transitions.StandardColumns tells; a null column is the zero value. Columns of one's own are read with Column.
type Operation struct {
	OperationID         string
	Kind                string
	Provider            string
	Account             string
	Phase               string
	NextAction          string
	Request             []byte
	Priority            int64
	NotBefore           time.Time
	WantsDelivery       bool
	CanInvestigate      bool
	RemoteJobID         string
	LateRemoteJobID     string
	EvidenceSeq         int64
	Keep                string
	LeaseOwner          string
	LeaseUntil          time.Time
	Revision            int64
	DueAt               time.Time
	Attempts            int64
	DeliveryAttempts    int64
	SubmittedAt         time.Time
	Outcome             string
	Delivery            string
	ObjectKey           string
	ObjectSHA256        string
	ObjectBytes         int64
	Snapshot            []byte
	UncertainReason     string
	QuarantineUntil     time.Time
	ObserveDeadline     time.Time
	NotFoundUntil       time.Time
	CancelRequestedAt   time.Time
	DuplicateSuspected  bool
	OutcomeContradicted bool
	NotCreatedRevision  int64
	NotCreatedAttempts  int64
	RedoOf              string
	ObserveDeadlineMS   int64
	NotFoundGraceMS     int64
	QuarantineMS        int64
	DeliveryAttemptsMax int64
	CreatedAt           time.Time
	UpdatedAt           time.Time

	program *transitions.Program
	row     transitions.Row
}

// OperationOf reads a row of a program's table.
func OperationOf(p *transitions.Program, row transitions.Row) Operation {
	next := 0 // most tables have the columns in the order in which they are read here
	get := func(col string) transitions.Value {
		i := next
		if i >= len(p.Columns) || p.Columns[i].Name != col {
			i = p.Column(col)
		}
		if i < 0 {
			return transitions.NullValue
		}
		next = i + 1
		return row[i]
	}
	return Operation{
		OperationID:         get("operation_id").Text(),
		Kind:                get("kind").Text(),
		Provider:            get("provider").Text(),
		Account:             get("account").Text(),
		Phase:               get("phase").Text(),
		NextAction:          get("next_action").Text(),
		Request:             get("request").Bytes(),
		Priority:            get("priority").Int(),
		NotBefore:           get("not_before").Time(),
		WantsDelivery:       get("wants_delivery").Bool(),
		CanInvestigate:      get("can_investigate").Bool(),
		RemoteJobID:         get("remote_job_id").Text(),
		LateRemoteJobID:     get("late_remote_job_id").Text(),
		EvidenceSeq:         get("evidence_seq").Int(),
		Keep:                get("keep").Text(),
		LeaseOwner:          get("lease_owner").Text(),
		LeaseUntil:          get("lease_until").Time(),
		Revision:            get("revision").Int(),
		DueAt:               get("due_at").Time(),
		Attempts:            get("attempts").Int(),
		DeliveryAttempts:    get("delivery_attempts").Int(),
		SubmittedAt:         get("submitted_at").Time(),
		Outcome:             get("outcome").Text(),
		Delivery:            get("delivery").Text(),
		ObjectKey:           get("object_key").Text(),
		ObjectSHA256:        get("object_sha256").Text(),
		ObjectBytes:         get("object_bytes").Int(),
		Snapshot:            get("snapshot").Bytes(),
		UncertainReason:     get("uncertain_reason").Text(),
		QuarantineUntil:     get("quarantine_until").Time(),
		ObserveDeadline:     get("observe_deadline").Time(),
		NotFoundUntil:       get("not_found_until").Time(),
		CancelRequestedAt:   get("cancel_requested_at").Time(),
		DuplicateSuspected:  get("duplicate_suspected").Bool(),
		OutcomeContradicted: get("outcome_contradicted").Bool(),
		NotCreatedRevision:  get("not_created_revision").Int(),
		NotCreatedAttempts:  get("not_created_attempts").Int(),
		RedoOf:              get("redo_of").Text(),
		ObserveDeadlineMS:   get("observe_deadline_ms").Int(),
		NotFoundGraceMS:     get("not_found_grace_ms").Int(),
		QuarantineMS:        get("quarantine_ms").Int(),
		DeliveryAttemptsMax: get("delivery_attempts_max").Int(),
		CreatedAt:           get("created_at").Time(),
		UpdatedAt:           get("updated_at").Time(),

		program: p, row: row,
	}
}

// Column reads any column by name, null if the table has no such column.
func (o Operation) Column(name string) transitions.Value {
	if o.program == nil || o.program.Column(name) < 0 {
		return transitions.NullValue
	}
	return o.row[o.program.Column(name)]
}

// Row gives the columns in the order of the program.
func (o Operation) Row() transitions.Row { return o.row }

// Finished reports whether the outcome is set and nothing is left to do.
func (o Operation) Finished() bool { return o.Outcome != "" && o.NextAction == "" }

// Marked reports whether a mark waits for a reviewer.
func (o Operation) Marked() bool { return o.DuplicateSuspected || o.OutcomeContradicted }

// Seen is what a decider looked at, as the command line writes it: revision and evidence number.
func (o Operation) Seen() Seen { return Seen{o.Revision, o.EvidenceSeq} }

// Seen names the state of a row that a decision is bound to (contract D3).
type Seen struct{ Revision, EvidenceSeq int64 }

// String writes R.E.
func (s Seen) String() string { return fmt.Sprintf("%d.%d", s.Revision, s.EvidenceSeq) }

// ParseSeen reads R.E.
func ParseSeen(text string) (Seen, error) {
	var s Seen
	if n, err := fmt.Sscanf(text, "%d.%d", &s.Revision, &s.EvidenceSeq); n != 2 || err != nil || s.String() != text {
		return Seen{}, fmt.Errorf("read seen %q: want REVISION.EVIDENCE, such as 4.1, as review list and show print it", text)
	}
	return s, nil
}

// MarshalJSON writes the columns by name, in their order; null columns are null. Bytes are written as text where they
// are UTF-8, else as {"base64": "…"}.
func (o Operation) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, c := range o.program.Columns {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(plain(o.row[i]))
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

func plain(v transitions.Value) any {
	switch v.Kind() {
	case transitions.Text:
		return v.Text()
	case transitions.Bytes:
		if utf8.ValidString(v.Text()) {
			return v.Text()
		}
		return map[string]string{"base64": base64.StdEncoding.EncodeToString(v.Bytes())}
	case transitions.Int:
		return v.Int()
	case transitions.Bool:
		return v.Bool()
	case transitions.Time:
		return v.Time().Format(time.RFC3339Nano)
	default:
		return nil
	}
}
