package formats

import "bufio"

// beginning returns the first of heads, in which ? is any byte, that r begins
// with, and "" if it is none of them. It reads nothing off r, and waits for no
// more than it must see. An error of r is left for the next Read.
func beginning(r *bufio.Reader, heads []string) string {
	for n := 1; ; n++ {
		seen, err := r.Peek(n)
		head, more := match(seen, heads, err != nil)
		if !more {
			return head
		}
	}
}

// match returns the first of heads that seen begins with. It wants more, unless
// seen is all there is, where one of them is possible that stands before.
func match(seen []byte, heads []string, all bool) (head string, more bool) {
	for _, head := range heads {
		switch {
		case !fits(seen, head):
		case len(seen) >= len(head):
			return head, false
		case !all:
			return "", true
		}
	}
	return "", false
}

// fits reports whether the shorter of seen and head is a prefix of the other.
func fits(seen []byte, head string) bool {
	for i := range min(len(seen), len(head)) {
		if head[i] != '?' && head[i] != seen[i] {
			return false
		}
	}
	return true
}
