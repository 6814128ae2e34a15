package plume_test

import (
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

var spill = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func TestIntakeOf(t *testing.T) {
	tests := []struct {
		name              string
		c                 *plume.Curve
		threshold         float64 // below 0 = none
		lead, peak, trail float64 // hours from the spill, NaN = nil
		mgL               float64
		above             float64 // NaN = nil
	}{
		{"passes", curve(0, 4, 0), 2, 0.25, 1, 1.75, 4, 1},
		{"no level of concern", curve(0, 4, 0), -1, 0.25, 1, 1.75, 4, never},
		{"never reaches it", curve(0, 0.5, 0), 2, never, never, never, 0.5, 0},
		{"no water sampled", curve(), 2, never, never, never, 0, 0},
		{"still there at the end", curve(0, 0, 4), 2, 1.25, 2, never, 4, 0.5},
		{"there from the start", curve(4, 0, 0), 2, 0, 0, 0.75, 4, 0.5},
		{"just touches", curve(0, 1, 0), 2, 1, 1, 1, 1, 0},
		{"comes twice", curve(0, 2, 0, 4, 0), 1, 0.5, 3, 3.75, 4, 2.5},
		{"level below the tolerance", curve(0, 0.8, 0), 0.4, never, never, never, 0.8, 1},
	}
	place := river.Place{Name: "Intake A", River: "Ohio", Mile: 12.5, Branch: 1, Grid: 2, Feature: river.Intake}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var threshold *float64
			if tt.threshold >= 0 {
				threshold = &tt.threshold
			}
			in := plume.IntakeOf(place, tt.c, spill, 1, threshold)
			if in.Name != "Intake A" || in.River != "Ohio" || in.RiverMile != 12.5 || in.PeakMgL != tt.mgL {
				t.Errorf("got %+v", in)
			}
			checkTime(t, "leading edge", in.LeadingEdge, tt.lead)
			checkTime(t, "peak", in.PeakTime, tt.peak)
			checkTime(t, "trailing edge", in.TrailingEdge, tt.trail)
			hours := 0.0
			if in.HoursAboveThreshold != nil {
				hours = *in.HoursAboveThreshold
			}
			check(t, "hours above", hours, in.HoursAboveThreshold != nil, tt.above)
			if in.Shape != plume.ShapeOf(tt.c) {
				t.Errorf("shape %+v", in.Shape)
			}
		})
	}
}

// checkTime compares a time with hours from the spill; NaN is nil.
func checkTime(t *testing.T, what string, got *time.Time, hours float64) {
	t.Helper()
	if got == nil {
		if hours == hours {
			t.Errorf("%s: nil, want %v h", what, hours)
		}
		return
	}
	if want := spill.Add(time.Duration(hours * float64(time.Hour))); hours != hours || *got != want {
		t.Errorf("%s: %v, want %v h", what, got, hours)
	}
}

// Times are whole seconds in UTC, whatever the zone of the spill.
func TestIntakeTimes(t *testing.T) {
	c := &plume.Curve{Hours: []float64{0, 1, 2}, C: []float64{0, 7, 0}}
	in := plume.IntakeOf(river.Place{}, c, spill.In(time.FixedZone("", -5*3600)), 1, nil) // 1/7 h = 514.29 s
	if got := in.LeadingEdge.String(); got != "2026-01-02 03:08:34 +0000 UTC" {
		t.Errorf("leading edge %s", got)
	}
	if got := in.TrailingEdge.String(); got != "2026-01-02 04:51:26 +0000 UTC" {
		t.Errorf("trailing edge %s", got)
	}
}

func TestBalance(t *testing.T) {
	var b plume.Balance
	l := plume.Ledger{InjectedKg: 10, InRiverKg: 4, OutflowKg: 3, DecayedKg: 2, WithdrawnKg: 0.5}
	b.Add(spill, plume.Ledger{})
	b.Add(spill.Add(time.Hour).In(time.FixedZone("", 3600)), l)
	if len(b.Time) != 2 || b.Time[1].String() != "2026-01-02 04:00:00 +0000 UTC" {
		t.Errorf("times %v", b.Time)
	}
	for i, s := range [][]float64{b.InjectedKg, b.InRiverKg, b.OutflowKg, b.DecayedKg, b.WithdrawnKg, b.ErrorKg} {
		if want := []float64{10, 4, 3, 2, 0.5, 0.5}[i]; len(s) != 2 || s[0] != 0 || s[1] != want {
			t.Errorf("series %d: %v, want 0 and %v", i, s, want)
		}
	}
	tests := []struct {
		l    plume.Ledger
		want plume.FinalBalance
	}{
		{l, plume.FinalBalance{InjectedKg: 10, InRiverKg: 4, OutflowKg: 3, DecayedKg: 2, WithdrawnKg: 0.5, ErrorKg: 0.5, RelativeError: 0.05}},
		{plume.Ledger{InjectedKg: 10, InRiverKg: 11}, plume.FinalBalance{InjectedKg: 10, InRiverKg: 11, ErrorKg: -1, RelativeError: 0.1}},
		{plume.Ledger{}, plume.FinalBalance{}}, // nothing released yet: no division by 0
	}
	for _, tt := range tests {
		b.Finish(tt.l)
		if b.Final != tt.want {
			t.Errorf("final %+v, want %+v", b.Final, tt.want)
		}
	}
}
