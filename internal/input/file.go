package input

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Item is one good line.
type Item struct {
	Line      int // from 1
	ID        string
	Kind      string // as the line says, "" if it says nothing
	Priority  int64
	NotBefore time.Time
	Size      int // of the request

	offset int64 // of the request, in the file
	sum    [sha256.Size]byte
}

// File is a checked file of requests.
type File struct {
	Name  string // for messages
	Items []Item

	source *os.File
}

// Open reads and checks the file at path; "-" is stdin. Kind is the only one that a line may name. A *BadError holds
// the bad lines. Close the file when its requests have been read.
func Open(path string, stdin io.Reader, kind string) (*File, error) {
	f := &File{Name: path}
	source, err := open(path, stdin)
	if err != nil {
		return nil, err
	}
	f.source = source
	if path == "-" {
		f.Name = "standard input"
	}
	if err := f.check(source, kind); err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return f, nil
}

// Close gives the file up.
func (f *File) Close() error { return f.source.Close() }

// Request reads an item's request, byte for byte as it stands in its line.
func (f *File) Request(item Item) ([]byte, error) {
	request := make([]byte, item.Size)
	if _, err := f.source.ReadAt(request, item.offset); err != nil {
		return nil, fmt.Errorf("%s:%d: reading the request again: %w", f.Name, item.Line, err)
	}
	if sha256.Sum256(request) != item.sum {
		return nil, fmt.Errorf("%s:%d: the file has changed since it was checked; run it again", f.Name, item.Line)
	}
	return request, nil
}

// open gives a file that can be read twice: what cannot be (a pipe, a terminal) is copied to a temporary file.
func open(path string, stdin io.Reader) (*os.File, error) {
	if path == "-" {
		return spool(stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the input: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("opening the input: %w", err), file.Close())
	case info.IsDir():
		return nil, errors.Join(fmt.Errorf("opening the input: %s is a folder; name a file", path), file.Close())
	case info.Mode().IsRegular():
		return file, nil
	}
	spooled, err := spool(file)
	return spooled, errors.Join(err, file.Close())
}

func spool(r io.Reader) (*os.File, error) {
	file, err := os.CreateTemp("", "fencerow-input-*")
	if err != nil {
		return nil, fmt.Errorf("copying the input to a temporary file: %w", err)
	}
	// Removed at once where the system allows it, so that a killed process leaves nothing behind.
	_ = os.Remove(file.Name())
	if r == nil {
		r = bytes.NewReader(nil)
	}
	if _, err := io.Copy(file, r); err != nil {
		return nil, errors.Join(fmt.Errorf("copying the input to a temporary file: %w", err), file.Close())
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("copying the input to a temporary file: %w", err), file.Close())
	}
	return file, nil
}
