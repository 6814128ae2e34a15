package bltm

import (
	"fmt"
	"io"

	"rsmsjob/internal/fortran"
)

// conReader reads BLTM.CON record by record and checks that every record is
// there and in order: steps 0 to the last, in each all branches, in each all
// grids. It allocates nothing per record.
type conReader struct {
	lines              *fortran.Reader
	grids              []int // of each branch
	steps              int
	step, branch, grid int // branch and grid from 1; 0 before the first record
	place              int // grids before this one in the step
	c                  []float64
	err                error
}

func newConReader(r io.Reader, h *Header) *conReader {
	each, _ := h.grids()
	return &conReader{lines: fortran.NewReader(r, conFile), grids: each, steps: h.Steps, c: make([]float64, len(h.Constituents))}
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
		r.err = (&records{lines: r.lines}).nothingMore("more records than there are steps")
		return false
	}
	if !r.lines.Next() {
		r.err = r.cut()
		return false
	}
	r.err = r.read()
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

// readConcentrations reads the last items of the current line into c.
func readConcentrations(lines *fortran.Reader, list *fortran.List, c []float64) error {
	for k := range c {
		v, err := list.Float("concentration")
		if err != nil {
			return err
		}
		if v < 0 {
			return lines.Fault(list.Column(), "concentration", "negative", string(lines.Bytes()))
		}
		c[k] = v
	}
	if list.More() {
		return lines.Fault(len(lines.Bytes()), "", "more items than the record has", string(lines.Bytes()))
	}
	return nil
}
