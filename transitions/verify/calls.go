package verify

import (
	"fmt"
	"slices"

	"github.com/fencerow/fencerow/transitions"
)

// truth is what has to be so in the world for somebody honest to fire an event with some parameters.
type truth uint8

const (
	anyTruth  truth = iota
	itsJob          // the call names the job that the caller got as its answer, or that the remote shows
	nothing         // the caller knows that its request created nothing
	unclear         // the caller does not know, and says a word that is no proof
	overrides       // a reviewer who takes the risk of not waiting
)

// call is an event with all parameters but those that bind a lease or what was looked at.
type call struct {
	rule   *transitions.Rule
	number uint16
	params transitions.Params
	needs  truth
	job    uint8  // of itsJob: 1 is the first
	says   string // the parameters that tell it from the event's other calls

	owner, revision, seq bool // the event takes them
}

// theirs is an id that another operation holds.
const theirs = "theirs"

func jobID(n uint8) string { return fmt.Sprintf("job-%d", n) }

// role sorts the rules by who fires them.
type roles struct {
	claims   []*call // by a worker that holds nothing
	held     map[uint8][]*call
	sweeps   []*call
	seen     []*call // by a reviewer
	open     []*call // by anybody: a request to cancel
	remote   []*call // by a webhook
	evidence []*call // a worker's late answer, one a job
	reports  []*call // a webhook's word that goes to evidence
	birth    *transitions.Rule
}

// calls lists every call of a table that the model fires.
func (m *model) list() {
	m.roles.held = map[uint8][]*call{}
	for _, r := range m.p.Rules {
		variants := m.variants(r)
		switch {
		case r.New:
			m.roles.birth = r
		case isEvidence(r):
			m.roles.evidence, m.roles.reports = m.evidenceCalls(r)
		case r.IsClaim():
			m.roles.claims = append(m.roles.claims, variants...)
		case r.Fence == transitions.Held:
			for i, ph := range m.p.Phases {
				if r.Leaves(ph.Name) {
					m.roles.held[uint8(i)] = append(m.roles.held[uint8(i)], variants...)
				}
			}
		case r.Fence == transitions.Seen || r.Fence == transitions.Noticed:
			m.roles.seen = append(m.roles.seen, variants...)
		case r.Fence == transitions.Remote:
			m.roles.remote = append(m.roles.remote, variants...)
		case r.Fence == transitions.Lapsed || r.Has(transitions.Sweep):
			m.roles.sweeps = append(m.roles.sweeps, variants...)
		case changes(r):
			m.roles.open = append(m.roles.open, variants...)
		}
	}
}

// isEvidence tells the event that appends evidence whatever happens.
func isEvidence(r *transitions.Rule) bool {
	return r.Evidence != nil && r.Any && r.Fence == transitions.Open && r.Evidence.When.Op == transitions.OpLit
}

func changes(r *transitions.Rule) bool {
	return slices.ContainsFunc(r.Sets, func(s transitions.Set) bool { return s.Col != "updated_at" })
}

func (m *model) newCall(r *transitions.Rule, params transitions.Params, needs truth, job uint8, says string) *call {
	c := &call{rule: r, number: uint16(len(m.calls)), params: params, needs: needs, job: job, says: says,
		owner: r.Uses("owner"), revision: r.Uses("revision"), seq: r.Uses("evidence_seq")}
	m.calls = append(m.calls, c)
	return c
}

// variants are a rule's calls: one for each choice of the parameters that matter, right ones and wrong ones.
func (m *model) variants(r *transitions.Rule) []*call {
	if r.New || isEvidence(r) {
		return nil
	}
	base := m.params(r)
	one := func(needs truth, job uint8, says string, change transitions.Params) *call {
		params := transitions.Params{}
		for name, v := range base {
			params[name] = v
		}
		for name, v := range change {
			params[name] = v
		}
		return m.newCall(r, params, needs, job, says)
	}
	var calls []*call
	switch {
	case r.Uses("remote_job_id"):
		for job := uint8(1); job <= m.maxJobs(); job++ {
			calls = append(calls, one(itsJob, job, "remote_job_id "+jobID(job), transitions.Params{"remote_job_id": transitions.TextValue(jobID(job))}))
		}
		if r.Fence != transitions.Remote {
			calls = append(calls,
				one(itsJob, 0, "a blank remote_job_id", transitions.Params{"remote_job_id": transitions.TextValue("\u200b")}),
				one(itsJob, 0, "another operation's remote_job_id", transitions.Params{"remote_job_id": transitions.TextValue(theirs)}))
		}
	case r.Uses("proof"):
		for _, word := range proofWords(r) {
			calls = append(calls, one(nothing, 0, "proof "+word, transitions.Params{"proof": transitions.TextValue(word)}))
		}
		calls = append(calls, one(unclear, 0, "a word that is no proof", transitions.Params{"proof": transitions.TextValue("hoped")}))
	case m.returns(r) && r.Fence == transitions.Held:
		calls = append(calls, one(nothing, 0, "", nil))
	case r.Uses("delay_ms") && tests(r, "delay_ms"):
		calls = append(calls, one(anyTruth, 0, "", nil), one(anyTruth, 0, "delay_ms 0", transitions.Params{"delay_ms": transitions.IntValue(0)}))
	default:
		calls = append(calls, one(anyTruth, 0, "", nil))
	}
	if r.Uses("override") {
		calls = append(calls, one(overrides, 0, "override", transitions.Params{"override": transitions.BoolValue(true)}))
	}
	if r.Uses("reviewer") && (r.Fence == transitions.Seen || r.Fence == transitions.Noticed) {
		change := transitions.Params{"reviewer": transitions.TextValue(" ")}
		if job := calls[0].job; job > 0 {
			change["remote_job_id"] = transitions.TextValue(jobID(job))
		}
		calls = append(calls, one(calls[0].needs, calls[0].job, "a blank reviewer", change))
	}
	return calls
}

// maxJobs is how many jobs can exist before an invariant is broken.
func (m *model) maxJobs() uint8 { return uint8(1 + m.bound.Mistakes) }

// returns reports whether an event leads from where nothing may be sent to where something may.
func (m *model) returns(r *transitions.Rule) bool {
	if r.To == "" || !m.p.Phase(r.To).Sendable {
		return false
	}
	return slices.ContainsFunc(r.From, func(from string) bool { return !m.p.Phase(from).Sendable })
}

// proofWords are the words that a guard takes for proof.
func proofWords(r *transitions.Rule) []string {
	var words []string
	for _, g := range r.Guards {
		if x := g.Expr; x.Op == transitions.OpIn && x.Args[0].Op == transitions.OpParam && x.Args[0].Name == "proof" {
			for _, w := range x.Args[1:] {
				words = append(words, w.Value.Text())
			}
		}
	}
	if len(words) == 0 {
		words = []string{"not_sent"}
	}
	return words[:1] // one proof is like the other
}

// tests reports whether an event asks whether a parameter was given.
func tests(r *transitions.Rule, param string) bool {
	found := false
	for _, s := range r.Sets {
		s.Expr.Walk(func(x transitions.Expr) {
			if x.Op == transitions.OpIsNull && x.Args[0].Op == transitions.OpParam && x.Args[0].Name == param {
				found = true
			}
		})
	}
	return found
}

// refusesBlank reports whether a guard demands that a parameter be given.
func refusesBlank(r *transitions.Rule, param string) bool {
	return slices.ContainsFunc(r.Guards, func(g transitions.Guard) bool {
		return g.Expr.String() == transitions.Not(transitions.Blank(transitions.Param(param, transitions.Text))).String()
	})
}

// params are a rule's usual parameters.
func (m *model) params(r *transitions.Rule) transitions.Params {
	params := transitions.Params{}
	for _, d := range r.Params {
		switch d.Name {
		case "owner", "revision", "evidence_seq", "delay_ms", "override":
		case "operation_id":
			params[d.Name] = transitions.TextValue("a")
		case "provider":
			params[d.Name] = transitions.TextValue("video")
		case "account":
			params[d.Name] = transitions.TextValue("main")
		case "reviewer":
			params[d.Name] = transitions.TextValue("ann")
		case "ttl_ms":
			params[d.Name] = transitions.IntValue(tickMs)
		case "reason", "detail":
			if r.Fence == transitions.Seen || r.Fence == transitions.Noticed || refusesBlank(r, d.Name) {
				params[d.Name] = transitions.TextValue("looked")
			}
		default:
			if d.Kind != transitions.Time {
				params[d.Name] = anything(d.Kind)
			}
		}
	}
	for name, v := range m.bound.Given {
		if r.New && r.Uses(name) {
			params[name] = v
		}
	}
	return params
}

// evidenceCalls are what is noted: a late answer's id, and an end that a webhook tells of.
func (m *model) evidenceCalls(r *transitions.Rule) (late, reports []*call) {
	for job := uint8(1); job <= m.maxJobs(); job++ {
		late = append(late, m.newCall(r, transitions.Params{
			"operation_id": transitions.TextValue("a"), "kind": transitions.TextValue("accepted"),
			"remote_job_id": transitions.TextValue(jobID(job)),
		}, itsJob, job, "kind accepted, remote_job_id "+jobID(job)))
	}
	for _, end := range []string{"ended_succeeded", "ended_failed"} {
		reports = append(reports, m.newCall(r, transitions.Params{
			"operation_id": transitions.TextValue("a"), "kind": transitions.TextValue(end),
			"remote_job_id": transitions.TextValue(jobID(1)),
		}, itsJob, 1, "kind "+end))
	}
	return late, reports
}

// born are the rows that the exploration begins with.
func (m *model) born() ([]rowID, error) {
	r := m.roles.birth
	if r == nil {
		return nil, fmt.Errorf("explore table %s: it has no event that creates an operation", m.p.Name)
	}
	params := m.params(r)
	for _, d := range r.Params {
		if _, given := m.bound.Given[d.Name]; given {
			continue
		}
		switch d.Kind {
		case transitions.Bool:
			params[d.Name] = transitions.BoolValue(true)
		case transitions.Int:
			switch d.Name {
			case "priority", "not_found_grace_ms":
				params[d.Name] = transitions.IntValue(0)
			case "delivery_attempts_max":
				params[d.Name] = transitions.IntValue(2)
			default:
				params[d.Name] = transitions.IntValue(tickMs)
			}
		}
	}
	v := m.p.Eval(r.Event, nil, params, transitions.World{Now: now})
	if !v.Applied {
		return nil, fmt.Errorf("explore table %s: %s is denied, failed guards %v; give the parameters that it needs in Bound.Given", m.p.Name, r.Event, v.Failed)
	}
	if phase := v.Row[m.space.phase]; !slices.Contains(m.p.PhaseNames(), phase.Text()) {
		return nil, fmt.Errorf("explore table %s: %s leaves an operation in no phase of the table (%s)", m.p.Name, r.Event, phase)
	}
	m.birth, m.newborn = params, v.Row
	rows := []rowID{m.space.intern(v.Row)}
	if m.bound.Imports {
		rows = append(rows, m.imports(v.Row)...)
	}
	return rows, nil
}

// imports are rows as somebody might write them by hand: in the phases that need a remote job id, without one.
func (m *model) imports(row transitions.Row) []rowID {
	id := m.p.Column("remote_job_id")
	if id < 0 || m.space.next < 0 {
		return nil
	}
	var rows []rowID
	for _, c := range m.roles.claims {
		if c.rule.Action != transitions.Observe {
			continue
		}
		for _, from := range c.rule.From {
			row := slices.Clone(row)
			row[m.space.phase] = transitions.TextValue(from)
			row[m.space.next] = transitions.TextValue(c.rule.Action)
			rows = append(rows, m.space.intern(row))
		}
	}
	return rows
}
