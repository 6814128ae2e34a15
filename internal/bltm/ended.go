package bltm

import (
	"bytes"
	"io"

	"rsmsjob/internal/fortran"
)

// endOfFile is the character that old compilers put behind the last record.
const endOfFile = 0x1a

// ended passes a file on and keeps its last byte: every program of the trade
// ends each record with a line end, so that a file without its last one was cut,
// perhaps inside a number that still is one (H18).
type ended struct {
	io.Reader
	last byte
}

func (e *ended) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if n > 0 {
		e.last = b[n-1]
	}
	return n, err
}

// newOutput returns a reader of the lines of an engine's output. Once all lines
// are read, check returns a fault where the last of them has no end.
func newOutput(r io.Reader, file string) (lines *fortran.Reader, check func() error) {
	e := &ended{Reader: r, last: '\n'}
	lines = fortran.NewReader(e, file)
	return lines, func() error {
		if e.last == '\n' || e.last == endOfFile {
			return nil
		}
		return lines.Fault(0, "", "the file is cut short: its last line has no end, expected a line end behind the last record", "")
	}
}

// endMark reports whether a line holds nothing but the mark of the end of a file.
func endMark(line []byte) bool {
	return len(line) > 0 && len(bytes.Trim(line, "\x1a")) == 0
}
