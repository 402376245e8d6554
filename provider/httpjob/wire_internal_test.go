package httpjob

import (
	"errors"
	"net"
	"testing"
	"time"
)

// deaf is a connection that honours no deadline and must not be written to.
type deaf struct {
	net.Conn
	t *testing.T
}

func (d deaf) SetWriteDeadline(time.Time) error { return nil }
func (d deaf) Write([]byte) (int, error)        { d.t.Error("a byte was written"); return 0, nil }

func TestTheGateItselfJudgesTheDeadlineBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	w := &wire{sendBy: time.Now()}
	g := &gate{Conn: deaf{t: t}, wire: w}
	if _, err := g.Write([]byte("x")); !errors.Is(err, errPastSendBy) || w.seal(false) != 0 {
		t.Errorf("got %v", err)
	}
}

func TestASealedWireTakesNoByteAndNoConnection(t *testing.T) {
	t.Parallel()
	w := &wire{}
	w.seal(false)
	g := &gate{Conn: deaf{t: t}, wire: w}
	if _, err := g.Write([]byte("x")); !errors.Is(err, errSealed) {
		t.Errorf("got %v", err)
	}
	w.dials.Add(1)
	if _, err := w.dialPlain(t.Context(), "tcp", "127.0.0.1:1"); !errors.Is(err, errSecondConnection) {
		t.Errorf("got %v", err)
	}
}

// A suspended machine's monotonic clock stands still; a wall clock that is set back does not move the deadline.
func TestTheClockThatIsFurtherOnIsBelieved(t *testing.T) {
	t.Parallel()
	now := time.Now()
	by := now.Add(time.Second)
	for name, c := range map[string]struct {
		now  time.Time
		want bool
	}{
		"before":                          {now, false},
		"after":                           {now.Add(2 * time.Second), true},
		"after by the wall clock only":    {now.Round(0).Add(2 * time.Second), true},
		"exactly at it":                   {by, true},
		"before, without monotonic clock": {now.Round(0), false},
	} {
		if got := past(c.now, by); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
