package parser

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// scanned lists what a scanner finds in a stream that comes in pieces of size
// bytes: a word for each reply, an element's error before it.
func scanned(stream string, size int) (found []string, inside bool, err error) {
	var s ReplyScanner
	for len(stream) > 0 {
		piece := []byte(stream[:min(size, len(stream))])
		stream = stream[len(piece):]
		for again := true; again; {
			n, ev, err := s.Scan(piece)
			if err != nil {
				return found, s.Inside(), err
			}
			piece = piece[n:]
			switch ev {
			case Element:
				found = append(found, fmt.Sprintf("%d:%s", s.Index, s.Text))
			case Done:
				found = append(found, word(&s))
			}
			again = ev == Element || len(piece) > 0
		}
	}
	return found, s.Inside(), nil
}

func word(s *ReplyScanner) string {
	switch {
	case s.Nil:
		return string(s.Kind) + "nil"
	case s.Kind == '+' || s.Kind == '-':
		return string(s.Kind) + string(s.Text)
	}
	return string(s.Kind)
}

func TestReplyScanner(t *testing.T) {
	long := strings.Repeat("x", maxReplyText+500)
	for _, test := range []struct {
		stream string
		want   string // found, joined by "|"
		inside bool
		bad    bool
	}{
		{stream: "+OK\r\n", want: "+OK"},
		{stream: "+\r\n", want: "+"},
		{stream: "-ERR no\r\n:1\r\n:-7\r\n", want: "-ERR no|:|:"},
		{stream: "$0\r\n\r\n+OK\r\n", want: "$|+OK"},
		{stream: "$5\r\na\r\nb+\r\n+OK\r\n", want: "$|+OK"},
		{stream: "$-1\r\n*-1\r\n*0\r\n", want: "$nil|*nil|*"},
		{stream: "*2\r\n$-1\r\n:1\r\n", want: "*"},
		{stream: "*3\r\n+OK\r\n-ERR b\r\n+OK\r\n", want: "1:ERR b|*"},
		{stream: "*2\r\n-ERR a\r\n-ERR b\r\n+OK\r\n", want: "0:ERR a|1:ERR b|*|+OK"},
		{stream: "*2\r\n*2\r\n-ERR deep\r\n:1\r\n*0\r\n", want: "*"},
		{stream: "*1\r\n*1\r\n*1\r\n$1\r\na\r\n-E\r\n", want: "*|-E"},
		{stream: "-" + long + "\r\n+OK\r\n", want: "-" + long[:maxReplyText] + "|+OK"},
		{stream: "+O", inside: true},
		{stream: "+OK\r", inside: true},
		{stream: "$3\r\nab", inside: true},
		{stream: "$3\r\nabc", inside: true},
		{stream: "*2\r\n:1\r\n", inside: true},
		{stream: "+OK\r\nHTTP/1.1 200 OK\r\n", want: "+OK", bad: true},
		{stream: "+OK\r\n\x15\x03", want: "+OK", bad: true},
		{stream: "+OK\n", bad: true},
		{stream: "$x\r\n", bad: true},
		{stream: "$-2\r\n", bad: true},
		{stream: "*1x\r\n", bad: true},
		{stream: "*\r\n", bad: true},
		{stream: "$99999999999999999999\r\n", bad: true},
		{stream: "*1\r\n\r\n", bad: true},
		{stream: "$3\r\nabcde", bad: true},
		{stream: "$3\r\nabc\n", bad: true},
		{stream: "$3\r\nabc\r+OK\r\n", bad: true},
		{stream: "$0\r\n+OK\r\n", bad: true},
		{stream: "*2\r\n$3\r\nabc+x\r\n", bad: true},
		{stream: ":12x\r\n", bad: true},
		{stream: ":\r\n", bad: true},
		{stream: ":-\r\n", bad: true},
		{stream: ": 1\r\n", bad: true},
		{stream: ":1.5\r\n", bad: true},
		{stream: "*1\r\n:x\r\n", bad: true},
		{stream: ":+9223372036854775807\r\n:-9223372036854775808\r\n", want: ":|:"},
		{stream: ":9223372036854775808\r\n", bad: true},
		{stream: ":-9223372036854775809\r\n", bad: true},
		{stream: ":" + strings.Repeat("0", maxReplyText+500) + "x\r\n", bad: true},
		{stream: "+" + long + "\n", bad: true},
		{stream: "+" + long + "\r\r\n", want: "+" + long[:maxReplyText]},
		{stream: "$1 \r\n", bad: true},
		{stream: "$+1\r\n", bad: true},
		{stream: "$1\n", bad: true},
		{stream: "%1\r\n+a\r\n:1\r\n", bad: true},
		{stream: strings.Repeat("*1\r\n", maxDepth+1), bad: true},
	} {
		for _, size := range []int{1, 2, 3, 7, 1 << 20} {
			found, inside, err := scanned(test.stream, size)
			got := strings.Join(found, "|")
			if got != test.want {
				t.Errorf("%.60q by %d: %.80q, want %.80q", test.stream, size, got, test.want)
			}
			if bad := errors.Is(err, ErrNotRESP); bad != test.bad || !bad && (err != nil || inside != test.inside) {
				t.Errorf("%.60q by %d: inside %v, error %v", test.stream, size, inside, err)
			}
		}
	}
}

func TestParseReply(t *testing.T) {
	for _, test := range []struct{ stream, want, rest string }{
		{"+OK\r\n:1\r\n", "OK", ":1\r\n"},
		{"-ERR x\r\n", "!ERR x", ""},
		{"$3\r\na\r\n\r\n", "a\r\n", ""},
		{"$-1\r\nx", "nil", "x"},
		{"*-1\r\n", "nil", ""},
		{"*2\r\n$1\r\na\r\n*1\r\n:5\r\n", "[a [5]]", ""},
	} {
		v, rest, err := ParseReply([]byte(test.stream))
		if err != nil || text(v) != test.want || string(rest) != test.rest {
			t.Errorf("%q: %s, rest %q, %v", test.stream, text(v), rest, err)
		}
		for cut := range len(test.stream) - len(test.rest) {
			if _, _, err := ParseReply([]byte(test.stream[:cut])); err != io.ErrUnexpectedEOF {
				t.Errorf("%q cut at %d: %v", test.stream, cut, err)
			}
		}
	}
	for _, bad := range []string{
		"x\r\n", "$a\r\n", "$-3\r\n", "*-2\r\n", "*1\r\nx", strings.Repeat("*1\r\n", maxDepth+1),
		"$3\r\nabcde", "$3\r\nabcx", "$0\r\n+", "$3\r\nabc\r+", ":12x\r\n", ":\r\n", ":9223372036854775808\r\n", "*1\r\n:-\r\n", "+a\nb\r\n", "+\n",
	} {
		if _, _, err := ParseReply([]byte(bad)); !errors.Is(err, ErrNotRESP) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func text(v Value) string {
	switch {
	case v.Nil:
		return "nil"
	case v.Err() != nil:
		return "!" + v.Err().Error()
	case v.Kind != '*':
		return string(v.Text)
	}
	var all []string
	for _, e := range v.Elems {
		all = append(all, text(e))
	}
	return "[" + strings.Join(all, " ") + "]"
}

func TestSkipPlain(t *testing.T) {
	for _, test := range []struct {
		stream     string
		limit      int
		n, replies int
	}{
		{"", 5, 0, 0},
		{"+OK\r\n+OK\r\n", 5, 10, 2},
		{"+OK\r\n+OK\r\n", 1, 5, 1},
		{"+OK\r\n:1\r\n:0\r\n-ERR\r\n", 9, 13, 3},
		{"+OK\r\n+O", 9, 5, 1},
		{":12\r\n:1234567\r\n:1x\r\n", 9, 15, 2},
		{"$-1\r\n:7\r\n$1\r\na\r\n", 9, 9, 2},
		{":123456789012345678\r\n:1234567890123456789\r\n", 9, 21, 1},
		{":-1\r\n", 9, 0, 0},
		{":12", 9, 0, 0},
		{":12\r", 9, 0, 0},
		{":12\n\n", 9, 0, 0},
		{":\r\n\r\n", 9, 0, 0},
		{"+QUEUED\r\n", 9, 0, 0},
	} {
		if n, replies := SkipPlain([]byte(test.stream), test.limit); n != test.n || replies != test.replies {
			t.Errorf("%q: %d bytes, %d replies", test.stream, n, replies)
		}
	}
}

// FuzzReplies holds the scanner to what ParseReply makes of the whole: the same
// replies, and the same bytes refused, however the bytes come.
func FuzzReplies(f *testing.F) {
	f.Add("+OK\r\n*2\r\n-ERR a\r\n$3\r\nabc\r\n", 3)
	f.Add("$-1\r\n*0\r\n:1\r\nx", 1)
	f.Add("*2\r\n$3\r\nabcde:12x\r\n", 2)
	f.Add(":9223372036854775808\r\n", 7)
	f.Add("+a\nb\r\n", 2)
	f.Fuzz(func(t *testing.T, stream string, size int) {
		size = max(size, 1)
		var want []string
		rest := []byte(stream)
		var end error
		for len(rest) > 0 && end == nil {
			var v Value
			if v, rest, end = ParseReply(rest); end == nil {
				want = append(want, string(v.Kind))
			}
		}
		for _, size := range []int{size, max(len(stream), 1)} {
			found, inside, err := scanned(stream, size)
			var got []string
			for _, w := range found {
				if w[0] < '0' || w[0] > '9' {
					got = append(got, w[:1])
				}
			}
			if strings.Join(got, "") != strings.Join(want, "") {
				t.Errorf("%q by %d: %q, want %q", stream, size, got, want)
			}
			if errors.Is(end, ErrNotRESP) != errors.Is(err, ErrNotRESP) || (end == io.ErrUnexpectedEOF) != (inside && err == nil) {
				t.Errorf("%q by %d: %v, inside %v; the whole: %v", stream, size, err, inside, end)
			}
		}
	})
}

func BenchmarkSkipPlain(b *testing.B) {
	for _, reply := range []string{"+OK", ":1", ":123456", "$-1"} {
		b.Run(reply, func(b *testing.B) {
			stream := []byte(strings.Repeat(reply+"\r\n", 1000))
			b.ReportAllocs()
			for b.Loop() {
				SkipPlain(stream, 1000)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/reply")
		})
	}
}

func BenchmarkReplyScanner(b *testing.B) {
	stream := []byte(strings.Repeat(":123456\r\n", 1000))
	var s ReplyScanner
	b.ReportAllocs()
	for b.Loop() {
		for rest := stream; len(rest) > 0; {
			n, _, err := s.Scan(rest)
			if err != nil {
				b.Fatal(err)
			}
			rest = rest[n:]
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/reply")
}
