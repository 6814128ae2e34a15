package bltm

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
)

const (
	// maxFaults is after how many faults a file is not read further.
	maxFaults = 20
	// maxCount bounds counts of branches, junctions, grids and pieces.
	maxCount        = 1_000_000
	maxConstituents = 1000
	maxSteps        = math.MaxInt32
	// maxValue bounds every real number, maxWater flows and areas: products
	// of a few of them stay finite. Flows and areas below leastWater are none.
	maxValue   = 1e18
	maxWater   = 1e9
	leastWater = 1e-100
)

// Boundary is the concentration per constituent, mg/L averaged over the step,
// of the water that enters at a grid: at grid 1 of the head water, elsewhere of
// the lateral inflow. It holds until it is changed.
type Boundary struct {
	Branch, Grid int // from 1
	C            []float64
}

// Input reads BLTM.IN: the header at once, then the time records one by one.
type Input struct {
	header Header
	order  []int // branches from 0, upstream before downstream
	rec    records
	step   int
	bounds []Boundary
	err    error
}

// NewInput reads the header of BLTM.IN from r. The error holds every fault
// found, about 20 at most, each with its line.
func NewInput(r io.Reader) (*Input, error) {
	in := &Input{rec: records{lines: fortran.NewReader(r, inputFile), most: maxValue}}
	lines := in.readHeader()
	if err := in.rec.err(); err != nil {
		return nil, err
	}
	order, err := in.header.downstream(lines)
	if err != nil {
		return nil, err
	}
	in.order = order
	return in, nil
}

// Header returns what stands before the time records.
func (in *Input) Header() *Header { return &in.header }

// readHeader returns the line of each branch.
func (in *Input) readHeader() (lines []int) {
	h, rec := &in.header, &in.rec
	if !rec.lines.Next() {
		rec.cut("the title line")
		return nil
	}
	h.Title = strings.TrimRight(strings.TrimLeft(string(rec.lines.Bytes()), "\ufeff"), " \r")
	branches, constituents := in.readCounts()
	if rec.failed() {
		return nil
	}
	for k := range constituents {
		if !rec.begin("CONST", k+1) {
			return nil
		}
		h.Constituents = append(h.Constituents, Constituent{Name: rec.word("name"), DecayPerHour: rec.float("decay per hour", 0)})
		rec.end()
	}
	for b := range branches {
		if !rec.begin("BRANCH", b+1) {
			return nil
		}
		lines = append(lines, rec.lines.Line())
		if !in.readBranch() {
			return nil
		}
	}
	return lines
}

// readCounts reads the two header records.
func (in *Input) readCounts() (branches, constituents int) {
	h, rec := &in.header, &in.rec
	if !rec.begin("HEADER", 1) {
		return 0, 0
	}
	branches = rec.int("number of branches", 1, maxCount)
	h.InteriorJunctions = rec.int("number of interior junctions", 0, maxCount)
	h.Steps = rec.int("number of steps", 1, maxSteps)
	constituents = rec.int("number of constituents", 1, maxConstituents)
	h.StartStep = rec.int("steps from midnight to the start", 0, maxSteps)
	h.PrintEvery = rec.int("steps between printed steps", 1, maxSteps)
	h.Units = river.Units(rec.int("units", int(river.Metric), int(river.English)))
	rec.end()
	if rec.bad || !rec.begin("HEADER", 2) {
		return 0, 0
	}
	h.StepHours = rec.float("step in hours", math.SmallestNonzeroFloat64)
	h.SmallFlow = rec.float("small-flow limit", 0)
	h.DQV = rec.float("least dispersive velocity", 0)
	rec.end()
	return branches, constituents
}

// readBranch reads the rest of a branch record and its grids.
func (in *Input) readBranch() bool {
	h, rec := &in.header, &in.rec
	n := rec.int("number of grids", 2, maxCount)
	b := Branch{DQQ: rec.float("dispersion factor", 0),
		Up:   rec.int("upstream junction", 1, maxCount),
		Down: rec.int("downstream junction", 1, maxCount)}
	if b.Up == b.Down && !rec.bad {
		rec.fault("downstream junction", "the same as the upstream junction", rec.text())
	}
	b.ParcelsPerSubreach = rec.int("parcels per subreach", 1, maxCount)
	rec.end()
	if rec.bad {
		return false // how many grid records follow is not certain
	}
	for g := range n {
		if !rec.begin("GRID", g+1) {
			return false
		}
		grid := Grid{Distance: rec.float("distance", -math.MaxFloat64)}
		if g > 0 && !rec.bad && grid.Distance <= b.Grids[g-1].Distance {
			rec.fault("distance", "not above that of the grid before", rec.text())
		}
		grid.Print = rec.int("print flag", 0, 1) == 1
		grid.Initial = make([]float64, len(h.Constituents))
		for k := range grid.Initial {
			grid.Initial[k] = rec.float("initial concentration", 0)
		}
		rec.end()
		b.Grids = append(b.Grids, grid)
	}
	h.Branches = append(h.Branches, b)
	return true
}

// Next reads the record of the next step; false behind the last or at a fault.
func (in *Input) Next() bool {
	if in.err != nil {
		return false
	}
	rec := &in.rec
	in.bounds = in.bounds[:0]
	if in.step == in.header.Steps {
		in.err = rec.nothingMore("more records than there are steps")
		return false
	}
	in.step++
	if rec.begin("TIME", in.step) {
		n := rec.int("number of boundary values", 0, maxSteps)
		rec.end()
		for range n {
			if rec.failed() || !rec.begin("BC", 0) {
				break
			}
			in.readBoundary()
			rec.end()
		}
	}
	in.err = rec.err()
	return in.err == nil
}

// readBoundary reads the rest of a BC record.
func (in *Input) readBoundary() {
	h, rec := &in.header, &in.rec
	if n := len(in.bounds); n < cap(in.bounds) {
		in.bounds = in.bounds[:n+1]
	} else {
		in.bounds = append(in.bounds, Boundary{})
	}
	bc := &in.bounds[len(in.bounds)-1]
	if len(bc.C) != len(h.Constituents) {
		bc.C = make([]float64, len(h.Constituents))
	}
	bc.Branch = rec.int("branch", 1, len(h.Branches))
	if rec.bad {
		return
	}
	b := &h.Branches[bc.Branch-1]
	bc.Grid = rec.int("grid", 1, len(b.Grids))
	switch {
	case rec.bad:
		return
	case bc.Grid == 1 && h.interior(b.Up):
		rec.fault("grid", "the branch begins at an interior junction and has no boundary of its own", rec.text())
	case bc.Grid == len(b.Grids):
		rec.fault("grid", "the last grid of a branch has no lateral inflow that could carry a concentration", rec.text())
	}
	for k := range bc.C {
		bc.C[k] = rec.float("concentration", 0)
	}
}

// Boundaries returns what changes at the start of the step; the slice and its
// concentrations are valid until Next.
func (in *Input) Boundaries() []Boundary { return in.bounds }

// Err returns what is wrong with the file, nil at its proper end.
func (in *Input) Err() error { return in.err }

// WriteInput writes BLTM.IN. boundaries gives what changes at the start of each
// step, from 1. The error is a fault where h could not be read back.
func WriteInput(w io.Writer, h *Header, boundaries func(step int) []Boundary) error {
	text := appendHeader(nil, h)
	check, err := NewInput(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if check.header.Title != strings.TrimRight(h.Title, " ") {
		return &reason.Fault{File: inputFile, Field: "title", Problem: "cannot stand on one line"}
	}
	for k, c := range h.Constituents {
		if check.header.Constituents[k].Name != c.Name {
			return &reason.Fault{File: inputFile, Field: "name", Problem: "not one word", Text: c.Name}
		}
	}
	out := bufio.NewWriterSize(w, outputBuffer)
	if _, err := out.Write(text); err != nil {
		return err
	}
	for step := 1; step <= h.Steps; step++ {
		changes := boundaries(step)
		text = appendTime(text[:0], step, changes)
		check.rec.lines, check.step = fortran.NewReader(bytes.NewReader(text), inputFile), step-1
		if len(changes) > 0 && !check.Next() {
			return check.Err()
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return out.Flush()
}

func appendHeader(dst []byte, h *Header) []byte {
	dst = append(append(dst, h.Title...), '\n')
	dst = appendLabel(dst, "HEADER", 1)
	dst = fmt.Appendf(dst, "%d %d %d %d %d %d %d\n", len(h.Branches), h.InteriorJunctions,
		h.Steps, len(h.Constituents), h.StartStep, h.PrintEvery, int(h.Units))
	dst = appendLabel(dst, "HEADER", 2)
	dst = appendFloats(dst, h.StepHours, h.SmallFlow, h.DQV)
	for k, c := range h.Constituents {
		dst = appendLabel(dst, "CONST", k+1)
		dst = append(append(dst, c.Name...), ' ')
		dst = appendFloats(dst, c.DecayPerHour)
	}
	for i := range h.Branches {
		b := &h.Branches[i]
		dst = appendLabel(dst, "BRANCH", i+1)
		dst = fmt.Appendf(dst, "%d %s %d %d %d\n", len(b.Grids), exact(b.DQQ), b.Up, b.Down, b.ParcelsPerSubreach)
		for g := range b.Grids {
			grid := &b.Grids[g]
			dst = appendLabel(dst, "GRID", g+1)
			dst = append(dst, exact(grid.Distance)...)
			if grid.Print {
				dst = append(dst, " 1 "...)
			} else {
				dst = append(dst, " 0 "...)
			}
			dst = appendFloats(dst, grid.Initial...)
		}
	}
	return dst
}

func appendTime(dst []byte, step int, changes []Boundary) []byte {
	dst = appendLabel(dst, "TIME", step)
	dst = append(strconv.AppendInt(dst, int64(len(changes)), 10), '\n')
	for _, bc := range changes {
		dst = fmt.Appendf(dst, "BC        %d %d ", bc.Branch, bc.Grid)
		dst = appendFloats(dst, bc.C...)
	}
	return dst
}

// appendLabel appends the label of a record in columns 1-10. A number of more
// than three digits takes more columns: readers go by the blank behind it.
func appendLabel(dst []byte, word string, number int) []byte {
	n := len(dst)
	dst = append(dst, word...)
	for len(dst) < n+7 {
		dst = append(dst, ' ')
	}
	dst = append(strconv.AppendInt(dst, int64(number), 10), ' ')
	for len(dst) < n+10 {
		dst = append(dst, ' ')
	}
	return dst
}

// appendFloats appends numbers with all their digits, and the line's end.
func appendFloats(dst []byte, values ...float64) []byte {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	}
	return append(dst, '\n')
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
