package reason

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fault is one thing wrong with an input, and where it stands. Zero values of
// File, Line, Column and Field are left out of what it says.
type Fault struct {
	File   string // base name of the file, no folder
	Line   int    // 1-based
	Column int    // 1-based, in characters
	Field  string // name of the variable or column
	// Problem is in fixed words and numbers of ours; no text of the input.
	Problem string
	// Text is what stood there; Error quotes it shortened, Detail leaves it out.
	Text string
	// Hint says what to do about it; may be empty.
	Hint string
}

// maxText bounds how much of an input an error quotes, in bytes.
const maxText = 40

// Error says where, what, the text that stood there and what to do.
func (f *Fault) Error() string {
	s := f.where() + f.Problem
	if f.Text != "" {
		s += " (found " + strconv.Quote(shortened(f.Text)) + ")"
	}
	return s + f.hint()
}

// shortened cuts a long text on the border of a character. Bytes that are no
// UTF-8 stay: they may be what is wrong.
func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// Detail says the same without the text of the input.
func (f *Fault) Detail() string { return f.where() + f.Problem + f.hint() }

func (f *Fault) where() string {
	var parts []string
	if f.File != "" {
		parts = append(parts, f.File)
	}
	if f.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", f.Line))
	}
	if f.Column > 0 {
		parts = append(parts, fmt.Sprintf("column %d", f.Column))
	}
	if f.Field != "" {
		parts = append(parts, f.Field)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " ") + ": "
}

func (f *Fault) hint() string {
	if f.Hint == "" {
		return ""
	}
	return "; " + f.Hint
}

// maxFaults bounds how many faults one detail lists.
const maxFaults = 10

func faultDetails(faults []*Fault) string {
	var lines []string
	for i, f := range faults {
		if i == maxFaults {
			lines = append(lines, fmt.Sprintf("and %d more", len(faults)-i))
			break
		}
		lines = append(lines, f.Detail())
	}
	return strings.Join(lines, "\n")
}

// Faults returns every fault in the tree of err, in order.
func Faults(err error) []*Fault {
	var found []*Fault
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) {
		case nil:
		case *Fault:
			found = append(found, e)
		case interface{ Unwrap() []error }:
			for _, sub := range e.Unwrap() {
				walk(sub)
			}
		default:
			walk(errors.Unwrap(err))
		}
	}
	walk(err)
	return found
}

// InFile returns err with the file name set in every fault that names none.
func InFile(err error, file string) error {
	for _, f := range Faults(err) {
		if f.File == "" {
			f.File = file
		}
	}
	return err
}

// List collects faults while an input is checked, so that one look tells the
// user all that is wrong. The zero value is ready.
type List struct{ faults []error }

// Add keeps one more fault.
func (l *List) Add(f *Fault) { l.faults = append(l.faults, f) }

// Merge keeps what err holds; nil adds nothing.
func (l *List) Merge(err error) {
	if err != nil {
		l.faults = append(l.faults, err)
	}
}

// Len returns how many were kept.
func (l *List) Len() int { return len(l.faults) }

// Err returns all that was kept as one error, nil when there is nothing.
func (l *List) Err() error { return errors.Join(l.faults...) }
