// Package daflow is the flow engine: it routes unsteady flow through a network
// of branches by the diffusion analogy in a Lagrangian frame (DAFLOW, Jobson
// 1989, WRI 89-4133; Jobson & Harbaugh 1999, OFR 99-217) and reads and writes
// its files. Invariant: written flows, areas and lateral flows balance, for
// every subreach and step, to the digits written.
package daflow

import "rsmsjob/internal/river"

// Change is one boundary value, set at the start of a step and held until it
// is changed: at grid 1 the inflow of a branch, at any other grid the flow that
// joins (+) or is withdrawn (-) just above it.
type Change struct {
	Branch, Grid int     // 1-based
	Flow         float64 // mean over each step, ft3/s or m3/s
	Line         int     // line in FLOW.IN, 0 when made by hand
}

// Input is a whole FLOW.IN.
type Input struct {
	Network    river.Network
	Steps      int        // number of time steps
	StartStep  int        // steps from midnight to the start
	PrintEvery int        // FLOW.OUT has every n-th step
	StepHours  float64    // length of a step
	Peak       float64    // largest flow to expect, ft3/s or m3/s
	Boundaries [][]Change // Boundaries[k] are the changes at step k+1; one entry per step
	// Warnings are what a reader of FLOW.IN should know though it is no fault.
	Warnings []string
}

// SmallFlow returns the flow below which differences do not matter (QI),
// ft3/s or m3/s.
func (in *Input) SmallFlow() float64 { return in.Peak / 100000 }

// StepSeconds returns the length of a step in seconds.
func (in *Input) StepSeconds() float64 { return in.StepHours * 3600 }

// GridCounts returns the number of grids of each branch.
func (in *Input) GridCounts() []int {
	counts := make([]int, len(in.Network.Branches))
	for i := range in.Network.Branches {
		counts[i] = len(in.Network.Branches[i].Grids)
	}
	return counts
}
