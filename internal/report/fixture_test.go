package report_test

import (
	"fmt"
	"math"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/report"
	"rsmsjob/internal/river"
)

// spill is a made-up result: a cloud that goes down each river at one speed.
type spill struct {
	name      string
	rivers    []string
	falling   bool // miles fall downstream
	places    int  // of each river
	intakes   int  // of each river, evenly spaced
	miles     float64
	times     int
	hours     float64 // from one output to the next
	peak      float64 // mg/L
	tolerance float64
	nameOf    func(i int) string
	clean     bool // no rows at all
}

var begin = time.Date(2026, 3, 28, 22, 30, 0, 0, time.UTC)

// field is the concentration at a mile below the spill and an hour after it.
func (s *spill) field(below, h float64) float64 {
	if s.clean {
		return 0
	}
	at, wide := 1+h*1.5, 0.4+0.12*math.Sqrt(h)
	if math.Abs(below-at) > 9*wide { // below any tolerance here
		return 0
	}
	return s.peak / (1 + h/3) * math.Exp(-math.Pow((below-at)/wide, 2)/2)
}

// facts are those of the spill without its rows.
func (s *spill) facts() report.Facts {
	f := report.Facts{IDs: plume.IDs{Basin: "ohio", Scenario: "42", JobID: "job-1"}, BasinName: "Ohio", Engine: "bundled 1",
		Scenario: &river.Scenario{Name: s.name, SpillRiver: s.rivers[0], SpillTime: begin, SpillMassKg: 1200, SimulationHours: float64(s.times-1) * s.hours,
			TimeStepMinutes: 15, OutputIntervalMinutes: s.hours * 60, ConcentrationTolerance: s.tolerance, ThresholdMgL: s.peak / 20, FlowSource: river.FlowBasin, FlowScale: 1},
		Inputs: map[string]string{"FLOW.IN": "aa11", "RiverMileIndex.csv": "bb22"}, Engines: map[string]string{"daflow": "cc33"},
		Warnings: []string{"branch 1: dispersion is estimated, good to a factor of 4"}, Intakes: []plume.Intake{}}
	for _, name := range s.rivers {
		for i := range s.places {
			p := river.Place{River: name, Mile: s.mile(i), Branch: 1, Grid: i + 1}
			if s.intakes > 0 && i%max(1, s.places/s.intakes) == 0 && i/max(1, s.places/s.intakes) < s.intakes {
				p.Feature, p.Name = river.Intake, s.nameOf(i)
				f.Intakes = append(f.Intakes, s.intake(p, i))
			}
			f.Places = append(f.Places, p)
		}
		f.Edges = append(f.Edges, s.edges(name))
	}
	for k := range s.times {
		f.Balance.Add(begin.Add(time.Duration(float64(k)*s.hours*float64(time.Hour))), plume.Ledger{InjectedKg: 1200, InRiverKg: 1200 - float64(k), DecayedKg: float64(k)})
	}
	f.Balance.Finish(plume.Ledger{InjectedKg: 1200, InRiverKg: 1200 - float64(s.times-1), DecayedKg: float64(s.times - 1)})
	return f
}

// below is how far a place is below the spill, miles.
func (s *spill) below(i int) float64 {
	if s.places == 1 {
		return s.miles / 2
	}
	return s.miles * float64(i) / float64(s.places-1)
}

func (s *spill) mile(i int) float64 {
	m := s.below(i)
	if s.falling {
		m = s.miles - m
	}
	return math.Round(m*1e4) / 1e4
}

func (s *spill) intake(p river.Place, i int) plume.Intake {
	var c plume.Curve
	for k := range s.times * 4 {
		h := float64(k) / 4 * s.hours
		c.Add(h, s.field(s.below(i), h))
	}
	threshold := s.peak / 20
	return plume.IntakeOf(p, &c, begin, s.tolerance, &threshold)
}

func (s *spill) edges(name string) plume.EdgeSeries {
	e := plume.EdgeSeries{River: name}
	for k := range s.times {
		h := float64(k) * s.hours
		var lead, trail, peak, at *float64
		for i := range s.places {
			if c := s.field(s.below(i), h); c >= s.tolerance {
				m := s.mile(i)
				lead = &m
				if trail == nil {
					trail = &m
				}
				if peak == nil || c > *peak {
					peak, at = &c, &m
				}
			}
		}
		e.Time = append(e.Time, begin.Add(time.Duration(h*float64(time.Hour))))
		e.LeadingEdgeMile, e.TrailingEdgeMile = append(e.LeadingEdgeMile, lead), append(e.TrailingEdgeMile, trail)
		e.PeakMgL, e.PeakMile, e.MassKg = append(e.PeakMgL, peak), append(e.PeakMile, at), append(e.MassKg, 1)
	}
	return e
}

// rows hands over all its rows.
func (s *spill) rows(each func(plume.Row)) {
	for _, name := range s.rivers {
		for k := range s.times {
			h := float64(k) * s.hours
			for i := range s.places {
				if c := s.field(s.below(i), h); c >= s.tolerance {
					each(plume.Row{River: name, RiverMile: s.mile(i), Branch: 1, Grid: i + 1, Time: begin.Add(time.Duration(h * float64(time.Hour))),
						ElapsedHours: h, ConcentrationMgL: c, JobID: "job-1"})
				}
			}
		}
	}
}

// report builds it, with all its rows.
func (s *spill) report(change ...func(*report.Facts)) *report.Report {
	facts := s.facts()
	for _, c := range change {
		c(&facts)
	}
	b := report.New(facts)
	s.rows(b.Row)
	return b.Report()
}

func plain(i int) string { return fmt.Sprintf("Intake %d", i) }

// small is an ordinary spill.
func small() *spill {
	return &spill{name: "Tank car at mile 0", rivers: []string{"Ohio"}, places: 120, intakes: 6, miles: 60, times: 49, hours: 1, peak: 12, tolerance: 0.001, nameOf: plain}
}
