package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Fault is one way in which the sandbox goes wrong.
type Fault struct {
	Name     string
	Explains string // one sentence, for a person
	Creates  bool   // the POST that meets it does create a job
}

// The names of the faults.
const (
	AcceptCut   = "accept-cut"
	Accept500   = "accept-500"
	NoID        = "no-id"
	BlankID     = "blank-id"
	Stall       = "stall"
	HalfAnswer  = "half-answer"
	HTML        = "html"
	Slow        = "slow"
	Error500    = "error-500"
	Redirect307 = "redirect-307"
	Refuse429   = "refuse-429"
	NoCredit    = "no-credit"
	Reject422   = "reject-422"
	Late404     = "late-404"
	OddWord     = "odd-word"
	GoesBack    = "goes-back"
	FailedJob   = "failed"
	CanceledJob = "canceled"
	CutDownload = "cut-download"
	ExpiredURL  = "expired-url"
)

var faults = []Fault{
	{AcceptCut, "the job is created, then the connection is cut before a byte of the answer leaves", true},
	{Accept500, "the job is created, then the answer is 500", true},
	{NoID, "the job is created, but the answer holds no id", true},
	{BlankID, "the job is created, but the id in the answer is blank", true},
	{Stall, "the job is created, but the answer never comes", true},
	{HalfAnswer, "the job is created, but the answer is cut in the middle of its body", true},
	{HTML, "the job is created, but the answer is an HTML page", true},
	{Slow, "the job is created and the answer is right, only late", true},
	{Error500, "the answer to the first request is 500 and no job is created; from outside it looks like accept-500", false},
	{Redirect307, "the first request is answered with a redirect to the same address and no job is created", false},
	{Refuse429, "the first request is refused with 429 and Retry-After, later ones are taken", false},
	{NoCredit, "every request is refused with 402: the account has no credit", false},
	{Reject422, "every request is rejected with 422: the prompt is not allowed", false},
	{Late404, "the status address says 404 for a while after the job was created", true},
	{OddWord, "the status is a word that the documentation does not list until the job is done", true},
	{GoesBack, "the status says succeeded once, then running twice, then succeeded again", true},
	{FailedJob, "the job fails", true},
	{CanceledJob, "the job is canceled by the remote", true},
	{CutDownload, "the first download is cut half-way", true},
	{ExpiredURL, "the first address of the result has expired; the status gives another one after that was seen", true},
}

// Faults lists every fault, those of a submission first.
func Faults() []Fault { return slices.Clone(faults) }

// ParseFaults reads a comma-separated list of fault names; "all" stands for every one.
func ParseFaults(list string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case name == "all":
			for _, f := range faults {
				names = append(names, f.Name)
			}
		case !isFault(name):
			return nil, fmt.Errorf("reading the faults: there is no fault %q: known are %s", name, faultNames())
		default:
			names = append(names, name)
		}
	}
	return names, nil
}

func isFault(name string) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Name == name })
}

func faultNames() string {
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// faultsFor chooses the faults of an operation that names none itself. One share of the hash decides whether there is
// one, another decides which.
func (s *Sandbox) faultsFor(operation string) []string {
	if len(s.opts.Faults) == 0 {
		return nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", s.opts.Seed, operation))
	share := float64(binary.BigEndian.Uint32(sum[:4])) / (1 << 32)
	if share >= s.opts.Rate {
		return nil
	}
	return []string{s.opts.Faults[binary.BigEndian.Uint64(sum[8:16])%uint64(len(s.opts.Faults))]}
}
