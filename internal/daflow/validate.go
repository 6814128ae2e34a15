package daflow

import (
	"strings"

	"rsmsjob/internal/reason"
)

// maxNumber is the largest number of branches, junctions or grids: I5 in
// BLTM.FLW.
const maxNumber = 99999

// headerItem is a number of the header with its range.
type headerItem struct {
	name        string
	least, most int
}

func (h headerItem) problem() string { return rangeProblem(h.least, h.most) }

func rangeProblem(least, most int) string {
	return sentence("out of range, must be", least, "to", most)
}

// headerItems are the header numbers in order, from line 2 of FLOW.IN on. The
// last two are real and have their own ranges.
var headerItems = [...]headerItem{
	{"branches", 1, maxNumber},
	{"interior junctions", 0, maxNumber},
	{"time steps", 1, 1_000_000},
	{"steps from midnight", 0, 1_000_000},
	{"steps per output", 1, 1_000_000},
	{"units", 0, 1},
	{name: "step length"},
	{name: "peak discharge"},
}

// Validate checks everything that a run relies on. The error holds a
// *reason.Fault for everything found wrong, at most about 20, with the lines
// that the input knows.
func (in *Input) Validate() error {
	check := checker{in: in}
	return check.all()
}

// checker checks an input.
type checker struct {
	in       *Input
	fromFile bool            // lines and columns are those of FLOW.IN
	columns  [][]itemColumns // of the grid lines, nil when not known
	faults   reason.List
}

func (c *checker) all() error {
	c.header()
	for i := range c.in.Network.Branches {
		c.branch(i)
		if c.full() {
			return c.faults.Err()
		}
	}
	if c.faults.Len() == 0 {
		c.junctions()
	}
	// Which grids have a boundary is known only when the network is sound.
	if c.faults.Len() == 0 {
		c.boundaries()
	}
	return c.faults.Err()
}

func (c *checker) full() bool { return c.faults.Len() >= maxFaults }

func (c *checker) add(line, column int, field, problem string) {
	if !c.fromFile {
		column = 0
	}
	c.faults.Add(&reason.Fault{Line: line, Column: column, Field: field, Problem: problem})
}

// header checks the numbers of the header.
func (c *checker) header() {
	in := c.in
	line := func(i int) int {
		if c.fromFile {
			return i + 2
		}
		return 0
	}
	for i, n := range [...]int{len(in.Network.Branches), in.Network.InteriorJunctions, in.Steps,
		in.StartStep, in.PrintEvery, int(in.Network.Units)} {
		if h := headerItems[i]; n < h.least || n > h.most {
			c.add(line(i), headerAt, h.name, h.problem())
		}
	}
	if !(in.StepHours > 0 && in.StepHours <= 8760) {
		c.add(line(6), headerAt, headerItems[6].name, "out of range, must be above 0 and at most 8760 hours")
	}
	if !(in.Peak >= leastValue && in.Peak <= mostValue) {
		c.add(line(7), headerAt, headerItems[7].name, "out of range, must be above 0")
	}
	if len(in.Boundaries) != in.Steps {
		c.add(0, 0, "boundary values", sentence("given for", len(in.Boundaries), "steps, wanted", in.Steps))
	}
	if len(in.Network.Title) > maxTitle || strings.ContainsAny(in.Network.Title, "\r\n") {
		c.add(line(-1), 1, "title", sentence("must be one line of at most", maxTitle, "bytes"))
	}
}

// Values of the channel beyond these are no river's and would only lead out of
// the range of numbers.
const (
	leastValue = 1e-9
	mostValue  = 1e9
)

// branch checks branch i (from 0) by itself.
func (c *checker) branch(i int) {
	b := &c.in.Network.Branches[i]
	if n := len(b.Grids); n < 2 || n > maxNumber {
		c.add(b.Line, gridsAt, "grids", rangeProblem(2, maxNumber))
	}
	if !(b.Share >= 0 && b.Share <= 1) {
		c.add(b.Line, shareAt, "share", "out of range, must be 0 to 1")
	}
	if b.Up < 1 || b.Up > maxNumber {
		c.add(b.Line, upAt, "upstream junction", rangeProblem(1, maxNumber))
	}
	if b.Down < 1 || b.Down > maxNumber {
		c.add(b.Line, downAt, "downstream junction", rangeProblem(1, maxNumber))
	}
	if b.Up == b.Down {
		c.add(b.Line, downAt, "downstream junction", sentence("branch", i+1, "starts and ends at junction", b.Up))
	}
	for g := range b.Grids {
		c.grid(i, g)
		if c.full() {
			return
		}
	}
}

// grid checks grid g of branch i (from 0).
func (c *checker) grid(i, g int) {
	grids := c.in.Network.Branches[i].Grids
	p := &grids[g]
	wrong := func(item int, problem string) {
		column := 0
		if c.columns != nil {
			column = int(c.columns[i][g][item])
		}
		c.add(p.Line, column, gridItems[item], sentence("branch", i+1, "grid", g+1)+": "+problem)
	}
	switch {
	case !finite(p.Distance) || p.Distance > mostValue || p.Distance < -mostValue:
		wrong(1, "out of range")
	case g > 0 && !(p.Distance-grids[g-1].Distance >= leastValue):
		wrong(1, "must rise from grid to grid")
	}
	if g == len(grids)-1 {
		return
	}
	if !(p.Flow >= 0 && p.Flow <= mostValue) {
		if p.Flow < 0 {
			wrong(3, "negative flow; the engine routes flow in one direction only")
		} else {
			wrong(3, "out of range")
		}
	}
	for _, v := range [...]struct {
		item        int
		value       float64
		least, most float64
		problem     string
	}{
		{4, p.A1, leastValue, mostValue, "must be above 0"},
		{5, p.A2, 0.01, 1.5, "must be above 0 and at most 1.5"},
		{6, p.A0, 0, mostValue, "must not be negative"},
		{7, p.Slope, leastValue, mostValue, "must be above 0"},
		{8, p.W1, leastValue, mostValue, "must be above 0"},
		{9, p.W2, 0, 1, "must be 0 to 1"},
	} {
		if !(v.value >= v.least && v.value <= v.most) {
			wrong(v.item, v.problem)
		}
	}
}

// boundaries checks the boundary values.
func (c *checker) boundaries() {
	for k, changes := range c.in.Boundaries {
		for _, change := range changes {
			if column, field, problem := c.change(change); problem != "" {
				c.add(change.Line, column, field, sentence("step", k+1)+": "+problem)
			}
			if c.full() {
				return
			}
		}
	}
}

// change returns what is wrong with one boundary value.
func (c *checker) change(v Change) (column int, field, problem string) {
	net := &c.in.Network
	if v.Branch < 1 || v.Branch > len(net.Branches) {
		return branchAt, "branch", sentence("there is no branch", v.Branch)
	}
	b := &net.Branches[v.Branch-1]
	switch n := len(b.Grids); {
	case v.Grid < 1 || v.Grid > n:
		return gridAt, "grid", sentence("branch", v.Branch, "has no grid", v.Grid)
	case v.Grid == n:
		return gridAt, "grid", sentence("grid", v.Grid, "is the last of branch", v.Branch,
			"and takes no lateral flow; give it at the grid above")
	case v.Grid == 1 && net.Interior(b.Up):
		return gridAt, "grid", sentence("the inflow of branch", v.Branch, "comes from junction", b.Up,
			"and cannot be given")
	case !finite(v.Flow) || v.Flow > mostValue || v.Flow < -mostValue:
		return flowAt, "flow", "out of range"
	case v.Grid == 1 && v.Flow < 0:
		return flowAt, "flow", sentence("negative inflow of branch", v.Branch) +
			"; the engine routes flow in one direction only"
	}
	return 0, "", ""
}

// junctions checks how the branches hang together.
func (c *checker) junctions() {
	net := &c.in.Network
	begin, end := map[int][]int{}, map[int][]int{}
	for i, b := range net.Branches {
		begin[b.Up] = append(begin[b.Up], i)
		end[b.Down] = append(end[b.Down], i)
	}
	for j := 1; j <= net.InteriorJunctions && !c.full(); j++ {
		switch {
		case len(begin[j]) == 0 && len(end[j]) == 0:
			line := 0
			if c.fromFile {
				line = 3
			}
			c.add(line, headerAt, "interior junctions", sentence("no branch is at interior junction", j))
		case len(begin[j]) == 0:
			b := net.Branches[end[j][0]]
			c.add(b.Line, downAt, "downstream junction", sentence("no branch leaves interior junction", j))
		case len(end[j]) == 0:
			b := net.Branches[begin[j][0]]
			c.add(b.Line, upAt, "upstream junction", sentence("no branch ends at interior junction", j))
		default:
			c.shares(j, begin[j])
		}
	}
	for i, b := range net.Branches {
		if !net.Interior(b.Up) && len(end[b.Up]) > 0 && !c.full() {
			c.add(b.Line, upAt, "upstream junction", sentence("branch", i+1, "starts where branch", end[b.Up][0]+1,
				"ends, but junction", b.Up, "is not among the", net.InteriorJunctions, "interior ones"))
		}
	}
	if c.faults.Len() == 0 {
		c.loops()
	}
}

// shares checks that the shares of the branches that leave junction j add up
// to 1. FLOW.IN has two decimals, so each further branch may be off by half of
// the last one.
func (c *checker) shares(j int, leaving []int) {
	sum := 0.0
	for _, i := range leaving {
		sum += c.in.Network.Branches[i].Share
	}
	tolerance := 1e-3 + 0.005*float64(len(leaving)-1)
	if sum < 1-tolerance || sum > 1+tolerance {
		b := c.in.Network.Branches[leaving[0]]
		c.add(b.Line, shareAt, "share", sentence("the shares that leave junction", j, "add up to", float32(sum), "instead of 1"))
	}
}

// loops names one loop of branches when there is any.
func (c *checker) loops() {
	net := &c.in.Network
	_, left := net.Order()
	if len(left) == 0 {
		return
	}
	// Every branch left has one left that ends where it starts: going up
	// leads into a loop.
	above := make(map[int]int)
	for _, i := range left {
		for _, j := range left {
			if net.Branches[j].Down == net.Branches[i].Up {
				above[i] = j
				break
			}
		}
	}
	i := left[0]
	for range left {
		i = above[i]
	}
	loop := []any{i + 1}
	for j := above[i]; j != i; j = above[j] {
		loop = append(loop, j+1)
	}
	loop = append(loop, i+1)
	parts := []any{"branches"}
	for k := len(loop) - 1; k >= 0; k-- {
		if k < len(loop)-1 {
			parts = append(parts, ">")
		}
		parts = append(parts, loop[k])
	}
	c.add(net.Branches[i].Line, upAt, "upstream junction", sentence(append(parts, "form a loop")...))
}
