package engine

import (
	"strings"
	"testing"
)

func warned(p *Plan, text string) bool {
	for _, w := range p.Warnings {
		if strings.Contains(w, text) {
			return true
		}
	}
	return false
}

// A step that is too long for a place, a branch or the end of the network is
// said before the numbers are believed.
func TestCoarseStepsAreSaid(t *testing.T) {
	// 2 km at 0.5 m/s is 1.11 h: 20 steps of 3 minutes.
	for _, tt := range []struct {
		branches, grids int
		mile, minutes   float64
		near, end, fast bool
	}{
		{1, 12, 0, 3, false, false, false},
		{1, 12, 0, 15, true, false, false},
		{1, 12, 10.9, 15, true, true, false},
		{4, 2, 0, 60, true, false, false},
		{4, 2, 0, 90, true, false, true},
	} {
		in := channel(tt.branches, tt.grids)
		p := planOf(t, in, indexOf(t, in, 0, 1), map[string]any{"SpillMile": tt.mile, "TimeStepMinutes": tt.minutes, "OutputIntervalMinutes": 180})
		if near := warned(p, "the step is too long"); near != tt.near {
			t.Errorf("%+v: too long %v, %q", tt, near, p.Warnings)
		}
		if end := warned(p, "end of the network"); end != tt.end {
			t.Errorf("%+v: end %v, %q", tt, end, p.Warnings)
		}
		if fast := warned(p, "in less than a step"); fast != tt.fast {
			t.Errorf("%+v: short branches %v, %q", tt, fast, p.Warnings)
		}
	}
}

// The suggested step is one that satisfies the check itself.
func TestSuggestedStepIsEnough(t *testing.T) {
	in := channel(1, 12)
	index := indexOf(t, in, 0, 1)
	p := planOf(t, in, index, nil)
	if !warned(p, "a TimeStepMinutes of 3 or less is right") {
		t.Errorf("%q", p.Warnings)
	}
	if p := planOf(t, in, index, map[string]any{"TimeStepMinutes": 3}); warned(p, "too long") {
		t.Errorf("%q", p.Warnings)
	}
}

// Carrier water that a far too large peak discharge makes is mentioned.
func TestMuchCarrierIsSaid(t *testing.T) {
	in := channel(1, 12)
	index := indexOf(t, in, 0, 1)
	if p := planOf(t, in, index, map[string]any{"SpillMile": 1.5}); warned(p, "rides on") {
		t.Errorf("%q", p.Warnings)
	}
	in.Peak = 10000
	if p := planOf(t, in, index, map[string]any{"SpillMile": 1.5}); !warned(p, "rides on 0.02 of the river's flow") {
		t.Errorf("%q", p.Warnings)
	}
}
