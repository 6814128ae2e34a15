package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

// runFlows is the basin's flow input for the run: its own step, as many steps
// as the scenario simulates, flows of the scenario's source, scaled. The first
// run step begins at the spill, and so does the first step of FLOW.IN; behind
// its last step the flows hold.
func runFlows(c Case) (*daflow.Input, error) {
	s, base := c.Scenario, c.Input
	in := &daflow.Input{
		Network:    cloneNetwork(base.Network),
		Steps:      s.Steps(),
		StepHours:  s.StepSeconds() / 3600,
		PrintEvery: s.OutputEvery(),
		Peak:       base.Peak * s.FlowScale,
	}
	midnight := s.SpillTime.Truncate(24 * time.Hour)
	in.StartStep = int(s.SpillTime.Sub(midnight).Seconds() / s.StepSeconds())
	in.Boundaries = make([][]daflow.Change, in.Steps)

	series := baseSeries(base)
	if c.Flows != nil {
		for _, f := range c.Flows.Series {
			delete(series, place{f.Branch, f.Grid})
		}
	}
	for at, points := range series {
		resample(in, at, points, base.StepHours)
	}
	if c.Flows != nil {
		if err := fromRecords(in, c.Flows, s); err != nil {
			return nil, err
		}
	}
	for k := range in.Boundaries {
		for i := range in.Boundaries[k] {
			in.Boundaries[k][i].Flow *= s.FlowScale
		}
		slices.SortFunc(in.Boundaries[k], comparePlace)
	}
	for b := range in.Network.Branches {
		for g := range in.Network.Branches[b].Grids {
			in.Network.Branches[b].Grids[g].Flow *= s.FlowScale
		}
	}
	if c.Flows != nil {
		settle(in)
		in.Peak = most(in)
	}
	return in, nil
}

// most is a flow that no grid exceeds: all that ever comes in at once. Records
// bring their own scale; the peak of FLOW.IN belongs to another day.
func most(in *daflow.Input) float64 {
	highest := map[place]float64{}
	for _, changes := range in.Boundaries {
		for _, c := range changes {
			at := place{c.Branch, c.Grid}
			highest[at] = math.Max(highest[at], c.Flow)
		}
	}
	var sum, initial float64
	for _, q := range slices.Sorted(maps.Values(highest)) { // in one order: sums must not differ
		sum += q
	}
	for _, b := range in.Network.Branches {
		for _, g := range b.Grids {
			initial = math.Max(initial, g.Flow)
		}
	}
	if peak := math.Max(sum, initial); peak > 0 {
		return roundDigits(1.1*peak, 2)
	}
	return in.Peak
}

func cloneNetwork(n river.Network) river.Network {
	n.Branches = slices.Clone(n.Branches)
	for b := range n.Branches {
		n.Branches[b].Grids = slices.Clone(n.Branches[b].Grids)
	}
	return n
}

// place is where a boundary value acts.
type place struct{ branch, grid int }

func comparePlace(a, b daflow.Change) int {
	return cmp.Or(cmp.Compare(a.Branch, b.Branch), cmp.Compare(a.Grid, b.Grid))
}

// point is a boundary value that holds from a step of FLOW.IN on (0 = first).
type point struct {
	step int
	flow float64
}

// baseSeries gathers the boundary values of FLOW.IN by place.
func baseSeries(in *daflow.Input) map[place][]point {
	series := map[place][]point{}
	for k, changes := range in.Boundaries {
		for _, c := range changes {
			at := place{c.Branch, c.Grid}
			series[at] = append(series[at], point{k, c.Flow})
		}
	}
	return series
}

// resample writes a series given at steps of sourceHours as means over the
// steps of the run, so that the volume is the same. Before its first point a
// series says nothing: a run step that only partly follows it takes the value
// of the point.
func resample(in *daflow.Input, at place, points []point, sourceHours float64) {
	ratio := in.StepHours / sourceHours // source steps per run step
	i := 0
	last := math.NaN()
	for k := 0; k < in.Steps; k++ {
		from, to := float64(k)*ratio, float64(k+1)*ratio
		for i+1 < len(points) && float64(points[i+1].step) <= from+1e-9 {
			i++
		}
		if float64(points[i].step) >= to-1e-9 {
			continue
		}
		mean := points[i].flow
		if i+1 < len(points) && float64(points[i+1].step) < to-1e-9 {
			mean = meanOver(points[i:], math.Max(from, float64(points[i].step)), to)
		}
		if mean != last {
			in.Boundaries[k] = append(in.Boundaries[k], daflow.Change{Branch: at.branch, Grid: at.grid, Flow: mean})
			last = mean
		}
	}
}

// meanOver is the mean of a step function from a time in its first piece.
func meanOver(points []point, from, to float64) float64 {
	var sum float64
	for i := range points {
		start, end := math.Max(from, float64(points[i].step)), to
		if start >= to {
			break
		}
		if i+1 < len(points) {
			end = math.Min(to, float64(points[i+1].step))
		}
		sum += points[i].flow * (end - start)
	}
	return sum / (to - from)
}

// fromRecords writes the series of NFQ.csv as means over the steps of the run.
func fromRecords(in *daflow.Input, flows *river.Flows, s *river.Scenario) error {
	step := time.Duration(s.StepSeconds() * float64(time.Second))
	for _, f := range flows.Series {
		last := math.NaN()
		for k := range in.Steps {
			from := s.SpillTime.Add(time.Duration(k) * step)
			mean, err := flows.Mean(f.Branch, f.Grid, from, from.Add(step))
			if err != nil {
				return err
			}
			if mean != last {
				in.Boundaries[k] = append(in.Boundaries[k], daflow.Change{Branch: f.Branch, Grid: f.Grid, Flow: mean})
				last = mean
			}
		}
	}
	return nil
}

// settle sets the initial flows to the steady flow of the boundary values of
// the first step: records say what flows in, not what the river holds, and
// the initial flows of FLOW.IN belong to another day.
func settle(in *daflow.Input) {
	net := &in.Network
	first := map[place]float64{}
	for _, c := range in.Boundaries[0] {
		first[place{c.Branch, c.Grid}] = c.Flow
	}
	arriving := map[int]float64{} // at junctions
	order, _ := net.Order()
	for _, b := range order {
		branch := &net.Branches[b]
		q := branch.Grids[0].Flow
		if net.Interior(branch.Up) {
			q = branch.Share * arriving[branch.Up]
		} else if v, ok := first[place{b + 1, 1}]; ok {
			q = v
		}
		for g := range branch.Grids {
			if g > 0 {
				q = math.Max(0, q+first[place{b + 1, g + 1}])
			}
			if g < len(branch.Grids)-1 {
				branch.Grids[g].Flow = q
			}
		}
		arriving[branch.Down] += q
	}
}
