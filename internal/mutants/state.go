package mutants

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// state is what a run has found out so far, one line of JSON each, so that a run that was stopped goes on where it was.
// It belongs to the sources of one moment: the first line is their hash.
type state struct {
	mu       sync.Mutex
	file     *os.File
	verdicts map[string]Verdict
	covers   map[string]Cover
	used     map[string][]string // by test: the statements that it uses
}

// stateLine is one line of the file. One of its fields is set.
type stateLine struct {
	Sources string              `json:",omitempty"`
	Verdict *Verdict            `json:",omitempty"`
	Covers  map[string]Cover    `json:",omitempty"`
	Used    map[string][]string `json:",omitempty"`
}

// openState opens a run's state, and begins a new one where the file is of other sources.
func openState(name, sources string) (*state, error) {
	s := &state{verdicts: map[string]Verdict{}, covers: map[string]Cover{}, used: map[string][]string{}}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, fmt.Errorf("open the state of the run: %w", err)
	}
	mine, end, err := s.read(name, sources)
	if err != nil {
		return nil, fmt.Errorf("read the state of the run in %s: %w", name, err)
	}
	if s.file, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return nil, fmt.Errorf("open the state of the run: %w", err)
	}
	// A line that a killed run did not finish is cut off.
	if err := s.file.Truncate(end); err != nil {
		return nil, fmt.Errorf("open the state of the run: %w", err)
	}
	if _, err := s.file.Seek(end, 0); err != nil {
		return nil, fmt.Errorf("open the state of the run: %w", err)
	}
	if !mine {
		return s, s.add(stateLine{Sources: sources})
	}
	return s, nil
}

// read takes in what the file says if it is of these sources, and gives the place after its last whole line.
func (s *state) read(name, sources string) (mine bool, end int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		if os.IsNotExist(err) {
			return false, 0, nil
		}
		return false, 0, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReader(f)
	for n := 0; ; n++ {
		text, err := lines.ReadString('\n')
		var line stateLine
		if err != nil || json.Unmarshal([]byte(text), &line) != nil {
			return mine, end, nil
		}
		if n == 0 {
			if mine = line.Sources == sources; !mine {
				return false, 0, nil
			}
		}
		s.take(line)
		end += int64(len(text))
	}
}

func (s *state) take(line stateLine) {
	if line.Verdict != nil {
		s.verdicts[line.Verdict.ID] = *line.Verdict
	}
	for dialect, c := range line.Covers {
		s.covers[dialect] = c
	}
	for test, used := range line.Used {
		s.used[test] = used
	}
}

// add keeps a line.
func (s *state) add(line stateLine) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(line)
	if _, err := s.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("keep the state of the run: %w", err)
	}
	return nil
}

// verdict gives what is known of a mutant.
func (s *state) verdict(id string) (Verdict, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.verdicts[id]
	return v, ok
}

// hashed are the folders whose sources decide what becomes of a mutant.
var hashed = []string{"transitions", "machine", "persist", "testdata/suites", "internal/mutants", "internal/reports", "internal/hostile", "internal/pgtest", "go.mod"}

// spared are sources that only tell of a run.
var spared = []string{"argued.go", "report.go", "document.go", "driver.go", "client.go", "state.go"}

// Sources hashes the sources that decide what becomes of a mutant of a table.
func Sources(root, table string) (string, error) {
	of, err := subjectOf(table)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	folders := hashed
	if folder := of.folder(); folder != "" {
		folders = append(slices.Clone(hashed), folder)
	}
	for _, name := range folders {
		err := filepath.WalkDir(filepath.Join(root, name), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !counts(file) {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			there, err := filepath.Rel(root, file)
			fmt.Fprintf(sum, "%s %d\n", filepath.ToSlash(there), len(text))
			sum.Write(text)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("hash the sources: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func counts(file string) bool {
	if strings.Contains(filepath.ToSlash(file), "internal/mutants/") && slices.Contains(spared, filepath.Base(file)) {
		return false
	}
	return strings.HasSuffix(file, ".go") || strings.HasSuffix(file, ".txt") || filepath.Base(file) == "go.mod"
}
