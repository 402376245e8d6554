package main

import (
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/input"
	"github.com/fencerow/fencerow/transitions"
)

// follow is a tracker of operations a and b, both prepared, with a clock of its own.
func follow() (*tracker, *time.Time) {
	now := time.Unix(1_000_000, 0)
	t := newTracker(nil, []input.Item{{ID: "a"}, {ID: "b"}})
	t.now, t.looked = func() time.Time { return now }, true
	t.note("a", place{phase: transitions.Prepared})
	t.note("b", place{phase: transitions.Prepared})
	return t, &now
}

const patience = time.Hour

func TestARunIsOverWhenEachIsFinishedOrUncertain(t *testing.T) {
	t.Parallel()
	k, _ := follow()
	k.note("a", place{phase: transitions.Terminal, outcome: "succeeded", next: transitions.Deliver})
	k.note("b", place{phase: transitions.Uncertain, next: transitions.Review})
	if k.over(patience, false) {
		t.Error("it is over before a delivery")
	}
	k.note("a", place{phase: transitions.Terminal, outcome: "succeeded"})
	if !k.over(patience, false) {
		t.Error("it is not over when all is settled")
	}
}

func TestARunDoesNotGiveUpBeforeASendWasRefused(t *testing.T) {
	t.Parallel()
	k, now := follow()
	*now = now.Add(100 * patience)
	if k.over(patience, false) {
		t.Error("it gave up on what was never sent")
	}
}

func TestARunGivesUpSoLongAfterTheFirstRefusalThatNothingCameAfter(t *testing.T) {
	t.Parallel()
	k, now := follow()
	for attempt := int64(1); attempt <= 7; attempt++ { // refused again and again
		k.note("a", place{phase: transitions.Prepared, attempts: attempt})
		if k.over(patience, false) != (attempt == 7) {
			t.Errorf("attempt %d: over is %t", attempt, attempt != 7)
		}
		*now = now.Add(patience / 6)
	}
}

func TestASendThatGoesThroughGivesTheOthersTheirTimeAnew(t *testing.T) {
	t.Parallel()
	k, now := follow()
	k.note("a", place{phase: transitions.Prepared, attempts: 1})
	*now = now.Add(patience - time.Second)
	k.note("b", place{phase: transitions.Submitted})
	k.note("b", place{phase: transitions.Terminal, outcome: "failed"})
	*now = now.Add(patience - time.Second)
	if k.over(patience, false) {
		t.Error("it gave up although a send went through less than an hour ago")
	}
	*now = now.Add(time.Second)
	if !k.over(patience, false) {
		t.Error("it did not give up")
	}
}

func TestARunWaitsForNotBefore(t *testing.T) {
	t.Parallel()
	k, now := follow()
	k.note("a", place{phase: transitions.Prepared, attempts: 1})
	k.note("b", place{phase: transitions.Prepared, notBefore: now.Add(2 * patience)})
	*now = now.Add(patience)
	if k.over(patience, false) {
		t.Error("it gave up on what is not to be sent yet")
	}
	*now = now.Add(patience)
	if !k.over(patience, false) {
		t.Error("it did not give up when its time had come")
	}
}

func TestARunThatMaySendNoMoreWaitsOnlyForWhatWasSent(t *testing.T) {
	t.Parallel()
	k, _ := follow()
	k.note("a", place{phase: transitions.Submitting, attempts: 1})
	if k.over(patience, true) {
		t.Error("it is over with a request in flight")
	}
	k.note("a", place{phase: transitions.Terminal, outcome: "rejected", attempts: 1})
	if !k.over(patience, true) {
		t.Error("it waits for what it may not send")
	}
}

func TestARunIsNotOverBeforeItHasLooked(t *testing.T) {
	t.Parallel()
	if newTracker(nil, nil).over(patience, false) {
		t.Error("it is over unseen")
	}
}
