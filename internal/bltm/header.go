package bltm

import (
	"fmt"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
)

// Names of the files, as faults give them.
const (
	inputFile = "BLTM.IN"
	flowFile  = "BLTM.FLW"
	conFile   = "BLTM.CON"
)

// Constituent is one dissolved substance.
type Constituent struct {
	Name         string  // one word
	DecayPerHour float64 // first-order loss K, 1/h
}

// Branch is a run of grids without a junction between them.
type Branch struct {
	// DQQ is the dispersion factor D/(U^2*DT), dimensionless.
	DQQ float64
	// Up and Down are junction numbers; 1..Header.InteriorJunctions are
	// interior, higher ones are the outer ends of the network.
	Up, Down int
	// ParcelsPerSubreach is how many pieces at least the initial water of a
	// subreach is cut into; the default scheme takes what suits the flow.
	ParcelsPerSubreach int
	Grids              []Grid
}

// Grid is a point on a branch.
type Grid struct {
	Distance float64 // along the branch, miles or km, rising downstream
	Print    bool    // its concentrations are printed in BLTM.OUT
	// Initial holds per constituent, mg/L, the concentration of the subreach
	// downstream; that of the last grid is not used.
	Initial []float64
}

// Header is all of BLTM.IN before its time records.
type Header struct {
	Title             string
	InteriorJunctions int
	Steps             int
	StartStep         int // steps from midnight to the start
	PrintEvery        int // steps between the printed ones in BLTM.OUT
	Units             river.Units
	StepHours         float64
	SmallFlow         float64 // QI, ft3/s or m3/s
	DQV               float64 // least dispersive velocity, ft/s or m/s
	Constituents      []Constituent
	Branches          []Branch
}

// Hour returns the time of the end of a step in hours from midnight of the day
// on which the simulation starts.
func (h *Header) Hour(step int) float64 { return float64(h.StartStep+step) * h.StepHours }

// kilograms is the mass in kg of 1 mg/L in one unit of volume.
func (h *Header) kilograms() float64 { return h.Units.LitresPerVolume() * 1e-6 }

// grids returns the number of grids of each branch, and their sum.
func (h *Header) grids() (each []int, all int) {
	for i := range h.Branches {
		n := len(h.Branches[i].Grids)
		each = append(each, n)
		all += n
	}
	return each, all
}

func (h *Header) interior(junction int) bool {
	return junction >= 1 && junction <= h.InteriorJunctions
}

// downstream returns the branches, from 0, so that each stands behind all that
// flow into it. lines says where the branches stand in the file. Faults: an
// interior junction without inflow or outflow, a loop.
func (h *Header) downstream(lines []int) ([]int, error) {
	var faults reason.List
	at := func(b int) int {
		if b < len(lines) {
			return lines[b]
		}
		return 0
	}
	comes, leaves := make([]bool, h.InteriorJunctions+1), make([]bool, h.InteriorJunctions+1)
	for _, branch := range h.Branches {
		if h.interior(branch.Down) {
			comes[branch.Down] = true
		}
		if h.interior(branch.Up) {
			leaves[branch.Up] = true
		}
	}
	for j := 1; j <= h.InteriorJunctions && faults.Len() < maxFaults; j++ {
		if !comes[j] {
			faults.Add(&reason.Fault{File: inputFile, Problem: fmt.Sprintf("no branch flows into interior junction %d", j)})
		}
		if !leaves[j] {
			faults.Add(&reason.Fault{File: inputFile, Problem: fmt.Sprintf("no branch leaves interior junction %d", j)})
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	n := river.Network{InteriorJunctions: h.InteriorJunctions}
	for _, branch := range h.Branches {
		n.Branches = append(n.Branches, river.Branch{Up: branch.Up, Down: branch.Down})
	}
	order, cycle := n.Order()
	if len(cycle) > 0 {
		return nil, &reason.Fault{File: inputFile, Line: at(cycle[0]), Field: "junction",
			Problem: fmt.Sprintf("branch %d is on or below a loop of branches", cycle[0]+1)}
	}
	return order, nil
}
