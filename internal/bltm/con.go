package bltm

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/reason"
)

// conReader reads BLTM.CON record by record and checks that every record is
// there and in order: steps 0 to the last, in each all branches, in each all
// grids. It allocates nothing per record.
type conReader struct {
	lines              *fortran.Reader
	whole              func() error
	grids              []int // of each branch
	steps              int
	step, branch, grid int // branch and grid from 1; 0 before the first record
	place              int // grids before this one in the step
	// wanted says which places are read, nil for all. The records of the others
	// are counted only: one that is too much or too few puts those behind it out of
	// order.
	wanted []bool
	c      []float64
	err    error
}

func newConReader(r io.Reader, h *Header) *conReader {
	each, _ := h.grids()
	lines, whole := fortran.NewWhole(r, conFile)
	return &conReader{lines: lines, whole: whole, grids: each, steps: h.Steps, c: make([]float64, len(h.Constituents))}
}

// CheckConcentrations reads BLTM.CON to its end. A fault says what is missing,
// out of order or no concentration, and where.
func CheckConcentrations(r io.Reader, h *Header) error {
	con := newConReader(r, h)
	for con.next() {
	}
	return con.err
}

// next goes to the next record; false behind the last or at a fault.
func (r *conReader) next() bool {
	if r.err != nil {
		return false
	}
	r.place++
	switch {
	case r.branch == 0:
		r.branch, r.grid, r.place = 1, 1, 0
	case r.grid < r.grids[r.branch-1]:
		r.grid++
	case r.branch < len(r.grids):
		r.branch, r.grid = r.branch+1, 1
	default:
		r.step, r.branch, r.grid, r.place = r.step+1, 1, 1, 0
	}
	if r.step > r.steps {
		r.err = (&records{lines: r.lines, whole: r.whole}).nothingMore("more records than there are steps")
		return false
	}
	if !r.lines.Next() {
		r.err = r.cut()
		return false
	}
	if r.wanted == nil || r.wanted[r.place] {
		r.err = r.read()
	}
	return r.err == nil
}

func (r *conReader) cut() error {
	rec := records{lines: r.lines}
	rec.cut(fmt.Sprintf("step %d branch %d grid %d", r.step, r.branch, r.grid))
	return rec.err()
}

// read reads the current line, which must be the record of step, branch, grid.
func (r *conReader) read() error {
	list := r.lines.List(1)
	for i, want := range [...]int{r.step, r.branch, r.grid} {
		name := [...]string{"step", "branch", "grid"}[i]
		n, err := list.Int(name)
		if err != nil {
			return err
		}
		if n != want {
			return r.lines.Fault(list.Column(), name, fmt.Sprintf("out of order, expected step %d branch %d grid %d",
				r.step, r.branch, r.grid), string(r.lines.Bytes()))
		}
	}
	return readConcentrations(r.lines, list, r.c)
}

// rounding is how far below 0 a concentration may be, mg/L: that little is left
// of a difference of two numbers, and is read as 0.
const rounding = 1e-9

// readConcentrations reads the last items of the current line into c.
func readConcentrations(lines *fortran.Reader, list *fortran.List, c []float64) error {
	for k := range c {
		v, err := list.Float("concentration")
		if err != nil {
			return err
		}
		if v < -rounding {
			return lines.Fault(list.Column(), "concentration", "negative", string(lines.Bytes()))
		}
		if v > maxValue {
			return lines.Fault(list.Column(), "concentration", fmt.Sprintf("beyond %g", maxValue), string(lines.Bytes()))
		}
		c[k] = max(v, 0)
	}
	if list.More() {
		return lines.Fault(len(lines.Bytes()), "", "more items than the record has", string(lines.Bytes()))
	}
	return nil
}

// ConcentrationsAt reads from BLTM.CON the concentration of the first constituent
// at the end of a step, 0 to the last, in mg/L at every grid, branch by branch. It
// only counts the lines before: the engines that cut the file have read it all.
func ConcentrationsAt(r io.Reader, h *Header, step int) ([]float64, error) {
	_, grids := h.grids()
	source := bufio.NewReaderSize(r, outputBuffer)
	if err := skipLines(source, step*grids); err != nil {
		return nil, err
	}
	con := newConReader(source, h)
	con.step = step
	c := make([]float64, 0, grids)
	for len(c) < grids && con.next() {
		c = append(c, con.c[0])
	}
	for _, f := range reason.Faults(con.err) {
		f.Line += step * grids
	}
	return c, con.err
}

// skipLines goes behind so many line ends, or to the end of the file.
func skipLines(r *bufio.Reader, n int) error {
	for n > 0 {
		text, err := r.Peek(r.Size())
		if len(text) == 0 {
			if err == io.EOF {
				return nil
			}
			return err
		}
		end := len(text)
		if here := bytes.Count(text, []byte("\n")); here < n {
			n -= here
		} else {
			for end = 0; n > 0; n-- {
				end += bytes.IndexByte(text[end:], '\n') + 1
			}
		}
		if _, err := r.Discard(end); err != nil {
			return err
		}
	}
	return nil
}
