package plausible

import (
	"errors"
	"math"
	"testing"
)

// The example of engines.md: 6,000 kg, 15 km, 390 km2, 3.35 of 4.50 m3/s.
func TestExample(t *testing.T) {
	b, err := Along(6000, []Reach{{Length: 15000, Flow: 3.35, MeanFlow: 4.50, Drainage: 390e6}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"probable peak, h", b.Probable.Peak, 15.75}, {"probable leading edge, h", b.Probable.LeadingEdge, 14.02}, {"probable peak, mg/L", b.Probable.PeakMgL, 179.8},
		{"fastest peak, h", b.Fastest.Peak, 6.451}, {"fastest leading edge, h", b.Fastest.LeadingEdge, 5.741}, {"fastest peak, mg/L", b.Fastest.PeakMgL, 360.0},
	} {
		if math.Abs(tt.got-tt.want) > 0.001*tt.want {
			t.Errorf("%s: %.4g, want %.4g", tt.name, tt.got, tt.want)
		}
	}
}

// Two reaches of the same water take as long as one.
func TestReachesAddUp(t *testing.T) {
	whole := Reach{Length: 40000, Flow: 20, MeanFlow: 30, Drainage: 2e9, Slope: 0.001}
	part, rest := whole, whole
	part.Length, rest.Length = 10000, 30000
	one, err := Along(100, []Reach{whole})
	if err != nil {
		t.Fatal(err)
	}
	two, err := Along(100, []Reach{part, rest})
	if err != nil || math.Abs(one.Probable.Peak-two.Probable.Peak) > 1e-9 || math.Abs(one.Fastest.PeakMgL-two.Fastest.PeakMgL) > 1e-9 {
		t.Errorf("%+v, %+v, %v", one, two, err)
	}
	if one.Fastest.Peak >= one.Probable.Peak || one.Fastest.PeakMgL <= one.Probable.PeakMgL || one.Probable.TrailingEdge <= one.Probable.Peak {
		t.Errorf("%+v", one)
	}
	// The slope matters: without it the regression is another one.
	whole.Slope = 0
	if flat, err := Along(100, []Reach{whole}); err != nil || flat.Probable.Peak == one.Probable.Peak {
		t.Errorf("%+v, %v", flat, err)
	}
}

func TestUnknown(t *testing.T) {
	good := Reach{Length: 1, Flow: 1, MeanFlow: 1, Drainage: 1}
	for _, change := range []func(*Reach){func(r *Reach) { r.Length = 0 }, func(r *Reach) { r.Flow = 0 }, func(r *Reach) { r.MeanFlow = math.NaN() },
		func(r *Reach) { r.Drainage = -1 }, func(r *Reach) { r.Drainage = math.Inf(1) }} {
		bad := good
		change(&bad)
		if b, err := Along(1, []Reach{good, bad}); !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v: %+v, %v", bad, b, err)
		}
	}
	for _, mass := range []float64{0, -1, math.NaN()} {
		if _, err := Along(mass, []Reach{good}); !errors.Is(err, ErrUnknown) {
			t.Errorf("mass %g: %v", mass, err)
		}
	}
	if _, err := Along(1, nil); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}
