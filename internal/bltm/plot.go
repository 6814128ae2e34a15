package bltm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/reason"
)

const (
	placesFile = "CTPLT.IN"
	timesFile  = "CXPLT.IN"
	// passBytes bounds the concentrations held in one pass of CTPLT.
	passBytes = 64 << 20
)

// location is a grid that CTPLT.IN names.
type location struct {
	branch, grid int // from 1
	place        int // grids before it in a step
}

// CTPLT cuts BLTM.CON by place: for each line BRANCH GRID of places it writes
// "LOCATION branch grid mile n" and n lines "step hour C...", one C per
// constituent, to out. input is BLTM.IN; con opens BLTM.CON, which is read as
// often as 64 MiB at a time need.
func CTPLT(places, input io.Reader, con func() (io.ReadCloser, error), out io.Writer) error {
	return ctplt(places, input, con, out, passBytes)
}

func ctplt(places, input io.Reader, con func() (io.ReadCloser, error), out io.Writer, bytes int) error {
	in, err := NewInput(input)
	if err != nil {
		return err
	}
	h := &in.header
	all, err := readPlaces(places, h)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, outputBuffer)
	room := max(1, bytes/8/len(h.Constituents)/(h.Steps+1))
	for len(all) > 0 {
		part := all[:min(room, len(all))]
		all = all[len(part):]
		if err := writePlaces(w, h, part, con); err != nil {
			return err
		}
	}
	return w.Flush()
}

func readPlaces(r io.Reader, h *Header) ([]location, error) {
	rec := records{lines: fortran.NewReader(r, placesFile)}
	each, _ := h.grids()
	before := make([]int, len(each))
	for b := 1; b < len(each); b++ {
		before[b] = before[b-1] + each[b-1]
	}
	listed := map[int]bool{}
	var all []location
	for rec.next() {
		at := location{branch: rec.int("branch", 1, len(each))}
		if rec.bad {
			continue
		}
		at.grid = rec.int("grid", 1, each[at.branch-1])
		rec.end()
		at.place = before[at.branch-1] + at.grid - 1
		if !rec.bad && listed[at.place] {
			rec.fault("grid", "listed twice", rec.text())
		}
		listed[at.place] = true
		all = append(all, at)
	}
	if rec.faults.Len() == 0 && len(all) == 0 {
		rec.add(&reason.Fault{File: placesFile, Problem: "no places"})
	}
	return all, rec.err()
}

// next goes to the next line that is not blank and starts reading its items.
func (r *records) next() bool {
	for !r.failed() && r.lines.Next() {
		r.bad = false
		if r.list = r.lines.List(1); r.list.More() {
			return true
		}
	}
	r.faults.Merge(r.lines.Err())
	return false
}

// writePlaces reads BLTM.CON once and writes the series of some places.
func writePlaces(w *bufio.Writer, h *Header, part []location, con func() (io.ReadCloser, error)) error {
	_, grids := h.grids()
	row := make([]int, grids) // 1 + index in part
	wanted := make([]bool, grids)
	for i, at := range part {
		row[at.place], wanted[at.place] = i+1, true
	}
	nc := len(h.Constituents)
	size := (h.Steps + 1) * nc
	values := make([]float64, len(part)*size)
	err := eachRecord(h, con, wanted, func(r *conReader) {
		if i := row[r.place]; i > 0 {
			copy(values[(i-1)*size+r.step*nc:], r.c)
		}
	})
	if err != nil {
		return err
	}
	var text []byte
	for i, at := range part {
		mile := h.Branches[at.branch-1].Grids[at.grid-1].Distance
		text = fmt.Appendf(text[:0], "LOCATION %d %d %s %d\n", at.branch, at.grid, exact(mile), h.Steps+1)
		if _, err := w.Write(text); err != nil {
			return err
		}
		for step := range h.Steps + 1 {
			text = strconv.AppendInt(text[:0], int64(step), 10)
			text = strconv.AppendFloat(append(text, ' '), h.Hour(step), 'g', -1, 64)
			for _, v := range values[i*size+step*nc : i*size+(step+1)*nc] {
				text = appendConcentration(append(text, ' '), v)
			}
			if _, err := w.Write(append(text, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachRecord visits the records of BLTM.CON, and reads those of the places that
// are wanted.
func eachRecord(h *Header, con func() (io.ReadCloser, error), wanted []bool, visit func(*conReader)) (err error) {
	file, err := con()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := newConReader(file, h)
	r.wanted = wanted
	for r.next() {
		visit(r)
	}
	return r.err
}

// CXPLT cuts BLTM.CON by time: for each line STEP of times, which must rise,
// it writes "TIME step hour n" and n lines "branch grid mile C...", one for
// every grid, to out. input is BLTM.IN, con is BLTM.CON.
func CXPLT(times, input, con io.Reader, out io.Writer) error {
	in, err := NewInput(input)
	if err != nil {
		return err
	}
	h := &in.header
	steps, err := readTimes(times, h)
	if err != nil {
		return err
	}
	_, grids := h.grids()
	w := bufio.NewWriterSize(out, outputBuffer)
	r := newConReader(con, h)
	var text []byte
	for r.next() {
		if len(steps) == 0 || r.step < steps[0] {
			continue
		}
		if r.place == 0 {
			text = fmt.Appendf(text[:0], "TIME %d %s %d\n", r.step, exact(h.Hour(r.step)), grids)
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
		if _, err := w.Write(r.profileLine(text[:0], h)); err != nil {
			return err
		}
		if r.place == grids-1 {
			steps = steps[1:]
		}
	}
	if r.err != nil {
		return r.err
	}
	return w.Flush()
}

// profileLine appends the current record as a line of PLUME.PLT.
func (r *conReader) profileLine(text []byte, h *Header) []byte {
	text = strconv.AppendInt(text, int64(r.branch), 10)
	text = strconv.AppendInt(append(text, ' '), int64(r.grid), 10)
	mile := h.Branches[r.branch-1].Grids[r.grid-1].Distance
	text = strconv.AppendFloat(append(text, ' '), mile, 'g', -1, 64)
	for _, v := range r.c {
		text = appendConcentration(append(text, ' '), v)
	}
	return append(text, '\n')
}

func readTimes(r io.Reader, h *Header) ([]int, error) {
	rec := records{lines: fortran.NewReader(r, timesFile)}
	var all []int
	for rec.next() {
		step := rec.int("step", 0, h.Steps)
		if n := len(all); !rec.bad && n > 0 && step <= all[n-1] {
			rec.fault("step", "not above the one before", rec.text())
		}
		rec.end()
		all = append(all, step)
	}
	if rec.faults.Len() == 0 && len(all) == 0 {
		rec.add(&reason.Fault{File: timesFile, Problem: "no times"})
	}
	return all, rec.err()
}
