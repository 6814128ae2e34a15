package river

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

const (
	maxRows   = 1_000_000
	maxBytes  = 64 << 20 // of a CSV file
	maxFaults = 20       // after which reading stops
)

const byteOrderMark = "\xef\xbb\xbf"

// table reads a CSV file with a header, row by row, and collects its faults.
// Case and order of the columns, a byte order mark, CRLF, quotes, extra
// columns, trailing commas and blank lines do not matter.
type table struct {
	file    string
	data    []byte
	starts  []int // offset of each line of data
	csv     *csv.Reader
	columns map[string]int // place of a column in a row, by name
	width   int            // of the header
	rows    int
	fields  []string // of the row at hand
	faults  reason.List
}

// openTable reads r and its header. Every column of required must be there.
func openTable(r io.Reader, file string, required ...string) (*table, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	t := &table{file: file, data: bytes.TrimPrefix(data, []byte(byteOrderMark)), columns: make(map[string]int)}
	if len(data) > maxBytes {
		return nil, &reason.Fault{File: file, Problem: fmt.Sprintf("has more than %d MiB", maxBytes>>20)}
	}
	t.starts = lineStarts(t.data)
	if at := invalidUTF8(t.data); at >= 0 {
		line, column := t.position(at)
		return nil, &reason.Fault{File: file, Line: line, Column: column, Problem: "is not UTF-8", Hint: "save the file as UTF-8"}
	}
	t.csv = csv.NewReader(bytes.NewReader(t.data))
	t.csv.FieldsPerRecord = -1
	t.csv.TrimLeadingSpace = true
	t.csv.ReuseRecord = true
	t.header(required)
	return t, t.faults.Err()
}

// header reads the names of the columns.
func (t *table) header(required []string) {
	if !t.record() {
		if t.faults.Len() == 0 {
			t.faults.Add(&reason.Fault{File: t.file, Problem: "is empty", Hint: "the first line names the columns: " + strings.Join(required, ",")})
		}
		return
	}
	t.width = len(t.fields)
	for i, field := range t.fields {
		name := strings.ToLower(strings.TrimSpace(field))
		if name == "" {
			continue
		}
		if _, twice := t.columns[name]; twice {
			t.faultAt(i, &reason.Fault{Problem: "a column is named twice", Text: field})
			continue
		}
		t.columns[name] = i
	}
	for _, name := range required {
		if _, ok := t.columns[name]; !ok {
			t.faults.Add(&reason.Fault{File: t.file, Line: t.line(), Field: name, Problem: "the column is missing",
				Hint: "the first line names the columns, separated by commas"})
		}
	}
}

// next reads the next row that is not blank. It returns false at the end, and
// after so many faults that more would not help.
func (t *table) next() bool {
	for t.faults.Len() < maxFaults && t.record() {
		if t.rows++; t.rows > maxRows {
			t.faults.Add(&reason.Fault{File: t.file, Line: t.line(), Problem: fmt.Sprintf("has more than %d rows", maxRows)})
			return false
		}
		if over := t.beyondHeader(); over >= 0 {
			t.faultAt(over, &reason.Fault{Problem: fmt.Sprintf("the row has more than the %d columns of the header", t.width),
				Text: t.fields[over], Hint: "put a text with commas in quotes"})
			continue
		}
		return true
	}
	return false
}

// beyondHeader returns the first field that stands under no column and is not
// blank, or -1.
func (t *table) beyondHeader() int {
	for i := t.width; i < len(t.fields); i++ {
		if strings.TrimSpace(t.fields[i]) != "" {
			return i
		}
	}
	return -1
}

// record reads the next record that is not blank into t.fields.
func (t *table) record() bool {
	for {
		fields, err := t.csv.Read()
		if err == io.EOF {
			return false
		}
		if err != nil {
			t.faults.Add(t.syntaxFault(err))
			return false
		}
		t.fields = fields
		if slices.ContainsFunc(fields, func(f string) bool { return strings.TrimSpace(f) != "" }) {
			return true
		}
	}
}

// syntaxFault names the place of an error of encoding/csv. Reading ends with
// it: where quotes are out of step, what follows cannot be told.
func (t *table) syntaxFault(err error) *reason.Fault {
	f := &reason.Fault{File: t.file, Problem: "is not CSV"}
	bad, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return f
	}
	f.Line, f.Column = bad.Line, t.character(bad.Line, bad.Column)
	f.Problem = "a quote stands where none may"
	f.Hint = `put the whole text in quotes and double the quotes inside: "6"" pipe"`
	end := len(bytes.TrimRight(t.lineText(bad.Line), "\r\n"))
	if errors.Is(err, csv.ErrQuote) && (bad.Line > bad.StartLine || bad.Column > end) {
		f.Line, f.Column = bad.StartLine, 0
		f.Problem, f.Hint = "a quoted text does not end on its line", ""
	}
	return f
}

// line returns the line of the row at hand.
func (t *table) line() int {
	line, _ := t.csv.FieldPos(0)
	return line
}

// column returns the character column of a field of the row at hand; for one
// that the row does not reach, that of its end.
func (t *table) column(field int) int {
	if field < len(t.fields) {
		line, column := t.csv.FieldPos(field)
		return t.character(line, column)
	}
	line, _ := t.csv.FieldPos(len(t.fields) - 1)
	return utf8.RuneCount(bytes.TrimRight(t.lineText(line), "\r\n")) + 1
}

// text returns a field of the row at hand without the spaces around it, ""
// where the file has no such column or the row is short.
func (t *table) text(name string) string {
	i, ok := t.columns[name]
	if !ok || i >= len(t.fields) {
		return ""
	}
	return strings.TrimSpace(t.fields[i])
}

// faultIn adds a fault of the named field of the row at hand.
func (t *table) faultIn(name string, f *reason.Fault) {
	f.Field = name
	if i, ok := t.columns[name]; ok {
		t.faultAt(i, f)
		return
	}
	f.File, f.Line = t.file, t.line()
	t.faults.Add(f)
}

func (t *table) faultAt(field int, f *reason.Fault) {
	f.File, f.Line, f.Column = t.file, t.line(), t.column(field)
	t.faults.Add(f)
}

// integer returns a field that must be an integer within bounds.
func (t *table) integer(name string, low, high int) (int, bool) {
	text := t.text(name)
	value, err := strconv.Atoi(text)
	if err != nil || value < low || value > high || strings.HasPrefix(text, "+") {
		t.faultIn(name, outside(text, fmt.Sprintf("must be an integer from %d to %d", low, high)))
		return 0, false
	}
	return value, true
}

// number returns a field that must be a number within bounds.
func (t *table) number(name string, low, high float64) (float64, bool) {
	text := t.text(name)
	value, ok := decimal(text)
	if !ok || value < low || value > high {
		t.faultIn(name, outside(text, fmt.Sprintf("must be a number from %s to %s", plain(low), plain(high))))
		return 0, false
	}
	return value, true
}

func outside(text, problem string) *reason.Fault {
	if text == "" {
		return &reason.Fault{Problem: "is blank; it " + problem}
	}
	return &reason.Fault{Problem: problem, Text: text}
}

// decimal reads a finite decimal number: no hexadecimal, no names.
func decimal(text string) (float64, bool) {
	if strings.Trim(text, "0123456789+-.eE") != "" || strings.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// plain writes a number the short way without exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// position returns line and character column of an offset, both from 1.
func (t *table) position(offset int) (line, column int) {
	line, found := slices.BinarySearch(t.starts, offset)
	if found {
		line++
	}
	return line, utf8.RuneCount(t.data[t.starts[line-1]:offset]) + 1
}

// character turns a byte column of a line into a character column.
func (t *table) character(line, byteColumn int) int {
	text := t.lineText(line)
	return utf8.RuneCount(text[:min(max(byteColumn-1, 0), len(text))]) + 1
}

func (t *table) lineText(line int) []byte {
	if line < 1 || line > len(t.starts) {
		return nil
	}
	end := len(t.data)
	if line < len(t.starts) {
		end = t.starts[line]
	}
	return t.data[t.starts[line-1]:end]
}

// lineStarts returns the offset of each line of data; there is at least one.
func lineStarts(data []byte) []int {
	starts := make([]int, 1, bytes.Count(data, []byte("\n"))+1)
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
