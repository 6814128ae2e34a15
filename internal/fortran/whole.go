package fortran

import (
	"bytes"
	"io"
)

// endOfFile is the character that old compilers put behind the last record.
const endOfFile = 0x1a

// lastByte passes a file on and keeps its last byte.
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

// NewWhole returns a reader of the lines of a file that a program wrote; the base
// name file goes into faults. Once all lines are read, check returns a fault where
// the last of them has no end: a Fortran program ends each record with one, so
// the file was cut, perhaps inside a number that still is one (H18).
func NewWhole(r io.Reader, file string) (lines *Reader, check func() error) {
	last := &lastByte{Reader: r, b: '\n'}
	lines = NewReader(last, file)
	return lines, func() error {
		if last.b == '\n' || last.b == endOfFile {
			return nil
		}
		return lines.Fault(0, "", "the file is cut short: its last line has no end, expected a line end behind the last record", "")
	}
}

// EndMark reports whether a line holds nothing but the mark of the end of a file.
func EndMark(line []byte) bool {
	return len(line) > 0 && len(bytes.Trim(line, "\x1a")) == 0
}
