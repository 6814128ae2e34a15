package plume

import (
	"time"

	"rsmsjob/internal/river"
)

// EdgeSeries is the plume on one river over time, an element of
// edge_timeseries.json. All slices have the length of Time. A nil means that
// no place of the river is at or above the tolerance at that time. The leading
// edge is the last such place in the direction of the water, whichever way the
// miles count. MassKg is all that the river holds, below the tolerance too.
type EdgeSeries struct {
	River            string      `json:"river"`
	Time             []time.Time `json:"time"`
	LeadingEdgeMile  []*float64  `json:"leading_edge_mile"`
	TrailingEdgeMile []*float64  `json:"trailing_edge_mile"`
	PeakMile         []*float64  `json:"peak_mile"`
	PeakMgL          []*float64  `json:"peak_mg_l"`
	MassKg           []float64   `json:"mass_kg"`
}

// Edges gathers the series of all rivers from one profile after the other.
type Edges struct {
	tolerance float64
	places    []river.Place
	riverOf   []int     // place -> series
	sense     []float64 // series -> +1 where miles rise downstream, else -1
	length    []float64 // place -> length of river it stands for, any unit
	branches  [][]int   // branch-1 -> its places
	series    []EdgeSeries
}

// NewEdges prepares the series for the places, all of the index, in any order.
// length is how much of its branch each place stands for (any one unit): it
// shares the mass of a branch among rivers where a branch carries more than one
// name.
func NewEdges(index *river.Index, places []river.Place, branches int, length []float64, tolerance float64) *Edges {
	e := &Edges{tolerance: tolerance, places: places, length: length,
		riverOf: make([]int, len(places)), branches: make([][]int, branches)}
	number := map[string]int{}
	for i, name := range index.Rivers() {
		number[name] = i
		e.series = append(e.series, EdgeSeries{River: name})
		sense := 1.0 // a river with a single place has no direction
		if index.Downstream(name) < 0 {
			sense = -1
		}
		e.sense = append(e.sense, sense)
	}
	for i, p := range e.places {
		e.riverOf[i] = number[p.River]
		e.branches[p.Branch-1] = append(e.branches[p.Branch-1], i)
	}
	return e
}

// Profile adds one time: c is the concentration in mg/L at each place, branchKg
// the mass in each branch.
func (e *Edges) Profile(t time.Time, c, branchKg []float64) {
	lead, trail, peak := e.extremes(c)
	mass := e.riverMass(c, branchKg)
	for r := range e.series {
		s := &e.series[r]
		s.Time = append(s.Time, t.UTC())
		s.MassKg = append(s.MassKg, mass[r])
		if peak[r] < 0 {
			s.LeadingEdgeMile = append(s.LeadingEdgeMile, nil)
			s.TrailingEdgeMile = append(s.TrailingEdgeMile, nil)
			s.PeakMile = append(s.PeakMile, nil)
			s.PeakMgL = append(s.PeakMgL, nil)
			continue
		}
		value := c[peak[r]]
		s.LeadingEdgeMile = append(s.LeadingEdgeMile, &e.places[lead[r]].Mile)
		s.TrailingEdgeMile = append(s.TrailingEdgeMile, &e.places[trail[r]].Mile)
		s.PeakMile = append(s.PeakMile, &e.places[peak[r]].Mile)
		s.PeakMgL = append(s.PeakMgL, &value)
	}
}

// extremes returns for each river the places of leading edge, trailing edge
// and peak, -1 where the river has no plume. Of several equal peaks the one
// furthest upstream counts, whatever the order of the places.
func (e *Edges) extremes(c []float64) (lead, trail, peak []int) {
	lead, trail, peak = none(len(e.series)), none(len(e.series)), none(len(e.series))
	for i := range e.places {
		if c[i] < e.tolerance {
			continue
		}
		r := e.riverOf[i]
		at := e.sense[r] * e.places[i].Mile
		if lead[r] < 0 || at > e.sense[r]*e.places[lead[r]].Mile {
			lead[r] = i
		}
		if trail[r] < 0 || at < e.sense[r]*e.places[trail[r]].Mile {
			trail[r] = i
		}
		if peak[r] < 0 || c[i] > c[peak[r]] ||
			c[i] == c[peak[r]] && at < e.sense[r]*e.places[peak[r]].Mile {
			peak[r] = i
		}
	}
	return lead, trail, peak
}

func none(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// riverMass shares the mass of each branch among the rivers of its places, by
// concentration times length, or by length alone where all places are clean. A
// river that has a branch to itself gets exactly its mass.
func (e *Edges) riverMass(c, branchKg []float64) []float64 {
	mass, part := make([]float64, len(e.series)), make([]float64, len(e.series))
	for b, places := range e.branches {
		if len(places) == 0 || branchKg[b] == 0 {
			continue
		}
		all := e.weigh(part, places, func(i int) float64 { return c[i] * e.length[i] })
		if all <= 0 {
			all = e.weigh(part, places, func(i int) float64 { return e.length[i] })
		}
		if all <= 0 {
			all = e.weigh(part, places, func(int) float64 { return 1 })
		}
		for r, p := range part {
			mass[r] += p / all * branchKg[b]
		}
	}
	return mass
}

// weigh sets part to the weight of the places by river and returns the sum.
func (e *Edges) weigh(part []float64, places []int, weight func(place int) float64) (all float64) {
	clear(part)
	for _, i := range places {
		w := weight(i)
		part[e.riverOf[i]] += w
		all += w
	}
	return all
}

// Series returns the series in the order of the rivers of the index.
func (e *Edges) Series() []EdgeSeries { return e.series }
