package daflow

import (
	"io"
	"math"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/reason"
)

// Flow is one record of BLTM.FLW: what the flow engine found at a grid as the
// mean over a step, or as the initial state in step 0.
type Flow struct {
	Step, Branch, Grid int     // step from 0, branch and grid from 1
	Q                  float64 // flow past the grid, ft3/s or m3/s
	A                  float64 // area of the subreach below at the end of the step, ft2 or m2
	W                  float64 // width at Q, ft or m
	Lateral            float64 // flow that joins (+) or is withdrawn (-) just above the grid
}

// Columns of BLTM.FLW, Fortran format 3I5,4E18.5. The last grid of a branch
// has only Q.
const (
	stepWidth  = 5
	flowWidth  = 18
	flowDigits = 5
	valuesAt   = 3*stepWidth + 1 // first column of Q
	lastWidth  = 3*stepWidth + flowWidth
	gridWidth  = 3*stepWidth + 4*flowWidth
	// maxFlowStep is the largest step that I5 holds. Fortran writes stars for
	// those beyond it, and so do we: the order of the records says which it is.
	maxFlowStep = 99999
)

// appendFlowValues appends the real columns of one record and the line's end.
func appendFlowValues(dst []byte, f *Flow, last bool) []byte {
	dst = fortran.AppendE(dst, f.Q, flowWidth, flowDigits)
	if !last {
		dst = fortran.AppendE(dst, f.A, flowWidth, flowDigits)
		dst = fortran.AppendE(dst, f.W, flowWidth, flowDigits)
		dst = fortran.AppendE(dst, f.Lateral, flowWidth, flowDigits)
	}
	return append(dst, '\n')
}

// FlowReader reads BLTM.FLW record by record and checks that every record is
// there and in order: steps 0 to the last, in each all branches, in each all
// grids. It allocates nothing per record.
type FlowReader struct {
	lines *fortran.Reader
	whole func() error // fortran.NewWhole
	file  string
	grids []int
	steps int
	flow  Flow
	err   error
}

// NewFlowReader returns a reader of BLTM.FLW for branches with the given
// numbers of grids and for that many steps behind the initial state. The base
// name file goes into faults.
func NewFlowReader(r io.Reader, file string, grids []int, steps int) *FlowReader {
	lines, whole := fortran.NewWhole(r, file)
	return &FlowReader{lines: lines, whole: whole, file: file, grids: grids, steps: steps}
}

// Next goes to the next record; false at the end of the file or at an error.
func (r *FlowReader) Next() bool {
	if r.err != nil {
		return false
	}
	next, more := r.following()
	if !r.lines.Next() {
		if r.err = r.lines.Err(); r.err == nil && more {
			fault := r.expected(next, "the file ends before")
			fault.Line, fault.Column = fault.Line+1, 0
			r.err = fault
		} else if r.err == nil {
			r.err = r.whole()
		}
		return false
	}
	if !more {
		return r.onlyBlankFollows()
	}
	if r.err = r.read(next); r.err != nil {
		return false
	}
	return true
}

// onlyBlankFollows reads to the end of the file, from the current line on, and
// accepts only empty lines, and one with the mark of the end.
func (r *FlowReader) onlyBlankFollows() bool {
	marked := false
	for more := true; more; more = r.lines.Next() {
		if text := r.lines.Bytes(); !marked && fortran.EndMark(text) {
			marked = true
		} else if len(text) > 0 {
			r.err = r.lines.Fault(1, "", "more records than there are steps", string(text))
			return false
		}
	}
	if r.err = r.lines.Err(); r.err == nil {
		r.err = r.whole()
	}
	return false
}

// Flow returns the current record.
func (r *FlowReader) Flow() Flow { return r.flow }

// Err returns what is wrong with the file, a *reason.Fault, nil when it was
// read to its proper end.
func (r *FlowReader) Err() error { return r.err }

// following returns the place of the record behind the current one; more is
// false behind the last.
func (r *FlowReader) following() (next Flow, more bool) {
	next = Flow{Step: r.flow.Step, Branch: r.flow.Branch, Grid: r.flow.Grid + 1}
	if next.Branch == 0 {
		next = Flow{Branch: 1, Grid: 1}
	}
	for next.Branch <= len(r.grids) && next.Grid > r.grids[next.Branch-1] {
		next.Branch, next.Grid = next.Branch+1, 1
	}
	if next.Branch > len(r.grids) {
		next = Flow{Step: next.Step + 1, Branch: 1, Grid: 1}
	}
	return next, next.Step <= r.steps && len(r.grids) > 0
}

func (r *FlowReader) expected(next Flow, problem string) *reason.Fault {
	return r.lines.Fault(1, "", sentence(problem, "step", next.Step, "branch", next.Branch, "grid", next.Grid), "")
}

// read reads the current line, which must be the record next.
func (r *FlowReader) read(next Flow) error {
	text := r.lines.Bytes()
	last := next.Grid == r.grids[next.Branch-1]
	width := gridWidth
	if last {
		width = lastWidth
	}
	if len(text) < width {
		fault := r.expected(next, "the line is cut short at")
		fault.Column = len(text) + 1
		return fault
	}
	if err := r.checkPlace(next, text); err != nil {
		return err
	}
	for i, v := range []*float64{&next.Q, &next.A, &next.W, &next.Lateral} {
		if last && i > 0 {
			break
		}
		from := valuesAt + i*flowWidth
		name := [...]string{"flow", "area", "width", "lateral flow"}[i]
		x, err := r.lines.Float(from, from+flowWidth-1, name)
		if err != nil {
			return err
		}
		if x < 0 && i < 3 {
			return r.lines.Fault(from, name, "negative", string(text[from-1:from-1+flowWidth]))
		}
		*v = x
	}
	r.flow = next
	return nil
}

// checkPlace checks that step, branch and grid of the current line are those
// of next.
func (r *FlowReader) checkPlace(next Flow, text []byte) error {
	for i, want := range [...]int{next.Step, next.Branch, next.Grid} {
		from := 1 + i*stepWidth
		if i == 0 && want > maxFlowStep && string(text[:stepWidth]) == "*****" {
			continue
		}
		name := [...]string{"step", "branch", "grid"}[i]
		got, err := r.lines.Int(from, from+stepWidth-1, name)
		if err != nil {
			return err
		}
		if got != want {
			fault := r.expected(next, "out of order, expected")
			fault.Column, fault.Field, fault.Text = from, name, string(text[:3*stepWidth])
			return fault
		}
	}
	return nil
}

// finite reports whether v is a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
