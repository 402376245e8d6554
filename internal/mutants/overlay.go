package mutants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
)

// The overlay is a version of package persist in which what is compiled goes through package cut. The go command reads
// it in place of the files in the tree (go build -overlay), so that the stores, the suites and every test of the project
// can be held against a mutant without a line for it in the product.

// renamed are functions of package persist that the overlay wraps.
var renamed = []struct{ file, receiver, name, to string }{
	{"emit.go", "", "Compile", "compileWhole"},
	{"statement.go", "Set", "Statement", "statementWhole"},
	{"statement.go", "Set", "Reader", "readerWhole"},
}

// wrapping is what stands under their names instead.
const wrapping = `package persist

import (
	"github.com/fencerow/fencerow/internal/mutants/cut"
	"github.com/fencerow/fencerow/transitions"
)

func Compile(p *transitions.Program, d Dialect, n Names, options ...Option) (*Set, error) {
	set, err := compileWhole(p, d, n, options...)
	if err != nil {
		return set, err
	}
	own := ownOf(p)
	for _, list := range [][]Statement{set.Statements, set.Many} {
		for i := range list {
			s := &list[i]
			name := cut.Name(own, string(d), s.Event, string(s.Form))
			s.SQL = cut.Out(name, s.SQL)
			for j := range s.Then {
				s.Then[j].SQL = cut.Out(cut.Name(name, s.Then[j].What), s.Then[j].SQL)
			}
		}
	}
	for i := range set.Readers {
		r := &set.Readers[i]
		r.SQL = cut.Out(cut.Name(own, string(d), "reader", r.Name), r.SQL)
	}
	set.NoteUnmatched.SQL = cut.Out(cut.Name(own, string(d), "note_unmatched"), set.NoteUnmatched.SQL)
	return set, nil
}

// ownOf is the name by which the statements of a table of one's own go; those of the standard one go by none.
func ownOf(p *transitions.Program) string {
	if p.Name == "standard" {
		return ""
	}
	return p.Name
}

func (s *Set) Statement(event string, form transitions.Form) *Statement {
	cut.Use(cut.Name(ownOf(s.Program), string(s.Dialect), event, string(form)))
	return s.statementWhole(event, form)
}

func (s *Set) Reader(name string) *Reader {
	cut.Use(cut.Name(ownOf(s.Program), string(s.Dialect), "reader", name))
	return s.readerWhole(name)
}
`

// WriteOverlay writes the overlay of the project at root into a folder, and gives the name of the file that the go
// command takes. It is an error if the package is no longer as the overlay needs it.
func WriteOverlay(root, folder string) (string, error) {
	replace := map[string]string{}
	add := func(name string, text []byte) error {
		there := filepath.Join(folder, "persist_"+name)
		replace[filepath.Join(root, "persist", name)] = there
		return os.WriteFile(there, text, 0o600)
	}
	texts := map[string][]byte{}
	for _, r := range renamed {
		if texts[r.file] == nil {
			text, err := os.ReadFile(filepath.Join(root, "persist", r.file))
			if err != nil {
				return "", fmt.Errorf("write the overlay: %w", err)
			}
			texts[r.file] = text
		}
		text, err := rename(texts[r.file], r.file, r.receiver, r.name, r.to)
		if err != nil {
			return "", fmt.Errorf("write the overlay: %w", err)
		}
		texts[r.file] = text
	}
	texts["mutants_overlay.go"] = []byte(wrapping)
	for name, text := range texts {
		if err := add(name, text); err != nil {
			return "", fmt.Errorf("write the overlay: %w", err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(folder, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// rename gives a source file in which one function or method is called otherwise.
func rename(source []byte, file, receiver, name, to string) ([]byte, error) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, file, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != name || receiverOf(f) != receiver {
			continue
		}
		f.Name.Name = to
		var out bytes.Buffer
		err := format.Node(&out, fset, syntax)
		return out.Bytes(), err
	}
	return nil, fmt.Errorf("persist/%s has no function %s%s any more; say in internal/mutants/overlay.go where it is", file, receiver, name)
}

func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
		return star.X.(*ast.Ident).Name
	}
	return f.Recv.List[0].Type.(*ast.Ident).Name
}
