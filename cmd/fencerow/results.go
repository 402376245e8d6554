package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/fencerow/fencerow/transitions"
)

const resultsName = "results.jsonl"

// resultJSON is one line of results.jsonl.
type resultJSON struct {
	ID          string  `json:"id"`
	Outcome     *string `json:"outcome"`
	RemoteJobID *string `json:"remote_job_id"`
	File        *string `json:"file"` // relative to the folder of results.jsonl
	SHA256      *string `json:"sha256"`
	Reason      *string `json:"reason"`
}

// writeResults writes how each operation of the input ended, in the order of the input. A reader sees the old file or
// the whole new one.
func (r *runner) writeResults(ctx context.Context) (string, error) {
	dir := r.flags.out
	if dir == "" {
		return "", nil // the provider file delivers nothing, and nobody asked for a list
	}
	path := filepath.Join(dir, resultsName)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() { _ = file.Cleanup() }()
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, item := range r.batch.in.Items {
		line, err := r.result(ctx, item.ID)
		if err == nil {
			err = encoder.Encode(line)
		}
		if err != nil {
			return "", fmt.Errorf("writing %s: %w", path, err)
		}
	}
	if err := out.Flush(); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	return path, nil
}

func (r *runner) result(ctx context.Context, id string) (resultJSON, error) {
	p := r.track.places[id]
	line := resultJSON{ID: id, Outcome: opt(p.outcome), RemoteJobID: opt(p.remoteJobID), File: opt(p.objectKey), SHA256: opt(p.sha256)}
	switch {
	case p.elsewhere != "":
		line.File, line.Reason = nil, opt(p.elsewhere)
	case !p.finished():
		reason := p.unfinished()
		if p.phase == transitions.Prepared && p.attempts > 0 { // refused, or it could not leave
			last, err := r.lastReason(ctx, id)
			if err != nil {
				return line, err
			}
			reason += ": " + last
		}
		line.Reason = opt(reason)
	case p.outcome != "succeeded" || p.delivery == "failed":
		reason, err := r.lastReason(ctx, id)
		if err != nil {
			return line, err
		}
		line.Reason = opt(reason)
	}
	return line, nil
}

// unfinished says why there is no outcome: an uncertain one's reason, or where it was left.
func (p place) unfinished() string {
	if p.reason != "" {
		return p.reason
	}
	return "still " + p.phase
}

// lastReason is what history says about the event that ended an operation.
func (r *runner) lastReason(ctx context.Context, id string) (string, error) {
	history, err := r.batch.machine.Store().History(ctx, id)
	if err != nil || len(history) == 0 {
		return "", err
	}
	last := history[len(history)-1]
	if last.Detail != "" {
		return last.Detail, nil
	}
	return last.Reason, nil
}
