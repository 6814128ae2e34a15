package river

import (
	"fmt"
	"strconv"
)

// Warning is something in an input that was accepted and deserves a look. It
// may quote the input, shortened.
type Warning struct {
	File string // base name
	Line int    // 1-based, 0 where the whole file is meant
	Text string
}

// String says where and what.
func (w Warning) String() string {
	s := w.Text
	if w.Line > 0 {
		s = "line " + strconv.Itoa(w.Line) + ": " + s
	}
	if w.File == "" {
		return s
	}
	if w.Line > 0 {
		return w.File + " " + s
	}
	return w.File + ": " + s
}

// maxWarnings bounds how many warnings one input gives.
const maxWarnings = 20

// warnings collects what one input gives to warn about.
type warnings struct {
	file string
	list []Warning
	more int
}

func (w *warnings) add(line int, format string, args ...any) {
	if len(w.list) == maxWarnings {
		w.more++
		return
	}
	w.list = append(w.list, Warning{File: w.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// all returns the warnings in the order they came, and how many were too many.
func (w *warnings) all() []Warning {
	if w.more == 0 {
		return w.list
	}
	return append(w.list, Warning{File: w.file, Text: fmt.Sprintf("and %d more warnings", w.more)})
}

// quoted returns a text of an input, shortened, in quotes.
func quoted(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}
