package formats

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"respipe/parser"
)

// repeat is a reader of the same bytes for ever.
type repeat struct {
	block []byte
	at    int
}

// newRepeat returns a reader of a text over and over.
func newRepeat(text string) *repeat {
	return &repeat{block: bytes.Repeat([]byte(text), chunkSize/len(text)+1)}
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

// benchmark takes b.N records from a Source over head and then text, a record,
// over and over.
func benchmark(b *testing.B, head, text string, opt Options) {
	opt.Limit = -1
	opt.MaxRecord = 128 << 20
	opt.Stdin = io.MultiReader(strings.NewReader(head), newRepeat(text))
	s, err := Open(nil, opt)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	b.ResetTimer()
	var c parser.Command
	for range b.N {
		if err := s.Next(&c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRESP(b *testing.B) {
	const set = "*3\r\n$3\r\nSET\r\n$10\r\nkey:000001\r\n$7\r\nvalue-1\r\n"
	benchmark(b, "", set, Options{})
}

func BenchmarkText(b *testing.B) {
	benchmark(b, "", "SET key:000001 \"value 1\"\n", Options{})
}

func BenchmarkCSV(b *testing.B) {
	const head, row = "id,name,city,born,score\n", "000001,Ann Smith,Oslo,1970-01-01,12.5\n"
	const quotes = "000001,\"Ann \"\"A\"\" Smith\",\"Oslo, N\",1970-01-01,12.5\n"
	b.Run("string", func(b *testing.B) {
		benchmark(b, head, row, Options{Type: "string", Key: "u:{id}", Value: "{name}"})
	})
	b.Run("hash", func(b *testing.B) { benchmark(b, head, row, Options{Key: "u:{id}"}) })
	b.Run("quotes", func(b *testing.B) { benchmark(b, head, quotes, Options{Key: "u:{id}"}) })
}

func BenchmarkLines(b *testing.B) {
	benchmark(b, "", "a line of text\n", Options{Format: "lines", Cmds: []string{"SADD s {text}"}})
}
