package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"respipe/formats"
)

func TestCreatePrivate(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	held, err := createPrivate(at("held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for name, mode := range map[string]os.FileMode{"leftover": 0o600, "public": 0o644, "public on purpose": 0o666} {
		must(t, os.WriteFile(at(name), nil, mode))
		must(t, os.Chmod(at(name), mode))
	}
	must(t, os.WriteFile(at("full"), []byte("x"), 0o600))
	must(t, os.Mkdir(at("folder"), 0o700))
	must(t, os.Symlink(at("leftover"), at("link")))
	must(t, os.Symlink(at("nothing"), at("dangling")))
	must(t, syscall.Mkfifo(at("fifo"), 0o600))

	for _, row := range []struct{ name, want string }{
		{"link", "is there already"},
		{"dangling", "is there already"},
		{"full", "is there already"},
		{"folder", "is there already"},
		{"fifo", "is there already"},
		{"public", "is there already"},
		{"public on purpose", "is there already"},
		{"held", "another run writes to "},
		{"no/such/folder", "no such file"},
		{"full/a", "not a directory"},
		{"new", ""},
		{"leftover", ""},
	} {
		f, err := createPrivate(at(row.name))
		if row.want != "" {
			usage, is := errors.AsType[*formats.UsageError](err)
			if !is || !strings.Contains(usage.Msg, row.want) || !strings.Contains(usage.Msg, at(row.name)) {
				t.Errorf("%s: %v, want %s", row.name, err, row.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if info, _ := f.Stat(); info.Mode() != 0o600 {
			t.Errorf("%s: %v", row.name, info.Mode())
		}
		f.Close()
	}
	if text, _ := os.ReadFile(at("full")); string(text) != "x" {
		t.Errorf("overwritten: %q", text)
	}
	if _, err := os.Stat(at("nothing")); err == nil {
		t.Error("made a file behind a link")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	open := func() *wholeFile {
		file, err := createPrivate(path)
		must(t, err)
		return &wholeFile{file: file}
	}
	must(t, open().Close())
	if _, err := os.Lstat(path); err == nil {
		t.Error("an empty file stays")
	}
	moved := open()
	must(t, os.Rename(path, path+".old"))
	must(t, os.WriteFile(path, []byte("mine"), 0o600))
	must(t, moved.Close())
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("another file was removed")
	}
	must(t, os.Remove(path))
	f := open()
	if n, err := f.Write([]byte("one\n")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	must(t, f.Close())
	if text, _ := os.ReadFile(path); string(text) != "one\n" {
		t.Errorf("%q", text)
	}
	if _, err := f.Write([]byte("two\n")); err == nil {
		t.Error("a closed file was written to")
	}
}

// TestWholeFileOnFullDisk holds that of a write that fails half-way nothing
// stays.
func TestWholeFileOnFullDisk(t *testing.T) {
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	path := filepath.Join(t.TempDir(), "f")
	file, err := createPrivate(path)
	must(t, err)
	f := &wholeFile{file: file}
	defer f.Close()
	_, err = f.Write([]byte("whole\n"))
	must(t, err)
	small := before
	small.Cur = 10
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small))
	_, err = f.Write([]byte("cut off\n"))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("%v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "whole\n" {
		t.Errorf("%q", text)
	}
}
