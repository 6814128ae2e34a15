package daflow_test

import (
	"bytes"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

// channel is the channel of branch 1 of example 3.
var channel = river.Grid{A1: 3.79, A2: .66, Slope: 8.48e-4, W1: 21.1, W2: .26}

// reachOf returns a branch of n grids, space apart, with steady flow q.
func reachOf(up, down, n int, space, q float64, like river.Grid) river.Branch {
	b := river.Branch{Share: 1, Up: up, Down: down}
	for i := range n {
		g := like
		g.Distance, g.Flow = float64(i)*space, q
		if i == n-1 {
			g = river.Grid{Distance: g.Distance}
		}
		b.Grids = append(b.Grids, g)
	}
	return b
}

// single returns an input of one branch and no boundary values.
func single(steps int, b river.Branch) *daflow.Input {
	return &daflow.Input{
		Network: river.Network{Title: "test", Units: river.English, Branches: []river.Branch{b}},
		Steps:   steps, PrintEvery: 1, StepHours: .25, Peak: 1000,
		Boundaries: make([][]daflow.Change, steps),
	}
}

// at adds a boundary value at a step.
func at(in *daflow.Input, step, branch, grid int, q float64) {
	in.Boundaries[step-1] = append(in.Boundaries[step-1], daflow.Change{Branch: branch, Grid: grid, Flow: q})
}

// flows is what BLTM.FLW says, by step, branch and grid, all from 0.
type flows [][][]daflow.Flow

// run runs in and returns what it wrote.
func run(t testing.TB, in *daflow.Input) (flows, daflow.Balance) {
	t.Helper()
	var file bytes.Buffer
	balance, err := daflow.Run(in, daflow.Outputs{Flow: &file})
	if err != nil {
		t.Fatal(err)
	}
	return readFlows(t, in, &file), balance
}

func readFlows(t testing.TB, in *daflow.Input, file *bytes.Buffer) flows {
	t.Helper()
	grids := in.GridCounts()
	all := make(flows, in.Steps+1)
	for k := range all {
		all[k] = make([][]daflow.Flow, len(grids))
	}
	r := daflow.NewFlowReader(file, "BLTM.FLW", grids, in.Steps)
	for r.Next() {
		f := r.Flow()
		all[f.Step][f.Branch-1] = append(all[f.Step][f.Branch-1], f)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return all
}
