package formats

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"respipe/parser"
)

// part is one line of a manifest: a file of an append-only directory.
type part struct {
	file string
	seq  int64
	kind string // b: the base; i: an increment to it; h: no longer needed
}

// appendOnly returns the files of an append-only directory, of which names are
// all files, in the order in which they are loaded. There are none if there is
// no manifest: then it is something else. The error is a *UsageError.
func appendOnly(dir string, names []string) ([]input, error) {
	manifest := ""
	for _, name := range names {
		if filepath.Ext(name) != ".manifest" || strings.HasPrefix(name, "temp-") { // a crash may leave one
			continue
		}
		if manifest != "" {
			return nil, usagef("%s: there are two manifests, %s and %s", dir, manifest, name)
		}
		manifest = name
	}
	if manifest == "" {
		return nil, nil
	}
	parts, err := readManifest(filepath.Join(dir, manifest))
	if err != nil {
		return nil, err
	}
	var files []input
	for _, p := range parts {
		files = append(files, input{name: filepath.Join(dir, p.file), format: &aofPartFormat})
	}
	files[len(files)-1].format = &aofFormat
	return files, nil
}

// readManifest returns the parts that a manifest names and that are needed, the
// base first. The error is a *UsageError.
func readManifest(path string) ([]part, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("%s: %v", path, reason(err))
	}
	var parts []part
	bases, line := 0, 0
	for text := range strings.Lines(string(text)) {
		line++
		p, ok := parsePart(text)
		if !ok {
			return nil, usagef("%s:%d: this is no line of a manifest", path, line)
		}
		switch p.kind {
		case "b":
			bases++
			parts = append(parts, p)
		case "i":
			parts = append(parts, p)
		}
	}
	if bases > 1 || len(parts) == 0 {
		return nil, usagef("%s: %d bases and %d other files are no append-only file", path, bases, len(parts)-bases)
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), cmp.Compare(a.seq, b.seq))
	})
	return parts, nil
}

// parsePart reads a line of a manifest: file NAME seq NUMBER type KIND. A remark
// is a part without a kind.
func parsePart(line string) (p part, ok bool) {
	if strings.HasPrefix(line, "#") {
		return part{}, true
	}
	words, _, err := parser.SplitArgs(nil, nil, []byte(strings.TrimRight(line, "\r\n")))
	if err != nil || len(words)%2 != 0 {
		return part{}, false
	}
	for i := 0; i < len(words); i += 2 {
		switch value := string(words[i+1]); string(words[i]) {
		case "file":
			p.file = value
		case "seq":
			if p.seq, err = strconv.ParseInt(value, 10, 64); err != nil {
				return part{}, false
			}
		case "type":
			p.kind = value
		}
	}
	isName := p.file != "" && p.file != ".." && p.file == filepath.Base(p.file)
	return p, isName && slices.Contains([]string{"b", "i", "h"}, p.kind)
}
