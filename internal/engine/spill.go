package engine

import (
	"math"
	"slices"

	"rsmsjob/internal/bltm"
	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

// spillGrid is where the release enters the run's network.
type spillGrid struct {
	branch, grid int
	inserted     bool // grid was added for the run
	head         bool // the release enters with the inflow of the branch
}

// runGrid is the number in the run's network of a grid of the basin.
func (s spillGrid) runGrid(branch, grid int) int {
	if s.inserted && branch == s.branch && grid >= s.grid {
		return grid + 1
	}
	return grid
}

// besideMetres is how far beside an existing grid the spill grid stands where
// that grid cannot take the release itself.
const besideMetres = 1.0

// insertSpill puts a grid at the spot, or finds one that can take the release
// there, and gives it the water that the release rides on: a lateral inflow of
// twice the small-flow limit (Jobson & Schoellhamer 1987: mass enters with
// water).
func (p *Plan) insertSpill(spot river.Spot) spillGrid {
	net := &p.Flow.Network
	branch := &net.Branches[spot.Branch-1]
	last := len(branch.Grids)
	at := spillGrid{branch: spot.Branch, grid: spot.Grid}
	if branch.Grids[min(spot.Upstream, last-1)-1].Flow < p.Flow.SmallFlow() {
		p.warn("branch %d is dry at the spill when it happens: the mass stays near it until water comes", spot.Branch)
	}
	switch {
	case spot.Grid == 1 && !net.Interior(branch.Up) && p.headFlowsEnough(spot.Branch):
		at.head = true
		p.roundHead(spot.Branch)
		return at
	case spot.Grid == 0:
		at.grid = p.insertGrid(spot.Branch, spot.Upstream, spot.Distance)
		at.inserted = true
	case spot.Grid == last:
		at.grid = p.insertGrid(spot.Branch, last-1, branch.Grids[last-1].Distance-p.beside(branch, last-1))
		at.inserted = true
	case spot.Grid == 1 || p.hasBoundary(spot.Branch, spot.Grid):
		at.grid = p.insertGrid(spot.Branch, spot.Grid, branch.Grids[spot.Grid-1].Distance+p.beside(branch, spot.Grid))
		at.inserted = true
	}
	if q := branch.Grids[min(spot.Upstream, last-1)-1].Flow; q > p.Flow.SmallFlow() && p.carrierFlow() > q*muchCarrier {
		p.warn("the spill rides on %.2g of the river's flow: the peak discharge of FLOW.IN is %.2g times that flow; lower it", p.carrierFlow()/q, p.Flow.Peak/q)
	}
	p.addChange(1, daflow.Change{Branch: at.branch, Grid: at.grid, Flow: p.carrierFlow()})
	return at
}

// muchCarrier is the part of a river's flow that the carrier water of a spill
// may have without being mentioned.
const muchCarrier = 0.001

// beside is a short distance into the subreach below grid, in the branch's
// distance units: a metre, or a hundredth of a subreach that is shorter still.
func (p *Plan) beside(branch *river.Branch, grid int) float64 {
	u := p.Flow.Network.Units
	metre := besideMetres / (u.MetresPerLength() * u.LengthPerDistance())
	return math.Min(metre, (branch.Grids[grid].Distance-branch.Grids[grid-1].Distance)/100)
}

// insertGrid adds a grid below grid upstream (1-based) and returns its number.
func (p *Plan) insertGrid(branch, upstream int, distance float64) int {
	b := &p.Flow.Network.Branches[branch-1]
	g := b.Grids[upstream-1]
	g.Distance, g.Print, g.Line = distance, false, 0
	b.Grids = slices.Insert(b.Grids, upstream, g)
	for k := range p.Flow.Boundaries {
		for i := range p.Flow.Boundaries[k] {
			if c := &p.Flow.Boundaries[k][i]; c.Branch == branch && c.Grid > upstream {
				c.Grid++
			}
		}
	}
	return upstream + 1
}

// addChange adds a boundary value to a step, keeping the order by place.
func (p *Plan) addChange(step int, c daflow.Change) {
	p.Flow.Boundaries[step-1] = append(p.Flow.Boundaries[step-1], c)
	slices.SortFunc(p.Flow.Boundaries[step-1], comparePlace)
}

func (p *Plan) hasBoundary(branch, grid int) bool {
	for _, changes := range p.Flow.Boundaries {
		for _, c := range changes {
			if c.Branch == branch && c.Grid == grid {
				return true
			}
		}
	}
	return false
}

// carrierFlow is twice the small-flow limit, rounded up to one digit so that
// no file format can change it and the mass with it.
func (p *Plan) carrierFlow() float64 {
	q := 2 * p.Flow.SmallFlow()
	scale := math.Pow(10, math.Floor(math.Log10(q)))
	return math.Ceil(q/scale*(1-1e-12)) * scale
}

// headFlow returns the inflow of a branch in each step up to the given one.
func (p *Plan) headFlow(branch, steps int) []float64 {
	q := p.Flow.Network.Branches[branch-1].Grids[0].Flow
	flows := make([]float64, steps)
	for k := range flows {
		for _, c := range p.Flow.Boundaries[k] {
			if c.Branch == branch && c.Grid == 1 {
				q = c.Flow
			}
		}
		flows[k] = q
	}
	return flows
}

// headFlowsEnough reports whether the inflow of a branch can carry the release
// all the time.
func (p *Plan) headFlowsEnough(branch int) bool {
	return slices.Min(p.headFlow(branch, p.Case.Scenario.ReleaseSteps())) >= p.carrierFlow()
}

// roundHead rounds the inflow of a branch to the five digits that BLTM.FLW
// has, so that concentration times flow is the released mass.
func (p *Plan) roundHead(branch int) {
	for k := range p.Flow.Boundaries {
		for i := range p.Flow.Boundaries[k] {
			if c := &p.Flow.Boundaries[k][i]; c.Branch == branch && c.Grid == 1 {
				c.Flow = roundDigits(c.Flow, 5)
			}
		}
	}
	first := &p.Flow.Network.Branches[branch-1].Grids[0]
	first.Flow = roundDigits(first.Flow, 5)
}

// roundDigits rounds to a number of significant digits.
func roundDigits(x float64, digits int) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, float64(digits-1)-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

// releaseInto returns the boundary concentrations of the steps of the release,
// and a last one that is clean. A mass m in the step's water q*DT makes
// C = m/(q*DT).
func (p *Plan) releaseInto(at spillGrid) []bltm.Boundary {
	s := p.Case.Scenario
	steps := s.ReleaseSteps()
	litres := p.Flow.Network.Units.LitresPerVolume() * s.StepSeconds()
	flows := slices.Repeat([]float64{p.carrierFlow()}, steps)
	if at.head {
		flows = p.headFlow(at.branch, steps)
	}
	var release []bltm.Boundary
	for k := range steps {
		mg := s.MassKg() * s.ReleaseFraction(k+1) * 1e6
		release = append(release, bltm.Boundary{Branch: at.branch, Grid: at.grid, C: []float64{mg / (flows[k] * litres)}})
	}
	return append(release, bltm.Boundary{Branch: at.branch, Grid: at.grid, C: []float64{0}})
}

// boundaries returns the boundary concentrations that change at a step.
func (p *Plan) boundaries(step int) []bltm.Boundary {
	if step > len(p.release) {
		return nil
	}
	return p.release[step-1 : step]
}

// decayPerHour is the rate of a first-order loss with the half-life, 0 for none.
func decayPerHour(halfLife float64) float64 {
	if halfLife == 0 {
		return 0
	}
	return math.Ln2 / halfLife
}
