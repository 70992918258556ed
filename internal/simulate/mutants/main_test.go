package main

import (
	"path/filepath"
	"testing"
)

// Each mutant still finds the text that it replaces: else it says so only when it
// is looked for.
func TestMutantsCanBePlanted(t *testing.T) {
	t.Chdir("../../..")
	files, err := filepath.Glob("testdata/mutants/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d mutants, %v", len(files), err)
	}
	for _, file := range files {
		if _, err := plant(file, t.TempDir()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
