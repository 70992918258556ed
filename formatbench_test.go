package main

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"respipe/formats"
	"respipe/internal/redistest"
	"respipe/parser"
)

// written is one way of writing the same records down: five columns, of which
// the first is the key of a hash.
type written struct {
	name   string
	head   string
	record string // with the record's number
	pack   string // program that packs the file
	opt    formats.Options
	args   []string // that stand for opt on the command line
}

var (
	asHash  = formats.Options{Key: "u:{id}"}
	hashArg = []string{"--key", "u:{id}"}
)

var ways = []*written{
	{name: "resp", record: "*12\r\n$4\r\nHSET\r\n$12\r\nu:%010[1]d\r\n$2\r\nid\r\n$10\r\n%010[1]d\r\n$4\r\nname\r\n$9\r\nAnn Smith\r\n$4\r\ncity\r\n$4\r\nOslo\r\n$4\r\nborn\r\n$10\r\n1970-01-01\r\n$5\r\nscore\r\n$4\r\n12.5\r\n"},
	{name: "aof", opt: formats.Options{Format: "aof"}, args: []string{"-f", "aof"},
		record: "*12\r\n$4\r\nHSET\r\n$12\r\nu:%010[1]d\r\n$2\r\nid\r\n$10\r\n%010[1]d\r\n$4\r\nname\r\n$9\r\nAnn Smith\r\n$4\r\ncity\r\n$4\r\nOslo\r\n$4\r\nborn\r\n$10\r\n1970-01-01\r\n$5\r\nscore\r\n$4\r\n12.5\r\n"},
	{name: "txt", record: "HSET u:%010[1]d id %010[1]d name \"Ann Smith\" city Oslo born 1970-01-01 score 12.5\n"},
	{name: "csv", head: "id,name,city,born,score\n", record: "%010[1]d,Ann Smith,Oslo,1970-01-01,12.5\n", opt: asHash, args: hashArg},
	{name: "csv.gz", pack: "gzip", head: "id,name,city,born,score\n", record: "%010[1]d,Ann Smith,Oslo,1970-01-01,12.5\n", opt: asHash, args: hashArg},
	{name: "tsv", head: "id\tname\tcity\tborn\tscore\n", record: "%010[1]d\tAnn Smith\tOslo\t1970-01-01\t12.5\n",
		opt: formats.Options{Format: "tsv", Key: "u:{id}"}, args: []string{"-f", "tsv", "--key", "u:{id}"}},
	{name: "jsonl", record: `{"id":"%010[1]d","name":"Ann Smith","city":"Oslo","born":"1970-01-01","score":12.5}` + "\n", opt: asHash, args: hashArg},
	{name: "lines", record: "%010[1]d\n", opt: formats.Options{Format: "lines", Cmds: []string{"SET u:{text} x"}}, args: []string{"-f", "lines", "--cmd", "SET u:{text} x"}},
}

// formats loads the same records out of each format beside the same commands
// ready-made in RESP, and CSV and JSON lines beside go-redis, too. It also
// reports what a format takes alone, without a server.
func (w *workbench) formats(b *testing.B) {
	n := w.n / 8
	server := redistest.Start(b)
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			file := w.writeWay(b, way, n)
			format := &contender{"respipe", file, slices.Concat([]string{"respipe", "--window", "max"}, way.args)}
			resp := &contender{"ready-made", w.convert(b, way, file), []string{"respipe", "--window", "max", "-f", "resp"}}
			contenders := []*contender{format, resp}
			peer := &contender{"go-redis", file, []string{"go-redis", way.name}}
			hasPeer := adders[way.name] != nil && way.name != "txt"
			if hasPeer {
				contenders = append(contenders, peer)
			}
			took := w.race(b, server, server.Port, n, contenders...)
			seconds := median(took[format], wallOf)
			b.Run("alone", func(b *testing.B) { way.readAlone(b, filepath.Join(w.dir, file), n) })
			if !hasPeer {
				return
			}
			w.atMost(1.05, "×", way.name+" to HSET, wall time beside the same commands ready-made in RESP", seconds/median(took[resp], wallOf))
			w.atMost(0.60, "×", way.name+" to HSET, wall time beside a go-redis Pipeline of 1000", seconds/median(took[peer], wallOf))
		})
	}
}

// writeWay writes n records to a file and returns its name.
func (w *workbench) writeWay(b *testing.B, way *written, n int) string {
	name := "records." + strings.TrimSuffix(way.name, ".gz")
	w.write(b, name, func(out io.Writer) {
		io.WriteString(out, way.head)
		for i := range n {
			fmt.Fprintf(out, way.record, i)
		}
	})
	if way.pack == "" {
		return name
	}
	if out, err := exec.Command(way.pack, "-f", filepath.Join(w.dir, name)).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return name + ".gz"
}

// convert makes the same commands in RESP.
func (w *workbench) convert(b *testing.B, way *written, file string) string {
	cmd := exec.Command("respipe", slices.Concat([]string{"convert"}, way.args, []string{filepath.Join(w.dir, file)})...)
	w.write(b, file+".ready", func(out io.Writer) {
		cmd.Stdout = out
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	})
	return file + ".ready"
}

// readAlone takes all commands of a file, which nobody sends.
func (way *written) readAlone(b *testing.B, file string, n int) {
	var allocated uint64
	var took []time.Duration
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		took = append(took, way.read(b, file, n))
		runtime.ReadMemStats(&after)
		allocated = after.Mallocs - before.Mallocs
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(took, time.Duration.Seconds)/float64(n)*1e9, "ns/record")
	b.ReportMetric(float64(allocated)/float64(n), "allocs/record")
}

func (way *written) read(b *testing.B, file string, n int) time.Duration {
	opt := way.opt
	opt.Limit, opt.MaxRecord = -1, 128<<20
	source, err := formats.Open([]string{file}, opt)
	if err != nil {
		b.Fatal(err)
	}
	defer source.Close()
	began, read := time.Now(), 0
	var c parser.Command
	for err = source.Next(&c); err == nil; err = source.Next(&c) {
		read++
	}
	if err != io.EOF || read != n {
		b.Fatalf("%d of %d records: %v", read, n, err)
	}
	return time.Since(began)
}
