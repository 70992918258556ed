package formats

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"respipe/parser"
)

// packedText is what packedBzip2 holds; nothing here writes bzip2.
const (
	packedText  = "SET a 1\nSET b 2\nSET c 3\n"
	packedBzip2 = "425a6839314159265359f5503952000007df0000104000380002000c00380020003100d34d057ea4c0690f19a918234439c2ee48a70a121eaa072a40"
)

// packers are the packings that can be written here.
var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"zstd": func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	},
	"xz": func(w io.Writer) (io.WriteCloser, error) { return xz.WriterConfig{DictCap: 1 << 16}.NewWriter(w) },
	"lz4": func(w io.Writer) (io.WriteCloser, error) {
		packer := lz4.NewWriter(w)
		return packer, packer.Apply(lz4.BlockSizeOption(lz4.Block64Kb))
	},
}

// pack packs text, of which bzip2 can only be packedText.
func pack(t testing.TB, name, text string) string {
	if name == "bzip2" && text == packedText {
		packed, _ := hex.DecodeString(packedBzip2)
		return string(packed)
	}
	var b bytes.Buffer
	w, err := packers[name](&b)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// unpacked returns what comes out of a packed text, and the error behind it;
// nil if it was whole.
func unpacked(r io.Reader) (string, error) {
	u, err := unpack(&rawReader{r: r, taken: new(atomic.Int64)})
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(u)
	return string(text), err
}

func TestUnpack(t *testing.T) {
	want := []string{"SET|a|1", "SET|b|2", "SET|c|3"}
	for _, p := range packings {
		t.Run(p.name, func(t *testing.T) {
			packed := pack(t, p.name, packedText)
			for times := range 3 {
				in := strings.Repeat(packed, times+1)
				for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
					s := open(t, r, all(Options{}))
					got := collect(s)
					if len(got) != len(want)*(times+1) {
						t.Fatalf("%d streams, %T: got %+v", times+1, r, got)
					}
					for i, g := range got {
						if g.text != want[i%3] || g.pos.Offset != int64(8*i) || g.pos.Line != i+1 {
							t.Errorf("%d streams, %T: outcome %d is %+v", times+1, r, i, g)
						}
					}
					if n := s.BytesRead(); n != int64(len(in)) {
						t.Errorf("%d bytes read, want %d", n, len(in))
					}
				}
			}
		})
	}
}

// TestUnpackCut holds that no file that was cut off passes for a whole one.
func TestUnpackCut(t *testing.T) {
	for _, p := range packings {
		t.Run(p.name, func(t *testing.T) {
			packed := pack(t, p.name, packedText)
			whole := len(packed)
			packed += packed
			for n := len(p.heads[0]); n < len(packed); n++ {
				text, err := unpacked(strings.NewReader(packed[:n]))
				if !strings.HasPrefix(packedText+packedText, text) {
					t.Errorf("cut at %d: got %q", n, text)
				}
				if n != whole && (err == nil || !strings.Contains(err.Error(), p.name)) {
					t.Errorf("cut at %d of %d: error %v", n, len(packed), err)
				}
				if n == whole && err != nil {
					t.Errorf("cut between streams: %v", err)
				}
			}
		})
	}
}

// TestUnpackChanged holds that no changed byte passes as other text.
func TestUnpackChanged(t *testing.T) {
	for _, p := range packings {
		t.Run(p.name, func(t *testing.T) {
			packed := pack(t, p.name, packedText)
			for i := len(p.heads[0]); i < len(packed); i++ {
				for bit := range 8 {
					changed := []byte(packed)
					changed[i] ^= 1 << bit
					text, err := unpacked(bytes.NewReader(changed))
					if err == nil && text != packedText {
						t.Errorf("bit %d of byte %d: got %q", bit, i, text)
					}
				}
			}
		})
	}
}

func TestUnpackBroken(t *testing.T) {
	gz, xzip := pack(t, "gzip", packedText), pack(t, "xz", packedText)
	large := []byte(xzip) // its window, behind the filter's id and size
	large[bytes.Index(large, []byte{0x21, 0x01})+2] = 40
	tests := []struct{ name, in, err string }{
		{"zero bytes behind gzip", gz + "\x00\x00\x00", ""},
		{"zero bytes between members", gz + "\x00" + gz, ""},
		{"text behind gzip", gz + "SET a 1\n", "the gzip data is corrupt: something else stands behind it"},
		{"text behind zero bytes", gz + "\x00SET a 1\n", "the gzip data is corrupt: something else stands behind it"},
		{"half a member behind gzip", gz + gz[:5], "the gzip data is cut off"},
		{"padding behind xz", xzip + "\x00\x00\x00\x00" + xzip, ""},
		{"odd padding behind xz", xzip + "\x00\x00\x00", "the xz data is cut off"},
		{"text behind xz", xzip + "SET a 1\nSET a 1\n", "the xz data is corrupt: "},
		{"text behind zstd", pack(t, "zstd", packedText) + "SET a 1\n", "the zstd data is corrupt: "},
		{"text behind lz4", pack(t, "lz4", packedText) + "SET a 1\n", "the lz4 data is corrupt: "},
		{"text behind bzip2", pack(t, "bzip2", packedText) + "SET a 1\n", "the bzip2 data is corrupt: "},
		{"no gzip behind its head", "\x1F\x8B\x09SET a 1\n", "the gzip data is corrupt: "},
		{"window of zstd", "\x28\xB5\x2F\xFD\x00\x90\x41\x00\x00aaaaaaaa", "the zstd data is corrupt: "},
		{"window of xz", string(large), "the xz data is corrupt: its window of 4095 MiB is larger than 128 MiB"},
	}
	for _, tt := range tests {
		text, err := unpacked(strings.NewReader(tt.in))
		if got := fmt.Sprint(err); tt.err == "" && err != nil || !strings.HasPrefix(got, tt.err) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
		}
		if strings.ReplaceAll(text, packedText, "") != "" {
			t.Errorf("%s: got %q", tt.name, text)
		}
	}
}

// TestUnpackReadError holds that a failing disk is not taken for corrupt data.
func TestUnpackReadError(t *testing.T) {
	for _, p := range packings {
		packed := pack(t, p.name, packedText)
		for _, n := range []int{0, 3, len(packed) / 2, len(packed)} {
			r := io.MultiReader(strings.NewReader(packed[:n]), iotest.ErrReader(io.ErrClosedPipe))
			if _, err := unpacked(r); err != io.ErrClosedPipe {
				t.Errorf("%s, behind byte %d: error %v", p.name, n, err)
			}
		}
	}
}

// TestUnpackLoads holds that what stands before the place where packed data
// break is read, and that the place is told.
func TestUnpackLoads(t *testing.T) {
	long := strings.Repeat("SET key value\n", 1_000) + "GET x\n"
	for name := range packers {
		packed := pack(t, name, long)
		s := open(t, strings.NewReader(packed[:len(packed)-1]), all(Options{}))
		got := collect(s)
		last := got[len(got)-1]
		if !strings.HasPrefix(last.text, "broken: the "+name+" data is cut off") || last.pos.Offset != int64(14*(len(got)-1)) && len(got) < 1_000 {
			t.Errorf("%s: ends with %+v", name, last)
		}
		if len(got) < 2 {
			t.Errorf("%s: nothing was read before the end", name)
		}
	}
	twice := pack(t, "zstd", pack(t, "gzip", long))
	got := collect(open(t, strings.NewReader(twice), all(Options{})))
	if len(got) != 1 || got[0].text != "broken: this is packed twice, unpack the gzip data first" {
		t.Errorf("packed twice: got %.200v", got)
	}
}

// TestUnpackPassesOn holds that a stream that is flushed is passed on before it
// goes on.
func TestUnpackPassesOn(t *testing.T) {
	for _, name := range []string{"gzip", "zstd"} {
		r, w := io.Pipe()
		defer w.Close()
		s := open(t, r, all(Options{}))
		packer, _ := packers[name](w)
		read := make(chan bool)
		go func() {
			for i := range 3 {
				fmt.Fprintf(packer, "GET %d\n", i)
				packer.(interface{ Flush() error }).Flush()
				<-read
			}
		}()
		for i := range 3 {
			var c parser.Command
			if err := s.Next(&c); err != nil || string(c.Args[1]) != fmt.Sprint(i) {
				t.Fatalf("%s: got %q, %v", name, c.Args, err)
			}
			read <- true
		}
	}
}

// FuzzUnpack: whatever is packed comes back, however it is cut into pieces, and
// one changed byte does not make other text of it.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("SET a 1\n"), byte(0), 1, 9, byte(1))
	f.Add(bytes.Repeat([]byte("SET a 1\n"), 50), byte(1), 100, 30, byte(0x80))
	f.Add([]byte(""), byte(2), 7, 3, byte(2))
	f.Add([]byte("\x00\xFF"), byte(3), 7, 20, byte(4))
	f.Fuzz(func(t *testing.T, text []byte, kind byte, size, at int, mask byte) {
		name := []string{"gzip", "zstd", "xz", "lz4"}[kind%4]
		packed := []byte(pack(t, name, string(text)))
		got, err := unpacked(&chunks{bytes.NewReader(packed), 1 + size&0xFFF})
		if err != nil || got != string(text) {
			t.Fatalf("%s: %q comes back as %q, %v", name, text, got, err)
		}
		const longest = 6 // bytes of a head, which make it a packed file at all
		if at = longest + at&0xFFFF; at >= len(packed) {
			return
		}
		packed[at] ^= mask
		if got, err := unpacked(bytes.NewReader(packed)); err == nil && got != string(text) {
			t.Fatalf("%s: with byte %d changed %q comes back as %q", name, at, text, got)
		}
	})
}

// FuzzUnpackAny: no bytes make a decoder panic or run on without end.
func FuzzUnpackAny(f *testing.F) {
	for _, p := range packings {
		f.Add([]byte(pack(f, p.name, packedText)))
		for _, head := range p.heads {
			f.Add([]byte(strings.ReplaceAll(head, "?", "9") + "\x00\x00\x01\xFF"))
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		u, err := unpack(&rawReader{r: bytes.NewReader(packed), taken: new(atomic.Int64)})
		if err == nil {
			io.CopyN(io.Discard, u, 16<<20)
		}
	})
}
