package daflow_test

import (
	"bytes"
	"math"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

func TestHydraulics(t *testing.T) {
	first := daflow.Hydraulics(river.Grid{A1: 3.79, A2: .66, Slope: 8.48e-4, W1: 21.1, W2: .26})
	third := daflow.Hydraulics(river.Grid{A1: 3.87, A2: .66, Slope: 1.2e-3, W1: 26.6, W2: .26})
	flooded := daflow.Hydraulics(river.Grid{A0: 50, A1: 3.79, A2: .66, Slope: 8.48e-4, W1: 21.1, W2: .26})
	tests := []struct {
		name             string
		got, want, digit float64
	}{
		{"area at 100", first.Area(100), 79.1843, 1e-4},
		{"width at 100", first.Width(100), 69.8687, 1e-4},
		{"velocity at 100", first.Velocity(100), 1.26288, 1e-5},
		{"celerity at 100", first.Celerity(100), 1.91345, 1e-5},
		{"dispersion at 100", first.WaveDispersion(100), 843.901, 1e-3},
		{"celerity at 105", first.Celerity(105), 1.94546, 1e-5},
		{"dispersion at 105", first.WaveDispersion(105), 874.927, 1e-3},
		{"area at 500", third.Area(500), 233.9005, 1e-4},
		{"width at 500", third.Width(500), 133.8486, 1e-4},
		{"celerity at 500", third.Celerity(500), 3.23888, 1e-5},
		{"dispersion at 500", third.WaveDispersion(500), 1556.485, 1e-3},
		{"area with A0", flooded.Area(100), 129.1843, 1e-4},
		{"area at no flow", flooded.Area(0), 50, 0},
		{"width at no flow", first.Width(0), 0, 0},
		{"velocity at no flow", first.Velocity(0), 0, 0},
		{"celerity at no flow", first.Celerity(0), 0, 0},
		{"dispersion at no flow", first.WaveDispersion(0), 0, 0},
	}
	for _, tt := range tests {
		if math.Abs(tt.got-tt.want) > .51*tt.digit {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// The engine writes the areas and widths that the relations give.
func TestWrittenHydraulics(t *testing.T) {
	in := &daflow.Input{Steps: 2, PrintEvery: 1, StepHours: 0.25, Peak: 1000, Boundaries: [][]daflow.Change{{{Branch: 1, Grid: 1, Flow: 100}}, nil}}
	grid := river.Grid{Flow: 100, A1: 3.79, A2: 0.66, A0: 5, Slope: 8.48e-4, W1: 21.1, W2: 0.26}
	next := grid
	next.Distance = 0.5
	in.Network = river.Network{Units: river.English, Branches: []river.Branch{{Share: 1, Up: 1, Down: 2, Grids: []river.Grid{grid, next, {Distance: 1}}}}}
	var flow bytes.Buffer
	if _, err := daflow.Run(in, daflow.Outputs{Flow: &flow}); err != nil {
		t.Fatal(err)
	}
	h := daflow.Hydraulics(grid)
	r := daflow.NewFlowReader(&flow, "BLTM.FLW", in.GridCounts(), in.Steps)
	for r.Next() {
		f := r.Flow()
		if f.Grid < 3 && (math.Abs(f.A/h.Area(100)-1) > 5e-5 || math.Abs(f.W/h.Width(100)-1) > 5e-5) || f.Q != 100 {
			t.Errorf("step %d grid %d: Q %g A %g W %g, want A %g W %g", f.Step, f.Grid, f.Q, f.A, f.W, h.Area(100), h.Width(100))
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
}
