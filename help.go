package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"respipe/formats"
)

const helpHead = `respipe loads data into Redis and Valkey: command files, RESP, CSV and plain lines.

usage:
  respipe [options] [FILE...]    load; the same as respipe load
  respipe help [command]         print this
  respipe --version              print the version

A FILE may be a glob; - is standard input, and so is no FILE at all. Options may
stand before and after FILEs; -- ends them.
`

const helpFoot = `
Templates make commands of records. {name} is the value of a column, {text} the line
in format lines. The line is split into arguments before values go in, so a value
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
  seq 1 10000 | respipe -f lines --cmd 'SET book:{text}:views 0'
`

// help prints how respipe is used, on standard output.
func (p *program) help(c *cli.Context) error {
	if topic := c.Args().First(); c.Command.Name == "help" && topic != "" && topic != "load" && topic != "help" {
		return &formats.UsageError{Msg: "no command " + quoted(topic), Hint: "the commands are load and help"}
	}
	io.WriteString(p.stdout, helpText())
	return nil
}

func helpText() string {
	var text strings.Builder
	text.WriteString(helpHead)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.StripEscape)
	category := ""
	for _, f := range options() {
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
	text.WriteString(helpFoot)
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
