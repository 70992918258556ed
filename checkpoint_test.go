package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"respipe/formats"
	"respipe/loader"
)

// sampleCheckpoint is one in the middle of a file.
func sampleCheckpoint() *checkpoint {
	return &checkpoint{
		Respipe: checkpointKind, Version: checkpointVersion, File: "a.csv", Line: 9, Next: 8, DB: 2,
		Mark: markJSON{N: 8, File: 0, Offset: 70, Line: 9, State: []byte{1, 2}}, Server: "h:1",
		Input: formats.Identity{Files: []formats.FileIdentity{{Name: "a.csv", Size: 99, Head: "00"}}},
	}
}

func TestCheckpointFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	valid, err := json.Marshal(sampleCheckpoint())
	must(t, err)
	change := func(old, new string) string {
		if !strings.Contains(string(valid), old) {
			t.Fatalf("no %s in %s", old, valid)
		}
		return strings.Replace(string(valid), old, new, 1)
	}
	for _, row := range []struct {
		name, text string
		want       string // in the error
	}{
		{"valid", string(valid), ""},
		{"with blanks", "\n" + string(valid) + "\n\n", ""},
		{"empty", "", "no checkpoint"},
		{"data", "SET a 1\n", "no checkpoint"},
		{"other JSON", `{"a":1}`, "no checkpoint"},
		{"an array", "[]", "no checkpoint"},
		{"null", "null", "no checkpoint"},
		{"cut", string(valid[:len(valid)-1]), "no checkpoint"},
		{"two", string(valid) + string(valid), "no checkpoint"},
		{"a later version", change(`"version":1`, `"version":2`), "no checkpoint"},
		{"another kind", change(`"checkpoint"`, `"summary"`), "no checkpoint"},
		{"before the first record", change(`"record":8`, `"record":0`), "no checkpoint"},
		{"reading begins behind", change(`"n":8`, `"n":9`), "no checkpoint"},
		{"a database that is none", change(`"db":2`, `"db":-1`), "no checkpoint"},
		{"a file that is none", change(`"file":0`, `"file":-1`), "no checkpoint"},
		{"more", change(`"version":1`, `"version":1,"more":2`), "no checkpoint"},
	} {
		must(t, os.WriteFile(at("f"), []byte(row.text), 0o600))
		f, err := openCheckpoint(at("f"))
		must(t, err)
		got, err := f.read()
		f.close()
		if row.want != "" {
			usage, is := errors.AsType[*formats.UsageError](err)
			if !is || !strings.Contains(usage.Msg, row.want) {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, sampleCheckpoint()) {
			t.Errorf("%s: %+v, %v", row.name, got, err)
		}
	}
}

func TestCheckpointFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	f, err := openCheckpoint(path)
	must(t, err)
	if got, err := f.read(); got != nil || err != nil {
		t.Errorf("there is none: %v, %v", got, err)
	}
	must(t, os.WriteFile(path+nextSuffix, []byte("of a run that was killed"), 0o644))
	for n := range int64(3) {
		c := sampleCheckpoint()
		c.Next += n
		must(t, f.write(c))
		if got, err := f.read(); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%+v, %v", got, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	if _, err := openCheckpoint(path); err == nil || !strings.Contains(err.Error(), "another run writes to ") {
		t.Errorf("a second run: %v", err)
	}
	f.close()
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("files %q", got)
	}
	must(t, os.Remove(path))
	must(t, os.Mkdir(path, 0o700))
	if f, err = openCheckpoint(path); err == nil {
		if err = f.write(sampleCheckpoint()); err == nil {
			t.Error("a folder was replaced")
		}
		if _, err = f.read(); err == nil {
			t.Error("a folder was read")
		}
		f.close()
	}
}

// TestJournal goes on with options that are those of the checkpoint, or not.
func TestJournal(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*settings)
		skip   int64 // then
		limit  int64
		want   string // in the error
	}{
		{"the same", func(s *settings) {}, 7, 93, ""},
		{"without a limit", func(s *settings) { s.input.Limit = -1 }, 7, -1, ""},
		{"a smaller limit", func(s *settings) { s.input.Limit = 3 }, 7, 0, ""},
		{"another key", func(s *settings) { s.input.Key = "b:{id}" }, 0, 0, "by --key"},
		{"more to skip", func(s *settings) { s.input.Skip = 4 }, 0, 0, "by --skip"},
		{"another database", func(s *settings) { s.server.db = 3 }, 0, 0, "another database"},
	} {
		dir := t.TempDir()
		fresh := func() *settings {
			return &settings{checkpoint: filepath.Join(dir, "f"), input: formats.Options{Key: "a:{id}", Skip: 1, Limit: 99}}
		}
		s := fresh()
		c := sampleCheckpoint()
		c.Options = fingerprint(s)
		f, err := openCheckpoint(s.checkpoint)
		must(t, err)
		must(t, f.write(c))
		f.close()
		row.change(s)
		j, err := openJournal(s)
		if row.want != "" {
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: %v", row.name, err)
			}
			if _, err := openCheckpoint(s.checkpoint); err != nil {
				t.Errorf("%s: still locked: %v", row.name, err)
			}
			continue
		}
		must(t, err)
		if s.input.Skip != row.skip || s.input.Limit != row.limit {
			t.Errorf("%s: skip %d, limit %d", row.name, s.input.Skip, s.input.Limit)
		}
		if got, want := j.earlier(s), (loader.Earlier{Next: 8, DB: 2, Records: 6}); got != want {
			t.Errorf("%s: earlier %+v", row.name, got)
		}
		j.close()
	}
	s := &settings{checkpoint: "f", dryRun: true, input: formats.Options{Skip: 4}}
	if j, err := openJournal(s); j != nil || err != nil {
		t.Errorf("a dry run: %v, %v", j, err)
	}
	var none *journal
	if got, want := none.earlier(s), (loader.Earlier{Next: 5}); got != want {
		t.Errorf("without one: %+v", got)
	}
	must(t, none.finish(&loader.Report{Server: new(loader.Server)}, false))
	none.close()
}

func TestCheckpointInWords(t *testing.T) {
	for _, row := range []struct {
		change func(*checkpoint)
		want   string
	}{
		{func(k *checkpoint) { k.Ended = true }, "going on from a.csv:9 (record 8, in database 2)"},
		{func(k *checkpoint) { k.Ended, k.Mark.N = true, 7 }, "going on behind a.csv:9 (record 8, in database 2)"},
		{func(k *checkpoint) { k.Ended, k.Ahead = true, 5 }, "going on from a.csv:9 (record 8, in database 2); up to 5 records from there on may have run already, and run once more"},
		{func(k *checkpoint) {}, "going on from a.csv:9 (record 8, in database 2); what was loaded behind it, up to a second's worth, runs once more"},
		{func(k *checkpoint) { k.Ahead, k.Second = 5, 40 }, "going on from a.csv:9 (record 8, in database 2); what was loaded behind it, up to a second's worth (about 45 records), runs once more"},
		{func(k *checkpoint) { k.Done, k.Ended = true, true }, "f says that all 7 records were loaded: going on with what has come since"},
	} {
		k := sampleCheckpoint()
		row.change(k)
		if got := k.where("f") + k.again(); got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}

func TestBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bad")
	for _, row := range []struct {
		there string // a file with something in it
		want  string
	}{{"", "bad"}, {"bad", "bad.from-12"}, {"bad.from-12.reasons", "bad.from-12-2"}, {"bad.from-12-2.unknown", "bad.from-12-3"}} {
		if row.there != "" {
			must(t, os.WriteFile(filepath.Join(dir, row.there), []byte("x"), 0o600))
		}
		if got := beside(path, 12, reasonsSuffix, unknownSuffix); got != filepath.Join(dir, row.want) {
			t.Errorf("with %s: %s", row.there, got)
		}
		if got := beside(path, 0, reasonsSuffix); got != path {
			t.Errorf("a load from the start: %s", got)
		}
	}
	if got := beside(os.DevNull, 12); got != os.DevNull {
		t.Errorf("a device: %s", got)
	}
}

// FuzzCheckpoint: what is read is written as it was.
func FuzzCheckpoint(f *testing.F) {
	valid, _ := json.Marshal(sampleCheckpoint())
	f.Add(valid)
	f.Add([]byte(`{"respipe":"checkpoint","version":1,"record":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "f")
		must(t, os.WriteFile(path, text, 0o600))
		file := &checkpointFile{path: path}
		c, err := file.read()
		if err != nil {
			return
		}
		if m := c.mark(); m.N > c.Next || m.File < 0 || m.DB < 0 {
			t.Errorf("%s was taken", text)
		}
		must(t, file.write(c))
		again, err := file.read()
		if err != nil {
			t.Fatalf("%v: %s", err, read(t, "", path))
		}
		first, _ := json.Marshal(c)
		second, _ := json.Marshal(again)
		if string(first) != string(second) {
			t.Errorf("%s became %s", first, second)
		}
	})
}
