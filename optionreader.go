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
	"respipe/parser"
)

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

// failed notes the error of reading what an option names, if there is one.
func (o *optionReader) failed(name string, err error, hint string) {
	if err != nil {
		o.mistake(name, err.Error(), hint)
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

// connections reads --connections.
func (o *optionReader) connections() int {
	n := o.count("connections", 1)
	if o.err == nil && (n < 1 || n > 1000) {
		o.mistake("connections", quoted(o.String("connections"))+" is no number from 1 to 1000", "")
	}
	return int(n)
}

// word reads one of several words, the first if there is none.
func (o *optionReader) word(name string, words ...string) string {
	if !o.IsSet(name) {
		return words[0]
	}
	word := o.String(name)
	if !slices.Contains(words, word) {
		o.mistake(name, "there is no "+quoted(word), "there are "+strings.Join(words, ", "))
	}
	return word
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

// maxErrors reads --max-errors, a number or a percentage; -1 and 0 are no
// limits.
func (o *optionReader) maxErrors() (most int64, percent float64) {
	digits, isPercentage := strings.CutSuffix(o.String("max-errors"), "%")
	if !isPercentage {
		return o.count("max-errors", -1), 0
	}
	percent, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(percent > 0 && percent <= 100) {
		o.mistake("max-errors", quoted(digits+"%")+" is no percentage above 0%", "--max-errors 0 stops at the first error")
	}
	return -1, percent
}

// rate reads --rate, commands a second; 0 is no limit.
func (o *optionReader) rate() float64 {
	if !o.IsSet("rate") {
		return 0
	}
	rate, err := strconv.ParseFloat(o.String("rate"), 64)
	if err != nil || !(rate > 0) || math.IsInf(rate, 0) {
		o.mistake("rate", quoted(o.String("rate"))+" is no number of commands a second", "")
	}
	return rate
}

// onDisconnect reads --on-disconnect.
func (o *optionReader) onDisconnect() loader.Disconnect {
	return map[string]loader.Disconnect{"resume": loader.Resume, "fail": loader.Fail, "resend": loader.Resend}[o.word("on-disconnect", "resume", "fail", "resend")]
}

// after reads the command of --after.
func (o *optionReader) after() [][]byte {
	if !o.IsSet("after") {
		return nil
	}
	var cols parser.Columns
	cmd, err := parser.ParseCommand(o.String("after"), &cols)
	if err != nil {
		o.mistake("after", err.Error(), "")
		return nil
	}
	args, _, _ := cmd.Expand(nil, nil, make([][]byte, len(cols.Names)))
	switch op := cmd.Op(); {
	case len(cols.Names) > 0:
		o.mistake("after", "there is no record that {"+cols.Names[0]+"} could come from", "literal braces are doubled")
	case op.Class > parser.Repeatable || op.Blocks(args):
		o.mistake("after", op.Name+" means nothing alone on a connection", "")
	}
	return args
}

// window reads --window.
func (o *optionReader) window() int {
	switch word := o.String("window"); {
	case !o.IsSet("window"), word == "auto":
		return loader.WindowAuto
	case word == "max":
		return loader.WindowMax
	default:
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < 1 {
			o.mistake("window", quoted(word)+" is no number from 1 up", "or --window max, to bound the bytes only, or auto")
		}
		return int(n)
	}
}

func (o *optionReader) delimiter() string {
	text := o.String("delimiter")
	switch {
	case text == `\t`:
		return "\t"
	case o.IsSet("delimiter") && (text == "" || strings.ContainsAny(text, "\"\r\n")):
		o.mistake("delimiter", quoted(text)+" cannot stand between fields", "")
	}
	return text
}

func (o *optionReader) escape() byte {
	char := o.String("escape")
	switch {
	case !o.IsSet("escape"):
		return 0
	case len(char) != 1 || strings.Contains("\r\n\x00", char):
		o.mistake("escape", quoted(char)+" is not one byte that can escape others", "")
		return 0
	}
	return char[0]
}

func (o *optionReader) null() *string {
	if !o.IsSet("null") {
		return nil
	}
	token := o.String("null")
	return &token
}

// ownFiles checks the options that name files which respipe writes.
func (o *optionReader) ownFiles() {
	seen := map[string]string{}
	for _, name := range []string{"rejects", "replies", "checkpoint", "lock"} {
		path := o.String(name)
		switch other := seen[path]; {
		case !o.IsSet(name):
		case path == "":
			o.mistake(name, "it needs a name", "")
		case other != "":
			o.mistake(name, quoted(path)+" is that of --"+other+", too", "")
		default:
			seen[path] = name
		}
	}
	if o.IsSet("replies-full") && !o.IsSet("replies") {
		o.mistake("replies-full", "there is no --replies", "add --replies FILE")
	}
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
