package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"respipe/formats"
	"respipe/loader"
)

// settings is what the options say, read and checked.
type settings struct {
	files       []string
	input       formats.Options
	server      endpoint
	load        loader.Config // without its functions
	exactlyOnce string        // name of the load, or ""
	forget      string        // name of the load, or ""
	lock        string        // file, or ""
	rejects     string        // file, or ""
	checkpoint  string        // file, or ""
	replies     string        // file, or ""
	repliesFull bool
	maxErrors   string // as it was typed
	quiet       bool
	progress    string // auto, bar, plain or none
	summary     string // text or json
	showValues  bool
	dryRun      bool
	as          string // of convert: resp or commands
	slots       bool
}

// config joins the settings with what watches the load.
func (s *settings) config(c *console) loader.Config {
	cfg := s.load
	cfg.Dial, cfg.Addrs = s.server.dial, s.server.addrs
	if s.server.sentinels != nil {
		cfg.Master = s.server.sentinels.address
	}
	cfg.User, cfg.Pass, cfg.DB = s.server.user, s.server.pass, s.server.db
	cfg.CountKeys = c.introduces()
	cfg.OnConnect, cfg.OnNote, cfg.OnSettled = c.connected, c.say, c.settled
	return cfg
}

// readSettings reads the options of c. The error is a *formats.UsageError.
func readSettings(c *cli.Context, given *commandLine) (*settings, error) {
	o := &optionReader{Context: c}
	s := &settings{
		files: c.Args().Slice(),
		input: formats.Options{
			Format: c.String("format"), Encoding: c.String("encoding"), Delimiter: o.delimiter(), Escape: o.escape(),
			Columns: o.names("columns"), NoHeader: c.Bool("no-header"), Ragged: c.Bool("ragged"), Null: o.null(),
			Skip: o.count("skip", 0), Limit: o.count("limit", -1), MaxRecord: o.size("max-record", 128<<20),
			Cmds: c.StringSlice("cmd"), Key: c.String("key"), Type: c.String("type"), Value: c.String("value"),
			Member: c.String("member"), Score: c.String("score"), Lon: c.String("lon"), Lat: c.String("lat"),
			Fields: o.names("fields"), Exclude: o.names("exclude"), Rename: c.StringSlice("rename"),
			TTL: c.String("ttl"), ExpireAt: c.String("expire-at"), Replace: c.Bool("replace"), Missing: c.String("missing"),
		},
		load: loader.Config{
			Servers: loader.Servers{
				ConnectTimeout: o.duration("connect-timeout", 5*time.Second), Cluster: c.Bool("cluster"), WaitReady: o.duration("wait-ready", 0),
			},
			Limits: loader.Limits{
				Window: o.window(), WindowBytes: o.size("window-bytes", 8<<20), Rate: o.rate(), ByteRate: o.size("byte-rate", 0),
				Timeout: o.duration("timeout", 30*time.Second),
			},
			Connections: o.connections(), WaitReplicas: int(o.count("wait-replicas", 0)),
			OnDisconnect: o.onDisconnect(), RetryFor: o.duration("retry-for", 30*time.Second),
			After: o.after(), Expect: o.count("expect", 0),
		},
		exactlyOnce: o.name("exactly-once"), forget: o.name("forget"),
		lock: c.String("lock"), rejects: c.String("rejects"), checkpoint: c.String("checkpoint"),
		replies: c.String("replies"), repliesFull: c.Bool("replies-full"), maxErrors: c.String("max-errors"), quiet: c.Bool("quiet"), showValues: c.Bool("show-values"), dryRun: c.Bool("dry-run"),
		as: o.word("as", "resp", "commands"), slots: c.Bool("slots"),
		progress: o.word("progress", "auto", "bar", "plain", "none"), summary: o.word("summary", "text", "json"),
	}
	o.checkOnce(s)
	o.ownFiles()
	s.load.MaxErrors, s.load.MaxErrorsPercent = o.maxErrors()
	if given.command == "load" {
		s.server = o.endpoint(given.program)
	}
	return s, o.err
}
