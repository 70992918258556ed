package formats

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"respipe/parser"
)

// TestMemory holds that a long input needs no more memory than a short one,
// whatever its kind.
func TestMemory(t *testing.T) {
	const long, short, slack = 128 << 20, 2 << 20, 4 << 20 // bytes
	text := strings.Repeat("a longer text ", 70)
	little := encodeAs(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM))
	hash := Options{Key: "u:{id}"}
	as := func(o Options, change func(*Options)) Options { change(&o); return o }
	tests := []struct {
		name         string
		opt          Options
		head, record string
		stream       func(t *testing.T, in io.Reader) io.Reader
	}{
		{name: "csv", opt: hash, head: "id,text\n", record: "1," + text + "\n"},
		{name: "csv with quotes", opt: hash, head: "id,text\n", record: "1,\"" + text + "\n\"\"\"\n"},
		{name: "csv, CR", opt: hash, head: "id,text\r", record: "1,\"" + text + "\"\r"},
		{name: "csv, wide and escaped", opt: as(hash, func(o *Options) { o.Delimiter, o.Escape = "||", '\\' }), head: "id||text\n", record: "1||\"" + text + "\\\"\"\n"},
		{name: "csv, broken", opt: hash, head: "id,text\n", record: "1,\"" + text + "\"x\n"},
		{name: "tsv", opt: as(hash, func(o *Options) { o.Format = "tsv" }), head: "id\ttext\n", record: "1\t" + text + "\n"},
		{name: "tsv with escapes", opt: as(hash, func(o *Options) { o.Format = "tsv" }), head: "id\ttext\n", record: "1\t" + text + "\\n\n"},

		{name: "aof", head: "#TS:1\r\n", record: crlf("*2 $4 ECHO $980 ") + text + crlf(" #TS:2 ")},
		{name: "utf-8", opt: as(hash, func(o *Options) { o.Encoding = "utf-8" }), head: "id,text\n", record: "1,é" + text + "\n"},
		{name: "utf-16", opt: as(hash, func(o *Options) { o.Encoding = "utf-16" }), head: little("id,text\n"), record: little("1," + text + "\n")},
		{name: "gzip", record: "ECHO '" + text + "'\n", stream: packedStream("gzip")},
		{name: "zstd", record: "ECHO '" + text + "'\n", stream: packedStream("zstd")},
		{name: "lz4", record: "ECHO '" + text + "'\n", stream: packedStream("lz4")},
		{name: "many streams of xz", record: pack(t, "xz", strings.Repeat("ECHO '"+text+"'\n", 1000))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(tt.head), newRepeat(tt.record))
			if tt.stream != nil {
				in = tt.stream(t, in)
			}
			s := open(t, in, all(tt.opt))
			var c parser.Command
			first := uint64(0)
			for next := int64(short); next <= long; {
				if err := s.Next(&c); err != nil {
					if _, bad := err.(*parser.Error); !bad {
						t.Fatal(err)
					}
				}
				at := s.in.Pos().Offset
				if at < next {
					continue
				}
				next += long / 8
				if heap := heapInUse(); first == 0 {
					first = heap
				} else if heap > first+slack {
					t.Fatalf("%d bytes in use at byte %d, %d at the start", heap, at, first)
				}
			}
		})
	}
}

// heapInUse returns the bytes of all objects that are reachable.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// packedStream returns a function that packs a stream as it is read.
func packedStream(name string) func(*testing.T, io.Reader) io.Reader {
	return func(t *testing.T, in io.Reader) io.Reader {
		r, w := io.Pipe()
		packer, err := packers[name](w)
		if err != nil {
			t.Fatal(err)
		}
		go io.Copy(packer, in)
		t.Cleanup(func() { r.Close() })
		return r
	}
}
