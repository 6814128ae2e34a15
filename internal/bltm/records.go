package bltm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/reason"
)

// records reads lines of a label and free-format numbers, and keeps what is
// wrong with them. After a fault the other items of its line are not read.
type records struct {
	lines  *fortran.Reader
	list   *fortran.List
	bad    bool         // the current line has a fault
	most   float64      // real numbers above it are refused; 0 for no bound
	whole  func() error // checks the end of the file once it is reached; may be nil
	faults reason.List
}

// begin goes to the next line, which must start with word and, unless it is 0,
// with number. It returns false where that is not so.
func (r *records) begin(word string, number int) bool {
	if r.failed() {
		return false
	}
	if !r.lines.Next() {
		r.cut(record(word, number))
		return false
	}
	r.bad = false
	r.list = r.lines.List(1)
	got, err := r.list.Word("label")
	if err == nil && got == word {
		if number == 0 {
			return true
		}
		n, err := r.list.Int("label")
		if err == nil && n == number {
			return true
		}
		if r.labelled(word, number) {
			return true
		}
	}
	r.add(r.lines.Fault(1, "label", "expected "+record(word, number), string(r.lines.Bytes())))
	return false
}

// labelled reports whether the label in columns 1-10 is the one that is expected
// and the numbers follow it without a blank, as they may where its own number
// fills its columns. It goes on behind the label.
func (r *records) labelled(word string, number int) bool {
	const width = 10
	line := r.lines.Bytes()
	if len(line) <= width {
		return false
	}
	parts := bytes.Fields(line[:width])
	if len(parts) != 2 || string(parts[0]) != word || string(parts[1]) != strconv.Itoa(number) {
		return false
	}
	r.list = r.lines.List(width + 1)
	return true
}

func record(word string, number int) string {
	if number == 0 {
		return "a record " + word
	}
	return fmt.Sprintf("record %s %d", word, number)
}

// cut keeps that the file ends before what was expected.
func (r *records) cut(expected string) {
	if err := r.lines.Err(); err != nil {
		r.faults.Merge(err)
		return
	}
	f := r.lines.Fault(0, "", "the file ends, expected "+expected, "")
	f.Line++
	r.add(f)
}

func (r *records) add(err error) {
	r.bad = true
	r.faults.Merge(err)
}

// fault keeps what is wrong with the item read last.
func (r *records) fault(field, problem, text string) {
	r.add(r.lines.Fault(r.list.Column(), field, problem, text))
}

// text returns the item read last.
func (r *records) text() string {
	line := r.lines.Bytes()
	from := min(r.list.Column()-1, len(line))
	to := from
	for to < len(line) && line[to] != ' ' && line[to] != '\t' && line[to] != ',' {
		to++
	}
	return string(line[from:to])
}

func (r *records) int(field string, low, high int) int {
	if r.bad {
		return 0
	}
	n, err := r.list.Int(field)
	switch {
	case err != nil:
		r.add(err)
	case n < low:
		r.fault(field, fmt.Sprintf("below %d", low), r.text())
	case n > high:
		r.fault(field, fmt.Sprintf("above %d", high), r.text())
	default:
		return n
	}
	return 0
}

// float reads a number not below low; the least number above 0 stands for that
// 0 itself is refused.
func (r *records) float(field string, low float64) float64 {
	if r.bad {
		return 0
	}
	v, err := r.list.Float(field)
	switch {
	case err != nil:
		r.add(err)
	case v < low && low == math.SmallestNonzeroFloat64:
		r.fault(field, "not above 0", r.text())
	case v < low:
		r.fault(field, "negative", r.text())
	case r.most > 0 && abs(v) > r.most:
		r.fault(field, fmt.Sprintf("beyond %g", r.most), r.text())
	default:
		return v
	}
	return 0
}

func (r *records) word(field string) string {
	if r.bad {
		return ""
	}
	w, err := r.list.Word(field)
	if err != nil {
		r.add(err)
	}
	return w
}

// end keeps a fault where the line holds more items.
func (r *records) end() {
	if !r.bad && r.list.More() {
		r.add(r.lines.Fault(len(r.lines.Bytes()), "", "more items than the record has", string(r.lines.Bytes())))
	}
}

// failed reports whether the file is not worth reading on.
func (r *records) failed() bool { return r.faults.Len() >= maxFaults }

func (r *records) err() error { return r.faults.Err() }

// nothingMore reads to the end of the file and accepts only blank lines, and as
// the last one a mark of the end.
func (r *records) nothingMore(problem string) error {
	marked := false
	for r.lines.Next() {
		if !marked && fortran.EndMark(r.lines.Bytes()) {
			marked = true
		} else if r.lines.List(1).More() {
			return r.lines.Fault(1, "", problem, string(r.lines.Bytes()))
		}
	}
	if err := r.lines.Err(); err != nil {
		return errors.Join(err)
	}
	if r.whole != nil {
		return r.whole()
	}
	return nil
}
