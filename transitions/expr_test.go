package transitions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// meaning evaluates an expression over the row and the parameters of nothing.
func meaning(e Expr) string {
	p := MustCompile(Standard())
	ev := evaluation{program: p, row: p.blankRow(), world: World{Now: 2_000_000}}
	return ev.value(&e).String()
}

func TestConnectivesKnowThreeTruthValues(t *testing.T) {
	t.Parallel()
	yes, no, unknown := Yes(), No(), Null()
	for _, c := range []struct {
		expr Expr
		want string
	}{
		{And(yes, yes), "true"}, {And(yes, no), "false"}, {And(no, no), "false"},
		{And(yes, unknown), "null"}, {And(no, unknown), "false"}, {And(unknown, no), "false"}, {And(unknown, unknown), "null"},
		{Or(yes, yes), "true"}, {Or(yes, no), "true"}, {Or(no, no), "false"},
		{Or(yes, unknown), "true"}, {Or(unknown, yes), "true"}, {Or(no, unknown), "null"}, {Or(unknown, unknown), "null"},
		{Not(yes), "false"}, {Not(no), "true"}, {Not(unknown), "null"},
		{IsNull(unknown), "true"}, {IsNull(no), "false"}, {NotNull(unknown), "false"}, {NotNull(no), "true"},
		{If(yes, Num(1), Num(2)), "1"}, {If(no, Num(1), Num(2)), "2"}, {If(unknown, Num(1), Num(2)), "2"},
	} {
		if got := meaning(c.expr); got != c.want {
			t.Errorf("%s is %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestComparisonsAreUnknownWhereAnOperandIsAndSameIsNot(t *testing.T) {
	t.Parallel()
	a, b, unknown := Str("a"), Str("b"), Null()
	for _, c := range []struct {
		expr Expr
		want string
	}{
		{Eq(a, a), "true"}, {Eq(a, b), "false"}, {Eq(a, unknown), "null"}, {Eq(unknown, unknown), "null"},
		{Ne(a, a), "false"}, {Ne(a, b), "true"}, {Ne(unknown, b), "null"},
		{Le(Num(1), Num(1)), "true"}, {Le(Num(2), Num(1)), "false"}, {Le(unknown, Num(1)), "null"},
		{Lt(Num(1), Num(1)), "false"}, {Lt(Num(-1), Num(0)), "true"}, {Lt(Num(1), unknown), "null"},
		{Same(a, a), "true"}, {Same(a, b), "false"}, {Same(a, unknown), "false"}, {Same(unknown, unknown), "true"},
		{In(a, "a", "b"), "true"}, {In(a, "b"), "false"}, {In(unknown, "a"), "null"}, {In(Str("A"), "a"), "false"},
		{Plus(Num(1), Num(2)), "3"}, {Plus(Num(1), unknown), "null"},
		{After(Now(), Num(500)), "1970-01-01T00:00:02.5Z"}, {After(Now(), unknown), "null"}, {After(unknown, Num(1)), "null"},
		{Taken(unknown), "false"}, {Taken(a), "false"},
	} {
		if got := meaning(c.expr); got != c.want {
			t.Errorf("%s is %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestExtremesAndCoalescePassOverNull(t *testing.T) {
	t.Parallel()
	one, two, unknown := Num(1), Num(2), Null()
	for _, c := range []struct {
		expr Expr
		want string
	}{
		{Greatest(one, two), "2"}, {Greatest(two, one), "2"}, {Greatest(unknown, one), "1"}, {Greatest(one, unknown), "1"}, {Greatest(unknown, unknown), "null"},
		{Least(one, two), "1"}, {Least(two, one), "1"}, {Least(unknown, two), "2"}, {Least(two, unknown), "2"}, {Least(unknown, unknown), "null"},
		{Coalesce(unknown, two, one), "2"}, {Coalesce(one), "1"}, {Coalesce(unknown, unknown), "null"}, {Coalesce(Str(""), Str("a")), `""`},
	} {
		if got := meaning(c.expr); got != c.want {
			t.Errorf("%s is %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestAUsableRemoteJobIDIsOneTo1024PrintableASCIICharactersWithoutASpace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		text   Expr
		usable bool
		blank  bool
	}{
		{"null", Null(), false, true},
		{"empty", Str(""), false, true},
		{"one character", Str("!"), true, false},
		{"the last character", Str("~"), true, false},
		{"1,024 characters", Str(strings.Repeat("x", 1024)), true, false},
		{"1,025 characters", Str(strings.Repeat("x", 1025)), false, false},
		{"a space", Str(" "), false, true},
		{"a space inside", Str("job 1"), false, false},
		{"a trailing newline", Str("job-1\n"), false, false},
		{"a no-break space", Str("\u00a0"), false, true},
		{"a zero-width space", Str("\u200b"), false, true},
		{"an id with a zero-width space", Str("job\u200b1"), false, false},
		{"a byte order mark", Str("\ufeff"), false, true},
		{"a Hangul filler", Str("\u3164"), false, true},
		{"DEL", Str("\x7f"), false, false},
		{"NUL", Str("\x00"), false, false},
		{"an id with NUL", Str("job\x001"), false, false},
		{"invalid UTF-8", Str("\xff\xfe"), false, false},
		{"an id with invalid UTF-8", Str("job\xff"), false, false},
		{"a letter beyond ASCII", Str("jöb"), false, false},
	} {
		got := []string{meaning(Usable(c.text)), meaning(Blank(c.text))}
		want := []string{BoolValue(c.usable).String(), BoolValue(c.blank).String()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: usable and blank differ (-want +got):\n%s", c.what, diff)
		}
	}
}

func TestAnIDIsTakenOnlyForItsOwnProviderAndAccount(t *testing.T) {
	t.Parallel()
	p := MustCompile(Standard())
	row := p.blankRow()
	row[p.Column("provider")], row[p.Column("account")] = TextValue("video"), TextValue("eu")
	var asked []string
	ev := evaluation{program: p, row: row, world: World{Taken: func(provider, account, id string) bool {
		asked = []string{provider, account, id}
		return true
	}}}
	taken := Taken(Str("job-1"))
	if !ev.holds(&taken) {
		t.Error("the id is taken, and Taken says that it is not")
	}
	if diff := cmp.Diff([]string{"video", "eu", "job-1"}, asked); diff != "" {
		t.Errorf("it was asked about another job (-want +got):\n%s", diff)
	}
}

func TestAnExpressionIsWrittenAsInTheDocuments(t *testing.T) {
	t.Parallel()
	got := And(Lt(Now(), Col("lease_until")), Not(Usable(Col("remote_job_id"))), NotNull(Col("outcome")), In(Param("proof", Text), "a", "b"),
		If(IsNull(Col("keep")), Str("x"), Coalesce(Col("keep"), Null()))).String()
	want := `((now < lease_until) and not(usable(remote_job_id)) and outcome is not null and :proof in ("a", "b") and if(keep is null, "x", coalesce(keep, null)))`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the text differs (-want +got):\n%s", diff)
	}
}
