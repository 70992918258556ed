package loader

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// old are the types of the loops that exactly once, checkpoints and the
// confirmation by replicas still run on.
var old = []string{"Batch", "conn", "exactly", "run"}

// noImports makes type checking forgo other packages: their types count nothing
// here.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// No type knows everything: none of the loader's has more than 25 methods or 25
// fields.
func TestTypesAreSmall(t *testing.T) {
	const most = 25
	checked := 0
	for _, dir := range []string{".", "batch", "cluster", "engine", "window", "wire", "wire/reply"} {
		for _, named := range typesOf(t, dir) {
			name := named.Obj().Name()
			if dir == "." && slices.Contains(old, name) {
				continue
			}
			checked++
			if n := named.NumMethods(); n > most {
				t.Errorf("%s: %s has %d methods", dir, name, n)
			}
			if s, ok := named.Underlying().(*types.Struct); ok && s.NumFields() > most {
				t.Errorf("%s: %s has %d fields", dir, name, s.NumFields())
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d types were found", checked)
	}
}

// typesOf returns the types that a package declares, but for its tests.
func typesOf(t *testing.T, dir string) (all []*types.Named) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	check := types.Config{Importer: noImports{}, Error: func(error) {}, IgnoreFuncBodies: true}
	pkg, _ := check.Check(dir, fset, files, nil)
	for _, name := range pkg.Scope().Names() {
		if named, ok := pkg.Scope().Lookup(name).Type().(*types.Named); ok {
			all = append(all, named)
		}
	}
	return all
}
