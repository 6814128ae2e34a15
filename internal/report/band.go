package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rsmsjob/internal/plausible"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// Site is the river at a mile while the spill passes.
type Site struct {
	Mile  float64 // river mile
	Flow  float64 // m3/s
	Slope float64 // m/m; 0 = not known
}

// Stretch is the river of a spill from the spill on.
type Stretch struct {
	River     string
	Spill     float64 // river mile
	Sense     int     // +1 where miles rise downstream, else -1
	Sites     []Site  // of the river, in any order
	Hydrology func(river string, mile float64) (river.Hydrology, bool)
}

// Bands returns what rivers have shown at the intakes of the river of the spill
// that lie downstream of it, as far as its hydrology is known, and those of these
// intakes for which it is not. Each reach runs from one intake to the next.
func Bands(massKg float64, s Stretch, intakes []plume.Intake) (bands []Band, unknown []plume.Intake) {
	sense := float64(cmp.Or(s.Sense, 1))
	down := func(mile float64) float64 { return sense * (mile - s.Spill) }
	sites := slices.Clone(s.Sites)
	slices.SortFunc(sites, func(a, b Site) int { return cmp.Compare(down(a.Mile), down(b.Mile)) })
	var below []plume.Intake
	for _, in := range intakes {
		if in.River == s.River && down(in.RiverMile) > 0 {
			below = append(below, in)
		}
	}
	slices.SortFunc(below, func(a, b plume.Intake) int { return cmp.Compare(down(a.RiverMile), down(b.RiverMile)) })
	var reaches []plausible.Reach
	at := 0.0 // miles below the spill
	for _, in := range below {
		to := down(in.RiverMile)
		if to > at {
			h, ok := s.Hydrology(s.River, in.RiverMile)
			if !ok {
				unknown = append(unknown, in)
				continue // what is known further down holds for the whole way there
			}
			r := meanOver(sites, down, at, to)
			r.MeanFlow, r.Drainage = h.MeanFlow, h.DrainageKm2*1e6
			reaches = append(reaches, r)
			at = to
		}
		b, err := plausible.Along(massKg, reaches)
		if err != nil {
			unknown = append(unknown, in)
			continue
		}
		bands = append(bands, Band{River: in.River, Mile: in.RiverMile, Band: b})
	}
	return bands, unknown
}

// meanOver is the reach between two distances below the spill, miles: flow and
// slope of its sites weighted by length.
func meanOver(sites []Site, down func(float64) float64, from, to float64) plausible.Reach {
	var flow, slope float64
	for i, site := range sites {
		begin, end := math.Inf(-1), math.Inf(1)
		if i > 0 {
			begin = down(site.Mile)
		}
		if i+1 < len(sites) {
			end = down(sites[i+1].Mile)
		}
		if part := math.Min(end, to) - math.Max(begin, from); part > 0 {
			flow += site.Flow * part / (to - from)
			slope += site.Slope * part / (to - from)
		}
	}
	return plausible.Reach{Length: (to - from) * river.KilometresPerMile * 1000, Flow: flow, Slope: slope}
}

// slowest is the peak time, hours, behind which the engine is called late: as far
// behind the most probable one as the fastest is ahead of it, by ratio. The
// regressions name no slowest case, so this is our choice.
func (b *Band) slowest() float64 { return b.Probable.Peak * b.Probable.Peak / b.Fastest.Peak }

// outside says how the engine leaves the band, "" where it does not.
func (r *Report) outside(in *plume.Intake, b *Band) string {
	if in.LeadingEdge == nil && in.PeakTime == nil {
		return r.missed(b)
	}
	if in.PeakTime == nil { // an older document
		return ""
	}
	at, lasting := r.since(*in.PeakTime), r.Scenario.SpillDurationHours
	switch {
	case at < b.Fastest.Peak:
		return fmt.Sprintf("the engine's peak comes after %s h, before the fastest that rivers have shown (%s h)", hours(at), hours(b.Fastest.Peak))
	case at > b.slowest()+lasting:
		return fmt.Sprintf("the engine's peak comes after %s h, later than the band (%s h)", hours(at), hours(b.slowest()+lasting))
	case in.PeakMgL > b.Fastest.PeakMgL:
		return fmt.Sprintf("the engine's peak of %s mg/L is above the highest that rivers have shown (%s mg/L)", number(in.PeakMgL), number(b.Fastest.PeakMgL))
	}
	return ""
}

// missed says that the engine never brings a plume that the band expects: one whose
// slowest peak passes within the simulation, and whose most probable one would be
// seen even after what is lost on the way.
func (r *Report) missed(b *Band) string {
	s := r.Scenario
	peak := b.Probable.PeakMgL
	if s.HalfLifeHours > 0 {
		peak *= math.Exp2(-b.Probable.Peak / s.HalfLifeHours)
	}
	if b.slowest()+s.SpillDurationHours > s.SimulationHours || peak < r.tolerance() {
		return ""
	}
	return fmt.Sprintf("the engine never brings the plume here, while rivers have shown its peak after %s h with %s mg/L; do not take it for clean", hours(b.Probable.Peak), number(peak))
}

// bandText is the band of an intake in a plain message, "" where there is none.
func (r *Report) bandText(in *plume.Intake) string {
	b := r.bandAt(in.River, in.RiverMile)
	if b == nil {
		return ""
	}
	return fmt.Sprintf("tracer studies: arrival %s h (fastest %s h), peak %s h (fastest %s h) after the spill, %s mg/L (highest %s mg/L)", hours(b.Probable.LeadingEdge),
		hours(b.Fastest.LeadingEdge), hours(b.Probable.Peak), hours(b.Fastest.Peak), number(b.Probable.PeakMgL), number(b.Fastest.PeakMgL))
}

// unbanded says for which intakes there is no band though there could be one, "" for
// none.
func (r *Report) unbanded() string {
	const most = 12
	var names []string
	for i := range r.Unbanded {
		if i == most {
			names = append(names, count(len(r.Unbanded)-most, "other", "others"))
			break
		}
		names = append(names, isolated(nameOf(&r.Unbanded[i])))
	}
	if len(names) == 0 {
		return ""
	}
	return "No band for " + strings.Join(names, ", ") + ": hydrology of basin.json gives nothing for their miles."
}
