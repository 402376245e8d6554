package machine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/transitions"
)

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	machinetest.Run(t, func(*testing.T) machinetest.Subject {
		store := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
		return machinetest.Subject{
			Store: store,
			Put: func(_ context.Context, rows ...transitions.Row) error {
				for _, row := range rows {
					if err := store.Put(row); err != nil {
						return err
					}
				}
				return nil
			},
			Now: store.Now,
		}
	})
}

func TestMemoryReadsTheBubblesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
		before, _ := m.Now(t.Context())
		time.Sleep(time.Hour) // sleep: the bubble's own clock, which costs nothing
		if after, err := m.Now(t.Context()); err != nil || after.Sub(before) != time.Hour {
			t.Errorf("an hour passed, the store's clock says %s, %v", after.Sub(before), err)
		}
	})
}

func TestMemoryReadsTheClockThatItIsGiven(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 7_890, time.UTC)
	m := machine.NewMemory(transitions.MustCompile(transitions.Standard()), machine.MemoryClock(func() time.Time { return at }))
	want := at.Truncate(time.Microsecond)
	if now, err := m.Now(t.Context()); err != nil || !now.Equal(want) {
		t.Errorf("the store's clock says %s, %v, want %s", now, err, want)
	}
}

func TestAHandMadeRowThatNoTableTakesIsRefused(t *testing.T) {
	t.Parallel()
	m := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
	var invalid *machine.InvalidError
	if err := m.Put(make(transitions.Row, len(m.Program().Columns))); !errors.As(err, &invalid) || invalid.Field != "operation_id" {
		t.Errorf("put an empty row: got %v, want an error about operation_id", err)
	}
	if err := m.Put(nil); err == nil {
		t.Error("put no row at all: got no error")
	}
}
