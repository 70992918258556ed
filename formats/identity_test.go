package formats

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"respipe/parser"
)

// TestGoOnFromAnother holds that another input is refused, and says why.
func TestGoOnFromAnother(t *testing.T) {
	long := strings.Repeat("1,2\n", 5000)
	const head = "k,v\n"
	tests := []struct {
		name     string
		was, now []string
		n        int64 // of the record to go on from
		opt      func(*Options)
		want     string // empty: it is the same
	}{
		{name: "the same", was: []string{"a.csv", head + long}, now: []string{"a.csv", head + long}, n: 4000},
		{name: "longer", was: []string{"a.csv", head + long}, now: []string{"a.csv", head + long + "3"}, n: 4000},
		{name: "changed behind the place", was: []string{"a.csv", head + long}, now: []string{"a.csv", head + long[:19990] + strings.Repeat("x", 10)}, n: 4000},
		{name: "shorter", was: []string{"a.csv", head + long}, now: []string{"a.csv", head + long[:16000]}, n: 3000,
			want: "a.csv is not the file the checkpoint was written for: it had 20004 bytes, and has 16004"},
		{name: "head", was: []string{"a.csv", head + long}, now: []string{"a.csv", "v,k\n" + long}, n: 4000,
			want: "a.csv is not the file the checkpoint was written for: its first 4096 bytes differ"},
		{name: "short head", was: []string{"a.csv", head + "1,2\n"}, now: []string{"a.csv", head + "1,3\n4,5\n"}, n: 1,
			want: "its first 8 bytes differ"},
		{name: "before the place", was: []string{"a.csv", head + long}, now: []string{"a.csv", head + long[:15000] + "x" + long[15001:]}, n: 4000,
			want: "the 4096 bytes before line 4001 differ"},
		{name: "other name", was: []string{"a.csv", head + "1,2\n"}, now: []string{"b.csv", head + "1,2\n"}, n: 1,
			want: "b.csv stands in place of"},
		{name: "later name", was: []string{"a.csv", head + "1,2\n", "b.csv", head}, now: []string{"a.csv", head + "1,2\n", "c.csv", head}, n: 1,
			want: "c.csv stands in place of"},
		{name: "more files", was: []string{"a.csv", head + "1,2\n"}, now: []string{"a.csv", head + "1,2\n", "b.csv", head}, n: 1,
			want: "there are 2 input files"},
		{name: "changed before", was: []string{"a.csv", head + "1,2\n", "b.csv", head + long}, now: []string{"a.csv", head + "2,2\n", "b.csv", head + long}, n: 100,
			want: "a.csv is not the file"},
		{name: "packed, same", was: []string{"a.csv", pack(t, "gzip", head+long)}, now: []string{"a.csv", pack(t, "gzip", head+long)}, n: 4000},
		{name: "packed, other", was: []string{"a.csv", pack(t, "gzip", head+long)}, now: []string{"a.csv", pack(t, "gzip", head+"3,4\n"+long)}, n: 4000,
			want: "a.csv is not the file"},
		{name: "with replace", was: []string{"a.csv", head + long}, now: []string{"a.csv", head + long[:19990]}, n: 3000, want: "a.csv is not the file",
			opt: func(o *Options) { o.Replace, o.Type, o.Value = true, "list", "{v}" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			opt := all(Options{Key: "{k}"})
			if tt.opt != nil {
				tt.opt(&opt)
			}
			s := source(t, writeFiles(t, tt.was), opt)
			var c parser.Command
			for s.Mark().N < tt.n {
				if err := s.Next(&c); err != nil {
					t.Fatal(err)
				}
			}
			mark := s.Mark()
			id, err := s.Identity(mark)
			if err != nil {
				t.Fatal(err)
			}
			s = source(t, writeFiles(t, tt.now), opt)
			checkUsage(t, s.GoOnFrom(mark, id), tt.want)
		})
	}
}

// writeFiles writes files, name and text in turn, into the folder at hand.
func writeFiles(t *testing.T, namesAndTexts []string) (names []string) {
	t.Helper()
	for i := 0; i < len(namesAndTexts); i += 2 {
		if err := os.WriteFile(namesAndTexts[i], []byte(namesAndTexts[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, namesAndTexts[i])
	}
	return names
}

// checkUsage wants a *UsageError that holds want, or none if it is empty.
func checkUsage(t *testing.T, err error, want string) {
	t.Helper()
	usage, ok := errors.AsType[*UsageError](err)
	if want == "" && err != nil || want != "" && (!ok || !strings.Contains(usage.Msg, want)) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestGoOnFromAnotherPipe holds the same for what must be read to be seen.
func TestGoOnFromAnotherPipe(t *testing.T) {
	const was = "k,v\n1,2\n3,4\n"
	tests := []struct {
		name, now, want string
		change          func(*Options)
	}{
		{name: "same", now: was},
		{name: "longer", now: was + "5,6\n"},
		{name: "shorter", now: "k,v\n1,2", want: "<stdin>:2: this is not the file the checkpoint was written for: it ends before the place to go on from"},
		{name: "nothing", now: "", want: "it ends before"},
		{name: "other", now: "k,v\n1,3\n3,4\n", want: "its first 8 bytes differ"},
		{name: "other header", now: "v,k\n1,2\n3,4\n", want: "its columns"},
		{name: "short header", now: "k\n", want: `there is no column "v"`},
		{name: "long header", now: "k,v,and,more\n", want: "its columns"},
		{name: "other lines", now: "k,v\n\n,2\n3,4\n", want: "its lines differ"},
		{name: "other lines ends", now: "k,v\r1,2\r3,4\r", want: "or the ends of its lines"},
		{name: "records, same", now: was, change: func(o *Options) { o.Replace = true }},
		{name: "records, shorter", now: "k,v\n", change: func(o *Options) { o.Replace = true }, want: "it ends before"},
		{name: "records, other", now: "k,v\n1,3\n3,4\n", change: func(o *Options) { o.Replace = true }, want: "its first 8 bytes differ"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opt := all(Options{Format: "csv", Key: "{k}", Type: "list", Value: "{v}"})
			if tt.change != nil {
				tt.change(&opt)
			}
			s := open(t, strings.NewReader(was), opt)
			whole := steps(s)
			mark := whole[len(whole)-2].mark
			if id, err := s.Identity(mark); err != nil {
				t.Fatal(err)
			} else if s = open(t, strings.NewReader(tt.now), opt); s.GoOnFrom(mark, id) != nil {
				t.Fatal("refused before it was read")
			}
			err := s.Prepare(t.Context())
			if opt.Replace && err == nil {
				err = s.Next(&parser.Command{})
			}
			checkUsage(t, err, tt.want)
			if tt.want != "" && (s.Next(&parser.Command{}) == nil || !reflect.DeepEqual(s.Mark(), mark)) {
				t.Errorf("the mark is %+v, want %+v", s.Mark(), mark)
			}
		})
	}
}

// TestIdentityOfPipes holds what is known of a pipe that will not be read again.
func TestIdentityOfPipes(t *testing.T) {
	paths := files(t, "b.txt", "SET b 1\nSET c 2\n")
	args := []string{stdinArg, paths[0]}
	opt := all(Options{Stdin: strings.NewReader("SET a 1\n")})
	s := source(t, args, opt)
	whole := steps(s)
	id, err := s.Identity(whole[2].mark)
	if err != nil || id.Files[0].Size != 8 || id.Files[0].Head == "" {
		t.Fatalf("got %+v, %v", id, err)
	}
	opt.Stdin = nil // nobody reads it
	s = source(t, args, opt)
	if err := s.GoOnFrom(whole[2].mark, id); err != nil {
		t.Fatal(err)
	}
	if got := bare(steps(s)); !reflect.DeepEqual(got, bare(whole[2:])) {
		t.Errorf("got %+v", got)
	}
	later, err := s.Identity(s.Mark())
	if err != nil || !reflect.DeepEqual(later.Files, id.Files) || later.Before == id.Before {
		t.Errorf("later it is %+v, %v; at first %+v", later, err, id)
	}
	os.Remove(paths[0])
	if _, err := s.Identity(s.Mark()); err == nil {
		t.Error("a file that is gone has an identity")
	}
}
