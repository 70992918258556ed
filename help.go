package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"respipe/formats"
)

const helpHead = `respipe loads data into Redis and Valkey: command files, RESP, append-only files,
CSV, TSV, JSON and plain lines, packed or not.

usage:
  respipe [options] [FILE...]            load; the same as respipe load
  respipe convert [options] [FILE...]    write the commands instead of sending them
  respipe help [command]                 print this, or the help of a command
  respipe --version                      print the version

A FILE may be a glob or a folder, whose files are read in the order of their names;
- is standard input, and so is no FILE at all. Options may stand before and after
FILEs; -- ends them. gzip, zstd, bzip2, xz and lz4 are recognised by their first bytes.
`

const convertHead = `respipe convert writes the commands that respipe would send to standard output, and
its counts to standard error.

usage:
  respipe convert [options] [FILE...]

A FILE is what it is for respipe load: see respipe help.
`

const convertFoot = `
RESP is what redis-cli --pipe reads. With --as commands, each line is read back to
the same bytes by respipe and by redis-cli. A block of MULTI in which a line was
refused ends with DISCARD, so that half of it never runs.

Exit status: 0 all was written; 1 some records were refused; 2 usage; 3 stopped by
--max-errors; 5 standard output cannot be written to; 6 the input cannot be read on;
130 and 143 interrupted; 141 nobody reads standard output any more.

Examples:
  respipe convert --key 'user:{id}' users.csv | redis-cli --pipe
  respipe convert --as commands backup.resp | less
  respipe convert --slots commands.txt > /dev/null
`

const helpFoot = `
Templates make commands of records. {name} is the value of a column, {a.b[0].c} a path
into JSON, {text} the line in format lines; {tags...} spreads an array of JSON into
several arguments. The line is split into arguments before values go in, so a value
with spaces, quotes or newlines stays one argument. {{ and }} are literal braces;
{user:{id}}:profile keeps the outer pair: a hash tag.

The window is what has been sent and not been answered. A larger one is faster on a
slow network, and makes other clients of the server wait longer.

Exit status: 0 all went in; 1 some records were refused; 2 usage; 3 stopped by
--max-errors; 4 no connection; 5 connection lost, or no reply in time; 6 the input
cannot be read on; 130 and 143 interrupted.

Examples:
  respipe < commands.txt
  respipe --key 'user:{id}' users.csv
  respipe --type string --key 'sess:{id}' --value '{token}' sessions.csv
  respipe --cmd 'SADD {id}:tags {tags...}' users.jsonl.gz
  seq 1 10000 | respipe -f lines --cmd 'SET book:{text}:views 0'
`

// help prints how respipe is used, on standard output.
func (p *program) help(c *cli.Context) error {
	topic := cmp.Or(c.Args().First(), "load")
	if !slices.Contains(commands, topic) {
		return &formats.UsageError{Msg: "no command " + quoted(topic), Hint: "the commands are " + strings.Join(commands, ", ")}
	}
	io.WriteString(p.stdout, helpText(topic))
	return nil
}

func helpText(command string) string {
	var text strings.Builder
	head, foot := helpHead, helpFoot
	if command == "convert" {
		head, foot = convertHead, convertFoot
	}
	text.WriteString(head)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.StripEscape)
	category := ""
	for _, f := range optionsOf(command) {
		if v, ok := f.(cli.VisibleFlag); !ok || !v.IsVisible() {
			continue
		}
		if next := f.(cli.CategorizableFlag).GetCategory(); next != category {
			category = next
			fmt.Fprintf(table, "\n%s:\n", category)
		}
		placeholder, usage := unquoteUsage(f.(cli.DocGenerationFlag).GetUsage())
		fmt.Fprintf(table, "  %s\t%s\n", optionNames(f)+placeholder, usage)
	}
	table.Flush()
	text.WriteString(foot)
	return text.String()
}

// optionNames writes the names of an option, the short one first.
func optionNames(f cli.Flag) string {
	names := f.Names()
	text := dashed(names[0])
	for _, alias := range names[1:] {
		if len(alias) == 1 {
			text = dashed(alias) + ", " + text
		} else {
			text += ", " + dashed(alias)
		}
	}
	return text
}

// unquoteUsage takes the placeholder in backquotes out of a usage, and the
// quotes off.
func unquoteUsage(usage string) (placeholder, text string) {
	if _, quoted, found := strings.Cut(usage, "`"); found {
		placeholder, _, _ = strings.Cut(quoted, "`")
		placeholder = " " + placeholder
	}
	return placeholder, strings.ReplaceAll(usage, "`", "")
}
