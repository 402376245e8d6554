package archtest

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the project's own import path.
const module = "github.com/fencerow/fencerow"

// file is one parsed Go file.
type file struct {
	folder string // below the module root, "." for the root itself
	name   string
	source []byte
	syntax *ast.File
	set    *token.FileSet
}

func (f file) path() string { return path.Join(f.folder, f.name) }

func (f file) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f file) line(p token.Pos) int { return f.set.Position(p).Line }

// at is how a finding names its place.
func (f file) at(p token.Pos) string { return f.path() + ":" + strconv.Itoa(f.line(p)) }

func (f file) imports() []string {
	var all []string
	for _, spec := range f.syntax.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			all = append(all, name)
		}
	}

	return all
}

// newFile parses one file; folder and name are only how it is called.
func newFile(folder, name string, source []byte) (file, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, path.Join(folder, name), source, parser.ParseComments|parser.SkipObjectResolution)

	return file{folder: folder, name: name, source: source, syntax: syntax, set: set}, err
}

// sample is a file that only a test of a check knows.
func sample(t *testing.T, folder, name, source string) file {
	t.Helper()
	f, err := newFile(folder, name, []byte(source))
	if err != nil {
		t.Fatal(err)
	}

	return f
}

// goFiles are all Go files of the module, whatever their build constraints.
func goFiles(t *testing.T) []file {
	t.Helper()
	files, err := parseAll()
	if err != nil {
		t.Fatal(err)
	}

	return files
}

var parseAll = sync.OnceValues(func() ([]file, error) {
	var files []file
	err := walk(func(name string, source []byte) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := newFile(path.Dir(name), path.Base(name), source)
		files = append(files, f)

		return err
	})

	return files, err
})

// walk visits every file of the project, by its slash-separated path below
// the root. What git does not keep (binaries, databases) it passes by.
func walk(visit func(name string, source []byte) error) error {
	root := filepath.Join("..", "..")

	return filepath.WalkDir(root, func(where string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another test's temporary file, gone since the listing
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, where)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && foreignFolder(where, entry.Name()) {
				return filepath.SkipDir
			}

			return nil
		}
		if name == ".git" { // a file where the tree is one of several of a clone
			return nil
		}
		if !entry.Type().IsRegular() || binary(entry.Name()) {
			return nil
		}
		source, err := os.ReadFile(where)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}

		return visit(filepath.ToSlash(name), source)
	})
}

// foreignFolder tells what lies in a clone and is not the project: git's own
// folder, what was built, and a module cache that a continuous build keeps here.
func foreignFolder(where, name string) bool {
	switch name {
	case ".ci", ".github":
		return false
	case "bin":
		return true
	}
	if strings.HasPrefix(name, ".") {
		return true
	}

	for _, cache := range []string{build.Default.GOPATH, os.Getenv("GOMODCACHE"), os.Getenv("GOCACHE")} {
		if here, err := filepath.Abs(where); err == nil && cache != "" && here == filepath.Clean(cache) {
			return true
		}
	}
	_, err := os.Stat(filepath.Join(where, "go.mod"))

	return err == nil // a module of its own
}

func binary(name string) bool {
	for _, suffix := range []string{".test", ".db", ".db-wal", ".db-shm", ".out", ".prof", ".png"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}

	return false
}

// report fails the test once for each finding.
func report(t *testing.T, findings []string) {
	t.Helper()
	for _, finding := range findings {
		t.Error(finding)
	}
}
