package ensemble

import (
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// Document is ensemble.json.
type Document struct {
	plume.IDs
	Seed      int64  `json:"seed"`
	Ranges    Ranges `json:"ranges"`
	Completed int    `json:"completed"` // runs
	Failed    int    `json:"failed"`
	// Problem says why there is no band though one was asked for, "" where there
	// is one.
	Problem string `json:"problem,omitempty"`
	// Intakes are those of intakes.json in the same order; empty, not nil, where
	// there is no band.
	Intakes []Band `json:"intakes"`
	Runs    []Run  `json:"runs"`
}

// Ranges are from where to where each quantity was varied.
type Ranges struct {
	DispersionFactor  [2]float64 `json:"dispersion_factor"`
	FlowFactor        [2]float64 `json:"flow_factor"`
	ReleaseShiftHours [2]float64 `json:"release_shift_hours"`
}

// How a run of an ensemble ended.
const (
	completed = "completed"
	failed    = "failed"
)

// Run is one run: what was drawn for it, and how it ended.
type Run struct {
	Number int `json:"number"` // from 1
	Draw
	State  string      `json:"state"`
	Reason reason.Code `json:"reason,omitempty"` // of a run that failed
}

// Band is how an answer for one intake is spread over the runs. Each spread is
// that of the runs that have the value, nil where none has: the plume does not
// reach the intake, or still stands there at the end of the simulation.
type Band struct {
	Name      string  `json:"name"`
	River     string  `json:"river"`
	RiverMile float64 `json:"river_mile"`
	// Reached is how many runs reach the tolerance there, Passed in how many of
	// them it is over before the end of the simulation.
	Reached int `json:"reached"`
	Passed  int `json:"passed"`
	// AboveThreshold is how many runs exceed the level of concern, nil where there
	// is none.
	AboveThreshold      *int               `json:"above_threshold"`
	LeadingEdge         *Spread[time.Time] `json:"leading_edge"`
	PeakTime            *Spread[time.Time] `json:"peak_time"`
	PeakMgL             *Spread[float64]   `json:"peak_mg_l"`
	TrailingEdge        *Spread[time.Time] `json:"trailing_edge"`
	HoursAboveThreshold *Spread[float64]   `json:"hours_above_threshold"`
}

// Spread is how a value is spread: the ends, the median, and between which two
// values 90 % of the runs are. Between runs it is linear; times are rounded to the
// second.
type Spread[T any] struct {
	Min T `json:"min"`
	P05 T `json:"p05"`
	P50 T `json:"p50"`
	P95 T `json:"p95"`
	Max T `json:"max"`
}
