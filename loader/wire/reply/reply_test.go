package reply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"respipe/parser"
)

// read reads a stream of replies in parts of size bytes. Each error is shown as
// the number of its reply in the stream, the element behind a dot if it is one,
// and its text.
func read(r *Reader, stream string, size, due int) (replies int, found, kept []string, err error) {
	for len(stream) > 0 && err == nil {
		part := stream[:min(size, len(stream))]
		stream = stream[len(part):]
		var n int
		n, err = r.Read([]byte(part), due-replies)
		for _, e := range r.Errors {
			text := fmt.Sprint(replies + e.Index)
			if e.Element >= 0 {
				text += fmt.Sprint(".", e.Element)
			}
			if e.Text == nil {
				found = append(found, text+" nil")
			} else {
				found = append(found, text+" "+string(e.Text))
			}
		}
		from := 0
		for _, end := range r.Ends {
			kept = append(kept, string(r.Kept[from:end]))
			from = end
		}
		replies += n
	}
	return replies, found, kept, err
}

func TestRead(t *testing.T) {
	for _, row := range []struct {
		stream  string
		due     int
		replies int
		errors  string
		err     error
	}{
		{"", 3, 0, "", nil},
		{"+OK\r\n:1\r\n:1234\r\n$-1\r\n+QUEUED\r\n$3\r\nabc\r\n*0\r\n", 9, 7, "", nil},
		{"+OK\r\n-ERR a\r\n-ERR a\r\n-ERR b\r\n:1\r\n", 5, 5, "1 ERR a|2 ERR a|3 ERR b", nil},
		{"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-WRONGTYPE x\r\n:7\r\n+OK\r\n", 5, 5, "3.0 WRONGTYPE x", nil},
		{"*3\r\n-A 1\r\n*1\r\n-deeper\r\n-B 2\r\n", 1, 1, "0.0 A 1|0.2 B 2", nil},
		{"*-1\r\n$-1\r\n", 2, 2, "0 nil", nil},
		{"*2\r\n*-1\r\n+OK\r\n", 1, 1, "", nil},
		{"+OK\r\n$5\r\nab", 2, 1, "", nil},
		{"+OK\r\n+OK\r\n+OK\r\n", 2, 2, "", ErrUnexpected},
		{"-NOAUTH x\r\n-ERR server says so\r\n", 1, 1, "0 NOAUTH x", ErrUnexpected},
		{"+OK\r\nHTTP/1.1 400 Bad Request\r\n", 3, 1, "", parser.ErrNotRESP},
		{"+OK\r\n:1\r\n*2\r\n-ERR x\r\n!", 9, 2, "", parser.ErrNotRESP},
	} {
		for size := range len(row.stream) + 1 {
			replies, found, _, err := read(new(Reader), row.stream, size+1, row.due)
			if replies != row.replies || strings.Join(found, "|") != row.errors || !errors.Is(err, row.err) || row.err == nil && err != nil {
				t.Errorf("%q by %d: %d replies, %q, %v", row.stream, size+1, replies, found, err)
			}
		}
	}
}

func TestKeep(t *testing.T) {
	const stream = "+OK\r\n*2\r\n$3\r\nabc\r\n:5\r\n-ERR x\r\n$9\r\n123456789\r\n"
	for keep, want := range map[int]string{
		0:       "",
		4:       "+OK\r|*2\r\n|-ERR|$9\r\n",
		12:      "+OK\r\n|*2\r\n$3\r\nabc\r|-ERR x\r\n|$9\r\n12345678",
		KeepAll: "+OK\r\n|*2\r\n$3\r\nabc\r\n:5\r\n|-ERR x\r\n|$9\r\n123456789\r\n",
	} {
		for size := range len(stream) {
			replies, _, kept, err := read(&Reader{Keep: keep}, stream, size+1, 4)
			if got := strings.Join(kept, "|"); replies != 4 || got != want || err != nil {
				t.Errorf("%d bytes kept, by %d: %d replies, %q, want %q, %v", keep, size+1, replies, got, want, err)
			}
		}
	}
}

// FuzzRead: where the stream is cut makes no difference, and what is kept is the
// stream.
func FuzzRead(f *testing.F) {
	f.Add("+OK\r\n-ERR a\r\n*2\r\n-ERR b\r\n:1\r\n$-1\r\n*-1\r\n+QUEUED\r\n", 3, 9)
	f.Add("$3\r\nabc\r\n:12x\r\n", 1, 2)
	f.Fuzz(func(t *testing.T, stream string, size, due int) {
		size, due = max(size, 1), max(due, 0)
		replies, found, _, err := read(new(Reader), stream, len(stream)+1, due)
		again, foundAgain, kept, errAgain := read(&Reader{Keep: KeepAll}, stream, size, due)
		if replies != again || !slices.Equal(found, foundAgain) || (err == nil) != (errAgain == nil) {
			t.Errorf("%q: %d, %q, %v; by %d: %d, %q, %v", stream, replies, found, err, size, again, foundAgain, errAgain)
		}
		if whole := strings.Join(kept, ""); !strings.HasPrefix(stream, whole) || len(kept) != again {
			t.Errorf("%q: kept %q", stream, kept)
		}
	})
}

func TestReadAllocatesNothing(t *testing.T) {
	stream := []byte(strings.Repeat("+OK\r\n:1234\r\n+QUEUED\r\n$-1\r\n$3\r\nabc\r\n-ERR x\r\n", 100))
	var r Reader
	if n := testing.AllocsPerRun(100, func() { r.Read(stream, 600) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, reply := range []string{"+OK", ":1", ":123456", "$-1", "+QUEUED", "$3\r\nabc", "-ERR unknown command"} {
		b.Run(reply, func(b *testing.B) {
			stream := []byte(strings.Repeat(reply+"\r\n", 1000))
			var r Reader
			b.ReportAllocs()
			for b.Loop() {
				r.Read(stream, 1000)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/reply")
		})
	}
}
