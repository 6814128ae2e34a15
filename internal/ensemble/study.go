package ensemble

import (
	"fmt"
	"math"
	"slices"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// Study gathers what the runs of an ensemble found. It keeps five numbers per
// intake and run.
type Study struct {
	doc     Document
	intakes []plume.Intake
	answers [][]answer // by run; nil where it did not complete
}

// answer is what a run found at one intake. Times are seconds since 1970, NaN
// where the run has none.
type answer struct {
	lead, peak, trail float64
	mgL               float64
	above             float64 // hours above the level of concern, NaN where there is none
}

// NewStudy begins the study of the draws of the options, of flows with dates or
// without, at the intakes of the run that everybody else is compared with.
func NewStudy(ids plume.IDs, o Options, dated bool, draws []Draw, intakes []plume.Intake) *Study {
	s := &Study{doc: Document{IDs: ids, Seed: o.Seed, Intakes: []Band{}, Runs: make([]Run, len(draws)), Ranges: o.ranges(dated, draws)},
		intakes: intakes, answers: make([][]answer, len(draws))}
	for i, d := range draws {
		s.doc.Runs[i] = Run{Number: i + 1, Draw: d}
	}
	return s
}

// Completed takes what run i, from 0, found at the intakes, in their order.
func (s *Study) Completed(i int, found []plume.Intake) {
	list := make([]answer, len(found))
	for k, in := range found {
		list[k] = answer{lead: unix(in.LeadingEdge), peak: unix(in.PeakTime), trail: unix(in.TrailingEdge), mgL: in.PeakMgL, above: math.NaN()}
		if in.HoursAboveThreshold != nil {
			list[k].above = *in.HoursAboveThreshold
		}
	}
	s.answers[i] = list
	s.doc.Runs[i].State = completed
	s.doc.Completed++
}

// Failed takes that run i, from 0, failed.
func (s *Study) Failed(i int, code reason.Code) {
	s.doc.Runs[i].State, s.doc.Runs[i].Reason = failed, code
	s.doc.Failed++
}

func unix(t *time.Time) float64 {
	if t == nil {
		return math.NaN()
	}
	return float64(t.Unix())
}

// mostFailed is how many of the runs may fail, as one part of so many, before
// what the others found is no longer taken for all: those that fail are hardly
// the ordinary ones.
const mostFailed = 10

// Document returns what was gathered. Every run has ended by then.
func (s *Study) Document() *Document {
	d := s.doc
	switch {
	case len(s.intakes) == 0:
		d.Problem = "there is no band: the basin has no intakes in its index, so no run was made"
	case d.Failed*mostFailed > len(d.Runs):
		d.Problem = fmt.Sprintf("there is no band: %d of the %d runs of the ensemble failed, more than one in %d", d.Failed, len(d.Runs), mostFailed)
		if d.MayComeAgain() {
			d.Problem += "; another run of the same message tries again"
		}
	default:
		for k := range s.intakes {
			d.Intakes = append(d.Intakes, s.band(k))
		}
	}
	return &d
}

// MayComeAgain reports whether there is no band for reasons that pass.
func (d *Document) MayComeAgain() bool {
	return d.Problem != "" && slices.ContainsFunc(d.Runs, func(r Run) bool { return r.State == failed && r.Reason.Transient() })
}

// band is the spread at one intake.
func (s *Study) band(k int) Band {
	in := &s.intakes[k]
	b := Band{Name: in.Name, River: in.River, RiverMile: in.RiverMile}
	above := 0
	var leads, peaks, trails, heights, hours []float64
	for _, run := range s.answers {
		if run == nil {
			continue
		}
		a := run[k]
		if a.above > 0 {
			above++
		}
		if math.IsNaN(a.lead) {
			continue
		}
		leads, peaks, heights = append(leads, a.lead), append(peaks, a.peak), append(heights, a.mgL)
		if !math.IsNaN(a.trail) {
			trails = append(trails, a.trail)
		}
		if !math.IsNaN(a.above) {
			hours = append(hours, a.above)
		}
	}
	b.Reached, b.Passed = len(leads), len(trails)
	if in.HoursAboveThreshold != nil {
		b.AboveThreshold = &above
	}
	b.LeadingEdge, b.PeakTime, b.TrailingEdge = spread(leads, moment), spread(peaks, moment), spread(trails, moment)
	b.PeakMgL, b.HoursAboveThreshold = spread(heights, number), spread(hours, number)
	return b
}

func moment(seconds float64) time.Time { return time.Unix(int64(math.Round(seconds)), 0).UTC() }

func number(x float64) float64 { return x }

// spread is that of some values, which it sorts; nil of none.
func spread[T any](values []float64, as func(float64) T) *Spread[T] {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	at := func(part float64) T { return as(quantile(values, part)) }
	return &Spread[T]{at(0), at(0.05), at(0.5), at(0.95), at(1)}
}

// quantile is the value below which a part of some sorted values lies, linear
// between them: the lowest is at 0, the highest at 1.
func quantile(sorted []float64, part float64) float64 {
	at := part * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}
