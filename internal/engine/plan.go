// Package engine is the seam between a spill and the engines that compute it:
// it writes their inputs, names the steps, starts them as child processes and
// reads their outputs. Invariant: an engine sees nothing but its run folder,
// and what leaves this package was checked to be complete.
package engine

import (
	"cmp"
	"slices"

	"rsmsjob/internal/bltm"
	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

// Case is one validated spill on one basin.
type Case struct {
	Scenario *river.Scenario
	Basin    *river.Basin
	Index    *river.Index  // bound to the network of Input
	Input    *daflow.Input // FLOW.IN as the basin gives it
	Flows    *river.Flows  // NFQ.csv; nil where the scenario does not use it
	// DispersionScale is a factor on the dispersion of every branch, given or
	// estimated; 0 is 1.
	DispersionScale float64
}

// Place is a place of the index and the grid that stands for it in the run.
type Place struct {
	river.Place
	RunGrid int // grid number in the run's network
}

// Plan is a case turned into what the engines read: the network with a grid at
// the spill, flows per run step, dispersion factors, boundary concentrations.
type Plan struct {
	Case   Case
	Flow   *daflow.Input
	Header *bltm.Header
	// Places are those of the index, sorted by river and mile: the order of
	// PLUME.TIM.
	Places   []Place
	Warnings []string

	release []bltm.Boundary // boundary of step k at k-1, the last one clean
}

// NewPlan lays a case out. All errors are faults of the inputs.
func NewPlan(c Case) (*Plan, error) {
	spot, err := c.Index.Locate(&c.Input.Network, c.Scenario.SpillRiver, c.Scenario.SpillMile)
	if err != nil {
		return nil, err
	}
	p := &Plan{Case: c}
	if p.Flow, err = runFlows(c); err != nil {
		return nil, err
	}
	at := p.insertSpill(spot)
	if err := p.Flow.Validate(); err != nil {
		return nil, err
	}
	p.Header = p.transport()
	p.release = p.releaseInto(at)
	p.warnCoarse(at)
	for _, place := range c.Index.Places {
		p.Places = append(p.Places, Place{Place: place, RunGrid: at.runGrid(place.Branch, place.Grid)})
	}
	slices.SortFunc(p.Places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.River, b.River), cmp.Compare(a.Mile, b.Mile), cmp.Compare(a.Branch, b.Branch))
	})
	return p, nil
}

// transport is the header of BLTM.IN for the run's network.
func (p *Plan) transport() *bltm.Header {
	in, s := p.Flow, p.Case.Scenario
	h := &bltm.Header{
		Title:             in.Network.Title,
		InteriorJunctions: in.Network.InteriorJunctions,
		Steps:             in.Steps,
		StartStep:         in.StartStep,
		PrintEvery:        s.OutputEvery(),
		Units:             in.Network.Units,
		StepHours:         in.StepHours,
		SmallFlow:         in.SmallFlow(),
		Constituents:      []bltm.Constituent{{Name: "SPILL", DecayPerHour: decayPerHour(s.HalfLifeHours)}},
	}
	factors := p.dispersionFactors()
	for b, branch := range in.Network.Branches {
		tb := bltm.Branch{DQQ: factors[b], Up: branch.Up, Down: branch.Down, ParcelsPerSubreach: 1}
		for _, g := range branch.Grids {
			tb.Grids = append(tb.Grids, bltm.Grid{Distance: g.Distance, Print: g.Print, Initial: []float64{0}})
		}
		h.Branches = append(h.Branches, tb)
	}
	return h
}
