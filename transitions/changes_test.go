package transitions_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

func TestChangesAreAJSONObjectOfPlainValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	got := transitions.AppendChanges([]byte("before "), []transitions.Change{
		{Column: "text", Value: transitions.TextValue(`a "b"`)}, {Column: "bytes", Value: transitions.BytesValue([]byte{0, 0xff})},
		{Column: "int", Value: transitions.IntValue(-7)}, {Column: "bool", Value: transitions.BoolValue(true)},
		{Column: "time", Value: transitions.TimeValue(at)}, {Column: "null", Value: transitions.NullValue},
	})
	want := `before {"text":"a \"b\"","bytes":"00ff","int":-7,"bool":true,"time":1767323045000678,"null":null}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
}

func TestWhateverATextHoldsItsChangeReadsBackAsIt(t *testing.T) {
	t.Parallel()
	texts := []string{"", `\`, `"`, "ünï\u2028code\u00a0𝄞", "</script>&", "\ufffd", "\xff", "a\xc3", "\xed\xa0\x80"}
	for c := range rune(0x100) {
		texts = append(texts, "x"+string(c)+"y", string(c))
	}
	for _, text := range texts {
		object := transitions.AppendChanges(nil, []transitions.Change{{Column: "it", Value: transitions.TextValue(text)}})
		var got map[string]string
		if err := json.Unmarshal(object, &got); err != nil {
			t.Errorf("%q became %s: %v", text, object, err)
			continue
		}
		if diff := cmp.Diff(strings.ToValidUTF8(text, "\ufffd"), got["it"]); diff != "" {
			t.Errorf("%q read back (-want +got):\n%s", text, diff)
		}
	}
}
