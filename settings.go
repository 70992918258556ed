package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"respipe/formats"
	"respipe/loader"
)

// settings is what the options say, read and checked.
type settings struct {
	files      []string
	input      formats.Options
	server     endpoint
	load       loader.Config // without its functions
	expect     int64
	quiet      bool
	showValues bool
	dryRun     bool
}

// config joins the settings with what watches the load.
func (s *settings) config(c *console) loader.Config {
	cfg := s.load
	cfg.Dial, cfg.User, cfg.Pass, cfg.DB = s.server.dial, s.server.user, s.server.pass, s.server.db
	cfg.CountKeys = c.introduces()
	cfg.OnConnect, cfg.OnSettled = c.connected, c.settled
	return cfg
}

// readSettings reads the options of c. The error is a *formats.UsageError.
func readSettings(c *cli.Context, program string) (*settings, error) {
	o := &optionReader{Context: c}
	s := &settings{
		files: c.Args().Slice(),
		input: formats.Options{
			Format: c.String("format"), Delimiter: o.delimiter(), Columns: o.names("columns"), NoHeader: c.Bool("no-header"), Null: o.null(),
			Skip: o.count("skip", 0), Limit: o.count("limit", -1), MaxRecord: o.size("max-record", 128<<20),
			Key: c.String("key"), Value: c.String("value"), Type: c.String("type"), Cmds: c.StringSlice("cmd"), Fields: o.names("fields"),
		},
		load: loader.Config{
			ConnectTimeout: o.duration("connect-timeout", 5*time.Second), Timeout: o.duration("timeout", 30*time.Second),
			Window: o.window(), WindowBytes: o.size("window-bytes", 8<<20), MaxErrors: o.count("max-errors", -1),
		},
		expect: o.count("expect", 0), quiet: c.Bool("quiet"), showValues: c.Bool("show-values"), dryRun: c.Bool("dry-run"),
	}
	s.server = o.endpoint(program)
	return s, o.err
}

// optionReader reads the values of options and keeps the first mistake.
type optionReader struct {
	*cli.Context
	err error
}

func (o *optionReader) mistake(name, says, hint string) {
	if o.err == nil {
		o.err = &formats.UsageError{Msg: "--" + name + ": " + says, Hint: hint}
	}
}

// count reads a number that is not negative.
func (o *optionReader) count(name string, preset int64) int64 {
	if !o.IsSet(name) {
		return preset
	}
	n, err := strconv.ParseInt(o.String(name), 10, 64)
	if err != nil || n < 0 {
		o.mistake(name, quoted(o.String(name))+" is no number from 0 up", "")
	}
	return n
}

func (o *optionReader) size(name string, preset int64) int64 {
	if !o.IsSet(name) {
		return preset
	}
	n, ok := parseSize(o.String(name))
	if !ok {
		o.mistake(name, quoted(o.String(name))+" is no size", "sizes are written 65536, 64KiB, 8MiB or 10MB")
	}
	return n
}

func (o *optionReader) duration(name string, preset time.Duration) time.Duration {
	if !o.IsSet(name) {
		return preset
	}
	d, ok := parseDuration(o.String(name))
	if !ok {
		o.mistake(name, quoted(o.String(name))+" is no time", "times are written 30 (seconds), 500ms, 30s or 5m; 0 is for ever")
	}
	return d
}

// window reads --window; 0 bounds the bytes only.
func (o *optionReader) window() int {
	switch word := o.String("window"); {
	case !o.IsSet("window"):
		return 1000
	case word == "max":
		return 0
	default:
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < 1 {
			o.mistake("window", quoted(word)+" is no number from 1 up", "or --window max, to bound the bytes only")
		}
		return int(n)
	}
}

func (o *optionReader) delimiter() byte {
	switch char := o.String("delimiter"); {
	case !o.IsSet("delimiter"):
		return ','
	case char == `\t`:
		return '\t'
	case len(char) != 1 || strings.Contains("\"\r\n", char):
		o.mistake("delimiter", quoted(char)+" is not one byte that can stand between fields", "")
		return 0
	default:
		return char[0]
	}
}

func (o *optionReader) null() *string {
	if !o.IsSet("null") {
		return nil
	}
	token := o.String("null")
	return &token
}

// names reads a list as a,b,c.
func (o *optionReader) names(name string) []string {
	if !o.IsSet(name) {
		return nil
	}
	list := strings.Split(o.String(name), ",")
	if slices.Contains(list, "") {
		o.mistake(name, quoted(o.String(name))+" holds an empty name", "")
	}
	return list
}

var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

// parseSize reads a size in bytes, from 1 up: 65536, 64KiB, 8MiB, 10MB.
func parseSize(text string) (bytes int64, ok bool) {
	for _, unit := range units {
		digits, found := strings.CutSuffix(text, unit.name)
		if found {
			n, err := strconv.ParseInt(digits, 10, 64)
			return n * unit.bytes, err == nil && n > 0 && n <= math.MaxInt64/unit.bytes
		}
	}
	return 0, false
}

// parseDuration reads a time; plain numbers are seconds.
func parseDuration(text string) (d time.Duration, ok bool) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
