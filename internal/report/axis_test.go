package report

import (
	"math"
	"slices"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// Whatever the values, an axis ends, and has no more marks than are read.
func TestAxesEnd(t *testing.T) {
	odd := []float64{math.Inf(-1), -1e300, -1e18, -1, 0, 5e-324, 1e-9, 1, 1 + 1e-15, 1e18, 1e300, math.Inf(1), math.NaN()}
	for _, start := range []time.Time{{}, time.Date(2026, 3, 28, 22, 30, 0, 0, time.UTC)} {
		r := &Report{Facts: Facts{Scenario: &river.Scenario{SpillTime: start}}}
		for _, low := range odd {
			for _, high := range odd {
				s := scale{low, high, 0, 100}
				if n := len(s.ticks(8)); n > 18 {
					t.Errorf("%v to %v has %d ticks", low, high, n)
				}
				if n := len(s.decades()); n > 10 {
					t.Errorf("%v to %v has %d decades", low, high, n)
				}
				if n := len(r.moments(s, 8)); n > 10 {
					t.Errorf("%v to %v has %d moments", low, high, n)
				}
				from, to := logarithms(low, high)
				if n := len((scale{from, to, 0, 100}).decades()); n > 10 || !math.IsNaN(low+high) && !(from < to) {
					t.Errorf("%v to %v: logarithms %v to %v, %d decades", low, high, from, to, n)
				}
			}
		}
	}
}

// A plume of minutes has an axis of minutes, and one of months no more marks.
func TestMoments(t *testing.T) {
	r := &Report{Facts: Facts{Scenario: &river.Scenario{SpillTime: time.Date(2026, 3, 28, 22, 58, 0, 0, time.UTC)}}}
	for _, tt := range []struct {
		hours float64
		want  []string
	}{
		{4.0 / 60, []string{"28 Mar 22:58", "22:59", "23:00", "23:01", "23:02"}},
		{0.3, []string{"28 Mar 23:00", "23:05", "23:10", "23:15"}},
		{20, []string{"29 Mar", "06:00", "12:00", "18:00"}},
	} {
		var got []string
		for _, tick := range r.moments(scale{0, tt.hours, 0, 100}, 4) {
			got = append(got, tick.Text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v h: %q, want %q", tt.hours, got, tt.want)
		}
	}
	if n := len(r.moments(scale{0, 24 * 300, 0, 100}, 8)); n < 4 || n > 9 {
		t.Errorf("300 days have %d marks", n)
	}
}

// A curve is none at output times without a row, and nowhere else: not between two
// of them, not behind the last, and not where several share a point.
func TestCurveIsNoneWhereTheTableSaysSo(t *testing.T) {
	start := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	for _, rows := range [][]int{{0}, {4}, {9}, {3, 4, 5}, {2, 6}, {0, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 5, 7}} {
		for _, times := range []int{10, 850} { // one in a column, and three
			facts := Facts{Scenario: &river.Scenario{SpillTime: start, ConcentrationTolerance: 1}, Places: []river.Place{{River: "A", Mile: 1, Branch: 1, Name: "x"}},
				Edges: []plume.EdgeSeries{{River: "A"}}}
			for k := range times {
				facts.Edges[0].Time = append(facts.Edges[0].Time, start.Add(time.Duration(k)*time.Hour))
			}
			b := New(facts)
			for _, k := range rows {
				b.Row(plume.Row{River: "A", RiverMile: 1, Branch: 1, Time: start.Add(time.Duration(k) * time.Hour), ElapsedHours: float64(k), ConcentrationMgL: 2})
			}
			r := b.Report()
			for _, p := range r.points(&r.curves[0], nil) {
				at := int(p.h)
				if has := slices.Contains(rows, at); float64(at) != p.h || at >= times || has != (p.c > 0) {
					t.Errorf("rows at %v of %d: %v mg/L at %v h", rows, times, p.c, p.h)
				}
			}
		}
	}
}

func TestUnturned(t *testing.T) {
	if got := unturned("a\u202eb\u2066c\u2069\u202ad"); got != "abcd" {
		t.Errorf("%q", got)
	}
	if got := isolated("מים"); got != "\u2068מים\u2069" {
		t.Errorf("%q", got)
	}
}
