package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"respipe/formats"
	"respipe/parser"
)

// resp returns a command in RESP, given with blanks between its arguments.
func resp(line string) string {
	var args [][]byte
	for word := range strings.FieldsSeq(line) {
		args = append(args, []byte(word))
	}
	return string(parser.AppendCommand(nil, args))
}

// kept is a record of a test file.
func kept(l layout, db int, text string) *keptRecord {
	return &keptRecord{pos: parser.Pos{File: "in", Line: 7}, layout: l, db: db, text: []byte(text), isRESP: text[:min(1, len(text))] == "*"}
}

// folder returns the names and texts of all files in a folder.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	texts := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		must(t, err)
		texts[entry.Name()] = string(text)
	}
	return texts
}

func compareFolder(t *testing.T, name, dir string, want map[string]string) {
	t.Helper()
	got := folder(t, dir)
	for file, text := range got {
		if text != want[file] {
			t.Errorf("%s: %s is\n%q, want\n%q", name, file, text, want[file])
		}
	}
	for file := range want {
		if _, ok := got[file]; !ok {
			t.Errorf("%s: no file %s", name, file)
		}
	}
}

func TestRecordFiles(t *testing.T) {
	text := newLayout("commands", nil, false)
	csv := newLayout("csv", []byte("id,name\r\n"), false)
	for _, row := range []struct {
		name string
		db   int // of the start
		in   []*keptRecord
		want map[string]string
	}{
		{"nothing", 0, nil, map[string]string{}},
		{"lines", 0, []*keptRecord{kept(text, 0, "SET a 1"), kept(text, 0, "SET b 'x y'\n"), kept(text, 0, "SET c 3\r\n"), kept(text, 0, "SET d 4\r")},
			map[string]string{"f": "SET a 1\nSET b 'x y'\nSET c 3\r\nSET d 4\r\n"}},
		{"an empty record", 0, []*keptRecord{kept(newLayout("tsv", []byte("a\n"), false), 0, "")}, map[string]string{"f": "a\n\n"}},
		{"databases", 3, []*keptRecord{kept(text, 3, "SET a 1"), kept(text, 0, "SET b 1"), kept(text, 0, "SET c 1"), kept(text, 3, "SET d 1")},
			map[string]string{"f": "SET a 1\nSELECT 0\nSET b 1\nSET c 1\nSELECT 3\nSET d 1\n"}},
		{"another database at the start", 0, []*keptRecord{kept(text, 12, resp("SET a 1"))},
			map[string]string{"f": resp("SELECT 12") + resp("SET a 1")}},
		{"a SELECT may succeed later", 0, []*keptRecord{kept(text, 0, "SELECT 99"), kept(text, 0, "SET a 1"), kept(text, 0, "SET b 1")},
			map[string]string{"f": "SELECT 99\nSELECT 0\nSET a 1\nSET b 1\n"}},
		{"text and RESP", 0, []*keptRecord{kept(text, 0, "SET a 1"), kept(newLayout("resp", nil, false), 2, resp("SET b 1")), kept(newLayout("aof", nil, false), 2, resp("SET c 1")), kept(text, 0, "SET d 1")},
			map[string]string{"f": "SET a 1\n" + resp("SELECT 2") + resp("SET b 1") + resp("SET c 1") + "SELECT 0\nSET d 1\n"}},
		{"a header", 0, []*keptRecord{kept(csv, 0, "1,Ann"), kept(csv, 0, "2,\"Bo\r\nBerg\"\r\n")},
			map[string]string{"f": "id,name\n1,Ann\n2,\"Bo\r\nBerg\"\r\n"}},
		{"the header with another line end", 0, []*keptRecord{kept(csv, 0, "1,Ann"), kept(newLayout("csv", []byte("id,name"), false), 0, "2,Bo")},
			map[string]string{"f": "id,name\n1,Ann\n2,Bo\n"}},
		{"a hint before the header", 0, []*keptRecord{kept(newLayout("csv", []byte("sep=;\na;b\n"), false), 0, "1;2")},
			map[string]string{"f": "sep=;\na;b\n1;2\n"}},
		{"other headers, in turn", 0, []*keptRecord{kept(csv, 0, "1,Ann"), kept(newLayout("csv", []byte("x,y\n"), false), 0, "2,Bo"), kept(csv, 0, "3,Cy"), kept(newLayout("csv", []byte("z\n"), false), 0, "4")},
			map[string]string{"f": "id,name\n1,Ann\n3,Cy\n", "f.2": "x,y\n2,Bo\n", "f.3": "z\n4\n"}},
		{"other formats", 0, []*keptRecord{kept(csv, 0, "1,Ann"), kept(newLayout("json", nil, false), 0, `{"id":2}`)},
			map[string]string{"f": "id,name\n1,Ann\n", "f.2": "{\"id\":2}\n"}},
		{"converted", 0, []*keptRecord{kept(newLayout("csv", []byte("Nr\r\n"), true), 0, "Käse"), kept(newLayout("csv", []byte("Nr"), false), 0, "K\xe4se"), kept(newLayout("csv", []byte("Nr"), true), 0, "Öl")},
			map[string]string{"f": "\uFEFFNr\nKäse\nÖl\n", "f.2": "Nr\nK\xe4se\n"}},
		{"converted commands in another database", 0, []*keptRecord{kept(newLayout("commands", nil, true), 1, "SET ä 1")},
			map[string]string{"f": "\uFEFFSELECT 1\nSET ä 1\n"}},
		{"a table knows no SELECT", 0, []*keptRecord{kept(csv, 4, "1,Ann")}, map[string]string{"f": "id,name\n1,Ann\n"}},
	} {
		dir := t.TempDir()
		files := recordFiles{path: filepath.Join(dir, "f"), db: row.db}
		for _, r := range row.in {
			if err := files.write(r, strings.HasPrefix(string(r.text), "SELECT")); err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
		}
		must(t, files.sync())
		must(t, files.close())
		compareFolder(t, row.name, dir, row.want)
	}
}

// TestRecordFilesBuffer holds that a long record leaves no long buffer.
func TestRecordFilesBuffer(t *testing.T) {
	files := recordFiles{path: filepath.Join(t.TempDir(), "f")}
	for _, size := range []int{10, keptBuffer + 1, 10} {
		must(t, files.write(kept(newLayout("lines", nil, false), 0, strings.Repeat("x", size)), false))
		if cap(files.buf) > keptBuffer {
			t.Errorf("after %d bytes %d are kept", size, cap(files.buf))
		}
	}
	must(t, files.close())
}

func TestRejects(t *testing.T) {
	text, csv := newLayout("commands", nil, false), newLayout("csv", []byte("id,pw\n"), false)
	words := func(text string) []byte { return []byte(text) }
	const start = `{"file":"in","line":7,"byte":0,"record":0`
	for _, row := range []struct {
		name string
		in   rejected
		want string // of FILE
		why  string // of FILE.reasons, after start
	}{
		{"a line", rejected{keptRecord: *kept(text, 0, "hset k f v"), words: words("WRONGTYPE no")},
			"hset k f v\n", `,"command":"HSET","key":"k","error":"WRONGTYPE no"}`},
		{"RESP", rejected{keptRecord: *kept(newLayout("resp", nil, false), 0, resp("GET a b")), words: words("ERR no")},
			resp("GET a b"), `,"command":"GET","key":"a","error":"ERR no"}`},
		{"no key", rejected{keptRecord: *kept(text, 0, "PING 1 2"), words: words("ERR no")},
			"PING 1 2\n", `,"command":"PING","error":"ERR no"}`},
		{"a subcommand", rejected{keptRecord: *kept(text, 0, "XGROUP CREATE s g x"), words: words("ERR no")},
			"XGROUP CREATE s g x\n", `,"command":"XGROUP CREATE","key":"s","error":"ERR no"}`},
		{"an unknown command", rejected{keptRecord: *kept(text, 0, "FROB s3cret"), words: words("ERR unknown command 'FROB', with args beginning with: 's3cret' ")},
			"FROB s3cret\n", `,"command":"FROB","error":"ERR unknown command 'FROB', with args beginning with: ..."}`},
		{"data that is no command", rejected{keptRecord: *kept(text, 0, strings.Repeat("x", 999)), words: words("ERR no")},
			strings.Repeat("x", 999) + "\n", `,"command":"` + strings.Repeat("x", 200) + `","error":"ERR no"}`},
		{"a quote left open", rejected{keptRecord: *kept(text, 0, `  "set" "a b`), words: words("a quote is left open")},
			"  \"set\" \"a b\n", `,"command":"SET","error":"a quote is left open"}`},
		{"bytes", rejected{keptRecord: *kept(text, 0, "SET k\xff 1"), words: words("ERR \xfe\x1b")},
			"SET k\xff 1\n", `,"command":"SET","key":{"base64":"a/8="},"error":{"base64":"RVJSIP4b"}}`},
		{"control characters", rejected{keptRecord: *kept(text, 0, `SET "k\x1b" 1`), words: words("ERR \x1b[0m\u202e")},
			"SET \"k\\x1b\" 1\n", `,"command":"SET","key":"k\u001b","error":"ERR \u001b[0m\u202e"}`},
		{"a row that was refused", rejected{keptRecord: *kept(csv, 0, "1"), words: words("1 fields where 2 are due")},
			"id,pw\n1\n", `,"error":"1 fields where 2 are due"}`},
		{"a row", rejected{keptRecord: with(kept(csv, 0, "1,x"), "HSET u:1 id 1"), words: words("WRONGTYPE no")},
			"id,pw\n1,x\n", `,"command":"HSET","key":"u:1","error":"WRONGTYPE no"}`},
		{"some of it did run", rejected{keptRecord: with(kept(csv, 0, "1,x"), "HSET u:1 id 1"), words: words("WRONGTYPE no"),
			ran: []ranCommand{{1, []byte(resp("DEL a b"))}, {3, []byte(resp("PING"))}, {4, nil}}},
			"id,pw\n1,x\n", `,"command":"HSET","key":"u:1","error":"WRONGTYPE no",` +
				`"ran":[{"index":1,"command":"DEL","key":"a"},{"index":3,"command":"PING"},{"index":4}]}`},

		{"a password", rejected{keptRecord: *kept(text, 0, "auth s3cret"), words: words("WRONGPASS no")},
			"# in:7 is left out: its command may carry a password\n", `,"command":"AUTH","error":"WRONGPASS no","left_out":"its command may carry a password"}`},
		{"a password behind a quote left open", rejected{keptRecord: *kept(text, 0, ` "AUTH" "s3cret`), words: words("a quote is left open")},
			"# in:7 is left out: its command may carry a password\n", `,"command":"AUTH","error":"a quote is left open","left_out":"its command may carry a password"}`},
		{"a password in RESP", rejected{keptRecord: *kept(newLayout("resp", nil, false), 0, resp("HELLO 3 AUTH default s3cret")), words: words("HELLO changes how the connection talks")},
			"# in:7 is left out: its command may carry a password\n", `,"command":"HELLO","error":"HELLO changes how the connection talks","left_out":"its command may carry a password"}`},
		{"a password beside a key", rejected{keptRecord: *kept(text, 0, `MIGRATE h 1 "" 0 9 AUTH s3cret KEYS s3cret`), words: words("ERR no")},
			"# in:7 is left out: its command may carry a password\n", `,"command":"MIGRATE","error":"ERR no","left_out":"its command may carry a password"}`},
		{"quoted by the server", rejected{keptRecord: *kept(text, 0, "AUTH s3cret x"), words: words("ERR unknown command 'AUTH', with args beginning with: 's3cret'")},
			"# in:7 is left out: its command may carry a password\n", `,"command":"AUTH","error":"ERR unknown command 'AUTH', with args beginning with: ...","left_out":"its command may carry a password"}`},
		{"too long", rejected{keptRecord: keptRecord{pos: parser.Pos{File: "in", Line: 7}, layout: text}, words: words("longer than --max-record allows")},
			"# in:7 is left out: it was too long to be kept\n", `,"error":"longer than --max-record allows","left_out":"it was too long to be kept"}`},
		{"a row too long", rejected{keptRecord: keptRecord{pos: parser.Pos{File: "in", Line: 7}, layout: csv}, words: words("longer than --max-record allows")},
			"", `,"error":"longer than --max-record allows","left_out":"it was too long to be kept"}`},
	} {
		dir := t.TempDir()
		r, err := openRejects(filepath.Join(dir, "f"), 0, nil)
		must(t, err)
		must(t, r.reject(&row.in))
		must(t, r.sync())
		want := map[string]string{"f": row.want, "f.reasons": start + row.why + "\n"}
		compareFolder(t, row.name+", while the load runs", dir, want)
		must(t, r.close())
		if row.want == "" {
			delete(want, "f")
		}
		compareFolder(t, row.name, dir, want)
		for name, text := range folder(t, dir) {
			if strings.Contains(text, "s3cret") && row.name != "an unknown command" {
				t.Errorf("%s: a password in %s", row.name, name)
			}
		}
		if !json.Valid([]byte(start + row.why)) {
			t.Errorf("%s: no JSON", row.name)
		}
	}
}

// with returns a record with the command of it that matters.
func with(r *keptRecord, command string) keptRecord {
	r.command = []byte(resp(command))
	return *r
}

func TestRejectsInDoubt(t *testing.T) {
	dir := t.TempDir()
	r, err := openRejects(filepath.Join(dir, "f"), 2, nil)
	must(t, err)
	text, csv := newLayout("commands", nil, false), newLayout("csv", []byte("id\n"), false)
	for _, x := range []*keptRecord{kept(text, 2, "INCR a"), kept(text, 0, resp("INCR b")), kept(text, 0, "AUTH s3cret"), kept(csv, 0, "1")} {
		must(t, r.doubt(x))
	}
	must(t, r.close())
	compareFolder(t, "in doubt", dir, map[string]string{
		"f.unknown":   "INCR a\n" + resp("SELECT 0") + resp("INCR b") + "# in:7 is left out: its command may carry a password\n",
		"f.unknown.2": "id\n1\n",
	})
	if len(r.refused.written()) != 0 || len(r.unknown.written()) != 2 {
		t.Errorf("%d and %d files", len(r.refused.written()), len(r.unknown.written()))
	}
}

func TestOpenRejects(t *testing.T) {
	for _, row := range []struct {
		name  string
		there string // a file with something in it
		cmds  []string
		want  string // in the error
	}{
		{"free", "", []string{"SET {k} {v}", "ACLX {k}"}, ""},
		{"free", "f.old", nil, ""},
		{"FILE", "f", nil, "f is there already"},
		{"reasons", "f.reasons", nil, "f.reasons is there already"},
		{"unknown", "f.unknown", nil, "f.unknown is there already"},
		{"second", "f.2", nil, "f.2 is there already"},
		{"a password", "", []string{"SET {k} {v}", "'auth' {pw}"}, "the records for AUTH may hold passwords"},
	} {
		dir := t.TempDir()
		if row.there != "" {
			must(t, os.WriteFile(filepath.Join(dir, row.there), []byte("x"), 0o600))
		}
		r, err := openRejects(filepath.Join(dir, "f"), 0, row.cmds)
		if row.want != "" {
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: %v", row.name, err)
			}
			if len(folder(t, dir)) > 1 || row.there == "" && len(folder(t, dir)) > 0 {
				t.Errorf("%s: a file was made", row.name)
			}
			continue
		}
		must(t, err)
		if _, err := openRejects(filepath.Join(dir, "f"), 0, nil); err == nil || !strings.Contains(err.Error(), "another run writes to") {
			t.Errorf("%s: a second run: %v", row.name, err)
		}
		must(t, r.close())
		if slices.Contains(files(t, dir), "f") {
			t.Errorf("%s: an empty file stays", row.name)
		}
		if r, err = openRejects(filepath.Join(dir, "f"), 0, nil); err != nil {
			t.Errorf("%s: a later run: %v", row.name, err)
			continue
		}
		must(t, r.close())
	}
}

func files(t *testing.T, dir string) (names []string) {
	for name := range folder(t, dir) {
		names = append(names, name)
	}
	return names
}

// TestRejectsThatCannotBeMade holds that a file that is in the way later is an
// error, and is not overwritten.
func TestRejectsThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	r, err := openRejects(path, 0, nil)
	must(t, err)
	for _, suffix := range []string{".2", ".reasons", ".unknown"} {
		must(t, os.WriteFile(path+suffix, []byte("mine"), 0o600))
	}
	text, csv := newLayout("commands", nil, false), newLayout("csv", []byte("id\n"), false)
	for _, err := range []error{
		r.reject(&rejected{keptRecord: *kept(text, 0, "INCR a"), words: []byte("ERR no")}),
		r.reject(&rejected{keptRecord: *kept(csv, 0, "1"), words: []byte("ERR no")}),
		r.doubt(kept(text, 0, "INCR a")),
	} {
		if err == nil || !strings.Contains(err.Error(), "is there already") {
			t.Errorf("%v", err)
		}
	}
	must(t, r.close())
	compareFolder(t, "in the way", dir, map[string]string{"f": "INCR a\n", "f.2": "mine", "f.reasons": "mine", "f.unknown": "mine"})
}

// TestRejectsAreReadAgain holds that records of a file of rejects are read as
// they were in their own.
func TestRejectsAreReadAgain(t *testing.T) {
	csv := newLayout("csv", []byte("id,name\r\n"), false)
	for _, row := range []struct {
		name string
		in   []*keptRecord
		args string // of convert
		want string
	}{
		{"text and RESP", []*keptRecord{kept(newLayout("commands", nil, false), 0, `SET a "x\ny"`), kept(newLayout("resp", nil, false), 2, resp("SET b 1"))},
			"-f commands", "SET a \"x\\ny\"\nSELECT 2\nSET b 1\n"},
		{"rows", []*keptRecord{kept(csv, 0, "1,\"a\r\nb\"\r\n"), kept(csv, 0, "2,Bo")},
			"-f csv --type string --key u:{id} --value {name}", "SET u:1 \"a\\r\\nb\"\nSET u:2 Bo\n"},
		{"rows with a hint", []*keptRecord{kept(newLayout("csv", []byte("sep=;\r\nid;name\r\n"), false), 0, "1;x,y")},
			"-f csv --type string --key u:{id} --value {name}", "SET u:1 x,y\n"},
		{"converted rows", []*keptRecord{kept(newLayout("csv", []byte("id,größe\n"), true), 0, "1,ß"), kept(newLayout("csv", []byte("id,größe\n"), true), 0, "2,Ö")},
			"-f csv --encoding utf-8 --type string --key u:{id} --value {größe}", "SET u:1 \"\\xc3\\x9f\"\nSET u:2 \"\\xc3\\x96\"\n"},
		{"JSON", []*keptRecord{kept(newLayout("json", nil, false), 0, "{\n \"id\": 1,\n \"v\": 2\n}"), kept(newLayout("json", nil, false), 0, `{"id":3,"v":"x"}`)},
			"-f json --type string --key u:{id} --value {v}", "SET u:1 2\nSET u:3 x\n"},
		{"lines", []*keptRecord{kept(newLayout("lines", nil, false), 0, `a "b`), kept(newLayout("lines", nil, false), 0, "#c\r\n")},
			"-f lines --cmd", "DEL \"a \\\"b\"\nDEL \"#c\"\n"},
		{"TSV", []*keptRecord{kept(newLayout("tsv", []byte("id\tname\n"), false), 0, "1\ta\\tb"), kept(newLayout("tsv", []byte("id\tname\n"), false), 0, "2\t\"")},
			"-f tsv --type string --key u:{id} --value {name}", "SET u:1 \"a\\tb\"\nSET u:2 \"\\\"\"\n"},
	} {
		path := filepath.Join(t.TempDir(), "f")
		files := recordFiles{path: path}
		for _, r := range row.in {
			must(t, files.write(r, false))
		}
		must(t, files.close())
		args := append([]string{"convert", "--as=commands"}, strings.Fields(row.args)...)
		if row.name == "lines" {
			args = append(args, "DEL {text}")
		}
		status, stdout, stderr := respipe("", append(args, path)...)
		if status != 0 || stdout != row.want {
			t.Errorf("%s: status %d, %q, want %q\n%s", row.name, status, stdout, row.want, stderr)
		}
	}
}

// FuzzRecordFiles: commands in any databases, as text or as RESP, are read back
// as they were, in the databases they were for.
func FuzzRecordFiles(f *testing.F) {
	f.Add([]byte("k v\n\x00\xff"), []byte{0, 1, 5, 4, 9})
	f.Add([]byte("* 1 # ' \""), []byte{3, 3, 2, 2, 1})
	f.Fuzz(func(t *testing.T, values, plan []byte) {
		path := filepath.Join(t.TempDir(), "f")
		files := recordFiles{path: path, db: 1}
		var want []string
		for i, step := range plan[:min(len(plan), 50)] {
			value := values[min(i, len(values)):]
			args := [][]byte{[]byte("SET"), value, values}
			r := &keptRecord{layout: newLayout([]string{"commands", "resp"}[step&1], nil, false), db: int(step>>1) % 4, isRESP: step&1 == 1}
			if r.isRESP {
				r.text = parser.AppendCommand(nil, args)
			} else {
				r.text = []byte(line(args))
			}
			must(t, files.write(r, step > 200))
			want = append(want, fmt.Sprintf("%d: %q", r.db, args))
		}
		must(t, files.close())
		if got := readBack(t, path, 1, len(plan) > 0); !slices.Equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	})
}

// line returns a command as one types it.
func line(args [][]byte) string {
	return strings.TrimSuffix(string(appendLine(nil, &parser.Command{Args: args})), "\n")
}

// readBack reads the commands of a file, and in which database each would run.
func readBack(t *testing.T, path string, db int, there bool) (got []string) {
	if !there {
		return nil
	}
	src, err := formats.Open([]string{path}, formats.Options{Format: "commands", Limit: -1})
	must(t, err)
	defer src.Close()
	for {
		var c parser.Command
		if err := src.Next(&c); err == io.EOF {
			return got
		} else if err != nil {
			t.Fatal(err)
		}
		if string(c.Args[0]) == "SELECT" {
			db, _ = strconv.Atoi(string(c.Args[1]))
			continue
		}
		got = append(got, fmt.Sprintf("%d: %q", db, c.Args))
	}
}
