package formats

import (
	"fmt"
	"slices"
	"strings"
)

// charsetNames are names that people use, for the one who has mistyped his.
const charsetNames = `utf-8 utf-16 utf-16le utf-16be latin1 latin2 ascii macintosh
	iso-8859-1 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-9
	iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 ibm866 koi8-r koi8-u
	windows-874 windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256
	windows-1257 windows-1258 gbk gb2312 gb18030 big5 euc-jp iso-2022-jp shift_jis euc-kr`

// unknownCharset says that there is no such encoding, and names those whose
// names are nearest.
func unknownCharset(name string) *UsageError {
	const most = 3
	var near []string
	typed := letters(name)
	best := (len(typed) + 1) / 2 // a name that differs by more is not near
	for candidate := range strings.FieldsSeq(charsetNames) {
		d := distance(typed, letters(candidate))
		if d < best {
			best, near = d, nil
		}
		if d == best && len(near) < most {
			near = append(near, candidate)
		}
	}
	e := usagef("unknown --encoding %q", name)
	if len(near) == 0 {
		near = []string{"utf-8", "utf-16", "latin1", "windows-1252"}
	}
	e.Hint = fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
	return e
}

// letters returns the letters and digits of a name, in lower case.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// distance is how many bytes must be put in, taken out or changed to make b of
// a.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of all of a so far, to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{change, row[j] + 1, row[j+1] + 1})
		}
	}
	return row[len(b)]
}
