package plume

import (
	"time"

	"rsmsjob/internal/river"
)

// Intake is the answer for one water intake, an element of intakes.json.
// Times are nil when the plume does not reach the tolerance there;
// TrailingEdge is nil as well while the plume still stands there at the end of
// the simulation.
type Intake struct {
	Name         string     `json:"name"`
	River        string     `json:"river"`
	RiverMile    float64    `json:"river_mile"`
	LeadingEdge  *time.Time `json:"leading_edge"`
	PeakTime     *time.Time `json:"peak_time"`
	PeakMgL      float64    `json:"peak_mg_l"`
	TrailingEdge *time.Time `json:"trailing_edge"`
	// HoursAboveThreshold is nil where neither scenario nor basin names a
	// level of concern.
	HoursAboveThreshold *float64 `json:"hours_above_threshold"`

	// Shape describes the same curve relative to its own peak, for comparison
	// with field observations; it is not published.
	Shape Shape `json:"-"`
}

// Shape is a curve by its own peak: hours from the spill to 10 % of the peak
// before it, to the peak, and to 10 % of the peak behind it; the two edges are
// 0 where the curve does not cross them.
type Shape struct {
	LeadHours, PeakHours, TrailHours float64
	PeakMgL                          float64
}

// ShapeOf measures a curve by its own peak.
func ShapeOf(c *Curve) Shape {
	var s Shape
	s.PeakHours, s.PeakMgL = c.Peak()
	if s.PeakMgL <= 0 {
		return s
	}
	s.LeadHours, _ = c.FirstAt(s.PeakMgL / 10)
	s.TrailHours, _ = c.LastAt(s.PeakMgL / 10)
	return s
}

// IntakeOf answers for the intake at place from its curve. start is the time
// of the spill, tolerance and threshold are in mg/L; threshold nil means there
// is no level of concern.
func IntakeOf(place river.Place, c *Curve, start time.Time, tolerance float64, threshold *float64) Intake {
	in := Intake{Name: place.Name, River: place.River, RiverMile: place.Mile, Shape: ShapeOf(c)}
	in.PeakMgL = in.Shape.PeakMgL
	if threshold != nil {
		h := c.HoursAbove(*threshold)
		in.HoursAboveThreshold = &h
	}
	lead, reached := c.FirstAt(tolerance)
	if !reached {
		return in
	}
	in.LeadingEdge = at(start, lead)
	in.PeakTime = at(start, in.Shape.PeakHours)
	if trail, over := c.LastAt(tolerance); over {
		in.TrailingEdge = at(start, trail)
	}
	return in
}

// at is the time some hours after start, to the second.
func at(start time.Time, hours float64) *time.Time {
	t := start.Add(time.Duration(hours * float64(time.Hour))).Round(time.Second).UTC()
	return &t
}
