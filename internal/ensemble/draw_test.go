package ensemble

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var wide = Options{Runs: 50, Seed: 1, Dispersion: 4, Flow: 0.1, Release: 0.25}

// The draws of a seed are these on every machine and with every version of Go.
func TestDrawsAreFixed(t *testing.T) {
	o := wide
	o.Runs = 4
	want := []Draw{
		{DispersionFactor: 3.25248, FlowFactor: 1.075, ReleaseShiftHours: 0.246174, FlowLevel: 4},
		{DispersionFactor: 0.367408, FlowFactor: 0.925, ReleaseShiftHours: 0.0192939, FlowLevel: 1},
		{DispersionFactor: 1.75394, FlowFactor: 1.025, ReleaseShiftHours: -0.139627, FlowLevel: 3},
		{DispersionFactor: 0.752798, FlowFactor: 0.975, ReleaseShiftHours: -0.0945343, FlowLevel: 2}}
	if d := cmp.Diff(want, o.Draws(false)); d != "" {
		t.Error(d)
	}
	if cmp.Equal(o.Draws(false), Options{Runs: 4, Seed: 2, Dispersion: 4, Flow: 0.1, Release: 0.25}.Draws(false)) {
		t.Error("another seed, the same draws")
	}
}

// Every part of a range has one run, every flow level as many as the others but
// for one, and nothing lies outside.
func TestDrawsAreStratified(t *testing.T) {
	for seed := range int64(20) {
		for _, n := range []int{2, 3, 4, 5, 7, 50, 1000} {
			o := wide
			o.Runs, o.Seed = n, seed
			var dispersion, release []float64
			flows := map[int]int{}
			for _, d := range o.Draws(false) {
				if d.DispersionFactor < 0.25 || d.DispersionFactor > 4 || d.FlowFactor < 0.9 || d.FlowFactor > 1.1 || math.Abs(d.ReleaseShiftHours) > 0.25 {
					t.Fatalf("%d runs, seed %d: %+v", n, seed, d)
				}
				dispersion = append(dispersion, (math.Log(d.DispersionFactor)/math.Log(4)+1)/2*float64(n))
				release = append(release, (d.ReleaseShiftHours/0.25+1)/2*float64(n))
				flows[d.FlowLevel]++
			}
			for _, parts := range [][]float64{dispersion, release} {
				slices.Sort(parts)
				for i, p := range parts {
					if off := p - float64(i); off < -1e-3 || off > 1+1e-3 { // six digits are drawn
						t.Fatalf("%d runs, seed %d: part %d of the range has no run of its own, but %g", n, seed, i, p)
					}
				}
			}
			if len(flows) != min(5, n) {
				t.Errorf("%d runs: %d flow levels", n, len(flows))
			}
			for level, runs := range flows {
				if want := n / len(flows); level < 1 || level > len(flows) || runs < want || runs > want+1 {
					t.Errorf("%d runs, seed %d: level %d has %d", n, seed, level, runs)
				}
			}
		}
	}
}

// With dated flows, runs of a level have all flows in common: the release time
// goes with the level, and is not correlated with the flow.
func TestDatedDraws(t *testing.T) {
	o := wide
	of := map[int]Draw{}
	for _, d := range o.Draws(true) {
		was, seen := of[d.FlowLevel]
		if seen && (was.FlowFactor != d.FlowFactor || was.ReleaseShiftHours != d.ReleaseShiftHours) {
			t.Errorf("level %d: %+v and %+v", d.FlowLevel, was, d)
		}
		of[d.FlowLevel] = d
	}
	sum, flows, times := 0.0, map[float64]bool{}, map[float64]bool{}
	for _, d := range of {
		sum += (d.FlowFactor - 1) * d.ReleaseShiftHours
		flows[d.FlowFactor], times[d.ReleaseShiftHours] = true, true
	}
	if math.Abs(sum) > 1e-9 || len(flows) != 5 || len(times) != 5 {
		t.Errorf("%d flows, %d release times, together %g", len(flows), len(times), sum)
	}
	if d := of[3]; d.FlowFactor != 1 || d.ReleaseShiftHours != 0 {
		t.Errorf("the middle level is not the scenario itself: %+v", d)
	}
}

// What is not to be varied is not.
func TestNothingVaried(t *testing.T) {
	for _, dated := range []bool{false, true} {
		for i, d := range (Options{Runs: 9, Dispersion: 1}).Draws(dated) {
			if d != (Draw{DispersionFactor: 1, FlowFactor: 1, FlowLevel: 1}) {
				t.Errorf("run %d: %+v", i, d)
			}
		}
	}
	levels := map[int]bool{}
	for _, d := range (Options{Runs: 9, Dispersion: 1, Release: 2}).Draws(true) {
		levels[d.FlowLevel] = true
		if d.FlowFactor != 1 {
			t.Errorf("flow %+v", d)
		}
	}
	if len(levels) != 5 {
		t.Errorf("%d levels of dated release times", len(levels))
	}
}
