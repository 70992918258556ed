package formats

import (
	"fmt"
	"slices"
	"strings"
)

// kind is a --type: the command of a record, behind whose key stand a fixed
// argument, one for each option that it takes, and the rest.
type kind struct {
	name    string
	command string
	fixed   string   // "" for none
	takes   []string // options, in the order of the arguments
	rest    rest
	adds    bool // to what other records have put under the same key
	spreads bool // its last argument may be a spread
}

// rest is what ends a command.
type rest uint8

const (
	nothing  rest = iota
	fields        // names and values
	document      // them as one JSON object
)

var kinds = []kind{
	{name: "hash", command: "HSET", rest: fields},
	{name: "string", command: "SET", takes: []string{"value"}},
	{name: "list", command: "RPUSH", takes: []string{"value"}, adds: true, spreads: true},
	{name: "set", command: "SADD", takes: []string{"member"}, adds: true, spreads: true},
	{name: "zset", command: "ZADD", takes: []string{"score", "member"}, adds: true},
	{name: "stream", command: "XADD", fixed: "*", rest: fields, adds: true},
	{name: "geo", command: "GEOADD", takes: []string{"lon", "lat", "member"}, adds: true},
	{name: "json", command: "JSON.SET", fixed: "$", rest: document},
}

// setting is an option that goes with some types only.
type setting struct{ name, text string }

// arguments are the options whose text is the template of an argument.
func (o *Options) arguments() []setting {
	return []setting{
		{"value", o.Value}, {"member", o.Member}, {"score", o.Score}, {"lon", o.Lon}, {"lat", o.Lat},
	}
}

// needsKey returns the name of an option that stands there without the --key
// that it needs; "" if there is none.
func (o *Options) needsKey() string {
	given := append(o.arguments(), setting{"type", o.Type}, setting{"ttl", o.TTL}, setting{"expire-at", o.ExpireAt},
		setting{"fields", strings.Join(o.Fields, "")}, setting{"exclude", strings.Join(o.Exclude, "")},
		setting{"rename", strings.Join(o.Rename, "")})
	for _, s := range given {
		if s.text != "" {
			return s.name
		}
	}
	if o.Replace {
		return "replace"
	}
	return ""
}

// findKind returns the type with this name. The error is a *UsageError.
func findKind(name string) (*kind, error) {
	var names []string
	for i := range kinds {
		if kinds[i].name == name || name == "" {
			return &kinds[i], nil
		}
		names = append(names, kinds[i].name)
	}
	return nil, usagef("unknown --type %q, there are %s", name, strings.Join(names, ", "))
}

// check looks whether the options go with the type. The error is a *UsageError.
func (k *kind) check(opt *Options) error {
	for _, s := range opt.arguments() {
		if s.text != "" && !slices.Contains(k.takes, s.name) {
			return &UsageError{
				Msg:  fmt.Sprintf("--%s is nothing to --type %s", s.name, k.name),
				Hint: "it goes with --type " + takers(s.name),
			}
		}
		if s.text == "" && s.name != "value" && slices.Contains(k.takes, s.name) {
			return usagef("--type %s needs --%s", k.name, s.name)
		}
	}
	selects := len(opt.Fields) > 0 || len(opt.Exclude) > 0 || len(opt.Rename) > 0
	if selects && k.rest == nothing {
		return &UsageError{
			Msg:  "--fields, --exclude and --rename are nothing to --type " + k.name,
			Hint: "they are for hashes, streams and JSON documents",
		}
	}
	if opt.Replace && !k.adds && k.rest != fields {
		return usagef("--replace is nothing to --type %s, which replaces what was there anyway", k.name)
	}
	return nil
}

// takers are the types that take an option.
func takers(option string) string {
	var names []string
	for _, k := range kinds {
		if slices.Contains(k.takes, option) {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, ", ")
}
