package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The end of an operation that is delivered, but not to the folder of this run: every process delivers to its own, and
// those that share a database take operations from each other.
const (
	deliveredElsewhere = "delivered elsewhere"
	elsewhereAdvice    = "copy the files from the --out of the process that delivered them, or fetch each again with redeliver ID, and run this again"
)

// lookAtFiles looks for what is delivered below the folder of this run, and notes at each place what is wrong with it.
func (r *runner) lookAtFiles() {
	if r.flags.out == "" {
		return // the provider file delivers nothing
	}
	for id, p := range r.track.places {
		if p.end() == "delivered" {
			p.elsewhere = p.notBelow(r.flags.out)
			r.track.places[id] = p
		}
	}
}

// notBelow says why the file of a delivered operation is not there, or nothing.
func (p place) notBelow(dir string) string {
	const byAnother = "delivered by another process to its own folder, or moved away since: "
	name := filepath.FromSlash(p.objectKey)
	if !filepath.IsLocal(name) {
		return byAnother + "its name leads out of the folder of this run"
	}
	switch info, err := os.Stat(filepath.Join(dir, name)); {
	case errors.Is(err, fs.ErrNotExist):
		return byAnother + fmt.Sprintf("there is no %s in the folder of this run", p.objectKey)
	case err != nil:
		return fmt.Sprintf("delivered, but the file cannot be looked at: %v", err)
	case !info.Mode().IsRegular():
		return byAnother + fmt.Sprintf("%s in the folder of this run is no file", p.objectKey)
	case info.Size() != p.objectBytes:
		return byAnother + fmt.Sprintf("%s in the folder of this run has %d bytes, and what was delivered has %d", p.objectKey, info.Size(), p.objectBytes)
	}
	return ""
}
