// Package runs keeps the run record of a scenario: who owns it, how far it is,
// whether somebody asked it to stop, how it ended and who was not told of that
// yet. Invariant: at any time at most one live owner, nothing is written under
// a lease that was lost, and no notice is lost.
package runs

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
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
	Commit   string `json:"Commit,omitempty"` // of the program
	// CancelAt is when the cancel was asked for: it does not mean what was
	// asked for later. Nil where the flag was set without it.
	CancelAt *time.Time `json:"CancelAt,omitempty"`
	// Notices are those of ended runs that were not sent yet, oldest first.
	Notices []string `json:"Notices,omitempty"`
	// Snoozed is how often a queue message found the scenario busy, by message id.
	Snoozed map[string]int `json:"Snoozed,omitempty"`
	// Cancels are wishes to stop jobs other than this one, by job id: when each
	// was asked for, the zero time where that is not known. "" stands for
	// whichever comes next of the jobs that were asked for before.
	Cancels map[string]time.Time `json:"Cancels,omitempty"`
	// Waiting are jobs that were put on the queue behind others and were not taken
	// yet, oldest first.
	Waiting []string `json:"Waiting,omitempty"`
	// Ended is what the last queue messages of the scenario came to, oldest
	// first: a message whose worker died before it deleted it has no other proof.
	Ended []End `json:"Ended,omitempty"`
}

// End is what a queue message came to.
type End struct {
	Message string // its id
	State   State
	Reason  reason.Code
	Detail  string
}

// Limits of what a record keeps for others.
const (
	maxNotices = 32
	maxSnoozed = 64
	maxCancels = 64
	maxEnded   = 32
	maxWaiting = 64
)

// Ending returns what the queue message came to, if that is on record.
func (r *Record) Ending(messageID string) (End, bool) {
	for _, e := range r.Ended {
		if e.Message == messageID {
			return e, true
		}
	}
	return End{}, false
}

// mayBecome says whether a run may go from one state to another. Whoever takes
// a scenario over or queues a job begins a new run; that is no transition of
// the old one.
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
		return nil, err
	}
	return &r, nil
}

// same reports whether the record is of the same work, done for the same job.
func (r *Record) same(req *Request) bool {
	return r.RunKey == req.RunKey && r.JobID == req.JobID
}

// Live reports whether somebody holds the scenario at the time.
func (r *Record) Live(now time.Time) bool {
	return r.State == Running && now.Before(r.LeaseUntil)
}

// Over reports whether the run has ended and will not be tried again.
func (r *Record) Over() bool { return r.State.over() }

// cancel asks the job to stop. A later wish counts: it means all that was
// asked for up to then. False says that it was asked for already.
func (r *Record) cancel(at time.Time) bool {
	if r.CancelRequested && r.CancelAt != nil && !at.After(*r.CancelAt) {
		return false
	}
	r.CancelRequested, r.CancelAt = true, &at
	return true
}

// wishes are all that ask a job to stop: those for other jobs, and the one for
// the job of the record while that is not over.
func (r *Record) wishes() map[string]time.Time {
	all := maps.Clone(r.Cancels)
	if !r.CancelRequested || r.Over() || r.CancelAt == nil && r.JobID == "" {
		return all
	}
	if all == nil {
		all = map[string]time.Time{}
	}
	var at time.Time
	if r.CancelAt != nil {
		at = *r.CancelAt
	}
	if later, known := all[r.JobID]; !known || !at.IsZero() && at.After(later) {
		all[r.JobID] = at
	}
	for len(all) > maxCancels {
		delete(all, oldest(all))
	}
	return all
}

// oldest is the job whose wish is the oldest.
func oldest(wishes map[string]time.Time) string {
	return slices.MinFunc(slices.Sorted(maps.Keys(wishes)), func(a, b string) int { return wishes[a].Compare(wishes[b]) })
}

// cancels returns which of the wishes means the job of req: its own, or "". Who
// stops a job means its next delivery, whenever that was sent, and its later
// attempts too, but no run by hand that was begun after that; a wish without a
// job means whichever comes next of those from before.
func cancels(wishes map[string]time.Time, req *Request) (whose string, yes bool) {
	if at, asked := wishes[req.JobID]; asked && (at.IsZero() || req.Message != "" || !req.Since.After(at)) {
		return req.JobID, true
	}
	at, asked := wishes[""]
	return "", asked && req.Since.Before(at)
}

// Asked reports whether a user wants the job of req to stop that nobody has taken
// yet, or that is running.
func (r *Record) Asked(req *Request) bool {
	now := *req
	if now.Since.IsZero() {
		now.Since = wall()
	}
	_, yes := cancels(r.wishes(), &now)
	return yes
}

// snooze counts that the message found the scenario busy. Where there are too
// many, the message that waited least often is forgotten.
func (r *Record) snooze(messageID string) {
	if r.Snoozed == nil {
		r.Snoozed = map[string]int{}
	}
	if _, known := r.Snoozed[messageID]; !known && len(r.Snoozed) >= maxSnoozed {
		delete(r.Snoozed, r.leastSnoozed())
	}
	r.Snoozed[messageID]++
}

func (r *Record) leastSnoozed() string {
	return slices.MinFunc(slices.Sorted(maps.Keys(r.Snoozed)), func(a, b string) int {
		return cmp.Compare(r.Snoozed[a], r.Snoozed[b])
	})
}

// waiting is the record of a job that waits on the queue. What others left in
// r stays; a wish to stop an earlier job of the same id is forgotten.
func (r *Record) waiting(jobID, metadata string) *Record {
	next := &Record{JobID: jobID, State: Queued, Metadata: metadata}
	next.inherit(r)
	delete(next.Cancels, jobID)
	next.waitNot(jobID)
	return next
}

// wait notes that a job waits behind the one of the record.
func (r *Record) wait(jobID string) {
	if jobID == "" || slices.Contains(r.Waiting, jobID) {
		return
	}
	r.Waiting = append(slices.Clone(r.Waiting), jobID)
	r.Waiting = r.Waiting[max(0, len(r.Waiting)-maxWaiting):]
}

// waitNot notes that the job does not wait behind another one any more.
func (r *Record) waitNot(jobID string) {
	r.Waiting = slices.DeleteFunc(slices.Clone(r.Waiting), func(id string) bool { return id == jobID })
}

// cancelWaiting asks the oldest waiting job that was not asked yet to stop, and
// returns it; "" for none.
func (r *Record) cancelWaiting(at time.Time) string {
	for _, id := range r.Waiting {
		if _, asked := r.Cancels[id]; asked {
			continue
		}
		if r.Cancels = maps.Clone(r.Cancels); r.Cancels == nil {
			r.Cancels = map[string]time.Time{}
		}
		r.Cancels[id] = at
		return id
	}
	return ""
}

// inherit takes over the generation, and what old keeps for others.
func (r *Record) inherit(old *Record) {
	r.Generation = old.Generation
	r.Notices, r.Snoozed, r.Ended, r.Cancels = old.Notices, old.Snoozed, old.Ended, old.wishes()
	if r.Waiting = old.Waiting; old.State == Queued {
		r.wait(old.JobID)
	}
}
