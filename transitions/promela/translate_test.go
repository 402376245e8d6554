package promela_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/promela"
)

// null and now are the model's own.
const (
	null = 255
	noon = int64(1_900_000_000_000_000)
)

// text is a generated model, read again: what the test trusts is what spin will read, not how it was made.
type text struct {
	defined map[string]string
	may     map[string]string            // by event
	next    map[string]map[string]string // by event and column
}

var (
	define  = regexp.MustCompile(`(?m)^#define (\w+) (.*)$`)
	comment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	block   = regexp.MustCompile(`(?s)inline fire_(\w+)\(\)\n\{.*?\n\}`)
	assign  = regexp.MustCompile(`next\.(\w+) = (.*);`)
)

func read(t testing.TB, p *transitions.Program, o promela.Options) text {
	t.Helper()
	model, err := promela.Model(p, o)
	if err != nil {
		t.Fatal(err)
	}
	plain := comment.ReplaceAllString(strings.ReplaceAll(model, "\\\n", " "), "")
	read := text{map[string]string{}, map[string]string{}, map[string]map[string]string{}}
	for _, m := range define.FindAllStringSubmatch(plain, -1) {
		if event, ok := strings.CutPrefix(m[1], "may_"); ok {
			read.may[event] = m[2]
		}
		read.defined[m[1]] = m[2]
	}
	for _, m := range block.FindAllStringSubmatch(plain, -1) {
		read.next[m[1]] = map[string]string{}
		for _, a := range assign.FindAllStringSubmatch(m[0], -1) {
			read.next[m[1]][a[1]] = a[2]
		}
	}
	return read
}

// number is the model's number for a value of a row or a parameter.
func (x text) number(v transitions.Value) int {
	switch v.Kind() {
	case transitions.NoKind:
		return null
	case transitions.Time: // a tick is a millisecond here
		return int(max(0, (v.Micros()-noon)/1000))
	case transitions.Text:
		if transitions.IsBlank(v.Text()) {
			return x.value("blank", nil)
		}
		if id, ok := strings.CutPrefix(v.Text(), "job-"); ok {
			n, _ := strconv.Atoi(id)
			return n
		}
		if _, ok := x.defined["w_"+v.Text()]; ok {
			return x.value("w_"+v.Text(), nil)
		}
		return x.value(v.Text(), nil)
	default:
		return int(v.Int())
	}
}

func (x text) value(expression string, state map[string]int) int {
	e := evaluation{text: x, state: state, rest: expression}
	n := e.either()
	if strings.TrimSpace(e.rest) != "" {
		panic(fmt.Sprintf("not understood: %q of %q", e.rest, expression))
	}
	return n
}

// evaluation is Promela's expressions, as far as the model uses them.
type evaluation struct {
	text  text
	state map[string]int
	rest  string
}

func (e *evaluation) takes(sign string) bool {
	e.rest = strings.TrimLeft(e.rest, " \t")
	after, ok := strings.CutPrefix(e.rest, sign)
	if ok {
		e.rest = after
	}
	return ok
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (e *evaluation) either() int {
	n := e.both()
	for e.takes("||") {
		m := e.both()
		n = bit(n != 0 || m != 0)
	}
	return n
}

func (e *evaluation) both() int {
	n := e.compared()
	for e.takes("&&") {
		m := e.compared()
		n = bit(n != 0 && m != 0)
	}
	return n
}

func (e *evaluation) compared() int {
	n := e.sum()
	switch {
	case e.takes("=="):
		return bit(n == e.sum())
	case e.takes("!="):
		return bit(n != e.sum())
	case e.takes("<="):
		return bit(n <= e.sum())
	case e.takes(">="):
		return bit(n >= e.sum())
	case strings.HasPrefix(strings.TrimLeft(e.rest, " "), "->"):
		return n
	case e.takes("<"):
		return bit(n < e.sum())
	case e.takes(">"):
		return bit(n > e.sum())
	}
	return n
}

func (e *evaluation) sum() int {
	n := e.one()
	for e.takes("+") {
		n += e.one()
	}
	return n
}

var token = regexp.MustCompile(`^[\w.]+`)

func (e *evaluation) one() int {
	if e.takes("-") {
		return -e.one()
	}
	if e.takes("(") {
		n := e.either()
		if e.takes("->") {
			yes := e.either()
			if !e.takes(":") {
				panic("a condition without its other half: " + e.rest)
			}
			no := e.either()
			if n != 0 {
				n = yes
			} else {
				n = no
			}
		}
		if !e.takes(")") {
			panic("not closed: " + e.rest)
		}
		return n
	}
	e.rest = strings.TrimLeft(e.rest, " \t")
	word := token.FindString(e.rest)
	e.rest = strings.TrimPrefix(e.rest, word)
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	if n, ok := e.state[word]; ok {
		return n
	}
	switch word {
	case "true":
		return 1
	case "false":
		return 0
	}
	meaning, ok := e.text.defined[word]
	if !ok {
		panic(fmt.Sprintf("the model does not say what %q is", word))
	}
	return e.text.value(meaning, e.state)
}

// constants are what the model gives every statement alike, as the table wants it.
func constants(o promela.Options) transitions.Params {
	said := transitions.TextValue("said")
	params := transitions.Params{
		"ttl_ms": transitions.IntValue(int64(o.LeaseTicks)), "delay_ms": transitions.IntValue(0),
		"proof": transitions.TextValue("refused"), "override": transitions.BoolValue(o.Override),
		"wants_delivery": transitions.BoolValue(o.WantsDelivery), "can_investigate": transitions.BoolValue(o.CanInvestigate),
		"quarantine_ms": transitions.IntValue(int64(o.QuarantineTicks)), "observe_deadline_ms": transitions.IntValue(0),
		"not_found_grace_ms": transitions.IntValue(0), "delivery_attempts_max": transitions.IntValue(1),
		"request": transitions.BytesValue([]byte("{}")),
	}
	for _, name := range []string{"operation_id", "kind", "provider", "account", "reviewer", "reason", "object_key"} {
		params[name] = said
	}
	if o.Redone {
		params["redo_of"] = said
	}
	return params
}

// drawn is a value that a column may hold, null more often than not where it may be null.
func drawn(t *rapid.T, p *transitions.Program, c transitions.Column) transitions.Value {
	var of []transitions.Value
	switch words := p.Words(c); {
	case words != nil:
		for _, w := range words {
			of = append(of, transitions.TextValue(w))
		}
	case c.Name == "lease_owner":
		of = append(of, transitions.TextValue("said"), transitions.TextValue("job-7"))
	case c.Kind == transitions.Text:
		of = append(of, transitions.TextValue("job-1"), transitions.TextValue("job-2"), transitions.TextValue(" "))
	case c.Kind == transitions.Bool:
		of = append(of, transitions.BoolValue(false), transitions.BoolValue(true))
	case c.Kind == transitions.Time:
		for _, ms := range []int64{-5, 0, 1, 2} {
			of = append(of, transitions.MicrosValue(noon+ms*1000))
		}
	default:
		for n := range int64(4) {
			of = append(of, transitions.IntValue(n))
		}
	}
	if !c.NotNull {
		of = append(of, transitions.NullValue, transitions.NullValue)
	}
	return rapid.SampledFrom(of).Draw(t, c.Name)
}

func TestEveryEventOfTheModelDoesWhatTheTableSays(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	elsewhere := promela.Standard()
	elsewhere.IDElsewhere, elsewhere.Override, elsewhere.Redone = true, true, true
	elsewhere.WantsDelivery, elsewhere.CanInvestigate = false, false
	for name, o := range map[string]promela.Options{"standard": promela.Standard(), "another world": elsewhere} {
		model := read(t, p, o)
		born := p.Eval("prepare", nil, constants(o), transitions.World{Now: noon})
		if !born.Applied {
			t.Fatalf("prepare was denied: %v", born.Failed)
		}
		for _, r := range p.Rules {
			t.Run(name+"/"+r.Event, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { agree(t, p, o, model, r, born.Row) })
			})
		}
	}
}

// agree holds one event of the model against its evaluation, on one row.
func agree(t *rapid.T, p *transitions.Program, o promela.Options, model text, r *transitions.Rule, born transitions.Row) {
	row := append(transitions.Row(nil), born...)
	state := map[string]int{}
	for _, c := range promela.Cone(p) {
		if _, fixed := model.defined["fixed_"+c.Name]; !fixed && !r.New {
			row[p.Column(c.Name)] = drawn(t, p, c)
			state["row."+c.Name] = model.number(row[p.Column(c.Name)])
		}
	}
	if r.Leaves(r.Lands("")) || len(r.From) > 0 { // mostly a phase that it may leave, or little would ever apply
		if rapid.IntRange(0, 9).Draw(t, "phase of the table") > 0 {
			phase := transitions.TextValue(rapid.SampledFrom(r.From).Draw(t, "from"))
			row[p.Column("phase")], state["row.phase"] = phase, model.number(phase)
		}
	}
	params := constants(o)
	if !r.New {
		give(t, p, model, row, params, state)
	}
	want := p.Eval(r.Event, row, params, transitions.World{Now: noon, Taken: func(_, _, id string) bool {
		return o.IDElsewhere && id == "job-1"
	}})
	if got := model.value(model.may[r.Event], state) != 0; got != want.Applied {
		t.Fatalf("%s: the model says applied %v, the table %v (denied by %v)", r.Event, got, want.Applied, want.Failed)
	}
	if !want.Applied {
		return
	}
	wanted, got := map[string]int{}, map[string]int{}
	for _, s := range r.Sets {
		if written, ok := model.next[r.Event][s.Col]; ok {
			wanted[s.Col], got[s.Col] = model.number(want.Row[p.Column(s.Col)]), model.value(written, state)
		}
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Fatalf("%s assigns (-table +model):\n%s", r.Event, diff)
	}
}

// give draws the parameters in which statements differ, right ones more often than wrong ones.
func give(t *rapid.T, p *transitions.Program, model text, row transitions.Row, params transitions.Params, state map[string]int) {
	mostly := func(name, column string, others ...transitions.Value) {
		right := row[p.Column(column)]
		params[name] = rapid.SampledFrom(append([]transitions.Value{right, right, right}, others...)).Draw(t, "given "+name)
		state["given."+name] = model.number(params[name])
	}
	mostly("owner", "lease_owner", transitions.TextValue("said"), transitions.NullValue)
	mostly("revision", "revision", transitions.IntValue(1), transitions.NullValue)
	mostly("evidence_seq", "evidence_seq", transitions.IntValue(2), transitions.NullValue)
	mostly("remote_job_id", "remote_job_id", transitions.TextValue("job-1"), transitions.TextValue("job-3"), transitions.TextValue(" "))
	kinds := []transitions.Value{transitions.NullValue}
	for _, k := range []string{"accepted", "accepted", "ended_succeeded", "ended_failed", "ended_canceled", "original_exists"} {
		kinds = append(kinds, transitions.TextValue(k))
	}
	params["kind"] = rapid.SampledFrom(kinds).Draw(t, "given kind")
	state["given.kind"] = model.number(params["kind"])
}
