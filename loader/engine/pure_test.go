package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packages are the directories of the packages without I/O.
var packages = []string{".", "../batch", "../cluster"}

// sources parses the files of a package that are no tests.
func sources(t *testing.T, dir string) (*token.FileSet, []*ast.File) {
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
	return fset, files
}

// Policy does no I/O, keeps no goroutine and reads no clock.
func TestPolicyIsPure(t *testing.T) {
	for _, dir := range packages {
		fset, files := sources(t, dir)
		for _, f := range files {
			for _, spec := range f.Imports {
				path, _ := strconv.Unquote(spec.Path.Value)
				if first, _, _ := strings.Cut(path, "/"); slices.Contains([]string{"net", "os", "sync", "io", "context", "log", "syscall", "runtime"}, first) {
					t.Errorf("%s imports %s", fset.Position(spec.Pos()), path)
				}
				if strings.HasPrefix(path, "respipe/") && !slices.Contains([]string{"respipe/parser", "respipe/loader/batch", "respipe/loader/cluster", "respipe/loader/window"}, path) {
					t.Errorf("%s imports %s", fset.Position(spec.Pos()), path)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
					t.Errorf("%s: goroutines and channels have no place here", fset.Position(n.Pos()))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name != "Duration" {
						t.Errorf("%s: time.%s", fset.Position(n.Pos()), n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// No type knows everything.
func TestTypesAreSmall(t *testing.T) {
	const most = 25
	for _, dir := range packages {
		_, files := sources(t, dir)
		methods, fields := map[string]int{}, map[string]int{}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv != nil {
						methods[receiver(n.Recv.List[0].Type)]++
					}
				case *ast.TypeSpec:
					if s, ok := n.Type.(*ast.StructType); ok {
						for _, field := range s.Fields.List {
							fields[n.Name.Name] += max(1, len(field.Names))
						}
					}
				}
				return true
			})
		}
		for name, n := range methods {
			if n > most {
				t.Errorf("%s: %s has %d methods", dir, name, n)
			}
		}
		for name, n := range fields {
			if n > most {
				t.Errorf("%s: %s has %d fields", dir, name, n)
			}
		}
	}
}

// receiver returns the name of the type of a receiver.
func receiver(x ast.Expr) string {
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	return x.(*ast.Ident).Name
}

// Files are short enough to be read at once.
func TestFilesAreShort(t *testing.T) {
	const most = 400
	for _, dir := range append(packages, "../../internal/simulate") {
		fset, files := sources(t, dir)
		for _, f := range files {
			if n := fset.File(f.Pos()).LineCount(); n > most {
				t.Errorf("%s has %d lines", fset.Position(f.Pos()).Filename, n)
			}
		}
	}
}
