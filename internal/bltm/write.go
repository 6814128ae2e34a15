package bltm

import (
	"bufio"
	"io"
	"strconv"

	"rsmsjob/internal/fortran"
)

const (
	outputBuffer = 256 << 10
	// conDigits and massDigits are the digits behind the point.
	conDigits  = 9
	massDigits = 16
)

// conWriter writes BLTM.CON.
type conWriter struct {
	out  *bufio.Writer
	text []byte
}

func newConWriter(w io.Writer) *conWriter {
	return &conWriter{out: bufio.NewWriterSize(w, outputBuffer)}
}

// branch writes the concentrations at all grids of a branch, grid*constituents.
func (w *conWriter) branch(step, branch, constituents int, c []float64) error {
	text := strconv.AppendInt(w.text[:0], int64(step), 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, int64(branch), 10)
	text = append(text, ' ')
	head := len(text)
	for g := 0; g < len(c); g += constituents {
		text = strconv.AppendInt(text[:head], int64(g/constituents+1), 10)
		for _, v := range c[g : g+constituents] {
			text = appendConcentration(append(text, ' '), v)
		}
		text = append(text, '\n')
		if _, err := w.out.Write(text); err != nil {
			return err
		}
	}
	w.text = text
	return nil
}

// appendConcentration appends v as %.9e. Most of a river is clean.
func appendConcentration(dst []byte, v float64) []byte {
	if v == 0 {
		return append(dst, "0.000000000e+00"...)
	}
	return fortran.AppendExp(dst, v, conDigits)
}

// reportWriter writes BLTM.OUT: per line a label in columns 1-10, then
// free-format numbers. It keeps its first error.
type reportWriter struct {
	out    *bufio.Writer
	header *Header
	text   []byte
	err    error
}

func newReportWriter(w io.Writer, h *Header) *reportWriter {
	return &reportWriter{out: bufio.NewWriterSize(w, outputBuffer), header: h}
}

// line begins a line; the methods below go on with it.
func (w *reportWriter) line(label string) {
	w.text = append(w.text[:0], label...)
	for len(w.text) < 10 {
		w.text = append(w.text, ' ')
	}
}

func (w *reportWriter) ints(values ...int) {
	for _, v := range values {
		w.word(strconv.Itoa(v))
	}
}

func (w *reportWriter) word(s string) {
	if n := len(w.text); n > 10 {
		w.text = append(w.text, ' ')
	}
	w.text = append(w.text, s...)
}

func (w *reportWriter) exact(v float64) { w.word(exact(v)) }

func (w *reportWriter) mass(v float64) {
	w.text = fortran.AppendExp(append(w.text, ' '), v, massDigits)
}

func (w *reportWriter) end() {
	w.text = append(w.text, '\n')
	if w.err == nil {
		_, w.err = w.out.Write(w.text)
	}
}

// echo repeats what was read.
func (w *reportWriter) echo() {
	h := w.header
	w.line("TITLE")
	w.word(h.Title)
	w.end()
	w.line("STEPS")
	w.ints(h.Steps, h.StartStep, h.PrintEvery)
	w.exact(h.StepHours)
	w.end()
	w.line("LIMITS")
	w.ints(int(h.Units))
	w.exact(h.SmallFlow)
	w.exact(h.DQV)
	w.end()
	for k, c := range h.Constituents {
		w.line("CONST")
		w.ints(k + 1)
		w.word(c.Name)
		w.exact(c.DecayPerHour)
		w.end()
	}
	for i := range h.Branches {
		b := &h.Branches[i]
		w.line("BRANCH")
		w.ints(i+1, len(b.Grids), b.Up, b.Down)
		w.exact(b.DQQ)
		w.end()
	}
}

func (w *reportWriter) warn(step, branch, grid int, problem string) {
	w.line("WARN")
	w.ints(step, branch, grid)
	w.word(problem)
	w.end()
}

func (w *reportWriter) ledgers(step int, all []Ledger) {
	for k, l := range all {
		w.line("LEDGER")
		w.ints(step)
		w.exact(w.header.Hour(step))
		w.ints(k + 1)
		for _, v := range []float64{l.Injected, l.InRiver, l.Outflow, l.Decayed, l.Withdrawn, l.Error} {
			w.mass(v)
		}
		w.end()
	}
}

// branch reports mass, pieces and the concentrations c at the flagged grids.
func (w *reportWriter) branch(step, number int, b *branch, c []float64) {
	nc := len(w.header.Constituents)
	for k := range nc {
		w.line("MASS")
		w.ints(step, number, k+1)
		w.mass(b.water.mass(k) * w.header.kilograms())
		w.end()
	}
	w.line("PARCELS")
	w.ints(step, number, b.water.len())
	w.end()
	for g := range w.header.Branches[number-1].Grids {
		if !w.header.Branches[number-1].Grids[g].Print {
			continue
		}
		w.line("CONC")
		w.ints(step, number, g+1)
		for _, v := range c[g*nc : (g+1)*nc] {
			w.text = appendConcentration(append(w.text, ' '), v)
		}
		w.end()
	}
}

// close ends the report with the number of steps, so that a cut file is seen.
func (w *reportWriter) close() error {
	w.line("END")
	w.ints(w.header.Steps)
	w.end()
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}
