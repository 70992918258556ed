package formats

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"respipe/parser"
)

// step is what one Next of a Source brought, and from where one can go on to
// get it again.
type step struct {
	outcome
	src  string
	mark parser.Mark
}

// steps reads a Source to its end. The end is a step, too. Of what lies inside
// of a block from MULTI to EXEC, the marks have no N.
func steps(s *Source) (all []step) {
	for {
		var c parser.Command
		block := s.guard.inMulti
		err := s.Next(&c)
		st := step{outcome: outcome{pos: c.Pos, n: c.N, raw: string(c.Raw), last: c.Last}, src: string(c.Src), mark: s.Mark()}
		st.text = string(bytes.Join(c.Args, []byte("|")))
		if bad, ok := errors.AsType[*parser.Error](err); ok {
			st = step{outcome: outcome{text: "refused: " + bad.Err.Error(), pos: bad.Pos}, src: string(bad.Src), mark: st.mark}
		} else if err != nil {
			st = step{outcome: outcome{text: "end: " + err.Error()}, mark: st.mark}
		}
		if st.n = st.mark.N; block {
			st.mark.N = 0
		}
		if all = append(all, st); s.err != nil {
			return all
		}
		if s.mapping == nil || st.last {
			scribble(s.in.buf[:s.in.pos])
		}
	}
}

// bare are steps without marks: two readings need not have the same State.
func bare(all []step) (without []step) {
	for _, st := range all {
		st.mark = parser.Mark{}
		without = append(without, st)
	}
	return without
}

// checkGoingOn goes on from each mark of a reading, by a Source that open makes
// anew, and wants the rest of it.
func checkGoingOn(t *testing.T, open func() *Source) {
	t.Helper()
	first := open()
	whole := steps(first)
	for i, st := range whole {
		if st.mark.N == 0 || i > 0 && whole[i-1].n == st.n {
			continue
		}
		id, err := first.Identity(st.mark)
		if err != nil {
			t.Fatal(err)
		}
		s := open()
		if err := s.GoOnFrom(st.mark, id); err != nil {
			t.Fatalf("record %d: %v", st.n, err)
		}
		if again, err := s.Identity(st.mark); err != nil || !reflect.DeepEqual(again, id) {
			t.Fatalf("record %d: before it is read, the identity is %+v, %v; want %+v", st.n, again, err, id)
		}
		if m := s.Mark(); !reflect.DeepEqual(m, st.mark) {
			t.Fatalf("record %d: before it is read, the mark is %+v, want %+v", st.n, m, st.mark)
		}
		got := steps(s)
		if want := whole[i:]; !reflect.DeepEqual(bare(got), bare(want)) {
			t.Fatalf("from record %d, mark %+v: got\n%+v, want\n%+v", st.n, st.mark, got, want)
		}
		if again, err := s.Identity(st.mark); err != nil || !reflect.DeepEqual(again, id) {
			t.Fatalf("from record %d: the identity is %+v, %v; want %+v", st.n, again, err, id)
		}
		s.Close()
	}
}

// goOnInput is an input to go on in, of one file or more.
type goOnInput struct {
	name  string
	opt   Options
	files []string // name and text in turn
}

func goOnInputs(t *testing.T) []goOnInput {
	little := encodeAs(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))
	resp := crlf("*3 $3 SET $1 k $1 v *2 $4 ECHO $2 a\n *1 $5 MULTI *1 $4 PING *1 $4 EXEC ")
	hash := Options{Key: "{k}:{@record}:{@line}:{@file}"}
	list := Options{Key: "{k}", Type: "list", Value: "{v}", Replace: true}
	pair := Options{Cmds: []string{"SET {k} {v}", "SADD all {@raw}"}, Missing: "skip"}
	as := func(o Options, change func(*Options)) Options { change(&o); return o }
	table := "k,v\r\n1,\"a\r\nb\"\r\n\r\n2\n\"3\"x,\"\n4,\"\"\"\"\n5,last"
	large := strings.Repeat("1,\""+strings.Repeat("x\n", 30_000)+"\"\n2,y\n", 9)
	return []goOnInput{
		{"commands", Options{}, []string{"a.txt", "# x\nSET a 1\r\n\nSET b \"2\nFLUSHALL\nMULTI\nWAIT 1 1\nEXEC\n" + resp + "GET b"}},
		{"RESP", Options{}, []string{"a.resp", resp + "*0\r\n\r\nGET 'a\nCONFIG GET x\n*1\n$4\nPING\n*1\n$4\nPING\n"}},
		{"broken RESP", Options{}, []string{"a.resp", resp + "\r\n*1\r\n$4\r\nPINGS\r\n"}},
		{"AOF", Options{}, []string{"a.aof", "#TS:1\r\n" + resp + "#TS:2\r\n" + resp + "*1\r\n$4\r\nPI"}},
		{"csv", hash, []string{"a.csv", bom + table}},
		{"csv, several commands", pair, []string{"a.csv", table + "\n6,7\n"}},
		{"csv without header", as(hash, func(o *Options) { o.NoHeader, o.Key = true, "{1}" }), []string{"a.csv", "1,2\n3,4\n5\n6,7\n"}},
		{"csv, columns given", as(hash, func(o *Options) { o.Columns = []string{"v", "k"} }), []string{"a.csv", "sep=;\n1;2\n3;4\n5\n6;7\n"}},
		{"csv, hint", hash, []string{"a.csv", "sep=;\r\nk;v\r\n1;2\r\n3;4\r\n"}},
		{"csv, CR", hash, []string{"a.csv", "k,v\r1,\"2\r3\"\r4\r5,6"}},
		{"csv, breaches", hash, []string{"a.csv", "k,v\n\"1\na\",b,\"c\na\",b,\"c\n1,2\n\"\n3,4\n"}},
		{"csv, too long", as(hash, func(o *Options) { o.MaxRecord = 20 }), []string{"a.csv", "k,v\n1,\"0123\n4,\"67\n8,x\"\n9,\"y\"\n\"\n" + strings.Repeat("z", 50) + "\n1,2\n"}},
		{"csv, large", hash, []string{"a.csv", "k,v\n" + large}},
		{"csv, two headers", hash, []string{"a.csv", "k,v\n1,2\n", "b.csv", "", "c.csv", "v,k\n1,2\n3,4\n"}},
		{"csv, skip and limit", as(hash, func(o *Options) { o.Skip, o.Limit = 1, 3 }), []string{"a.csv", "k,v\n1,2\n3,4\n", "b.csv", "v,k\n1,2\n3,4\n"}},
		{"csv, replace", list, []string{"a.csv", "k,v\n1,2\n2,4\n1\n1,5\n", "b.csv", "v,k\n1,1\n5,3\n6,3\n"}},
		{"csv, no such column", hash, []string{"a.csv", "k,v\n1,2\n", "b.csv", "v\n1\n"}},
		{"tsv", hash, []string{"a.tsv", "k\tv\n1\t\\\n\n\\N\t2\n\n3\n4\t5\n\\.\nx\n"}},
		{"tsv of one column", as(hash, func(o *Options) { o.Key = "k{@record}" }), []string{"a.tsv", "k\n1\n\n2\n"}},
		{"JSON lines", pair, []string{"a.jsonl", "{\"k\":1,\"v\":2}\n{\"k\":\n2}{\"k\":3} {\"k\":4,\"k\":5}\n{\"k\":5,\n{\"k\":6}\n{\"v\":7},\nx\n\n[{\"k\":8}]\n{\"k\":9}"}},
		{"JSON array", pair, []string{"a.json", "[ {\"k\":1,\"v\":2} ,\n{\"k\":2},{\"k\":3,\"k\":4}\n]\n[{\"k\":5},{\"k\":6}]{}"}},
		{"JSON array, too long", as(pair, func(o *Options) { o.MaxRecord = 20 }), []string{"a.json", "[ {\"k\":1,\"v\":\"01234567890123456789\"} ,\n{\"k\":2}]"}},
		{"JSON, bad lines", pair, []string{"a.json", "[1]\n[{\"k\":1},]\n[{\"k\":x}\n]\n{\"k\":2}\n[2]\n[{\"k\":3}]\n"}},
		{"JSON, broken", pair, []string{"a.json", "[{\"k\":1},\n{\"k\":2} {\"k\":3}"}},
		{"JSON, cut off", pair, []string{"a.json", "[{\"k\":1},\n "}},
		{"JSON on one long line", pair, []string{"a.json", strings.Repeat(`{"k":"`+strings.Repeat("x", 4000)+`"} `, 40) + "]"}},
		{"lines", Options{Format: "lines", Cmds: []string{"SET {text} {@line}"}}, []string{"a", "a\r\n\nb\n", "b", "c\n"}},
		{"lines, too long", Options{Format: "lines", Cmds: []string{"ECHO {text}"}, MaxRecord: 4}, []string{"a", "a\n12345\nb\n"}},
		{"gzip", hash, []string{"a.csv.gz", pack(t, "gzip", table), "b.csv.zst", pack(t, "zstd", "v,k\n"+large)}},
		{"utf-16", hash, []string{"a.csv", little("k,v\n1,\"ü\n\"\n2,\xFF\n3,4\n")}},
		{"windows-1252", as(hash, func(o *Options) { o.Encoding = "windows-1252" }), []string{"a.csv", "k,v\n1,\xFC\n2,3\n"}},
		{"nothing", Options{}, []string{"a.txt", ""}},
		{"header alone", hash, []string{"a.csv", "k,v\n"}},
	}
}

// TestGoOnFrom goes on from every record of every input: in files, and in a
// pipe.
func TestGoOnFrom(t *testing.T) {
	for _, tt := range goOnInputs(t) {
		opt := tt.opt
		opt.KeepSource = true
		if opt.Limit == 0 {
			opt.Limit = -1
		}
		t.Run(tt.name, func(t *testing.T) {
			paths := files(t, tt.files...)
			checkGoingOn(t, func() *Source { return source(t, paths, opt) })
		})
		t.Run(tt.name+", piped", func(t *testing.T) {
			text, name := tt.files[len(tt.files)-1], tt.files[len(tt.files)-2]
			if opt.Format == "" && strings.Contains(name, ".") {
				format, err := formatOf(name, &opt)
				if err != nil {
					t.Fatal(err)
				}
				opt.Format = format.Name
			}
			paths := files(t, tt.files[:len(tt.files)-2]...)
			checkGoingOn(t, func() *Source {
				opt := opt
				opt.Stdin = &chunks{strings.NewReader(text), 1000}
				return source(t, append(paths[:len(paths):len(paths)], stdinArg), opt)
			})
		})
	}
}

// TestGoOnFromInterrupted goes on from where a reading was broken off, at any
// wait for the input.
func TestGoOnFromInterrupted(t *testing.T) {
	for _, tt := range goOnInputs(t) {
		t.Run(tt.name, func(t *testing.T) {
			opt := tt.opt
			opt.KeepSource = true
			if opt.Limit == 0 {
				opt.Limit = -1
			}
			name, text := tt.files[0], tt.files[1]
			if opt.Format == "" {
				format, err := formatOf(name, &opt)
				if err != nil {
					t.Fatal(err)
				}
				opt.Format = format.Name
			}
			size := 1 + len(text)/200
			whole := bare(steps(open(t, &chunks{strings.NewReader(text), size}, opt)))
			for waits := 1; waits < 250; waits += 1 + len(text)/20_000 {
				s := open(t, &chunks{strings.NewReader(text), size}, opt)
				left := waits
				s.Await(func(ready <-chan []byte) ([]byte, bool, error) {
					if left--; left < 0 {
						return nil, false, io.ErrNoProgress
					}
					chunk, ok := <-ready
					return chunk, ok, nil
				})
				before := steps(s)
				if s.err != io.ErrNoProgress {
					break
				}
				if before[len(before)-1].mark.N == 0 {
					continue // inside of a block
				}
				mark := s.Mark()
				s = open(t, strings.NewReader(text), opt)
				if err := s.GoOnFrom(mark, Identity{}); err != nil {
					t.Fatalf("after %d waits: %v", waits, err)
				}
				got := bare(append(before[:len(before)-1], steps(s)...))
				if !reflect.DeepEqual(got, whole) {
					t.Fatalf("after %d waits, mark %+v: got\n%+v, want\n%+v", waits, mark, got, whole)
				}
			}
		})
	}
}

// TestGoOnFromOpensNothing holds that files before the place need not be there
// to be read, and that a later pipe is not touched before its time.
func TestGoOnFromOpensNothing(t *testing.T) {
	paths := files(t, "a.txt", "SET a 1\nSET b 2\n", "b.txt", "SET c 3\n")
	args := []string{paths[0], paths[1], stdinArg}
	opt := all(Options{Stdin: strings.NewReader("SET d 4\n")})
	mark := parser.Mark{N: 3, File: 1, Line: 1, State: (&state{}).encode()}
	s := source(t, args, opt)
	if err := s.GoOnFrom(mark, Identity{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(paths[0], 0); err != nil || os.Rename(paths[0], paths[0]+".gone") != nil {
		t.Fatal(err)
	}
	if got := texts(collect(s)); got != "b.txt:1 SET|c|3\n<stdin>:1 SET|d|4\n" {
		t.Errorf("got %s", got)
	}
	if s.BytesRead() != 32 {
		t.Errorf("%d bytes read, want all 32", s.BytesRead())
	}
}

// TestGoOnFromGrown holds that a longer file is the same file.
func TestGoOnFromGrown(t *testing.T) {
	paths := files(t, "a.csv", "k,v\n1,2\n")
	opt := all(Options{Key: "{k}"})
	s := source(t, paths, opt)
	collect(s)
	id, err := s.Identity(s.Mark())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(paths[0], os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = io.WriteString(f, "3,4\n")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	grown := source(t, paths, opt)
	if err := grown.GoOnFrom(s.Mark(), id); err != nil {
		t.Fatal(err)
	}
	if got := collect(grown); len(got) != 1 || got[0].text != "HSET|3|k|3|v|4" || got[0].n != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestGoOnFromNowhere holds that no Mark makes more than an error.
func TestGoOnFromNowhere(t *testing.T) {
	state := (&state{}).encode()
	paths := files(t, "a.txt", "SET a 1\n")
	for _, m := range []parser.Mark{
		{N: 1, Line: 1},
		{N: 1, State: state},
		{N: 1, Line: 1, File: 1, State: state},
		{N: 1, Line: 1, File: -1, State: state},
		{N: 1, Line: 1, Offset: -1, State: state},
		{N: 1, Line: 1, Offset: 9, State: state},
		{N: 1, Line: 1, State: state[:5]},
	} {
		if _, ok := errors.AsType[*UsageError](source(t, paths, all(Options{})).GoOnFrom(m, Identity{})); !ok {
			t.Errorf("%+v is no usage error", m)
		}
	}
	s := source(t, paths, all(Options{}))
	if err := s.GoOnFrom(s.Mark(), Identity{}); err != nil || len(collect(s)) != 1 {
		t.Errorf("from a mark before the first record: %v", err)
	}
}

// TestGoOnFromLimit holds that nothing is read where the limit has been reached.
func TestGoOnFromLimit(t *testing.T) {
	paths := files(t, "a.csv", "k,v\n1,2\n3,4\n5,6\n")
	for _, replace := range []bool{false, true} {
		opt := Options{Key: "{k}", Type: "list", Value: "{v}", Replace: replace, Limit: -1}
		mark := steps(source(t, paths, opt))[2*len("x")].mark
		opt.Limit = 1
		s := source(t, paths, opt)
		if err := s.GoOnFrom(mark, Identity{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Next(&parser.Command{}); err != io.EOF || !reflect.DeepEqual(s.Mark(), mark) {
			t.Errorf("replace %v: %v, mark %+v, want %+v", replace, err, s.Mark(), mark)
		}
	}
}

// FuzzState: what is decoded is encoded as the same, and nothing else is
// TestStateIsShared holds that the State changes only when something does, and
