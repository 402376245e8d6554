package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fencerow/fencerow/machine"
)

// archiveFile keeps what is about to be pruned, one JSON object a line. It is only ever appended to, and by whole lines in
// one write: another prune may append to it too.
type archiveFile struct {
	path  string
	file  *os.File
	lines bytes.Buffer // not yet written
}

// mostLines is how many bytes of lines are kept before they are written.
const mostLines = 1 << 16

// openArchive opens a file to append to, or makes it. Where one that was cut off, by a power cut for instance, has half
// a line at its end, that line is ended first: what follows can be read.
func openArchive(path string) (*archiveFile, error) {
	_, err := os.Stat(path)
	isNew := errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the archive, nothing was pruned: %w", err)
	}
	a := &archiveFile{path: path, file: file}
	if err := a.begin(isNew); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the archive %s, nothing was pruned: %w", path, err), file.Close())
	}
	return a, nil
}

func (a *archiveFile) begin(isNew bool) error {
	info, err := a.file.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no file, so nobody can tell whether what is written there stays; name a file")
	case isNew:
		return syncFolder(filepath.Dir(a.path))
	case info.Size() == 0:
		return nil
	}
	last := make([]byte, 1)
	if _, err := a.file.ReadAt(last, info.Size()-1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if last[0] != '\n' {
		_, err = a.file.WriteString("\n")
	}
	return err
}

// syncFolder makes the name of a new file outlive a power cut.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Keep writes an operation with its history and evidence.
func (a *archiveFile) Keep(op machine.Archived) error {
	line, err := archiveLine(op)
	if err != nil {
		return err
	}
	a.lines.Write(line)
	if a.lines.Len() < mostLines {
		return nil
	}
	return a.write()
}

// write writes what is kept. A part that was written before an error may be there twice: a prune that failed is done again.
func (a *archiveFile) write() error {
	_, err := a.file.Write(a.lines.Bytes())
	a.lines.Reset()
	return err
}

// Sync returns when all that was kept is on the disk.
func (a *archiveFile) Sync() error {
	if err := a.write(); err != nil {
		return err
	}
	return a.file.Sync()
}

func (a *archiveFile) close() error { return a.file.Close() }

// archiveLine is an operation as show --json writes it, without what is known of it beside its columns.
func archiveLine(op machine.Archived) ([]byte, error) {
	columns, err := json.Marshal(op.Operation)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(struct {
		History  []historyJSON  `json:"history"`
		Evidence []evidenceJSON `json:"evidence"`
	}{historyOf(op.History), evidenceOf(op.Evidence)})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s,%s\n", strings.TrimSuffix(string(columns), "}"), rest[1:]), nil
}
