package worker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// telling is faults with a clock of the test's own, and what it told since it was asked last.
func telling() (f *faults, told func() []string, pass func(time.Duration)) {
	var out bytes.Buffer
	f = newFaults(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})))
	at := time.Unix(0, 0)
	f.now = func() time.Time { return at }
	return f, func() []string {
		defer out.Reset()
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}, func(d time.Duration) { at = at.Add(d) }
}

var errRefused = errors.New("connection refused")

func TestAKindOfFailureIsToldWhenItBeginsAndWhenNobodyIsInItAnyMore(t *testing.T) {
	t.Parallel()
	f, told, pass := telling()
	for _, id := range []string{"a", "b", "c", "a"} {
		f.failed("observe", id, "", fmt.Errorf("reading %s: %w", id, errRefused))
	}
	if diff := cmp.Diff([]string{`msg="an attempt failed; it is made again" "trying to"=observe operation=a failing=1 error="reading a: connection refused"`}, told()); diff != "" {
		t.Errorf("three operations, one of them twice (-want +got):\n%s", diff)
	}
	f.failed("observe", "a", "", errors.New("503"))
	f.failed("deliver", "a", "", errRefused)
	if got := told(); len(got) != 2 || !strings.Contains(got[0], "503") || !strings.Contains(got[1], "deliver") {
		t.Errorf("another kind, and other work, are told as\n%q", got)
	}
	pass(3 * time.Second)
	f.went("observe", "b")
	f.went("observe", "never failed")
	if diff := cmp.Diff([]string{""}, told()); diff != "" {
		t.Errorf("one of two is well again (-want +got):\n%s", diff)
	}
	f.went("observe", "c")
	if diff := cmp.Diff([]string{`msg="attempts go well again" "trying to"=observe operations=3 after=3s`}, told()); diff != "" {
		t.Errorf("the last is well again (-want +got):\n%s", diff)
	}
}

func TestAFailureThatLastsIsToldAgainAndManyKindsAreFew(t *testing.T) {
	t.Parallel()
	f, told, pass := telling()
	f.failed("observe", "a", "", errRefused)
	told()
	pass(tellAgain - 1)
	f.failed("observe", "a", "", errRefused)
	if diff := cmp.Diff([]string{""}, told()); diff != "" {
		t.Errorf("soon after (-want +got):\n%s", diff)
	}
	pass(1)
	f.failed("observe", "a", "", errRefused)
	if got := told(); len(got) != 1 || got[0] == "" {
		t.Errorf("after a long time it is told as %q", got)
	}
	for n := range 1000 {
		f.failed("observe", fmt.Sprint(n), "", fmt.Errorf("answer %d", n))
	}
	if got := told(); len(got) > mostFaults {
		t.Errorf("a thousand kinds are told in %d lines", len(got))
	}
}

func TestWhatIsGivenUpForGoodIsToldOnceAKindAndIsNotWellAgain(t *testing.T) {
	t.Parallel()
	f, told, _ := telling()
	f.failed("deliver", "a", "", errRefused)
	told()
	f.gaveUp("deliver", "a", errRefused)
	f.gaveUp("deliver", "b", errRefused)
	f.went("deliver", "c")
	if got := told(); len(got) != 1 || !strings.Contains(got[0], "failed for good") || !strings.Contains(got[0], "operation=a") {
		t.Errorf("two operations that were given up are told as\n%q", got)
	}
	f.failed("send", "d", "401", errors.New("refused: bad key"))
	told()
	f.over("send", "d")
	if diff := cmp.Diff([]string{""}, told()); diff != "" {
		t.Errorf("what ended otherwise (-want +got):\n%s", diff)
	}
}
