package mutants

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Argument says why nobody can notice that some clauses are gone, or why that is left so.
type Argument struct {
	Name   string
	Why    string
	covers func(m Mutant, v Verdict) bool

	// Always says that the clauses make no difference whatever the database does: one of them that somebody notices all
	// the same makes the run fail, for then the argument is wrong. Of the others some are noticed, on some plans.
	Always bool
}

// matching covers mutants by patterns of their ID, without the name of a table of one's own, and of their text; "" is any.
func matching(of, id, text string) func(Mutant, Verdict) bool {
	ids, texts := regexp.MustCompile(id), regexp.MustCompile(text)
	return func(m Mutant, _ Verdict) bool {
		return (of == "" || m.Of == of) && ids.MatchString(strings.TrimPrefix(m.ID, m.Own+" ")) && texts.MatchString(m.Text)
	}
}

// either covers what one of several covers.
func either(all ...func(Mutant, Verdict) bool) func(Mutant, Verdict) bool {
	return func(m Mutant, v Verdict) bool {
		return slices.ContainsFunc(all, func(one func(Mutant, Verdict) bool) bool { return one(m, v) })
	}
}

// wordForWord covers clauses of tables of one's own that are judged in the standard's statements, by tests in Go.
func wordForWord(m Mutant, v Verdict) bool {
	return m.Own != Standard && either(
		matching(Postgres, `: (seen|picked) (for update|skip locked) \d+$`, ``),
		matching(Postgres, `: (seen|clocked) from \d+$`, `bounded`),
		matching(Postgres, ` sweep: picked where \d+(\.from \d+)?$`, `bounded`),
		matching(Postgres, ` many: (seen|moved) order \d+$`, `operation_id$`),
		matching(Postgres, ` many: seen where \d+$`, `^o\.operation_id = ANY`),
		matching(SQLite, ` update: where \d+$`, `^(changes\(\) = 1|h\.seq = last_insert_rowid\(\))$`),
		matching("", `^\w+ (investigate_found|review_attach) (one|many)( evidence)?: (evidence )?insert \d+$`, `^(provider|account) = `),
		matching(Postgres, `^postgres prepare one: where \d+$`, `^o\.operation_id = \$1`),
		matching(SQLite, `_claim batch: levels where \d+$`, `^o\.(next_action|provider|account) = `))(m, v)
}

// Arguments are all there are. The first that covers a mutant counts.
var Arguments = []Argument{
	{
		Name:   "The database does the same",
		Why:    "It says so itself: SQLite's EXPLAIN gives the same program without the clause, PostgreSQL's the same plan without the word MATERIALIZED. It keeps apart anyway what is volatile, locks rows or is read twice, and reads by an index in the order that is asked for. The words say what the statements rely on, whatever a later version does. This is looked at in each run.",
		covers: func(_ Mutant, v Verdict) bool { return v.Same != "" },
	},
	{
		Name:   "Word for word in the standard's statements",
		Why:    "Of a table of one's own: a lock, the bound of its wait and the order of several, passing by what is locked, the last step's look at whether history was written, the conditions that make an index find what is due, the provider and account of a replaced remote job's evidence, and which operation a prepare of a known id shows. The compiler writes them for each table alike; but for the last two they are there for two sessions at once, for a database that does not do what it says, or for a plan. The tests in Go and the conformance battery that judge them run on the statements of the standard table, where the same words are mutants as well, and are missed.",
		covers: wordForWord,
	},
	{
		Name: "What wake_at says already",
		Why:  "Every claim and sweep looks for rows whose wake_at has come, which is the later of the schedule and the lease's end: where it has come, there is no live lease, and what is delivered or investigated is due. The guards stay in the statement because they are the rule's, and wake_at is only how its rows are found.",
		covers: either(
			matching("", `(batch|sweep)( history)?: (join 1\.|picked |judged )?(where|guard) \d+( and wherever else it is looked at)?$`, `lease_until`),
			matching("", `(deliver|investigate|pay|settle)_claim batch( history)?: (join 1\.|picked |judged )?(where|guard) \d+( and wherever else it is looked at)?$`, `due_at <= `)),
		Always: true,
	},
	{
		Name:   "What guards see without the index's condition",
		Why:    "wake_at is how rows are found by the index; of a claim the guards on the schedule and the lease say the same of each row, by a later reading of the clock. What is asked to be canceled is due at once.",
		covers: either(matching(Postgres, `_claim batch: picked where \d+$`, `^o\.wake_at <= `), matching(Postgres, `cancel sweep: picked where \d+$`, `^o\.wake_at <= `)),
		Always: true,
	},
	{
		Name:   "Where to look is no answer",
		Why:    "The levels of a claim are the priorities under which it looks; each row that it finds there is judged by itself. A level too many is a look too many, which costs time and changes nothing, and a level comes in the index's own order. The test of B84 in internal/reports holds that a claim reads nothing of what lies about, on 256,000 rows; it takes minutes, and is not asked about each clause.",
		covers: matching(Postgres, `_claim batch: levels (where|order|limit) \d+$`, ``),
	},
	{
		Name: "The order that rows have anyway",
		Why:  "Rows are read by an index that has this order, or in the order in which they were written, so that a test sees no other order without the word; and who comes first of two that are due at one moment is nobody's concern. The words are there for the day on which another plan is chosen.",
		covers: either(
			matching("", `(batch|sweep): (join 1\.|picked )?order \d+$`, ``), matching(Postgres, `\+\w+ (one|many): history order \d+$`, `h\.nth`),
			matching("", `^\w+ reader \w+: (page |join 1\.)?order \d+$`, ``)),
	},
	{
		Name: "A word for the plan",
		Why:  "It says how rows are found and not which: that a part is made once, that an index has what a comparison leaves out anyway.",
		covers: either(matching("", `reader unmatched\w*: page materialized 1$`, ``), matching("", `reader review: where \d+$`, `review_rank IS NOT NULL`),
			matching(Postgres, ` many: input materialized 1$`, ``)),
	},
	{
		Name:   "One input is as good as another",
		Why:    "A statement about several operations joins each row with what was given for it. Where the event stores nothing of what is given, any of them does; where it does, this is noticed.",
		covers: matching(Postgres, ` many: moved join 1$`, `^i\.ordinal = j\.ordinal$`),
	},
	{
		Name:   "What fails together is tried one by one",
		Why:    "Where a statement about several operations breaks the unique index of remote jobs, none of it is written, and the store fires the event at each by itself, whose statement has the clause. And what a prepare of several says nothing of is prepared once more.",
		covers: either(matching(Postgres, `^postgres (prepare|draft) many: where 1\.where 1$`, ``), matching(Postgres, `^postgres (submit_accepted|submit_accepted\+observe_claim|investigate_found|review_attach|evidence_attach|pay_taken|decide_sent|late_attach) many: (judged guard \d+|moved where 1)(\.where \d+)?$`, `(AS t WHERE|^t\.|^o\.operation_id = j\.operation_id$)`)),
	},
	{
		Name:   "A limit inside of a limit",
		Why:    "The whole statement has the same limit once more: inside it only keeps from reading what is thrown away then.",
		covers: matching("", `_claim batch: (join 1\.|picked )limit 1$`, ``),
	},
	{
		Name:   "What was picked is not refused",
		Why:    "A claim or sweep picks by the guards what it then locks, without waiting for anybody, and judges it by them once more under the lock: a row that was changed in between is not picked. What the second look finds, the first has left out; either is enough, and both together are told apart above.",
		covers: matching(Postgres, `(batch|sweep): moved where 2$`, `^j\.failed = '{}'$`),
		Always: true,
	},
	{
		Name:   "What the columns' defaults say already",
		Why:    "prepare writes the columns' defaults once more, so that it does not depend on what an older migration made the default. In tables that the migrations of today made they are the same.",
		covers: matching("", `^(postgres (prepare|draft) \w+: moved|sqlite (prepare|draft) one update:) insert \d+$`, `^(evidence_seq|revision|orders|attempts|delivery_attempts|duplicate_suspected|outcome_contradicted) = (0|false)$`),
		Always: true,
	},
	{
		Name:   "One row joined with one row",
		Why:    "A statement about one operation has one row in each of its parts, and a webhook's guards name at most one operation by the unique index on remote jobs: what they are joined by makes no difference.",
		covers: either(matching(Postgres, ` one: (history|evidence) join \d+$`, ``), matching(SQLite, `^sqlite (notified_\w+|bank_returned) one history: join 1$`, ``)),
		Always: true,
	},
	{
		Name:   "What its transaction has seen already",
		Why:    "SQLite's steps run in one transaction that nobody else writes in: that there is no such operation was seen by its first statement. PostgreSQL's statement does not see the rows that it has just written itself.",
		covers: either(matching(SQLite, `^sqlite (prepare|draft) one history: where 1$`, ``), matching(Postgres, `^postgres (prepare|draft) (one|many): where \d+$`, `^NOT EXISTS \(SELECT FROM moved`)),
		Always: true,
	},
	{
		Name: "What the first of two joined events has made so",
		Why:  "The second is judged on what the first has left. A claim has just asked for the phase of the row, and whether it is to be canceled, marked or has a late id; what was accepted has an id that can be one, and is to be observed; a success is terminal, has given the lease up, and makes what is wanted due at once, and what is not wanted neither due nor anybody's work. The guards are the second event's own, and stand wherever it is fired.",
		covers: either(
			matching("", `dispatch_claim\+submit_begin (one|many)( second history)?: (continued guard|where) \d+$`, `phase IN|cancel_requested_at|duplicate_suspected|late_remote_job_id`),
			matching("", `submit_accepted\+observe_claim (one|many)( second history)?: (continued guard|where) \d+$`, `phase IN|lease_until|next_action|remote_job_id`),
			matching("", `observe_succeeded\+deliver_claim (one|many)( second history)?: (continued guard|where) \d+$`, `phase IN|lease_until|next_action|due_at|outcome = `)),
		Always: true,
	},
	{
		Name:   "Joined events of the standard table tell no reason",
		Why:    "Neither a claim nor a begin nor what was accepted nor a success has a reason or a reviewer; the compiler writes the columns for a table whose events have.",
		covers: matching(Postgres, `\+\w+ (one|many): history insert \d+$`, `^(reason|reviewer) = `),
		Always: true,
	},
	{
		Name:   "Two clocks in one transaction",
		Why:    "In SQLite the second of two joined events reads the clock a moment after the first, whose moment stands in the row already; the two are one millisecond but for chance.",
		covers: matching(SQLite, `\+\w+ one second update: set \d+$`, `^updated_at = `),
	},
	{
		Name:   "What only an operation with an outcome can have",
		Why:    "deliver_claim asks for the outcome succeeded, which the tables' constraint lets an operation have only in the phases that the guard names.",
		covers: matching("", `deliver_claim batch.*(where|guard) \d+( and wherever else it is looked at)?$`, `phase IN \('terminal', 'delivering'\)`),
		Always: true,
	},
	{
		Name: "What no row can be",
		Why:  "No operation has a blank id, so that a prepare which meets one with its id has failed no guard. An operation to which a late id is attached holds no id, so that it is not the one that holds it, and the id that is stored is the late one, so that no other is left over. Evidence is never denied, so that nothing has failed. Nobody holds an operation that is redone: it has ended. A payout that a treasurer may call sent has no late reference to clear.",
		covers: either(
			matching(Postgres, `^postgres (prepare|draft) (one|many): concatenation 2$`, `^j\.failed$`),
			matching("", `(evidence|late)_attach sweep`, `^t\.operation_id <> `),
			matching("", `evidence_attach (one|sweep|many)( update)?: (moved )?set 13$`, `duplicate_suspected`),
			matching(Postgres, `^postgres (evidence_noted|note) (one|many): (moved where 2|union 2|where 1\.from 1|where 1\.where 1)$`, ``),
			matching("", `^\w+ decide_sent (one|many)( update)?: (moved )?set \d+$`, `^late_remote_job_id = NULL`),
			matching(Postgres, `^postgres redo many: history insert 5$`, `^owner = j\.lease_owner$`)),
		Always: true,
	},
}

// argument finds the argument that covers a mutant, nil if none does.
func argument(m Mutant, v Verdict) *Argument {
	for i := range Arguments {
		if Arguments[i].covers(m, v) {
			return &Arguments[i]
		}
	}
	return nil
}

// Outcome is what a run of a table comes to.
type Outcome struct {
	Table    string // Standard for the standard one
	Mutants  []Mutant
	Verdicts []Verdict
}

// Line is the last line of a run, with the table's name.
func (o Outcome) Line() string {
	name := o.Table
	if name == Standard {
		name = "standard"
	}
	return name + ": " + o.String()
}

// String counts the mutants that were killed, and those that survived.
func (o Outcome) String() string {
	killed := 0
	for _, v := range o.Verdicts {
		if v.Killed() {
			killed++
		}
	}
	return fmt.Sprintf("%d mutants, %d killed, %d survived", len(o.Verdicts), killed, len(o.Verdicts)-killed)
}

// Failures lists what a run fails on: survivors that nobody argues, arguments that a killed mutant disproves, and
// mutants that could not be judged.
func (o Outcome) Failures() []string {
	var all []string
	for i, v := range o.Verdicts {
		m := o.Mutants[i]
		a := argument(m, v)
		switch {
		case v.Error != "" || v.ID == "":
			all = append(all, fmt.Sprintf("not judged: %s: %s", m.ID, v.Error))
		case v.Killed() && a != nil && a.Always:
			all = append(all, fmt.Sprintf("killed, though it is argued that it cannot be (%s): %s by %s", a.Name, m.ID, v.By))
		case !v.Killed() && a == nil:
			all = append(all, fmt.Sprintf("survived, and nobody argues it: %s: %s", m.ID, m.Text))
		}
	}
	return all
}
