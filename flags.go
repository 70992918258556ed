package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// options returns every option, in the order of the help. All but the
// switches are strings: readSettings reads them, so that every mistake is told
// in the same words.
func options() []cli.Flag {
	return slices.Concat(
		section("Connection",
			text("host h", "server `HOST` (127.0.0.1)"),
			text("port p", "server `PORT` (6379)"),
			text("socket s", "`PATH` of a unix socket instead"),
			text("url u", "`URL` redis://user:password@host:port/db or unix://path; also REDIS_URL, but not with --pipe"),
			text("user", "log in as `NAME`, of the server's ACL"),
			text("pass a", "`PASSWORD`; also REDISCLI_AUTH or VALKEYCLI_AUTH, which no process list shows"),
			text("pass-file", "`FILE` whose first line is the password"),
			text("db n", "database `NUMBER` (0)"),
			text("connect-timeout t", "`TIME` to connect and log in within (5s, 0 for ever)"),
			toggle("pipe", "accepted for the sake of redis-cli, as are -2 -3 -4 -6 -e --raw --no-raw --no-auth-warning"),
		),
		section("Input",
			text("format f", "`FORMAT` commands, resp, csv, lines or auto (auto: by extension, then by the first bytes)"),
			text("delimiter", "`CHAR` between the fields of CSV (,); \\t is a tab"),
			text("columns", "`NAMES` a,b,c of the columns of a file without a header"),
			toggle("no-header", "the first record is data; without --columns the columns are 1, 2, 3 ..."),
			text("null", "`TEXT` of a CSV field that means no value (none)"),
			text("skip", "pass over the first `N` records"),
			text("limit", "read `N` records at most, after those passed over"),
			text("max-record", "refuse records longer than `SIZE` (128MiB)"),
		),
		section("Record to command",
			text("key", "`TEMPLATE` of the key, as user:{id}"),
			text("type", "`TYPE` of the keys: hash or string (hash)"),
			text("value", "`TEMPLATE` of the value, for strings"),
			text("fields", "`NAMES` a,b of the columns that go into a hash (all)"),
			repeated("cmd", "`TEMPLATE` of any command, instead of --key; repeatable: several commands for each record"),
		),
		section("Pipeline",
			text("window", "how many commands may be unanswered: `N`, or max to bound their bytes only (1000)"),
			text("window-bytes", "`SIZE` of the commands that may be unanswered (8MiB)"),
			text("timeout pipe-timeout", "`TIME` without a reply after which the server is given up (30s, 0 for ever)"),
		),
		section("Errors",
			text("max-errors", "stop once there are more than `N` (no limit)"),
			text("expect", "fewer than `N` records are an error"),
		),
		section("Report",
			toggle("quiet q", "print nothing but errors"),
			toggle("show-values", "show values in error messages (never passwords)"),
			toggle("dry-run", "check all of the input and load its first 10,000 records, or --limit, into an in-process Redis"),
			toggle("help", "print this"),
			toggle("version", "print the version"),
		),
		ignored(),
	)
}

// ignored returns the options of redis-cli that change nothing here.
func ignored() []cli.Flag {
	var flags []cli.Flag
	for _, name := range []string{"2", "3", "4", "6", "e", "raw", "no-raw", "no-auth-warning"} {
		flags = append(flags, &cli.BoolFlag{Name: name, Hidden: true})
	}
	return flags
}

func section(category string, flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Category = category
		case *cli.StringSliceFlag:
			f.Category = category
		case *cli.BoolFlag:
			f.Category = category
		}
	}
	return flags
}

func text(names, usage string) cli.Flag {
	name, aliases := split(names)
	return &cli.StringFlag{Name: name, Aliases: aliases, Usage: usage}
}

func repeated(names, usage string) cli.Flag {
	name, aliases := split(names)
	return &cli.StringSliceFlag{Name: name, Aliases: aliases, Usage: usage}
}

func toggle(names, usage string) cli.Flag {
	name, aliases := split(names)
	return &cli.BoolFlag{Name: name, Aliases: aliases, Usage: usage}
}

func split(names string) (name string, aliases []string) {
	all := strings.Fields(names)
	return all[0], all[1:]
}
