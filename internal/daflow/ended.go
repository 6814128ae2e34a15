package daflow

import (
	"bytes"
	"io"
)

// endMark is the character that old compilers put behind the last record.
const endMark = 0x1a

// lastByte passes a file on and keeps its last byte: a Fortran program ends each
// record with a line end, so that a file without its last one was cut (H18).
type lastByte struct {
	io.Reader
	b byte
}

func (l *lastByte) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if n > 0 {
		l.b = p[n-1]
	}
	return n, err
}

// ended returns a fault where the last line of the file, which is read, has no
// end.
func (r *FlowReader) ended() error {
	if r.tail.b == '\n' || r.tail.b == endMark {
		return nil
	}
	return r.lines.Fault(0, "", "the file is cut short: its last line has no end, expected a line end behind the last record", "")
}

// isEndMark reports whether a line holds nothing but the mark of the end.
func isEndMark(line []byte) bool {
	return len(line) > 0 && len(bytes.Trim(line, "\x1a")) == 0
}
