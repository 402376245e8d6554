package httpjob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/fencerow/fencerow/worker"
)

// A slot is the place of one object in the output folder. Beside the objects, under .fencerow, each has a record: JSON
// lines, the first of which names the operation that the key belongs to, and each further one a content that a
// deliverer was about to put there, or the name of a file that it was about to download into. Both the record and the
// object are put in place by a hard link, which fails when the name is taken. So:
//
//   - The first operation to write a record has the key; another is refused.
//   - An object is this operation's, and whole, if and only if its hash stands in the record.
//   - Of two deliverers at work at the same time the first wins, and the second takes the first's object as it is.
//   - A file without a record is somebody else's and is left alone.
//
// All names go through an os.Root: no symbolic link leads out of the folder.
type slot struct {
	root  *os.Root
	key   string
	owner owner
}

// owner is whose result an object is. The remote job is part of it: the same id in another database is another job.
type owner struct {
	Operation   string `json:"operation"`
	Provider    string `json:"provider"`
	Account     string `json:"account"`
	RemoteJobID string `json:"remote_job_id"`
}

// content is what an object holds.
type content struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// known is what a record says beside the owner.
type known struct {
	contents []content
	parts    []string
}

// downloading is a file that a result is downloaded into.
type downloading struct {
	Part string `json:"part"`
}

func (s *slot) record() string { return sidecarDir + "/" + s.key + ".jsonl" }

// open takes the key for the operation and looks for its object; there says that it is in its place and whole.
func (s *slot) open() (done worker.Delivered, there bool, err error) {
	k, err := s.reserve()
	if err != nil {
		return done, false, err
	}
	// What attempts before this one left behind goes, and with it the file under the hands of a deliverer that is
	// still at work after it lost its lease.
	for _, part := range k.parts {
		_ = s.root.Remove(part)
	}
	return s.find(k.contents)
}

// find reports the object if it is one of the given contents.
func (s *slot) find(contents []content) (done worker.Delivered, there bool, err error) {
	info, err := s.root.Lstat(s.key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return done, false, nil
	case err != nil:
		return done, false, fmt.Errorf("looking at %s: %w", s.key, err)
	case !info.Mode().IsRegular():
		return done, false, worker.DeliverFailed(fmt.Errorf("%s is no regular file: move it away and deliver again", s.key))
	}
	size := false
	for _, c := range contents {
		size = size || c.Bytes == info.Size()
	}
	if !size {
		return done, false, nil
	}
	has, err := s.hash()
	if err != nil {
		return done, false, err
	}
	for _, c := range contents {
		if c == has {
			return worker.Delivered{ObjectKey: s.key, SHA256: has.SHA256, Bytes: has.Bytes}, true, nil
		}
	}
	return done, false, nil
}

func (s *slot) hash() (content, error) {
	file, err := s.root.Open(s.key)
	if err != nil {
		return content{}, fmt.Errorf("reading %s: %w", s.key, err)
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	if err != nil {
		return content{}, fmt.Errorf("reading %s: %w", s.key, err)
	}
	return content{SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: n}, nil
}

// reserve makes sure that the record names this operation, and gives the contents that it lists.
func (s *slot) reserve() (known, error) {
	k, err := s.readRecord()
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if _, err := s.root.Lstat(s.key); err == nil {
		return k, worker.DeliverFailed(fmt.Errorf(
			"a file that was not delivered here lies at %s: move it away and deliver again", s.key))
	}
	for _, folder := range []string{path.Dir(s.key), path.Dir(s.record())} {
		if err := s.root.MkdirAll(folder, 0o755); err != nil {
			return k, fmt.Errorf("making the folder %s: %w", folder, err)
		}
	}
	line, err := json.Marshal(s.owner)
	if err != nil {
		return k, err
	}
	temp, err := createTemp(s.root, tempName(path.Dir(s.record())))
	if err != nil {
		return k, err
	}
	defer temp.discard()
	if _, err := temp.Write(append(line, '\n')); err != nil {
		return k, err
	}
	if err := temp.finish(); err != nil {
		return k, err
	}
	if err := putNew(s.root, temp.name, s.record()); err != nil && !errors.Is(err, fs.ErrExist) {
		return k, fmt.Errorf("taking the key %s: %w", s.key, err)
	}
	// An object whose record a power cut took away would look like somebody else's file.
	for _, folder := range []string{path.Dir(s.record()), "."} {
		if err := syncFolder(s.root, folder); err != nil {
			return k, err
		}
	}
	return s.readRecord()
}

// readRecord gives what the record says. It fails for good when the record names another operation.
func (s *slot) readRecord() (k known, err error) {
	text, err := s.root.ReadFile(s.record())
	if err != nil {
		return k, fmt.Errorf("reading the record of %s: %w", s.key, err)
	}
	lines := bytes.Split(text, []byte{'\n'})
	var is owner
	if err := json.Unmarshal(lines[0], &is); err != nil {
		return k, worker.DeliverFailed(fmt.Errorf("the record %s names no operation: move it and %s away and deliver again",
			s.record(), s.key))
	}
	if is != s.owner {
		return k, worker.DeliverFailed(fmt.Errorf(
			"the key %s holds the result of operation %q (%s, %s, remote job %q), not of operation %q (%s, %s, remote job %q): "+
				"change the key in the provider file, or use another output folder", s.key,
			is.Operation, is.Provider, is.Account, is.RemoteJobID,
			s.owner.Operation, s.owner.Provider, s.owner.Account, s.owner.RemoteJobID))
	}
	for _, line := range lines[1:] {
		var note struct {
			content
			downloading
		}
		// A line that a crash left unfinished lists nothing: its content never got its place.
		if json.Unmarshal(line, &note) != nil {
			continue
		}
		if note.SHA256 != "" {
			k.contents = append(k.contents, note.content)
		}
		if isTempName(note.Part) {
			k.parts = append(k.parts, note.Part)
		}
	}
	return k, nil
}

// note adds a line to the record, durably. It begins with a line break in case a crash cut the line before it short.
func (s *slot) note(what any) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	file, err := s.root.OpenFile(s.record(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("writing the record of %s: %w", s.key, err)
	}
	_, err = file.Write([]byte("\n" + string(line) + "\n"))
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("writing the record of %s: %w", s.key, err)
	}
	return nil
}

// create makes the file that the result is downloaded into, in the folder that the object will be in.
func (s *slot) create() (*tempFile, error) {
	name := tempName(path.Dir(s.key))
	if err := s.note(downloading{Part: name}); err != nil {
		return nil, err
	}
	return createTemp(s.root, name)
}

// publish gives file its place, whole. If another deliverer was faster, its object stays and is the result.
func (s *slot) publish(file *tempFile) (worker.Delivered, error) {
	if err := file.finish(); err != nil {
		return worker.Delivered{}, err
	}
	has := content{SHA256: hex.EncodeToString(file.sum.Sum(nil)), Bytes: file.size}
	if err := s.note(has); err != nil {
		return worker.Delivered{}, err
	}
	err := putNew(s.root, file.name, s.key)
	if errors.Is(err, fs.ErrExist) {
		k, err := s.readRecord()
		if err != nil {
			return worker.Delivered{}, err
		}
		// This deliverer's own content is in the record by now; a file that equals it is as good.
		if done, there, err := s.find(k.contents); err != nil || there {
			return done, err
		}
		// The key is this operation's and what lies there is none of its contents: a damaged object.
		if err := s.root.Rename(file.name, s.key); err != nil {
			return worker.Delivered{}, fmt.Errorf("replacing the damaged %s: %w", s.key, err)
		}
	} else if err != nil {
		return worker.Delivered{}, fmt.Errorf("putting %s in its place: %w", s.key, err)
	}
	if err := syncFolder(s.root, path.Dir(s.key)); err != nil {
		return worker.Delivered{}, err
	}
	return worker.Delivered{ObjectKey: s.key, SHA256: has.SHA256, Bytes: has.Bytes}, nil
}
