package daflow

import (
	"bufio"
	"math"

	"rsmsjob/internal/fortran"
)

// flowFiles writes BLTM.FLW and FLOW.OUT while a run goes on.
type flowFiles struct {
	model  *model
	flow   *bufio.Writer
	report *report
	lines  [][]line
}

// line is a record of BLTM.FLW as it was written last, without its step: in
// steady flow most records repeat.
type line struct {
	flow Flow
	text [gridWidth - stepWidth + 1]byte
	n    int
}

const flowBuffer = 256 << 10

func newFlowFiles(m *model, out Outputs) *flowFiles {
	f := &flowFiles{model: m}
	if out.Flow != nil {
		f.flow = bufio.NewWriterSize(out.Flow, flowBuffer)
		f.lines = make([][]line, len(m.branches))
		for i := range m.branches {
			f.lines[i] = make([]line, len(m.branches[i].flow))
			for g := range f.lines[i] {
				f.lines[i][g].flow = Flow{Branch: i + 1, Grid: g + 1}
			}
		}
	}
	if out.Report != nil {
		f.report = newReport(out.Report, m.in)
	}
	return f
}

// step writes the records of step k; 0 is the initial state.
func (f *flowFiles) step(k int) error {
	if f.report != nil {
		if err := f.report.step(k, f.model); err != nil {
			return err
		}
	}
	if f.flow == nil {
		return nil
	}
	var buffer [stepWidth]byte
	number := fortran.AppendInt(buffer[:0], k, stepWidth)
	for i := range f.lines {
		b := &f.model.branches[i]
		for g := range f.lines[i] {
			l := &f.lines[i][g]
			l.update(b, g)
			if _, err := f.flow.Write(number); err != nil {
				return err
			}
			if _, err := f.flow.Write(l.text[:l.n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// update formats the record of grid g (from 0) of b if it changed.
func (l *line) update(b *branch, g int) {
	last := g == len(b.reaches)
	now := l.flow
	now.Q = b.flow[g]
	if !last {
		r := &b.reaches[g]
		now.A, now.Lateral = r.a0+b.volume[g]/r.length, b.lateral[g]
		if l.n == 0 || !alike(now.Q, l.flow.Q) {
			now.W = r.w1 * power(now.Q, r.w2)
		}
	}
	if l.n > 0 && alike(now.Q, l.flow.Q) && alike(now.A, l.flow.A) && alike(now.Lateral, l.flow.Lateral) {
		return
	}
	l.flow = now
	text := l.text[:2*stepWidth]
	if l.n == 0 {
		text = fortran.AppendInt(text[:0], now.Branch, stepWidth)
		text = fortran.AppendInt(text, now.Grid, stepWidth)
	}
	l.n = len(appendFlowValues(text, &now, last))
}

// alike reports whether a difference is far below the five digits written:
// the rounding of a wave upstream, say.
func alike(now, written float64) bool { return math.Abs(now-written) <= 1e-9*math.Abs(written) }

func (f *flowFiles) close(b Balance) error {
	if f.report != nil {
		if err := f.report.close(b); err != nil {
			return err
		}
	}
	if f.flow == nil {
		return nil
	}
	return f.flow.Flush()
}
