package formats

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"respipe/parser"
)

// headBytes is how much of the beginning of a file, and before a place in it,
// tells it from others.
const headBytes = 4 << 10

// Identity tells the files of a Mark from others: a file that has only grown is
// the same file. Digests are SHA-256 in hexadecimal.
type Identity struct {
	Files  []FileIdentity `json:"files"`            // all of them
	Before string         `json:"before,omitempty"` // of the 4096 bytes before the place; none where bytes do not pass as they are, or of a pipe
}

// FileIdentity tells one file from others.
type FileIdentity struct {
	Name string `json:"name"`
	Size int64  `json:"size,omitempty"` // bytes; of a pipe, those of the text before the place
	Head string `json:"head,omitempty"` // of the first 4096 bytes of those; none behind the place
}

// Identity returns what tells the files from others at m, which is a Mark of
// this Source. It reads no more than 8 KiB of each regular file up to that of
// m, and what it has read of one that is done it remembers. The error is that of
// a file.
func (s *Source) Identity(m parser.Mark) (id Identity, err error) {
	for len(s.done) < m.File {
		file, err := s.identify(len(s.done), m)
		if err != nil {
			return Identity{}, err
		}
		s.done = append(s.done, file)
	}
	id.Files = append(id.Files, s.done[:m.File]...)
	file, err := s.identify(m.File, m)
	if err != nil {
		return Identity{}, err
	}
	id.Files = append(id.Files, file)
	for _, name := range s.files[m.File+1:] {
		id.Files = append(id.Files, FileIdentity{Name: name})
	}
	if s.verbatim(m.File) {
		id.Before, err = digestBefore(file.Name, m.Offset)
	}
	return id, err
}

// identify returns what tells the i-th file from others.
func (s *Source) identify(i int, m parser.Mark) (FileIdentity, error) {
	id := FileIdentity{Name: s.files[i]}
	size, err := check(id.Name)
	switch {
	case err != nil:
		return id, err
	case size < 0:
		return s.identifyPipe(i, m), nil
	}
	id.Size = size
	id.Head, err = digestOf(id.Name, 0, min(size, headBytes))
	return id, err
}

// identifyPipe is identify for what can be read once only. Where it has not
// been read, as the Source has gone on from behind it, it is what it was.
func (s *Source) identifyPipe(i int, m parser.Mark) FileIdentity {
	head := s.heads[i]
	if i == s.file {
		head = s.in.head
	}
	if i == m.File {
		head = head[:min(int64(len(head)), m.Offset)]
	}
	if len(head) == 0 && i < len(s.given.Files) {
		return s.given.Files[i]
	}
	return FileIdentity{Name: s.files[i], Size: int64(len(head)), Head: digest(head)}
}

// keepHead keeps what identifyPipe needs to know of the file at hand, which is
// done.
func (s *Source) keepHead() {
	if s.in.head == nil {
		return
	}
	if s.heads == nil {
		s.heads = map[int][]byte{}
	}
	s.heads[s.file] = s.in.head
}

// Compare looks whether the files are those of an Identity at m, as far as that
// can be seen without reading a pipe. The error is a *UsageError.
func (s *Source) Compare(id Identity, m parser.Mark) error {
	if m.File >= len(s.files) || len(id.Files) > 0 && len(id.Files) != len(s.files) {
		return usagef("there are %d input files, which are not as many as the checkpoint was written for", len(s.files))
	}
	for i, was := range id.Files {
		name := s.files[i]
		if name != was.Name {
			return usagef("the input %s stands in place of %s, which the checkpoint was written for", shown(name), shown(was.Name))
		}
		if i > m.File || !isRegular(name) {
			continue
		}
		if err := compareFile(was); err != nil {
			return err
		}
	}
	if !s.verbatim(m.File) {
		return nil
	}
	if m.File < len(id.Files) && id.Files[m.File].Size == m.Offset {
		if err := compareEnd(s.files[m.File], m); err != nil {
			return err
		}
	}
	return comparePlace(s.files[m.File], id.Before, m)
}

// compareFile looks whether a regular file is what it was, or has grown.
func compareFile(was FileIdentity) error {
	size, err := check(was.Name)
	if err != nil {
		return err
	}
	if size < was.Size {
		return notTheFile(was.Name, fmt.Sprintf("it had %d bytes, and has %d", was.Size, size))
	}
	n := min(was.Size, headBytes)
	head, err := digestOf(was.Name, 0, n)
	if err == nil && was.Head != "" && head != was.Head {
		err = notTheFile(was.Name, fmt.Sprintf("its first %d bytes differ", n))
	}
	return err
}

// compareEnd looks whether a file that was read to its end has grown by whole
// lines. Values of JSON may stand on one.
func compareEnd(name string, m parser.Mark) error {
	around, err := readAt(name, max(m.Offset-1, 0), 2)
	if err != nil || m.Offset == 0 || len(around) < 2 {
		return err
	}
	if strings.IndexByte("\n\r}]", around[0]) < 0 && strings.IndexByte("\n\r", around[1]) < 0 {
		return notTheFile(name, "its last line was loaded, and has grown since")
	}
	return nil
}

// comparePlace looks whether what stands before a place in a file is what it
// was.
func comparePlace(name, was string, m parser.Mark) error {
	size, err := check(name)
	if err != nil {
		return err
	}
	if size < m.Offset {
		return notTheFile(name, "it ends before the place to go on from")
	}
	now, err := digestBefore(name, m.Offset)
	if err == nil && was != "" && now != was {
		err = notTheFile(name, fmt.Sprintf("the %d bytes before line %d differ", min(m.Offset, headBytes), m.Line))
	}
	return err
}

// comparePipe is compare for what a pipe has brought up to the place.
func (s *Source) comparePipe() error {
	from := s.from
	if from.File >= len(s.given.Files) || isRegular(s.files[from.File]) {
		return nil
	}
	was := s.given.Files[from.File]
	head := s.in.head[:min(int64(len(s.in.head)), from.Offset)]
	if was.Head != "" && was.Head != digest(head) {
		return s.unlike(fmt.Sprintf("its first %d bytes differ", len(head)))
	}
	return nil
}

// notTheFile says that a file is not the one to go on in.
func notTheFile(name, why string) *UsageError {
	return &UsageError{
		Msg:  fmt.Sprintf("%s is not the file the checkpoint was written for: %s", name, why),
		Hint: "remove the checkpoint to load all of it",
	}
}

// Regular reports whether the i-th file is a regular file, and no pipe.
func (s *Source) Regular(i int) bool { return isRegular(s.files[i]) }

// verbatim reports whether the i-th file can be read from any place on: it is
// regular, and neither packed nor decoded.
func (s *Source) verbatim(i int) bool {
	if s.feed.asked != nil || !isRegular(s.files[i]) {
		return false
	}
	head, err := readAt(s.files[i], 0, headBytes)
	wrapped, _ := match(head, append(packedHeads(), bomUTF32LE, bomUTF16LE, bomUTF16BE), true)
	return err == nil && wrapped == ""
}

// digestBefore returns the digest of what stands before an offset; "" at the
// start.
func digestBefore(name string, offset int64) (string, error) {
	return digestOf(name, max(0, offset-headBytes), min(offset, headBytes))
}

// digestOf returns the digest of n bytes of a file; "" for none.
func digestOf(name string, offset, n int64) (string, error) {
	b, err := readAt(name, offset, n)
	return digest(b), err
}

// readAt reads up to n bytes of a file. The error is a *UsageError.
func readAt(name string, offset, n int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("%s: %v", name, reason(err))
	}
	defer f.Close()
	b := make([]byte, n)
	read, err := f.ReadAt(b, offset)
	if err != nil && err != io.EOF {
		return nil, usagef("%s: %v", name, reason(err))
	}
	return b[:read], nil
}

// digest returns the digest of b; "" for none.
func digest(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
