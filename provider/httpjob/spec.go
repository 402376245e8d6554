package httpjob

import (
	"net/http"
	"net/url"
	"time"
)

// Spec is one provider file, checked. It is made by Load or Parse and is not to be changed.
type Spec struct {
	File    string   // the name that Load or Parse was given, for messages
	Kind    string   // of the operations that this provider takes
	Name    string   // frozen in each operation as its provider
	Account string   // frozen in each operation as its account
	Proxy   *url.URL // every request goes through it; nil: none, whatever the environment says

	Submit      Submit
	Observe     Observe
	Deliver     *Deliver     // nil: nothing to deliver
	Investigate *Investigate // nil: nobody can look for a lost job
	Cancel      *Cancel
	Webhook     *Webhook

	origin  string // of submit.url: the only place that Submit.Headers may go to
	base    *url.URL
	secrets []string
}

// Submit says how a job is created.
type Submit struct {
	URL      Template
	Headers  http.Header // of the API; they go to the origin of URL only
	ID       Pointer
	Keep     map[string]Pointer
	Rejected []int
	Refused  []int
	Timeout  time.Duration // from the look-up of the name to the last byte of the answer
}

// Observe says how a job's status is read.
type Observe struct {
	URL           Template
	Status        Pointer
	Pending       []string
	Succeeded     []string
	Failed        []string
	Canceled      []string
	Error         *Pointer // why a job failed; nil: the API does not say
	FailedIf      *Pointer // a value there makes a failure of a word that means success; nil: the word alone decides
	Every         time.Duration
	MaxEvery      time.Duration
	Deadline      time.Duration
	NotFoundGrace time.Duration
}

// Deliver says where a result is and what it is called at home. One of From and URL is set.
type Deliver struct {
	From     *Pointer // into the last snapshot, or into the answer at Via
	Via      *Template
	URL      *Template
	Key      Template // relative to the output folder
	Attempts int
}

// Investigate says how to look for the job of an operation whose submission ended uncertain.
type Investigate struct {
	URL   Template
	Items Pointer            // the list in the answer
	ID    Pointer            // within an item
	Keep  map[string]Pointer // within an item: further values, by the names of Submit.Keep
	Match []Match            // every one must hold for an item to be the operation's job
}

// Match is one condition on an item that an investigation finds.
type Match struct {
	At   Pointer
	Want Template
}

// Cancel says how a job is canceled.
type Cancel struct {
	Method string
	URL    Template
}

// Provider is the name that Prepare freezes in an operation.
func (s *Spec) Provider() string { return s.Name }

// Timeout is the longest that one submission may take; with the margin it must fit into the lease.
func (s *Spec) Timeout() time.Duration { return s.Submit.Timeout }

// Every is the first pause between two looks at a job.
func (s *Spec) Every() time.Duration { return s.Observe.Every }

// MaxEvery is the longest pause between two looks at a job.
func (s *Spec) MaxEvery() time.Duration { return s.Observe.MaxEvery }

// Deadline is how long a job may take before it is overdue.
func (s *Spec) Deadline() time.Duration { return s.Observe.Deadline }

// NotFoundGrace is how long after its creation a job may be unknown to the remote's own status address.
func (s *Spec) NotFoundGrace() time.Duration { return s.Observe.NotFoundGrace }

// DeliverAttempts is how often a delivery is tried; 0 when nothing is to be delivered.
func (s *Spec) DeliverAttempts() int {
	if s.Deliver == nil {
		return 0
	}
	return s.Deliver.Attempts
}

// WantsDelivery reports whether a job's result is to be brought home.
func (s *Spec) WantsDelivery() bool { return s.Deliver != nil }

// CanInvestigate reports whether the file says how to look for a lost job.
func (s *Spec) CanInvestigate() bool { return s.Investigate != nil }
