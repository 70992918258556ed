package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	record string // with the record's number, twice
	pack   string // program that packs the file
	opt    formats.Options
	args   []string // that stand for opt on the command line
}

var (
	asHash  = formats.Options{Key: "u:{id}"}
	hashArg = []string{"--key", "u:{id}"}
)

var ways = []written{
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

// BenchmarkFormats loads the same records out of each format, beside the same
// commands ready-made in RESP, and reports medians of five: nanoseconds a
// record that the format takes alone, without a server, its allocations, and
// wall time as a multiple of that of the ready-made commands.
func BenchmarkFormats(b *testing.B) {
	n := benchSize(b) / 4
	dir := b.TempDir()
	respipe := buildRespipe(b, dir)
	server := redistest.Start(b)
	for _, w := range ways {
		b.Run(w.name, func(b *testing.B) {
			file := w.write(b, dir, n)
			ready := w.convert(b, respipe, file)
			format := &contender{input: file, args: append([]string{"respipe", "--window", "max"}, w.args...)}
			resp := &contender{input: ready, args: []string{"respipe", "--window", "max", "-f", "resp"}}
			var alone, loaded, beside []figures
			var allocs float64
			for range rounds {
				took, each := w.readAlone(b, file, n)
				alone, allocs = append(alone, figures{wall: took}), each
				for c, runs := range map[*contender]*[]figures{format: &loaded, resp: &beside} {
					server.CLI("FLUSHALL")
					*runs = append(*runs, c.run(b, "", respipe, server))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(median(alone).wall.Nanoseconds())/float64(n), "ns/record")
			b.ReportMetric(allocs, "allocs/record")
			b.ReportMetric(median(loaded).wall.Seconds()/median(beside).wall.Seconds(), "x-resp")
		})
	}
}

// write writes n records to a file in dir.
func (w *written) write(b *testing.B, dir string, n int) string {
	name := filepath.Join(dir, "records."+strings.TrimSuffix(w.name, ".gz"))
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	io.WriteString(out, w.head)
	for i := range n {
		fmt.Fprintf(out, w.record, i)
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if w.pack == "" {
		return name
	}
	if out, err := exec.Command(w.pack, "-f", name).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return name + ".gz"
}

// convert makes the same commands in RESP.
func (w *written) convert(b *testing.B, respipe, file string) string {
	name := file + ".ready"
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(respipe, append(append([]string{"convert"}, w.args...), file)...)
	cmd.Stdout = f
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return name
}

// readAlone takes all commands of a file, which nobody sends.
func (w *written) readAlone(b *testing.B, file string, n int) (took time.Duration, allocs float64) {
	opt := w.opt
	opt.Limit, opt.MaxRecord = -1, 128<<20
	source, err := formats.Open([]string{file}, opt)
	if err != nil {
		b.Fatal(err)
	}
	defer source.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, read := time.Now(), 0
	var c parser.Command
	for err = source.Next(&c); err == nil; err = source.Next(&c) {
		read++
	}
	took = time.Since(began)
	runtime.ReadMemStats(&after)
	if err != io.EOF || read != n {
		b.Fatalf("%d of %d records: %v", read, n, err)
	}
	return took, float64(after.Mallocs-before.Mallocs) / float64(n)
}
