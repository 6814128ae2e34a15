package engine

import (
	"fmt"
	"math"
	"strings"

	"rsmsjob/internal/river"
)

// nearSteps is how many steps of travel behind the spill the transport scheme
// needs before a peak is right within 2 %.
const nearSteps = 20

// warnCoarse speaks of places where the step of the run is too long: intakes
// that the water reaches in a few steps, where the peak may pass between two of
// them, and branches that it crosses in one, where dispersion is lost.
func (p *Plan) warnCoarse(at spillGrid) {
	net := &p.Flow.Network
	hours := p.arrivals(at)
	var near []string
	nearest := math.Inf(1)
	for _, place := range p.Case.Index.Places {
		h := hours[place.Branch-1][at.runGrid(place.Branch, place.Grid)-1]
		if place.Feature == river.Intake && h > 0 && h < nearSteps*p.Flow.StepHours {
			near = append(near, place.Name)
			nearest = min(nearest, h)
		}
	}
	if len(near) > 0 {
		p.warn("the step is too long for %s: the water is there within %d steps and a peak may pass between two of them, so the real one may be higher; a TimeStepMinutes of %s or less is right",
			list(near), nearSteps, minutes(nearest/nearSteps))
	}
	if last := len(net.Branches[at.branch-1].Grids); !net.Interior(net.Branches[at.branch-1].Down) &&
		hours[at.branch-1][last-1] < p.Flow.StepHours {
		p.warn("the spill is at the end of the network: its mass leaves within the first step, and what the last places see of it comes out too low; add river below it to FLOW.IN")
	}
	var short []string
	for b := range net.Branches {
		first, last := hours[b][0], hours[b][len(hours[b])-1]
		if net.Interior(net.Branches[b].Up) && !math.IsInf(last, 1) && last-first < p.Flow.StepHours {
			short = append(short, fmt.Sprint(b+1))
		}
	}
	if len(short) > 0 {
		p.warn("the water crosses branch %s in less than a step: dispersion is lost there and peaks come out too high; join branches or take a shorter TimeStepMinutes",
			list(short))
	}
}

// arrivals returns, by branch and grid of the run, the hours that water takes
// there from the spill at the initial flows, +Inf where it does not come.
func (p *Plan) arrivals(at spillGrid) [][]float64 {
	net := &p.Flow.Network
	hours := make([][]float64, len(net.Branches))
	junction := map[int]float64{}
	order, _ := net.Order()
	for _, b := range order {
		branch := &net.Branches[b]
		hours[b] = make([]float64, len(branch.Grids))
		h := math.Inf(1)
		if first, ok := junction[branch.Up]; ok && net.Interior(branch.Up) {
			h = first
		}
		for g := range branch.Grids {
			if at.branch == b+1 && at.grid == g+1 {
				h = 0
			}
			hours[b][g] = h
			if g < len(branch.Grids)-1 {
				r := reachOf(net, branch, g)
				h += r.length / r.velocity / 3600
			}
		}
		end := hours[b][len(branch.Grids)-1]
		if first, ok := junction[branch.Down]; !ok || end < first {
			junction[branch.Down] = end
		}
	}
	return hours
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
