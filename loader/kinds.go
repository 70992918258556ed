package loader

import "respipe/parser"

const maxKinds = 200

// Kinds groups errors that say the same but for numbers and quoted text. The
// zero value is ready.
type Kinds struct {
	List []*Kind // in the order of their first errors

	byKey map[string]*Kind
	key   []byte
}

// Count counts an error and returns its kind and its number in it.
func (k *Kinds) Count(text []byte, pos parser.Pos) (*Kind, int64) {
	k.key = appendKey(k.key[:0], text)
	kind := k.byKey[string(k.key)]
	if kind == nil {
		kind = k.add(text, pos)
	}
	kind.Count++
	return kind, kind.Count
}

// add makes a kind; when there are too many, what is new shares the last one.
func (k *Kinds) add(text []byte, pos parser.Pos) *Kind {
	if len(k.List) == maxKinds {
		last := k.List[maxKinds-1]
		last.Text = "other errors"
		return last
	}
	kind := &Kind{Text: string(text), First: pos}
	k.List = append(k.List, kind)
	if k.byKey == nil {
		k.byKey = make(map[string]*Kind)
	}
	k.byKey[string(k.key)] = kind
	return kind
}

// appendKey appends text with each number and each quoted part reduced to one
// byte.
func appendKey(dst, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\'' || c == '"' || c == '`':
			dst = append(dst, c)
			i = closing(text, i)
		case c >= '0' && c <= '9':
			if n := len(dst); n == 0 || dst[n-1] != '0' {
				dst = append(dst, '0')
			}
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// closing returns the index of the quote that closes the one at i, or of the
// last byte.
func closing(text []byte, i int) int {
	for j := i + 1; j < len(text); j++ {
		if text[j] == text[i] || text[i] == '`' && text[j] == '\'' {
			return j
		}
	}
	return len(text) - 1
}
