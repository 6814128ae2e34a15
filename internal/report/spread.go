package report

import (
	"fmt"
	"time"

	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/plume"
)

// spreadView is the section of an ensemble.
type spreadView struct {
	Varied  string // how
	Failed  string // how many runs, "" for none
	Rows    []spreadRow
	Concern bool // whether there is a level of it
}

// spreadRow is an intake of that section: between which values 90 % of the runs
// are that reach it.
type spreadRow struct {
	Name, River         string
	Reached, Above      string // how many of the runs
	Lead, Peak          *momentSpan
	Low, High           string // peak, mg/L
	LowExact, HighExact string
	End                 *moment // 95 % of those that are over are by then
	Passed              string  // how many are not over, "" for none
}

// momentSpan is from when to when.
type momentSpan struct{ From, To *moment }

// hasSpread reports whether the result has bands of an ensemble.
func (r *Report) hasSpread() bool { return r.Ensemble != nil && len(r.Ensemble.Intakes) > 0 }

// spreadAt is the band of an intake, nil where there is none.
func (r *Report) spreadAt(in *plume.Intake) *ensemble.Band {
	if r.Ensemble == nil || in == nil {
		return nil
	}
	for i := range r.Ensemble.Intakes {
		if b := &r.Ensemble.Intakes[i]; b.River == in.River && b.RiverMile == in.RiverMile && b.Name == in.Name {
			return b
		}
	}
	return nil
}

// varied says what an ensemble is made of.
func (r *Report) varied() string {
	e := r.Ensemble
	text := fmt.Sprintf("%s of the engines with dispersion times %s to %s, flows times %s to %s", count(e.Completed, "run", "runs"),
		number(e.Ranges.DispersionFactor[0]), number(e.Ranges.DispersionFactor[1]), number(e.Ranges.FlowFactor[0]), number(e.Ranges.FlowFactor[1]))
	if h := e.Ranges.ReleaseShiftHours[1]; h > 0 {
		text += fmt.Sprintf(", and the release up to %s h earlier or later", number(h))
	}
	return text
}

// spreadView is the section, nil where there is no band.
func (r *Report) spreadView() *spreadView {
	if !r.hasSpread() {
		return nil
	}
	e := r.Ensemble
	v := &spreadView{Varied: r.varied(), Concern: r.Scenario.ThresholdMgL > 0}
	if e.Failed > 0 {
		v.Failed = count(e.Failed, "run", "runs")
	}
	for _, i := range r.shownIntakes() {
		b := r.spreadAt(&r.Intakes[i])
		if b == nil {
			continue
		}
		row := spreadRow{Name: nameOf(&r.Intakes[i]), River: b.River, Reached: of(b.Reached, e.Completed)}
		if b.AboveThreshold != nil {
			row.Above = of(*b.AboveThreshold, e.Completed)
		}
		if b.LeadingEdge != nil && b.PeakTime != nil && b.PeakMgL != nil {
			row.Lead = &momentSpan{r.moment(&b.LeadingEdge.P05, early), r.moment(&b.LeadingEdge.P95, late)}
			row.Peak = &momentSpan{r.moment(&b.PeakTime.P05, early), r.moment(&b.PeakTime.P95, late)}
			row.Low, row.High = number(b.PeakMgL.P05), number(b.PeakMgL.P95)
			row.LowExact, row.HighExact = exact(b.PeakMgL.P05), exact(b.PeakMgL.P95)
		}
		if b.TrailingEdge != nil {
			row.End = r.moment(&b.TrailingEdge.P95, late)
		}
		if left := b.Reached - b.Passed; left > 0 {
			row.Passed = of(left, e.Completed)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

func of(n, all int) string { return fmt.Sprintf("%d of %d", n, all) }

// spreadText is an intake in a plain message, "" where there is no band.
func (r *Report) spreadText(in *plume.Intake) string {
	b := r.spreadAt(in)
	if b == nil {
		return ""
	}
	text := fmt.Sprintf("of %s %d reach it", count(r.Ensemble.Completed, "run", "runs"), b.Reached)
	if b.LeadingEdge == nil || b.PeakMgL == nil {
		return text
	}
	return text + fmt.Sprintf("; 90 %% of these arrive between %s and %s, peak %s to %s mg/L",
		r.both(early(b.LeadingEdge.P05)), r.both(late(b.LeadingEdge.P95)), number(b.PeakMgL.P05), number(b.PeakMgL.P95))
}

// shade is how the spread is drawn in a curve: a box where 90 % of the peaks are,
// and a bar along the axis where 90 % of the arrivals are. Lengths.
type shade struct{ X, Y, Width, Height, BarX, BarWidth string }

// spreadExtent is what a picture must show of a spread: hours from the spill, mg/L.
func (r *Report) spreadExtent(b *ensemble.Band) (from, to, top float64) {
	return r.since(b.LeadingEdge.P05), r.since(b.PeakTime.P95), b.PeakMgL.P95
}

// leastShade is the length below which a spread is not seen.
const leastShade = 2.0

func (r *Report) shade(b *ensemble.Band, x, y scale) *shade {
	span := func(from, to float64) (at, length string) {
		return coordinate(from), coordinate(max(leastShade, to-from))
	}
	var s shade
	s.X, s.Width = span(x.at(r.since(b.PeakTime.P05)), x.at(r.since(b.PeakTime.P95)))
	s.Y, s.Height = span(y.at(b.PeakMgL.P95), y.at(b.PeakMgL.P05))
	s.BarX, s.BarWidth = span(x.at(r.since(b.LeadingEdge.P05)), x.at(r.since(b.LeadingEdge.P95)))
	return &s
}

// drawn reports whether a spread has all that a picture shows of it.
func drawn(b *ensemble.Band) bool {
	return b != nil && b.LeadingEdge != nil && b.PeakTime != nil && b.PeakMgL != nil
}

// spreadColumns are those of intakes.csv that an ensemble adds.
func spreadColumns() []string {
	return []string{"runs", "runs_reached", "runs_above_threshold", "leading_edge_p05", "leading_edge_p50", "leading_edge_p95",
		"peak_time_p05", "peak_time_p50", "peak_time_p95", "peak_mg_l_p05", "peak_mg_l_p50", "peak_mg_l_p95",
		"trailing_edge_p05", "trailing_edge_p50", "trailing_edge_p95", "hours_above_threshold_p05", "hours_above_threshold_p50", "hours_above_threshold_p95"}
}

// spreadCells are the cells of an intake under these columns.
func (r *Report) spreadCells(in *plume.Intake) []string {
	b := r.spreadAt(in)
	if b == nil {
		return make([]string, len(spreadColumns()))
	}
	cells := []string{fmt.Sprint(r.Ensemble.Completed), fmt.Sprint(b.Reached), ""}
	if b.AboveThreshold != nil {
		cells[2] = fmt.Sprint(*b.AboveThreshold)
	}
	cells = append(cells, three(b.LeadingEdge, stampOf)...)
	cells = append(cells, three(b.PeakTime, stampOf)...)
	cells = append(cells, three(b.PeakMgL, exact)...)
	cells = append(cells, three(b.TrailingEdge, stampOf)...)
	return append(cells, three(b.HoursAboveThreshold, exact)...)
}

func stampOf(t time.Time) string { return stamp(&t) }

// three are the cells of a spread, blank where there is none.
func three[T any](s *ensemble.Spread[T], text func(T) string) []string {
	if s == nil {
		return []string{"", "", ""}
	}
	return []string{text(s.P05), text(s.P50), text(s.P95)}
}
