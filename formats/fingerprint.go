package formats

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Fingerprint holds a digest of each option that decides which commands come
// out of an input, by its name on the command line. An option that is not given
// is not in it. No text of an option can be read from it.
type Fingerprint map[string]string

// Fingerprint returns that of the options.
func (o *Options) Fingerprint() Fingerprint {
	f := Fingerprint{}
	f.add("format", without(o.Format, "auto"))
	f.add("encoding", without(o.Encoding))
	f.add("delimiter", without(o.Delimiter))
	f.add("columns", o.Columns)
	f.add("no-header", given(o.NoHeader))
	f.add("ragged", given(o.Ragged))
	if o.Escape != 0 {
		f.add("escape", []string{string(rune(o.Escape))})
	}
	if o.Null != nil {
		f.add("null", []string{*o.Null})
	}
	f.add("skip", number64(o.Skip))
	f.add("max-record", number64(o.MaxRecord))
	f.add("cmd", o.Cmds)
	f.add("key", without(o.Key))
	f.add("type", without(o.Type, "hash"))
	for _, a := range o.arguments() {
		f.add(a.name, without(a.text))
	}
	f.add("fields", o.Fields)
	f.add("exclude", o.Exclude)
	f.add("rename", o.Rename)
	f.add("ttl", without(o.TTL))
	f.add("expire-at", without(o.ExpireAt))
	f.add("replace", given(o.Replace))
	f.add("missing", without(o.Missing, "reject"))
	return f
}

// Compare looks whether the options are those that f is of. The error is a
// *UsageError that names those that are not.
func (f Fingerprint) Compare(o *Options) error {
	now := o.Fingerprint()
	names := maps.Clone(now)
	maps.Copy(names, f)
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if f[name] != now[name] {
			differ = append(differ, "--"+name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return &UsageError{
		Msg:  "other commands would be made of the input than when the checkpoint was written, by " + strings.Join(differ, ", "),
		Hint: "give the same options again, or remove the checkpoint to load all of it",
	}
}

// add adds an option with its values, if it has any.
func (f Fingerprint) add(name string, values []string) {
	if len(values) == 0 {
		return
	}
	b := []byte(name)
	for _, v := range values {
		b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
	}
	sum := sha256.Sum256(b)
	f[name] = hex.EncodeToString(sum[:16])
}

// without returns the value of an option, unless it is what is taken without it.
func without(value string, same ...string) []string {
	if value == "" || slices.Contains(same, value) {
		return nil
	}
	return []string{value}
}

func given(is bool) []string {
	if !is {
		return nil
	}
	return []string{""}
}

func number64(n int64) []string { return without(strconv.FormatInt(n, 10), "0") }
