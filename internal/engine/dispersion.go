package engine

import (
	"fmt"
	"math"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

// Default dispersion factor where a branch carries no water to estimate from:
// the median of 175 reaches of 19 rivers at a 15-minute step.
const (
	medianDQQ        = 0.25
	medianDQQMinutes = 15.0
)

// dispersionFactors returns DQQ = D/(U^2*DT) of each branch for the run's step.
// A coefficient, given or estimated, may vary along a branch while DQQ does
// not: the one taken keeps the variance in time that the branch adds to a
// cloud, sum(2*D*dx/U^3).
func (p *Plan) dispersionFactors() []float64 {
	net := &p.Flow.Network
	seconds := p.Case.Scenario.StepSeconds()
	factors := make([]float64, len(net.Branches))
	for b := range net.Branches {
		branch := &net.Branches[b]
		given := p.Case.Basin.Dispersion(b + 1)
		if given.Kind == river.DispersionDQQ {
			factors[b] = given.Value * given.StepMinutes * 60 / seconds
			continue
		}
		coefficient := func(r reach) float64 { return given.Value }
		if given.Kind == river.DispersionNone {
			coefficient = fischer
		}
		var spread, travel float64
		for g := range branch.Grids[:len(branch.Grids)-1] {
			r := reachOf(net, branch, g)
			if r.velocity <= 0 {
				continue
			}
			spread += coefficient(r) * r.length / math.Pow(r.velocity, 3)
			travel += r.length / r.velocity
		}
		if given.Kind == river.DispersionCoefficient && uneven(net, branch) {
			p.warn("the velocity changes along branch %d: its coefficient holds on the average of the branch, more where the water is faster; begin a branch where the flow changes", b+1)
		}
		switch {
		case travel == 0:
			factors[b] = medianDQQ * medianDQQMinutes * 60 / seconds
			p.warn("branch %d is dry at the start: its dispersion is the median of many rivers (factor %.2f at a 15-minute step)", b+1, medianDQQ)
		case given.Kind == river.DispersionNone:
			factors[b] = spread / (travel * seconds)
			p.warn("branch %d: dispersion estimated by Fischer's formula, good to a factor of 4 (factor %.3g at this step)", b+1, factors[b])
		default:
			factors[b] = spread / (travel * seconds)
		}
	}
	p.warnShallow()
	if scale := p.Case.DispersionScale; scale > 0 {
		for b := range factors {
			factors[b] *= scale
		}
	}
	return factors
}

// DispersionEstimated reports whether the dispersion of a branch had to be
// estimated, because the basin does not give it.
func (p *Plan) DispersionEstimated() bool {
	for b := range p.Flow.Network.Branches {
		if p.Case.Basin.Dispersion(b+1).Kind == river.DispersionNone {
			return true
		}
	}
	return false
}

// muchFaster is the ratio of velocities in a branch beyond which one factor,
// which makes D follow the square of the velocity, is worth a word.
const muchFaster = 1.25

// uneven reports whether the velocity changes much along a branch.
func uneven(net *river.Network, branch *river.Branch) bool {
	slow, fast := math.Inf(1), 0.0
	for g := range branch.Grids[:len(branch.Grids)-1] {
		if u := reachOf(net, branch, g).velocity; u > 0 {
			slow, fast = math.Min(slow, u), math.Max(fast, u)
		}
	}
	return fast > muchFaster*slow
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// warnShallow speaks of small streams without an area at no flow: pools hold
// water that A0 = 0 leaves out, and the plume comes out too slow at other flows
// than the fitted one.
func (p *Plan) warnShallow() {
	net := &p.Flow.Network
	for b := range net.Branches {
		for g, grid := range net.Branches[b].Grids[:len(net.Branches[b].Grids)-1] {
			if q := grid.Flow * net.Units.LitresPerVolume() / 1000; grid.A0 == 0 && q > 0 && q < smallStream {
				p.warn("branch %d grid %d carries %.2g m3/s with A0 = 0: in a pool-and-riffle stream arrival may come out 20 to 120 %% too late", b+1, g+1, q)
				return
			}
		}
	}
}

// smallStream is the flow in m3/s below which pools matter.
const smallStream = 1.0

// reach is a subreach at its initial flow, in SI units.
type reach struct{ length, velocity, width, depth, slope float64 }

func reachOf(net *river.Network, branch *river.Branch, g int) reach {
	grid := branch.Grids[g]
	m := net.Units.MetresPerLength()
	h := daflow.Hydraulics(grid)
	area, width := h.Area(grid.Flow), h.Width(grid.Flow)
	r := reach{slope: grid.Slope, width: width * m,
		length: (branch.Grids[g+1].Distance - grid.Distance) * net.Units.LengthPerDistance() * m}
	if grid.Flow > 0 && area > 0 && width > 0 {
		r.velocity, r.depth = h.Velocity(grid.Flow)*m, area/width*m
	}
	return r
}

// fischer estimates the longitudinal dispersion coefficient in m2/s,
// D = 0.011*U^2*W^2/(H*sqrt(g*H*S)) (Fischer 1975).
func fischer(r reach) float64 {
	const gravity = 9.81
	return 0.011 * r.velocity * r.velocity * r.width * r.width / (r.depth * math.Sqrt(gravity*r.depth*r.slope))
}
