// Package runs keeps the run record of a scenario: who owns it, how far it is,
// whether somebody asked it to stop, how it ended. Invariant: at any time at
// most one live owner, and nothing is written under a lease that was lost.
package runs

import (
	"encoding/json"
	"fmt"
	"time"

	"rsmsjob/internal/reason"
)

// State of a run, and the Status column of its scenario.
type State string

// The states of contract section 4.
const (
	Queued    State = "Queued"
	Running   State = "Running"
	Completed State = "Completed"
	Failed    State = "Failed"
	Cancelled State = "Cancelled"
	TimedOut  State = "TimedOut"
)

// Record is the run record, one per scenario; it describes the current run.
type Record struct {
	JobID    string  `json:"JobId"`
	RunKey   string  `json:"RunKey"`
	State    State   `json:"State"`
	Step     string  `json:"Step"`
	Progress float64 `json:"Progress"` // 0..100
	// Attempt counts the runs of the same RunKey and job, from 1.
	Attempt int `json:"Attempt"`
	// Generation rises with every new owner.
	Generation      int64       `json:"Generation"`
	Owner           string      `json:"Owner"`
	LeaseUntil      time.Time   `json:"LeaseUntil"`
	StartedAt       time.Time   `json:"StartedAt"`
	FinishedAt      *time.Time  `json:"FinishedAt"`
	Reason          reason.Code `json:"Reason"`
	Detail          string      `json:"Detail"`
	CancelRequested bool        `json:"CancelRequested"`
	Engine          string      `json:"Engine"`
	// Metadata is what the message said besides its own fields, a JSON object
	// as text; "" for nothing.
	Metadata string `json:"Metadata,omitempty"`
}

// mayBecome says whether a run may go from one state to another. Whoever takes
// a scenario over starts a new run; that is no transition of the old one.
func (s State) mayBecome(next State) bool {
	switch next {
	case Running:
		return s != Running
	case Queued, Completed, Failed, Cancelled, TimedOut:
		return s == Running
	}
	return false
}

// over reports whether the run has ended and will not be tried again.
func (s State) over() bool {
	return s == Completed || s == Failed || s == Cancelled || s == TimedOut
}

func encode(r *Record) ([]byte, error) { return json.Marshal(r) }

func decode(data []byte) (*Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("the run record is not readable: %w", err)
	}
	return &r, nil
}

// same reports whether the record is of the same work, done for the same job.
func (r *Record) same(req *Request) bool {
	return r.RunKey == req.RunKey && r.JobID == req.JobID
}

// live reports whether somebody else holds the scenario at the time.
func (r *Record) live(owner string, now time.Time) bool {
	return r.State == Running && r.Owner != owner && now.Before(r.LeaseUntil)
}
