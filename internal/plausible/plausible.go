// Package plausible gives the time of travel and the peak that rivers have shown,
// from regressions over tracer studies in rivers of the United States: H. E. Jobson,
// Prediction of traveltime and longitudinal dispersion in rivers and streams, USGS
// Water-Resources Investigations Report 96-4013, 1996. It stands beside an engine,
// never instead of one. Invariant: a Band that Along returned is finite, and its
// fastest passage is never later than the most probable one.
package plausible

import (
	"errors"
	"math"
)

// Reach is a stretch of river, in SI units, where the same water flows.
type Reach struct {
	Length   float64 // m
	Flow     float64 // during the passage, m3/s
	MeanFlow float64 // over the years, m3/s
	Drainage float64 // area that drains into its lower end, m2
	Slope    float64 // m/m; 0 = not known
}

// Passage is a cloud passing the end of the last reach. Hours count from the
// release, which is taken as instantaneous.
type Passage struct {
	LeadingEdge  float64 // h, first of it
	Peak         float64 // h
	TrailingEdge float64 // h, 10 % of the peak behind it
	PeakMgL      float64
}

// Band is what is most probable, and the fastest and highest that is to be expected.
type Band struct{ Probable, Fastest Passage }

// ErrUnknown says that a reach lacks what the regressions need.
var ErrUnknown = errors.New("length, flow, mean flow and drainage area must be above 0")

const gravity = 9.8 // m/s2

// Along returns the passage at the end of reaches, each behind the other, of mass
// kg of which nothing is lost. Velocities are those of each reach, with its slope
// where that is known; the height of the peak is that at the flow of the last reach.
func Along(mass float64, reaches []Reach) (Band, error) {
	var probable, fastest float64 // s
	var last Reach
	for _, r := range reaches {
		if !(r.Length > 0 && r.Flow > 0 && r.MeanFlow > 0 && r.Drainage > 0) {
			return Band{}, ErrUnknown
		}
		p, f := r.velocities()
		probable += r.Length / p
		fastest += r.Length / f
		last = r
	}
	if len(reaches) == 0 || !(mass > 0) {
		return Band{}, ErrUnknown
	}
	b := Band{Probable: last.passage(mass, probable/3600), Fastest: last.passage(mass, fastest/3600)}
	for _, v := range []float64{b.Probable.Peak, b.Fastest.Peak, b.Probable.PeakMgL, b.Fastest.PeakMgL, b.Probable.TrailingEdge} {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return Band{}, ErrUnknown
		}
	}
	return b, nil
}

// velocities are those of the peak, m/s: most probable and fastest.
func (r *Reach) velocities() (probable, fastest float64) {
	area := math.Pow(r.Drainage, 1.25) * math.Sqrt(gravity) / r.MeanFlow // without dimension
	flow := r.Flow / r.MeanFlow
	if r.Slope > 0 {
		x := math.Pow(area, 0.919) * math.Pow(flow, -0.469) * math.Pow(r.Slope, 0.159) * r.Flow / r.Drainage
		return 0.094 + 0.0143*x, 0.25 + 0.02*x
	}
	x := math.Pow(area, 0.821) * math.Pow(flow, -0.465) * r.Flow / r.Drainage
	return 0.020 + 0.051*x, 0.2 + 0.093*x
}

// passage is the cloud whose peak comes after hours.
func (r *Reach) passage(mass, hours float64) Passage {
	// The unit peak concentration, 1e-6/s: how high one kilogram gets in one m3/s.
	unit := 857 * math.Pow(hours, -0.760*math.Pow(r.Flow/r.MeanFlow, -0.079))
	lead := 0.89 * hours
	return Passage{LeadingEdge: lead, Peak: hours, TrailingEdge: lead + 2e6/unit/3600, PeakMgL: unit * 1e-6 * mass / r.Flow * 1000}
}
