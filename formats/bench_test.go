package formats

import (
	"bytes"
	"fmt"
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

func BenchmarkTSV(b *testing.B) {
	const head, row = "id\tname\tcity\tborn\tscore\n", "000001\tAnn Smith\tOslo\t1970-01-01\t12.5\n"
	const escapes = "000001\tAnn\\tSmith\t\\N\t1970-01-01\t12.5\n"
	b.Run("string", func(b *testing.B) {
		benchmark(b, head, row, Options{Format: "tsv", Type: "string", Key: "u:{id}", Value: "{name}"})
	})
	b.Run("hash", func(b *testing.B) { benchmark(b, head, row, Options{Format: "tsv", Key: "u:{id}"}) })
	b.Run("escapes", func(b *testing.B) { benchmark(b, head, escapes, Options{Format: "tsv", Key: "u:{id}"}) })
}

func BenchmarkAOF(b *testing.B) {
	const set = "*3\r\n$3\r\nSET\r\n$10\r\nkey:000001\r\n$7\r\nvalue-1\r\n"
	benchmark(b, "#TS:1\r\n", set, Options{})
}

func BenchmarkEncoding(b *testing.B) {
	const head, row = "id,name,city,born,score\n", "000001,Ann Smith,Oslo,1970-01-01,12.5\n"
	for _, name := range []string{"utf-8", "latin1"} {
		b.Run(name, func(b *testing.B) { benchmark(b, head, row, Options{Encoding: name, Key: "u:{id}"}) })
	}
}

func BenchmarkLines(b *testing.B) {
	benchmark(b, "", "a line of text\n", Options{Format: "lines", Cmds: []string{"SADD s {text}"}})
}

func BenchmarkJSON(b *testing.B) {
	const line = `{"id":1000042,"name":"Ann Smith","city":"Oslo","born":"1970-01-01","score":12.5}` + "\n"
	const pretty = "{\n  \"id\": 1000042,\n  \"name\": \"Ann Smith\",\n  \"city\": \"Oslo\",\n  \"born\": \"1970-01-01\",\n  \"score\": 12.5\n}\n"
	const nested = `{"id":1000042,"name":"Ann \"A\" Smith","tags":["a","b"],"place":{"city": "Oslo","at":[10.7,59.9]},"score":12.5}` + "\n"
	wide := "{"
	for i := range 100 {
		wide += fmt.Sprintf(`"member%d":%d,`, i, i)
	}
	wide += `"id":1}` + "\n"
	b.Run("hash", func(b *testing.B) { benchmark(b, "", line, Options{Key: "u:{id}"}) })
	b.Run("string", func(b *testing.B) {
		benchmark(b, "", line, Options{Type: "string", Key: "u:{id}", Value: "{name}"})
	})
	b.Run("whole", func(b *testing.B) { benchmark(b, "", line, Options{Type: "string", Key: "u:{id}"}) })
	b.Run("array", func(b *testing.B) {
		benchmark(b, "[{\"id\":1}\n", ","+line, Options{Key: "u:{id}"})
	})
	b.Run("pretty", func(b *testing.B) { benchmark(b, "", pretty, Options{Format: "json", Key: "u:{id}"}) })
	b.Run("nested", func(b *testing.B) { benchmark(b, "", nested, Options{Key: "u:{id}"}) })
	b.Run("path", func(b *testing.B) {
		benchmark(b, "", nested, Options{Cmds: []string{"SADD {place.city} {tags...} {place.at[0]}"}})
	})
	b.Run("wide", func(b *testing.B) { benchmark(b, "", wide, Options{Key: "u:{id}"}) })
}

func BenchmarkMapping(b *testing.B) {
	const head, row = "id,name,city,born,score\n", "000001,Ann Smith,Oslo,1970-01-01,12.5\n"
	for name, opt := range map[string]Options{
		"expiry":   {Key: "u:{id}", TTL: "3600", Replace: true},
		"rename":   {Key: "u:{id}", Exclude: []string{"born"}, Rename: []string{"name=n"}},
		"zset":     {Key: "scores", Type: "zset", Member: "{name}", Score: "{score}", Replace: true},
		"document": {Key: "u:{id}", Type: "json"},
		"empty":    {Key: "u:{id}", Type: "string", Value: "{name}/{city}", Missing: "empty"},
	} {
		b.Run(name, func(b *testing.B) { benchmark(b, head, row, opt) })
	}
}
