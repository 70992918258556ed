package formats

import (
	"bytes"
	"io"
)

// findLineEnd looks how the lines of a table end: in CR, as of old, where one
// stands in the first room bytes of the file and no LF does; else in LF or CRLF.
// It waits for no more than the first LF. Its errors are those of Fill, but for
// the end of the file.
func (in *Input) findLineEnd() error {
	for seen := 0; ; {
		b := in.Bytes()
		b = b[:min(len(b), room)]
		if bytes.IndexByte(b[seen:], '\n') >= 0 {
			return nil
		}
		seen = len(b)
		if seen < room {
			if err := in.Fill(); err == nil {
				continue
			} else if err != io.EOF {
				return err
			}
		}
		if i := bytes.IndexByte(b, '\r'); 0 <= i && i < len(b)-1 {
			in.eol = '\r'
		}
		return nil
	}
}
