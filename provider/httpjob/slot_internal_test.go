package httpjob

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two deliverers got past the look at the key before either had a file. Their contents differ.
func TestTheSlowerDelivererTakesTheFastersObject(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	open := func() *slot {
		s := &slot{root: root, key: "a/op-1.mp4", owner: owner{Operation: "op-1"}}
		if _, there, err := s.open(); err != nil || there {
			t.Fatal(there, err)
		}
		return s
	}
	write := func(s *slot, text string) *tempFile {
		f, err := s.create()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	one, two := open(), open()
	slow, fast := write(one, "slow"), write(two, "fast")
	want, err := two.publish(fast)
	if err != nil {
		t.Fatal(err)
	}
	got, err := one.publish(slow)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text, err := root.ReadFile("a/op-1.mp4")
	if err != nil || string(text) != "fast" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestARecordThatACrashCutShortStillTakesTheNextLine(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	s := &slot{root: root, key: "op-1.mp4", owner: owner{Operation: "op-1"}}
	if _, _, err := s.open(); err != nil {
		t.Fatal(err)
	}
	record, err := root.OpenFile(s.record(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = record.WriteString("\n{\"sha256\":\"ab")
	_ = record.Close()
	want := content{SHA256: "abc", Bytes: 3}
	if err := s.note(want); err != nil {
		t.Fatal(err)
	}
	got, err := s.readRecord()
	if diff := cmp.Diff([]content{want}, got.contents); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
