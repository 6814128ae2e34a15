package fortran

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// maxLine bounds the length of a line in bytes, its end not counted.
const maxLine = 64 << 10

// Reader yields the lines of a file and the fields in their columns. A line
// ends with LF or CR LF, the last one perhaps with neither; a byte order mark
// before line 1 is skipped. Nothing is allocated per line.
type Reader struct {
	source *bufio.Reader
	file   string
	line   int
	text   []byte
	err    error
	list   List
}

// NewReader returns a Reader of r. The base name file goes into faults.
func NewReader(r io.Reader, file string) *Reader {
	return &Reader{source: bufio.NewReaderSize(r, maxLine+len("\r\n")), file: file}
}

// Next goes to the next line; false at the end of the file or at an error.
func (r *Reader) Next() bool {
	if r.err != nil {
		return false
	}
	text, err := r.source.ReadSlice('\n')
	if err == io.EOF && len(text) == 0 {
		r.text = nil
		return false
	}
	r.line++
	switch {
	case err == nil:
		text = text[:len(text)-1]
	case errors.Is(err, bufio.ErrBufferFull):
		return r.tooLong()
	case err != io.EOF:
		fault := &reason.Fault{File: r.file, Line: r.line, Problem: "cannot be read"}
		r.text, r.err = nil, fmt.Errorf("%w: %w", fault, err)
		return false
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	if r.line == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	if len(text) > maxLine {
		return r.tooLong()
	}
	r.text = text
	return true
}

func (r *Reader) tooLong() bool {
	r.text = nil
	r.err = &reason.Fault{File: r.file, Line: r.line,
		Problem: fmt.Sprintf("line longer than %d bytes", maxLine)}
	return false
}

// Err returns why Next ended early, nil at the end of the file. The error
// holds a *reason.Fault and, where reading itself ended badly, its cause.
func (r *Reader) Err() error { return r.err }

// Line returns the number of the current line, 1-based; after the end of the
// file, of the last one.
func (r *Reader) Line() int { return r.line }

// Bytes returns the current line without its end, valid until Next.
func (r *Reader) Bytes() []byte { return r.text }

// field returns the columns from to to, 1-based and inclusive. What lies
// beyond the end of the line is blank.
func (r *Reader) field(from, to int) []byte {
	if from > len(r.text) {
		return nil
	}
	return r.text[from-1 : min(to, len(r.text))]
}

// Int reads the whole number in the columns from to to (1-based, inclusive).
// A fault names file, line, column from and the field.
func (r *Reader) Int(from, to int, name string) (int, error) {
	n, err := ParseInt(r.field(from, to))
	if err != nil {
		return 0, r.place(err, from, name)
	}
	return n, nil
}

// WideInt reads like Int a number that may have more digits than its columns:
// where a digit stands in column from, the digits that join it on the left
// belong to the number.
func (r *Reader) WideInt(from, to int, name string) (int, error) {
	for from > 1 && from <= len(r.text) && isDigit(r.text[from-1]) && isDigit(r.text[from-2]) {
		from--
	}
	return r.Int(from, to, name)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Float reads the real number in the columns from to to (1-based, inclusive).
// A fault names file, line, column from and the field.
func (r *Reader) Float(from, to int, name string) (float64, error) {
	v, err := ParseFloat(r.field(from, to))
	if err != nil {
		return 0, r.place(err, from, name)
	}
	return v, nil
}

// place says in the fault err where it stands.
func (r *Reader) place(err error, column int, name string) error {
	var fault *reason.Fault
	if errors.As(err, &fault) {
		fault.File, fault.Line, fault.Column, fault.Field = r.file, r.line, r.character(column), name
	}
	return err
}

// character converts a byte column of the current line to a character column.
func (r *Reader) character(column int) int {
	before := min(max(column-1, 0), len(r.text))
	return column - before + utf8.RuneCount(r.text[:before])
}

// Fault returns a fault at a byte column (0 for none) of the current line.
func (r *Reader) Fault(column int, field, problem, text string) *reason.Fault {
	if column > 0 {
		column = r.character(column)
	}
	return &reason.Fault{File: r.file, Line: r.line, Column: column, Field: field, Problem: problem, Text: text}
}
