package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// optionsOf returns the options of a command, in the order of the help. All
// but the switches are strings: readSettings reads them, so that every mistake
// is told in the same words.
func optionsOf(command string) []cli.Flag {
	if command == "convert" {
		return slices.Concat(inputOptions(), recordOptions(), convertOptions())
	}
	return slices.Concat(connectionOptions(), inputOptions(), recordOptions(), loadOptions(), ignored())
}

func connectionOptions() []cli.Flag {
	return section("Connection",
		repeated("host h", "server `HOST` (127.0.0.1); repeatable: any one of these will do"),
		text("port p", "server `PORT` (6379)"),
		text("socket s", "`PATH` of a unix socket instead"),
		text("url u", "`URL` redis://user:password@host:port/db, rediss:// for TLS, unix://path; REDIS_URL, too, but not with --pipe"),
		text("user", "log in as `NAME`, of the server's ACL"),
		text("pass a", "`PASSWORD`; also REDISCLI_AUTH or VALKEYCLI_AUTH, which no process list shows"),
		toggle("askpass", "ask for the password on the terminal"),
		text("pass-file", "`FILE` whose first line is the password"),
		text("db n", "database `NUMBER` (0)"),
		text("connect-timeout t", "`TIME` to connect and log in within (5s, 0 for ever)"),
		toggle("tls", "talk TLS, as rediss:// does"),
		text("cacert", "`FILE` with the certificates of the authorities to trust (those of the system)"),
		text("cacertdir", "`FOLDER` of such files"),
		text("cert", "`FILE` with the certificate of this client"),
		text("tls-key", "`FILE` with its private key"),
		text("sni", "`NAME` that the server's certificate must have (the host)"),
		toggle("insecure", "take any certificate"),
		toggle("cluster c", "insist on a cluster; one is recognised without"),
		repeated("node-address", "`A=B` the node of a cluster that announces address A is reached at B; repeatable"),
		repeated("sentinel", "`HOST:PORT` of a sentinel to ask for the master; repeatable"),
		text("sentinel-master", "`NAME` of the master (mymaster)"),
		toggle("pipe", "accepted for the sake of redis-cli, as are -2 -3 -4 -6 -e --raw --no-raw --no-auth-warning"),
	)
}

func inputOptions() []cli.Flag {
	return section("Input",
		text("format f", "`FORMAT` commands, resp, aof, csv, tsv, json, lines or auto (auto: by extension, then by the first bytes)"),
		text("delimiter", "`TEXT` between the fields of CSV and TSV (, and a tab); \\t is a tab"),
		text("columns", "`NAMES` a,b,c of the columns of a CSV or TSV file without a header"),
		toggle("no-header", "the first record is data; without --columns the columns are 1, 2, 3 ..."),
		toggle("ragged", "take records of CSV and TSV that are shorter or longer than the header"),
		text("escape", "`CHAR` that escapes the next one in CSV, besides the doubled quote (none)"),
		text("null", "`TEXT` of a field of CSV or TSV that means no value (none; \\N in TSV)"),
		text("encoding", "`NAME` of the encoding, as utf-16 or windows-1252 (bytes pass as they are; a byte order mark wins)"),
		text("skip", "pass over the first `N` records"),
		text("limit", "read `N` records at most, after those passed over"),
		text("max-record", "refuse records longer than `SIZE` (128MiB)"),
	)
}

func recordOptions() []cli.Flag {
	return section("Record to command",
		text("key", "`TEMPLATE` of the key, as user:{id}"),
		text("type", "`TYPE` of the keys: hash, string, list, set, zset, stream, geo or json (hash)"),
		text("value", "`TEMPLATE` of the value, for strings and lists"),
		text("member", "`TEMPLATE` of the member, for set, zset and geo"),
		text("score", "`TEMPLATE` of the score, for zset"),
		text("lon", "`TEMPLATE` of the longitude, for geo"),
		text("lat", "`TEMPLATE` of the latitude, for geo"),
		text("fields", "`NAMES` a,b of the columns that go into a hash, stream or json (all)"),
		text("exclude", "`NAMES` a,b of the columns that do not"),
		repeated("rename", "`OLD=NEW` name of a column that goes in; repeatable"),
		text("ttl", "`SECONDS` that each key lives, or a template"),
		text("expire-at", "`TEMPLATE` of the time when each key expires, in seconds since 1970"),
		toggle("replace", "DEL before the first command on a key, so that nothing of last night is left"),
		text("missing", "`WORD` reject, empty or skip: what a placeholder without a value does (reject the record)"),
		repeated("cmd", "`TEMPLATE` of any command, instead of --key; repeatable: several commands for each record"),
	)
}

func convertOptions() []cli.Flag {
	return slices.Concat(
		section("Output",
			text("as", "`WORD` resp, or commands: lines as one types them in redis-cli (resp)"),
			toggle("slots", "count the keys by the slots of a cluster, and show commands whose keys lie in different ones"),
		),
		section("Errors", maxErrors(), expect()),
		section("Report", quiet(), progressOption(), help()),
	)
}

func loadOptions() []cli.Flag {
	return slices.Concat(
		section("Pipeline",
			text("window", "`N` commands may be unanswered; max: any number; auto: as few as keep the server busy (auto)"),
			text("window-bytes", "`SIZE` of the commands that may be unanswered (8MiB)"),
			text("connections", "`N` connections to each server (1); commands on one key always use the same one"),
			text("rate", "at most `N` commands a second (no limit)"),
			text("byte-rate", "at most `SIZE` a second (no limit)"),
			text("timeout pipe-timeout", "`TIME` without a reply after which the server is given up (30s, 0 for ever)"),
		),
		section("Errors",
			maxErrors(),
			expect(),
			text("wait-ready", "`TIME` to wait for a server that is not up, LOADING, BUSY or MASTERDOWN (none)"),
			text("on-disconnect", "`WORD` resume, fail or resend: what a broken connection means (resume)"),
			text("retry-for", "`TIME` to try again what is refused for now, and to connect again (30s)"),
			text("wait-replicas", "only what `N` replicas have, too, counts as acknowledged (0)"),
			text("exactly-once", "`NAME` of a load that takes effect once, however often it is broken off: its position is in the server"),
			text("forget", "remove the position of the load `NAME`, and do nothing else"),
			text("rejects", "`FILE` for the records that did not take effect, to be loaded again; FILE.reasons says why"),
			text("checkpoint", "keep the position in `FILE`; the same line run again goes on from there"),
			text("lock", "leave at once when another run holds `FILE`"),
		),
		section("Report",
			quiet(),
			progressOption(),
			text("summary", "`WORD` text or json: what standard output ends with (text)"),
			text("replies", "`FILE` or named pipe for all replies, as JSON lines"),
			toggle("replies-full", "replies longer than 64 KiB, too, as a whole"),
			text("after", "`COMMAND` sent last, and only when every record went in"),
			toggle("show-values", "show values in error messages (never passwords)"),
			toggle("dry-run", "check all of the input and load its first 10,000 records, or --limit, into an in-process Redis"),
			help(),
			toggle("version", "print the version"),
		),
	)
}

// The options that load and convert have in common.

func maxErrors() cli.Flag {
	return text("max-errors", "stop once there are more than `N`, or N% of the records from 100 on (no limit)")
}

func expect() cli.Flag { return text("expect", "fewer than `N` records are an error") }

func quiet() cli.Flag { return toggle("quiet q", "print nothing but errors") }

func progressOption() cli.Flag {
	return text("progress", "`WORD` bar, plain (a line every 10 s), none or auto (auto: a bar on a terminal)")
}

func help() cli.Flag { return toggle("help", "print this") }

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
