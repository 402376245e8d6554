package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fencerow/fencerow/machine"
)

// Two prunes at once that were given one archive, one of them perhaps by a timer, keep all that they delete: no line of
// one is torn by the other.
func TestTwoPrunesMayShareAnArchive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pruned.jsonl")
	m, err := machine.New(machine.NewMemory(program()), machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	some, err := m.Prepare(t.Context(), machine.Request{OperationID: "some", Kind: "clip", Request: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for p := range 2 {
		all.Go(func() {
			a, err := openArchive(path)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 60 {
				detail := strings.Repeat(fmt.Sprint(p), 3000)
				var history []machine.HistoryEntry
				for range 1 + i%40 {
					history = append(history, machine.HistoryEntry{Event: "prepare", Detail: detail, Changes: "{}"})
				}
				history[0].OperationID = fmt.Sprintf("%d-%d", p, i)
				if err := a.Keep(machine.Archived{Operation: some.Operation, History: history}); err != nil {
					t.Error(err)
				}
				if i%7 != 0 {
					continue
				}
				if err := a.Sync(); err != nil {
					t.Error(err)
				}
			}
			if err := a.Sync(); err != nil {
				t.Error(err)
			}
			if err := a.close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for n, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var op struct {
			History []struct {
				OperationID string `json:"operation_id"`
			} `json:"history"`
		}
		if err := json.Unmarshal(line, &op); err != nil && len(line) > 0 {
			t.Fatalf("line %d: %v", n+1, err)
		}
		for _, h := range op.History[:min(1, len(op.History))] {
			kept[h.OperationID] = true
		}
	}
	if len(kept) != 120 {
		t.Errorf("%d operations are kept of 120", len(kept))
	}
}
