package plume_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rsmsjob/internal/plume"
)

// curve is one with a sample every hour from hour 0.
func curve(c ...float64) *plume.Curve {
	var k plume.Curve
	for i, v := range c {
		k.Add(float64(i), v)
	}
	return &k
}

// never is an answer that is not there.
var never = math.NaN()

func TestCurve(t *testing.T) {
	tests := []struct {
		name               string
		c                  *plume.Curve
		level              float64
		first, last, above float64
		peakHours, peak    float64
	}{
		{"empty", curve(), 1, never, never, 0, 0, 0},
		{"one sample below", curve(0.5), 1, never, never, 0, 0, 0.5},
		{"one sample at the level", curve(1), 1, 0, never, 0, 0, 1},
		{"one sample above", curve(2), 1, 0, never, 0, 0, 2},
		{"never reached", curve(0, 0.5, 0.9, 0), 1, never, never, 0, 2, 0.9},
		{"rises and falls", curve(0, 4, 0), 1, 0.25, 1.75, 1.5, 1, 4},
		{"between uneven samples", &plume.Curve{Hours: []float64{10, 14, 15}, C: []float64{0, 4, 0}}, 1, 11, 14.75, 3.75, 14, 4},
		{"starts above", curve(4, 0, 0), 1, 0, 0.75, 0.75, 0, 4},
		{"ends above", curve(0, 0, 4), 1, 1.25, never, 0.75, 2, 4},
		{"above all the time", curve(2, 3, 2), 1, 0, never, 2, 1, 3},
		{"touches the level", curve(0, 1, 0), 1, 1, 1, 0, 1, 1},
		{"touches it from above", curve(2, 1, 2), 1, 0, never, 2, 0, 2},
		{"plateau at the level", curve(0, 1, 1, 1, 0), 1, 1, 3, 0, 1, 1},
		{"plateau above", curve(0, 2, 2, 2, 0), 1, 0.5, 3.5, 3, 1, 2},
		{"rises from the level", curve(1, 3, 0), 1, 0, 1 + 2.0/3, 1 + 2.0/3, 1, 3},
		{"falls to the level", curve(0, 3, 1), 1, 1.0 / 3, never, 5.0 / 3, 1, 3},
		{"twice", curve(0, 2, 0, 4, 0), 1, 0.5, 3.75, 2.5, 3, 4},
		{"equal peaks", curve(0, 2, 0, 2, 0), 1, 0.5, 3.5, 2, 1, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first, ok := tt.c.FirstAt(tt.level)
			check(t, "FirstAt", first, ok, tt.first)
			last, ok := tt.c.LastAt(tt.level)
			check(t, "LastAt", last, ok, tt.last)
			check(t, "HoursAbove", tt.c.HoursAbove(tt.level), true, tt.above)
			hours, peak := tt.c.Peak()
			check(t, "hour of the peak", hours, true, tt.peakHours)
			check(t, "peak", peak, true, tt.peak)
		})
	}
}

func check(t *testing.T, what string, got float64, ok bool, want float64) {
	t.Helper()
	if ok == math.IsNaN(want) || !ok && got != 0 || ok && math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: %v, %v, want %v", what, got, ok, want)
	}
}

func TestCurveReset(t *testing.T) {
	c := curve(0, 4, 0)
	c.Reset()
	if h, v := c.Peak(); h != 0 || v != 0 || len(c.Hours) != 0 {
		t.Errorf("after Reset: %v, %v", h, v)
	}
	c.Add(7, 3)
	if h, v := c.Peak(); h != 7 || v != 3 {
		t.Errorf("peak %v at %v", v, h)
	}
}

// A curve run backwards swaps first and last and keeps the time above.
func TestCurveMirror(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var c, m plume.Curve
		h := 0.0
		for range 1 + random.IntN(20) {
			h += 0.1 + random.Float64()
			c.Add(h, float64(random.IntN(5)))
		}
		for i := range slices.Backward(c.Hours) {
			m.Add(-c.Hours[i], c.C[i])
		}
		const level = 2
		first, reached := c.FirstAt(level)
		last, over := m.LastAt(level)
		switch begins := c.C[0] >= level; {
		case over != (reached && !begins), over && math.Abs(first+last) > 1e-9:
			t.Fatalf("first %v %v, mirrored last %v %v: %+v", first, reached, last, over, c)
		}
		above := c.HoursAbove(level)
		if math.Abs(above-m.HoursAbove(level)) > 1e-9 {
			t.Fatalf("above for %v, mirrored %v: %+v", above, m.HoursAbove(level), c)
		}
		if end, over := c.LastAt(level); over && above > end-first+1e-9 {
			t.Fatalf("above for %v between %v and %v: %+v", above, first, end, c)
		}
	}
}

func TestShapeOf(t *testing.T) {
	tests := []struct {
		name string
		c    *plume.Curve
		want plume.Shape
	}{
		{"empty", curve(), plume.Shape{}},
		{"clean", curve(0, 0), plume.Shape{}},
		{"whole", curve(0, 10, 0), plume.Shape{LeadHours: 0.1, PeakHours: 1, TrailHours: 1.9, PeakMgL: 10}},
		{"starts at its peak", curve(10, 0), plume.Shape{TrailHours: 0.9, PeakMgL: 10}},
		{"ends too early", curve(0, 10, 5), plume.Shape{LeadHours: 0.1, PeakHours: 1, PeakMgL: 10}},
		{"with a tail below a tenth", curve(0, 0, 10, 0.5, 0.5), plume.Shape{LeadHours: 1.1, PeakHours: 2, TrailHours: 2 + 9/9.5, PeakMgL: 10}},
	}
	for _, tt := range tests {
		got := plume.ShapeOf(tt.c)
		for _, d := range []float64{got.LeadHours - tt.want.LeadHours, got.PeakHours - tt.want.PeakHours,
			got.TrailHours - tt.want.TrailHours, got.PeakMgL - tt.want.PeakMgL} {
			if math.Abs(d) > 1e-12 {
				t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
				break
			}
		}
	}
}

func BenchmarkIntakeCurve(b *testing.B) {
	var c plume.Curve
	for i := range 5760 { // 60 days at 15 minutes
		c.Add(float64(i)/4, math.Exp(-math.Pow((float64(i)-2000)/300, 2)))
	}
	b.ReportAllocs()
	for b.Loop() {
		c.FirstAt(0.001)
		c.LastAt(0.001)
		c.HoursAbove(0.1)
		plume.ShapeOf(&c)
	}
}
