package transitions

// Table declares a lifecycle: plain data, read from top to bottom, one event a line. Everything else (SQL, the
// in-memory machine, denials, CHECK constraints, documents, diagrams, suites, the model checker) is derived from it.
type Table struct {
	Name     string
	Columns  []Column
	Phases   []Phase
	Actions  []Action
	Outcomes []string // the words of the column outcome
	Reasons  []string // the words of the column uncertain_reason
	Events   []Event
	Joined   []Joined // events that may be fired in one statement
}

// Column is one column of an operation's row. The four columns that the engine cannot do without are operation_id,
// phase, revision and updated_at; a table adds what its guards and effects speak of.
type Column struct {
	Name    string
	Kind    Kind
	NotNull bool
	Default Value  // of a column that prepare leaves out; null: none
	Words   string // "phases", "actions", "outcomes", "reasons" or a list "a b c": the only words allowed
	Check   string // "usable" or "natural": a further constraint on a value that is not null
	Quiet   bool   // left out of history: leases, due times and what never changes
	Doc     string // what is true of the world when it is set
}

// Phase is where an operation is in its life.
type Phase struct {
	Name       string
	True       string // what is true of the row and of the outside world
	Action     string // the action whose claim may hold the lease here; "" if nobody may
	Sendable   bool   // a request may be sent from here
	Effecting  bool   // a request may be on the wire
	HasOutcome bool   // the outcome is set here, and in no phase that says otherwise
	Restless   bool   // somebody must always come back: a row here with neither schedule nor lease is due at once
	Lapse      string // what an expired lease means here
}

// Action is one kind of work, claimed under a lease: a word of the column next_action.
type Action struct {
	Name string
	By   string // the actor that claims it; "" for what a person does
	Doc  string
}

// Fence is the set of guards that say who may fire an event.
type Fence string

// The fences.
const (
	Open    Fence = "–"       // anybody: the event can only make guards stricter, or creates the row
	Vacant  Fence = "vacant"  // nobody holds the lease; a claim installs its own
	Held    Fence = "held"    // the claim's own owner and revision, the lease unexpired
	Lapsed  Fence = "lapsed"  // nobody holds the lease; the reconciler
	Seen    Fence = "seen"    // nobody holds the lease, and the row is as the decider saw it
	Noticed Fence = "noticed" // the evidence is as the decider saw it
	Remote  Fence = "remote"  // the remote's own word about its own job
)

// Guard is a named condition. A denial lists the names of the guards that did not hold.
type Guard struct {
	Name string
	Expr Expr
	Doc  string
}

// Effect is a named set of assignments, all computed from the row as it was before the event.
type Effect struct {
	Name string
	Sets []Set
}

// Set assigns one column.
type Set struct {
	Col  string
	Expr Expr
}

// Form is a way in which an event's statement names its operations.
type Form string

// The forms.
const (
	One   Form = "one"   // one operation by id
	Batch Form = "batch" // up to :limit due operations of one provider and account
	Sweep Form = "sweep" // up to :limit operations of any provider and account
)

// Event is one row of the table.
type Event struct {
	Name    string
	From    []string // phases; nil is every phase
	To      string   // a phase; "" is the phase that it was in; with New, the first phase
	New     bool     // creates the row
	Fence   Fence
	Guards  []Guard
	Effects []Effect
	Notes   Notes
	Also    Form   // Batch or Sweep, beside One; "" for neither
	Actor   string // who fires it
	Doc     string
}

// Notes says what an event leaves behind beside the row.
type Notes struct {
	Reason   Expr         // history.reason; the zero Expr is null
	Reviewer Expr         // history.reviewer
	Unless   []Expr       // no history row when this holds; at most one
	Evidence *EvidenceRow // appended in the same statement
}

// EvidenceRow is appended to the evidence table when its When holds.
type EvidenceRow struct {
	When        Expr
	Kind        Expr
	RemoteJobID Expr
	Detail      Expr // bytes
	Revision    Expr
	Owner       Expr
}

// IsSet reports whether e is an expression at all; the zero Expr is a column without a name.
func (e Expr) IsSet() bool { return e.Op != OpCol || e.Name != "" }

// Row is an operation's columns, in the order of Program.Columns.
type Row []Value

// Params are an event's parameters by name. One that is missing is null.
type Params map[string]Value
