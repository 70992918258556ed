package formats

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestFingerprint(t *testing.T) {
	null := ""
	base := Options{Key: "u:{id}", Cmds: nil, Fields: []string{"a", "b"}}
	tests := []struct {
		name   string
		change func(*Options)
		want   string // the options named; empty: nothing differs
	}{
		{"nothing", func(*Options) {}, ""},
		{"limit", func(o *Options) { o.Limit = 7 }, ""},
		{"what is kept", func(o *Options) { o.KeepSource = true }, ""},
		{"defaults", func(o *Options) { o.Format, o.Type, o.Missing = "auto", "hash", "reject" }, ""},
		{"format", func(o *Options) { o.Format = "csv" }, "--format"},
		{"key", func(o *Options) { o.Key = "u:{name}" }, "--key"},
		{"no key", func(o *Options) { o.Key = "" }, "--key"},
		{"order of fields", func(o *Options) { o.Fields = []string{"b", "a"} }, "--fields"},
		{"joined fields", func(o *Options) { o.Fields = []string{"ab"} }, "--fields"},
		{"null", func(o *Options) { o.Null = &null }, "--null"},
		{"several", func(o *Options) { o.Skip, o.Delimiter, o.Missing = 1, ";", "skip" }, "--delimiter, --missing, --skip"},
		{"switches", func(o *Options) { o.NoHeader, o.Ragged, o.Replace = true, true, true }, "--no-header, --ragged, --replace"},
		{"templates", func(o *Options) { o.TTL, o.ExpireAt, o.Value = "1", "2", "{v}" }, "--expire-at, --ttl, --value"},
		{"commands", func(o *Options) { o.Cmds = []string{"AUTH s3cret"} }, "--cmd"},
		{"dialect", func(o *Options) { o.Escape, o.Encoding, o.Columns = '\\', "latin1", []string{"a"} }, "--columns, --encoding, --escape"},
		{"max-record", func(o *Options) { o.MaxRecord = 1 }, "--max-record"},
	}
	for _, tt := range tests {
		opt := base
		tt.change(&opt)
		for _, err := range []error{base.Fingerprint().Compare(&opt), opt.Fingerprint().Compare(&base)} {
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ", by "+tt.want)) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
			}
		}
	}
}

// TestFingerprintIsWhole holds that no option is forgotten: one that decides
// nothing is named here.
func TestFingerprintIsWhole(t *testing.T) {
	decidesNothing := map[string]bool{"Stdin": true, "Limit": true, "KeepSource": true, "Note": true}
	fields := reflect.TypeFor[Options]()
	for i := range fields.NumField() {
		if name := fields.Field(i).Name; !decidesNothing[name] {
			var opt Options
			fill(reflect.ValueOf(&opt).Elem().Field(i))
			if len(opt.Fingerprint()) != 1 {
				t.Errorf("%s is not in the fingerprint", name)
			}
		}
	}
}

// fill gives a field a value that is not its zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{"x"}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	}
}

// TestFingerprintHidesTexts holds that no password can be read from it, and
// that it survives JSON.
func TestFingerprintHidesTexts(t *testing.T) {
	opt := Options{Cmds: []string{"AUTH s3cret"}}
	text, err := json.Marshal(opt.Fingerprint())
	if err != nil || strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "AUTH") {
		t.Fatalf("got %s, %v", text, err)
	}
	var f Fingerprint
	if err := json.Unmarshal(text, &f); err != nil || f.Compare(&opt) != nil {
		t.Errorf("got %v, %v", f, err)
	}
}
