package transitions

import (
	"strings"
	"testing"
)

// Tables that a database or a store could not hold, or would read otherwise than they were meant.
func TestATableThatNoStoreCanHoldDoesNotCompile(t *testing.T) {
	t.Parallel()
	column := func(c Column) func(*Table) { return func(t *Table) { t.Columns = append(t.Columns, c) } }
	engine := func(name string, change func(*Column)) func(*Table) {
		return func(t *Table) {
			for i := range t.Columns {
				if t.Columns[i].Name == name {
					change(&t.Columns[i])
				}
			}
		}
	}
	event := func(name string, change func(*Event)) func(*Table) {
		return func(t *Table) {
			for i := range t.Events {
				if t.Events[i].Name == name {
					change(&t.Events[i])
				}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Table)
		code   string
		row    string
	}{
		"a phase that is any word":          {engine("phase", func(c *Column) { c.Words = "" }), "FR001", "phase"},
		"a revision that may be null":       {engine("revision", func(c *Column) { c.NotNull = false }), "FR001", "revision"},
		"two columns but for the case":      {column(Column{Name: "Keep", Kind: Text}), "FR002", "Keep"},
		"two claims of one work":            {func(t *Table) { e := t.Events[1]; e.Name = "grab"; t.Events = append(t.Events, e) }, "FR003", "grab"},
		"a column without a kind":           {column(Column{Name: "x"}), "FR006", "x"},
		"a number among words":              {column(Column{Name: "x", Kind: Int, Words: "a b"}), "FR006", "x"},
		"a number that is a usable id":      {column(Column{Name: "x", Kind: Int, Check: "usable"}), "FR006", "x"},
		"a text that is not negative":       {column(Column{Name: "x", Kind: Text, Check: "natural"}), "FR006", "x"},
		"a default of another kind":         {column(Column{Name: "x", Kind: Text, Default: IntValue(1)}), "FR006", "x"},
		"a default below nought":            {column(Column{Name: "x", Kind: Int, Check: "natural", Default: IntValue(-1)}), "FR006", "x"},
		"a blank default of a usable id":    {column(Column{Name: "x", Kind: Text, Check: "usable", Default: TextValue(" ")}), "FR006", "x"},
		"a guard that looks like two":       {event("redo", func(e *Event) { e.Guards = append(e.Guards, Guard{"a,b", Yes(), ""}) }), "FR008", "redo"},
		"a guard whose name is not seen":    {event("redo", func(e *Event) { e.Guards = append(e.Guards, Guard{"a\x00", Yes(), ""}) }), "FR008", "redo"},
		"a column whose name is not seen":   {column(Column{Name: "a\x00", Kind: Text}), "FR002", "a\x00"},
		"evidence of what is being created": {event("prepare", func(e *Event) { e.Notes.Evidence = evidence }), "FR009", "prepare"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := Standard()
			c.change(&table)
			findings := Check(table)
			if len(findings) != 1 || findings[0].Code != c.code || findings[0].Row != c.row {
				t.Errorf("got %v, want one finding %s %s", findings, c.code, c.row)
			}
		})
	}
}

func TestTakenAsksForTheColumnsThatItReads(t *testing.T) {
	t.Parallel()
	table := Table{
		Columns: []Column{{Name: "operation_id", Kind: Text, NotNull: true}},
		Events:  []Event{{Name: "make", New: true, To: "made", Fence: Open, Guards: []Guard{{"free", Not(Taken(Param("reference", Text))), ""}}}},
	}
	var told []string
	for _, f := range Check(table) {
		if f.Code == "FR005" {
			told = append(told, f.Text)
		}
	}
	if text := strings.Join(told, "\n"); !strings.Contains(text, `"provider"`) || !strings.Contains(text, `"account"`) || !strings.Contains(text, `"remote_job_id"`) {
		t.Errorf("a table without the columns that taken() reads: got %q", text)
	}
}
