package engine

import (
	"fmt"
	"math"
	"strings"

	"rsmsjob/internal/river"
)

// What the transport scheme needs for a peak within 2 %: so many steps of travel
// behind the spill, and so many times the dispersion of one step. A cloud must be
// wide beside the water of a step, as its peak is seen at the ends of steps only
// and a release lasts one at least.
const (
	nearSteps   = 20
	leastSpread = 3.0
)

// warnCoarse speaks of places where the step of the run is too long: intakes
// where a narrow cloud may pass between two steps, intakes just above the spill,
// the end of the network, and branches that the water crosses in one step.
func (p *Plan) warnCoarse(at spillGrid) {
	ways := p.ways(at)
	step := p.Flow.StepHours
	var near, above []string
	enough := math.Inf(1) // hours of a step that is right for all of near
	for _, place := range p.Case.Index.Places {
		if place.Feature != river.Intake {
			continue
		}
		grid := at.runGrid(place.Branch, place.Grid)
		w := ways[place.Branch-1][grid-1]
		switch {
		case math.IsInf(w.hours, 1):
			if place.Branch == at.branch && p.travel(at.branch, grid, at.grid) < step {
				above = append(above, place.Name)
			}
		case w.hours > 0 && p.tooCoarse(w):
			near = append(near, place.Name)
			enough = min(enough, w.hours/nearSteps, step*math.Sqrt(w.spread/leastSpread))
		}
	}
	if len(near) > 0 {
		p.warn("the step is too long for %s: the cloud there is short beside it, its peak may pass between two steps and be higher, "+
			"at the spill itself many times, and its edges are coarse; a TimeStepMinutes of %s or less is right", list(near), minutes(enough))
	}
	if len(above) > 0 {
		p.warn("the water of one step reaches from %s down to the spill: what is said to come there, up the river, is too much; take a shorter TimeStepMinutes", list(above))
	}
	p.warnEnds(at, ways)
}

// tooCoarse reports whether a cloud that came this way is too short for the
// step. A release of many steps has a plateau that no step misses.
func (p *Plan) tooCoarse(w way) bool {
	return w.hours < nearSteps*p.Flow.StepHours || w.spread < leastSpread && p.Case.Scenario.ReleaseSteps() < nearSteps/2
}

// warnEnds speaks of a spill at the end of the network and of branches shorter
// than a step.
func (p *Plan) warnEnds(at spillGrid, ways [][]way) {
	net, step := &p.Flow.Network, p.Flow.StepHours
	grids := func(branch int) int { return len(net.Branches[branch-1].Grids) }
	if !net.Interior(net.Branches[at.branch-1].Down) && p.travel(at.branch, at.grid, grids(at.branch)) < step {
		p.warn("the spill is at the end of the network: its mass leaves within the first step, and hardly an output time tells of it; add river below it to FLOW.IN")
	}
	var short []string
	for b := range net.Branches {
		reached := !math.IsInf(ways[b][grids(b+1)-1].hours, 1)
		if net.Interior(net.Branches[b].Up) && reached && p.travel(b+1, 1, grids(b+1)) < step {
			short = append(short, fmt.Sprint(b+1))
		}
	}
	if len(short) > 0 {
		p.warn("the water crosses branch %s in less than a step: dispersion is lost there and peaks come out too high; join branches or take a shorter TimeStepMinutes",
			list(short))
	}
}

// travel is the hours that water takes between two grids of a branch at the
// initial flows, +Inf where there is none.
func (p *Plan) travel(branch, from, to int) float64 {
	b := &p.Flow.Network.Branches[branch-1]
	var hours float64
	for g := from - 1; g < to-1; g++ {
		r := reachOf(&p.Flow.Network, b, g)
		hours += r.length / r.velocity / 3600
	}
	return hours
}

// way is how the water comes from the spill to a grid at the initial flows:
// hours on the way, +Inf where it does not come, and the dispersion there, as
// the sum of DQQ over the steps: half the variance of the cloud in steps.
type way struct{ hours, spread float64 }

// ways returns the way to each grid, by branch and grid of the run.
func (p *Plan) ways(at spillGrid) [][]way {
	net := &p.Flow.Network
	ways := make([][]way, len(net.Branches))
	junction := map[int]way{}
	nowhere := way{hours: math.Inf(1)}
	order, _ := net.Order()
	for _, b := range order {
		branch := &net.Branches[b]
		ways[b] = make([]way, len(branch.Grids))
		w := nowhere
		if first, ok := junction[branch.Up]; ok && net.Interior(branch.Up) {
			w = first
		}
		for g := range branch.Grids {
			if at.branch == b+1 && at.grid == g+1 {
				w = way{}
			}
			ways[b][g] = w
			if g < len(branch.Grids)-1 {
				h := p.travel(b+1, g+1, g+2)
				w.hours += h
				w.spread += p.Header.Branches[b].DQQ * h / p.Flow.StepHours
			}
		}
		end := ways[b][len(branch.Grids)-1]
		if first, ok := junction[branch.Down]; !ok || end.hours < first.hours {
			junction[branch.Down] = end
		}
	}
	return ways
}

// list names a few of many.
func list(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// minutes is a time in hours as minutes, rounded down to what one would enter.
func minutes(hours float64) string {
	m := hours * 60
	for _, step := range []float64{60, 30, 20, 15, 12, 10, 6, 5, 4, 3, 2, 1, 0.5, 0.2} {
		if m >= step {
			return fmt.Sprint(step)
		}
	}
	return "0.1"
}
