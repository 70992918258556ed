package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packages are the directories of the packages without I/O.
var packages = []string{".", "../batch", "../cluster", "../window"}

// clock are the names of package time that read a clock or wait.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

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
		checkImports(t, dir)
		fset, files := sources(t, dir)
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
					t.Errorf("%s: goroutines and channels have no place here", fset.Position(n.Pos()))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						t.Errorf("%s: time.%s", fset.Position(n.Pos()), n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// checkImports checks what a package imports.
func checkImports(t *testing.T, dir string) {
	t.Helper()
	list := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	barred := []string{"net", "os", "sync", "io", "context", "log", "syscall", "runtime"}
	own := []string{"respipe/parser", "respipe/loader/batch", "respipe/loader/cluster", "respipe/loader/window"}
	for _, path := range strings.Fields(string(out)) {
		first, _, _ := strings.Cut(path, "/")
		if slices.Contains(barred, first) || first == "respipe" && !slices.Contains(own, path) {
			t.Errorf("%s imports %s", dir, path)
		}
	}
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
