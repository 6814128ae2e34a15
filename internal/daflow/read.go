package daflow

import (
	"bytes"
	"io"
	"strings"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
)

// Columns of FLOW.IN that hold numbers; what stands between is text. An
// integer of more digits than its columns grows to the left over that text, so
// files within the original limits have the original columns.
const (
	headerAt = 21 // eight header lines, I10 or F10.3
	headerTo = 30

	gridsAt = 14 // branch head: I3, F5.2, I3, I3
	gridsTo = 16
	shareAt = 33
	shareTo = 37
	upAt    = 54
	upTo    = 56
	downAt  = 65
	downTo  = 67

	changesAt = 19 // number of changes at a step, I3
	changesTo = 21

	branchAt = 11 // one change: I3, I3, G14.5
	branchTo = 13
	gridAt   = 19
	gridTo   = 21
	flowAt   = 25
	flowTo   = 38
)

// maxTitle is the length of the title in bytes.
const maxTitle = 80

// maxFaults is how many faults are collected before reading or checking stops.
const maxFaults = 20

// gridItems names the items of a grid line in order.
var gridItems = [...]string{"grid", "distance", "print flag", "initial flow", "A1", "A2", "A0", "slope", "W1", "W2"}

// itemColumns are the columns of the items of one grid line.
type itemColumns [len(gridItems)]int32

// inputReader reads FLOW.IN.
type inputReader struct {
	lines    *fortran.Reader
	file     string
	in       *Input
	faults   reason.List
	columns  [][]itemColumns
	branches int
	pointed  bool // a number without a decimal point was warned of
}

// ReadInput reads FLOW.IN and validates it. Blank numbers are 0 as in Fortran;
// what follows the last step is ignored. The error holds a *reason.Fault for
// everything found wrong, at most about 20, each with file, line and column.
func ReadInput(r io.Reader, file string) (*Input, error) {
	p := &inputReader{lines: fortran.NewReader(r, file), file: file, in: &Input{}}
	if p.header() && p.readBranches() {
		p.steps()
	}
	if p.faults.Len() == 0 {
		check := checker{in: p.in, fromFile: true, columns: p.columns}
		p.faults.Merge(reason.InFile(check.all(), file))
	}
	if err := p.faults.Err(); err != nil {
		return nil, err
	}
	return p.in, nil
}

// next goes to the next line, which holds what parts say.
func (p *inputReader) next(parts ...any) bool {
	if p.lines.Next() {
		return true
	}
	if err := p.lines.Err(); err != nil {
		p.faults.Merge(err)
		return false
	}
	fault := p.lines.Fault(0, "", "the file ends before "+sentence(parts...), "")
	fault.Line++
	p.faults.Add(fault)
	return false
}

// header reads records 1 to 9.
func (p *inputReader) header() bool {
	if !p.next("the title") {
		return false
	}
	title := p.lines.Bytes()
	title = bytes.ToValidUTF8(title[:min(len(title), maxTitle)], nil)
	p.in.Network.Title = strings.TrimSpace(string(title))
	units := 0
	for i, n := range []*int{&p.branches, &p.in.Network.InteriorJunctions, &p.in.Steps,
		&p.in.StartStep, &p.in.PrintEvery, &units} {
		if !p.next("the number of", headerItems[i].name) {
			return false
		}
		v, err := p.lines.Int(headerAt, headerTo, headerItems[i].name)
		if err == nil && (v < headerItems[i].least || v > headerItems[i].most) {
			err = p.lines.Fault(headerAt, headerItems[i].name, headerItems[i].problem(), "")
		}
		p.faults.Merge(err)
		*n = v
	}
	p.in.Network.Units = river.Units(units)
	for i, v := range []*float64{&p.in.StepHours, &p.in.Peak} {
		name := headerItems[len(headerItems)-2+i].name
		if !p.next("the", name) {
			return false
		}
		*v = p.float(headerAt, headerTo, name)
	}
	return p.faults.Len() == 0
}

// float reads a real number of fixed columns.
func (p *inputReader) float(from, to int, name string) float64 {
	v, err := p.lines.Float(from, to, name)
	p.faults.Merge(err)
	text := p.lines.Bytes()
	field := bytes.TrimSpace(text[min(from-1, len(text)):min(to, len(text))])
	if err == nil && len(field) > 0 && !bytes.ContainsRune(field, '.') && v != 0 && !p.pointed {
		p.pointed = true
		p.in.Warnings = append(p.in.Warnings, sentence("line", p.lines.Line(), "column", from, name,
			"has no decimal point; it is taken as it stands, the original program would scale it down"))
	}
	return v
}

// readBranches reads the heads and grids of all branches.
func (p *inputReader) readBranches() bool {
	for i := 1; i <= p.branches; i++ {
		if !p.next("branch", i, "of", p.branches) {
			return false
		}
		b := river.Branch{Line: p.lines.Line()}
		grids := p.wide(gridsAt, gridsTo, "grids")
		if p.faults.Len() == 0 && (grids < 2 || grids > maxNumber) {
			p.faults.Add(p.lines.Fault(gridsAt, "grids", rangeProblem(2, maxNumber), ""))
		}
		b.Share = p.float(shareAt, shareTo, "share")
		b.Up = p.wide(upAt, upTo, "upstream junction")
		b.Down = p.wide(downAt, downTo, "downstream junction")
		if grids < 2 || grids > maxNumber || p.faults.Len() >= maxFaults {
			return false
		}
		if !p.next("the titles of the grids of branch", i) {
			return false
		}
		var columns []itemColumns
		for g := 1; g <= grids; g++ {
			if !p.next("grid", g, "of", grids, "of branch", i) {
				return false
			}
			grid, at := p.grid(g, g == grids)
			b.Grids, columns = append(b.Grids, grid), append(columns, at)
			if p.faults.Len() >= maxFaults {
				return false
			}
		}
		p.in.Network.Branches = append(p.in.Network.Branches, b)
		p.columns = append(p.columns, columns)
	}
	return true
}

func (p *inputReader) wide(from, to int, name string) int {
	n, err := p.lines.WideInt(from, to, name)
	p.faults.Merge(err)
	return n
}

// grid reads the current line as grid number g of its branch.
func (p *inputReader) grid(g int, last bool) (river.Grid, itemColumns) {
	grid, at := river.Grid{Line: p.lines.Line()}, itemColumns{}
	items := p.lines.List(1)
	number, err := items.Int(gridItems[0])
	if err == nil && number != g {
		err = p.lines.Fault(items.Column(), gridItems[0], sentence("out of order, expected grid", g), "")
	}
	if err != nil {
		p.faults.Merge(err)
		return grid, at
	}
	flag := 0.0
	values := []*float64{&grid.Distance, &flag, &grid.Flow, &grid.A1, &grid.A2, &grid.A0, &grid.Slope, &grid.W1, &grid.W2}
	if last {
		values = values[:2]
	}
	for i, v := range values {
		name := gridItems[i+1]
		if v == &flag {
			n, err := items.Int(name)
			p.faults.Merge(err)
			*v = float64(n)
		} else {
			x, err := items.Float(name)
			p.faults.Merge(err)
			*v = x
		}
		at[i+1] = int32(items.Column())
		if !items.More() && i < len(values)-1 {
			_, err := items.Float(gridItems[i+2])
			p.faults.Merge(err)
			break
		}
	}
	grid.Print = flag != 0
	return grid, at
}

// steps reads the boundary values of all steps.
func (p *inputReader) steps() {
	total := 0
	for i := range p.in.Network.Branches {
		total += len(p.in.Network.Branches[i].Grids)
	}
	for k := 1; k <= p.in.Steps && p.faults.Len() < maxFaults; k++ {
		if !p.next("the boundary values of step", k, "of", p.in.Steps) {
			return
		}
		if len(bytes.TrimSpace(p.lines.Bytes())) == 0 {
			p.faults.Add(p.lines.Fault(0, "", sentence("a blank line in place of step", k, "of", p.in.Steps), ""))
			return
		}
		n, err := p.lines.WideInt(changesAt, changesTo, "number of changes")
		if err == nil && (n < 0 || n > total) {
			err = p.lines.Fault(changesAt, "number of changes", rangeProblem(0, total), "")
		}
		if err != nil {
			p.faults.Merge(err)
			return // what the next lines are is not known
		}
		var changes []Change
		for c := 1; c <= n; c++ {
			if !p.next("boundary value", c, "of", n, "of step", k) {
				return
			}
			changes = append(changes, Change{Branch: p.wide(branchAt, branchTo, "branch"),
				Grid: p.wide(gridAt, gridTo, "grid"), Flow: p.float(flowAt, flowTo, "flow"), Line: p.lines.Line()})
		}
		p.in.Boundaries = append(p.in.Boundaries, changes)
	}
}
