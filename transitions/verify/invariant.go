package verify

// Code names an invariant: I1 to I9 of the lifecycle, with a letter where one is judged in several ways, and the clauses
// B8 and D3 of the contract.
type Code string

// Invariant is what must hold in every state.
type Invariant struct {
	Code Code
	Says string
}

// Invariants lists what is judged. I10, that the SQL agrees with the table's meaning, is not for a model to say: the
// agreement test holds it on real stores.
var Invariants = []Invariant{
	{"I1", "the number of requests sent is at most 1 + the number of recorded submit_not_created and review_not_created"},
	{"I1a", "while nobody decides by mistake, the remote creates at most one job"},
	{"I1b", "no request is begun while evidence says that a job exists, unless a reviewer has acknowledged it"},
	{"I2", "no request is sent unless the row is durably submitting under the sender's own lease"},
	{"I3", "an outcome, once set, never changes, and nothing late replaces what was stored with it"},
	{"I4", "nothing is written under an expired or superseded lease, also where the owner string is reused"},
	{"I4a", "a lease that is alive is not taken from its holder, but by the remote's own word"},
	{"I5", "a blank remote job id is never stored and never observed"},
	{"I6", "back to sending only by the sender's proof under its own lease, or by a reviewer"},
	{"I7", "from every state of an unfinished operation there is a way out that needs no dead worker"},
	{"I8", "evidence is never refused and moves nothing"},
	{"I9", "the history's changes give the row"},
	{"B8", "a remote job id that another operation holds is never stored"},
	{"D3", "a decision names its reviewer and reason, and is denied when the operation moved on since it was looked at"},
}

// says finds an invariant's sentence.
func (c Code) says() string {
	for _, i := range Invariants {
		if i.Code == c {
			return i.Says
		}
	}
	return ""
}
