package httpjob

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// tempFile is a file on its way to its place.
type tempFile struct {
	root *os.Root
	name string
	file *os.File
	sum  hash.Hash
	size int64
}

// tempName makes a name that nobody had before: a deliverer that wakes up late finds its own file or none.
func tempName(folder string) string {
	return path.Join(folder, ".fencerow-"+rand.Text()+".part")
}

func isTempName(name string) bool {
	return strings.HasPrefix(path.Base(name), ".fencerow-") && strings.HasSuffix(name, ".part")
}

func createTemp(root *os.Root, name string) (*tempFile, error) {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", name, err)
	}
	return &tempFile{root: root, name: name, file: file, sum: sha256.New()}, nil
}

// Write appends to the file.
func (t *tempFile) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	t.sum.Write(p[:n])
	t.size += int64(n)
	return n, err
}

// reset empties the file.
func (t *tempFile) reset() error {
	if err := t.file.Truncate(0); err != nil {
		return fmt.Errorf("emptying %s: %w", t.name, err)
	}
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("emptying %s: %w", t.name, err)
	}
	t.sum.Reset()
	t.size = 0
	return nil
}

// finish makes the content durable; nothing is written after it.
func (t *tempFile) finish() error {
	err := t.file.Sync()
	if closeErr := t.file.Close(); err == nil {
		err = closeErr
	}
	t.file = nil
	if err != nil {
		return fmt.Errorf("writing %s: %w", t.name, err)
	}
	return nil
}

// discard removes the file if it still has its temporary name.
func (t *tempFile) discard() {
	if t.file != nil {
		_ = t.file.Close()
	}
	_ = t.root.Remove(t.name)
}

// putNew gives temp a name that must be free, and makes that durable. On a file system without hard links, a look and
// a rename stand in for the link; two deliverers at the same moment could then replace each other's object.
func putNew(root *os.Root, temp, name string) error {
	err := root.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, statErr := root.Lstat(name); statErr == nil {
		return fs.ErrExist
	}
	return root.Rename(temp, name)
}

func syncFolder(root *os.Root, name string) error {
	folder, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("syncing the folder %s: %w", name, err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("syncing the folder %s: %w", name, err)
	}
	return nil
}
