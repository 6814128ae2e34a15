package engine

import (
	"strings"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
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

// A narrow cloud far from the spill, and places just above it, are spoken of as
// well; a long release has a plateau that no step misses.
func TestNarrowCloudsAreSaid(t *testing.T) {
	in := channel(1, 40)
	index := indexOf(t, in, 0, 1)
	plan := func(dqq string, change map[string]any) *Plan {
		basin, _, err := river.ParseBasin([]byte(`{"name":"t","dispersion":{"dqq":`+dqq+`}}`), "basin.json")
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(Case{Scenario: scenarioOf(t, change), Basin: basin, Index: index, Input: in})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// Below mile 1 stand 38 places; the last is 76 km, 169 steps, away.
	for _, tt := range []struct {
		dqq    string
		change map[string]any
		want   bool
	}{
		{"0.25", nil, false},
		{"0.01", nil, true}, // 169 steps spread it by 1.7 of the least of 3
		{"0.01", map[string]any{"SpillDurationHours": 6}, false},
	} {
		if got := strings.Contains(strings.Join(plan(tt.dqq, tt.change).Warnings, "\n"), "33 more"); got != tt.want {
			t.Errorf("%+v: %q", tt, plan(tt.dqq, tt.change).Warnings)
		}
	}
	// The head is 2 km, 4.4 steps, above mile 1; with steps of two hours it is not.
	if p := plan("0.25", nil); warned(p, "up the river") {
		t.Errorf("%q", p.Warnings)
	}
	if p := plan("0.25", map[string]any{"TimeStepMinutes": 120, "OutputIntervalMinutes": 120}); !warned(p, "from P1-1 down to the spill") {
		t.Errorf("%q", p.Warnings)
	}
}

// Along a branch that takes much water in, one factor is not one coefficient.
func TestUnevenCoefficientIsSaid(t *testing.T) {
	basin, _, err := river.ParseBasin([]byte(`{"dispersion":{"coefficient_m2_s":15}}`), "basin.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		more float64
		want bool
	}{{0, false}, {20, true}} {
		in := channel(1, 12)
		in.Boundaries[0] = append(in.Boundaries[0], daflow.Change{Branch: 1, Grid: 6, Flow: tt.more})
		for g := 5; g < 11; g++ {
			in.Network.Branches[0].Grids[g].Flow += tt.more
		}
		p, err := NewPlan(Case{Scenario: scenarioOf(t, nil), Basin: basin, Index: indexOf(t, in, 0, 1), Input: in})
		if err != nil {
			t.Fatal(err)
		}
		if got := warned(p, "the velocity changes along branch 1"); got != tt.want {
			t.Errorf("+%g m3/s: %v, %q", tt.more, got, p.Warnings)
		}
	}
}

// A spill inside a branch below a junction makes no short branch of it.
func TestSpillInsideIsNoShortBranch(t *testing.T) {
	in := channel(2, 6)
	p := planOf(t, in, indexOf(t, in, 0, 1), map[string]any{"SpillMile": 7.5})
	if warned(p, "in less than a step") {
		t.Errorf("%q", p.Warnings)
	}
}
