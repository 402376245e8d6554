package machine

import (
	"testing"
	"time"
)

// The monotonic clock stops in a suspended machine, and the wall clock may be set; the holder believes whichever says
// that more time has passed (contract A7, report B42).
func TestALeaseEndsByWhicheverClockSaysMore(t *testing.T) {
	start := instant{mono: time.Unix(100, 0), wall: time.Unix(5000, 0)}
	cases := []struct {
		name       string
		mono, wall time.Duration // since the claim was sent
		want       time.Duration
	}{
		{"both agree", 10 * time.Second, 10 * time.Second, 30 * time.Second},
		{"the machine was suspended for ten minutes", 10 * time.Second, 10*time.Minute + 10*time.Second, -9*time.Minute - 30*time.Second},
		{"the wall clock was set back", 10 * time.Second, -time.Hour, 30 * time.Second},
		{"the wall clock was set forward", 10 * time.Second, time.Hour, 40*time.Second - time.Hour},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			now := instant{mono: start.mono.Add(c.mono), wall: start.wall.Add(c.wall)}
			if got := (deadline{start, 40 * time.Second}).left(now); got != c.want {
				t.Errorf("%s are left, want %s", got, c.want)
			}
		})
	}
}

// A renewal whose answer is older than one that was already believed does not shorten the lease (contract A5).
func TestARenewalNeverShortensTheHoldersOwnDeadline(t *testing.T) {
	now := instant{mono: time.Unix(100, 0), wall: time.Unix(100, 0)}
	l := &Lease{clock: func() instant { return now }, ends: deadline{now, 40 * time.Second}}
	older := instant{mono: now.mono.Add(-20 * time.Second), wall: now.wall.Add(-20 * time.Second)}
	l.extend(older, 40*time.Second)
	if got := l.Left(); got != 40*time.Second {
		t.Errorf("%s are left after an older renewal, want 40s", got)
	}
}
