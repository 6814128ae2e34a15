// Package pipeline is the one run, in the order of the contract: take the run
// record, load and validate all inputs, run the engines, check what they left,
// publish, finish. Invariant: nothing is published unless every step before
// went well and the scenario is still ours.
package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/message"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// Inputs is where basins and scenarios come from; names are those of contract
// section 4. Basin and Scenario return storage.ErrNotFound for what is not there.
type Inputs interface {
	BasinExists(ctx context.Context, basin string) (bool, error)
	Basin(ctx context.Context, basin, name string) ([]byte, error)
	Scenario(ctx context.Context, basin, scenario string) (map[string]any, error)
}

// Results takes what is published and shows whether it is whole.
type Results interface {
	publish.Store
	ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error)
	// CountRows returns how many rows the scenario has in each plume table, -1
	// where a table has none of it, not even an empty one.
	CountRows(ctx context.Context, basin, scenario string) (byTime, byMile int, err error)
}

// Job is what a run needs from the world.
type Job struct {
	Inputs  Inputs
	Runs    runs.Store
	Results Results

	// Ready sees that the store can take a result, before hours are spent on
	// one; nil where that needs no look.
	Ready func(ctx context.Context) error
	// Engines finds the set of engines.
	Engines     func() (*engine.Set, error)
	EngineEnv   []string
	Supervisor  []string // see process.Command
	StepTimeout time.Duration
	// Grace is the time that an engine has that is asked to stop, and then the
	// writes that must still happen; the folder of the run goes behind both.
	Grace time.Duration

	WorkDir     string // "" is the system's
	KeepWorkDir bool
	Lease       time.Duration
	Owner       string // unique per process
	Tolerance   float64
	Commit      string // of this program

	// Held says why the message of the run is no longer ours; nil for a run by
	// hand.
	Held func() error
	// Since is when the job was asked for; the zero time is now.
	Since time.Time
	// Attempt is which delivery of the message this is, and Attempts how many it
	// may have; both are 0 for a run by hand, which nobody tries again.
	Attempt, Attempts int
	// Notify sends a done-notice; nil sends none.
	Notify func(ctx context.Context, text string) error

	Log      *slog.Logger
	Progress func(step string, percent float64)
	// RunLog returns what was logged since the run began, as JSON lines; nil
	// keeps none.
	RunLog func() []byte
	// Traffic returns how many requests were sent to the store, and how many of
	// them were repetitions; nil where nobody counts.
	Traffic func() (requests, retries int64)
}

// Answer is what a run came to.
type Answer struct {
	// Current is set when there was nothing to do: the result of the same
	// inputs is already there. Only Marker is set with it.
	Current  bool
	Marker   *publish.Marker
	Intakes  []plume.Intake
	Balance  plume.FinalBalance
	Warnings []string
	WorkDir  string // the kept run folder, "" where it was removed
}

// Run runs the message under the given job id. Errors carry a reason.
func (j *Job) Run(ctx context.Context, m *message.Message, jobID string) (*Answer, error) {
	r := j.run(m, jobID)
	r.sweep() // also where there is nothing else to do
	answer, err := r.take(ctx, m)
	if !errors.Is(err, runs.ErrCurrent) {
		return answer, err
	}
	if answer, err = r.current(ctx); err != nil {
		return nil, err
	}
	return answer, r.tellDuplicate(ctx, answer.Marker)
}

func (j *Job) run(m *message.Message, jobID string) *run {
	return &run{Job: j, ids: plume.IDs{Basin: m.Basin, Scenario: m.Scenario, JobID: jobID}, began: time.Now()}
}

// request asks for the scenario in the name of this run.
func (r *run) request(m *message.Message) runs.Request {
	return runs.Request{Basin: m.Basin, Scenario: m.Scenario, JobID: r.ids.JobID, Owner: r.Owner, Lease: r.Lease,
		Metadata: metadata(m), Held: r.Held, Commit: r.Commit, Since: r.Since, Notify: r.Notify, Log: r.Log}
}

// take reads the inputs, makes the scenario ours and runs it.
func (r *run) take(ctx context.Context, m *message.Message) (*Answer, error) {
	r.step("inputs", 0)
	if r.Ready != nil {
		if err := r.Ready(ctx); err != nil {
			return nil, err
		}
	}
	request := r.request(m)
	var err error
	if r.set, err = r.Engines(); err != nil {
		return nil, r.refuse(ctx, request, err)
	}
	if r.in, err = r.load(ctx, m, r.set); err != nil {
		return nil, r.refuse(ctx, request, err)
	}
	force, err := r.forced(ctx, m)
	if err != nil {
		return nil, err
	}
	request.RunKey, request.Engine, request.Force = r.in.key, r.set.Version(), force
	request.Current = func(ctx context.Context) (bool, error) { return r.whole(ctx, r.ids, r.in.key) }
	if r.hold, err = runs.Take(ctx, r.Runs, request); err != nil {
		return nil, err
	}
	return r.owned(ctx, force)
}

// forced reports whether the message wants a run although the result is
// current. A message that is delivered again after its own forced run was done
// does not want another one.
func (r *run) forced(ctx context.Context, m *message.Message) (bool, error) {
	if !m.Force || r.Since.IsZero() {
		return m.Force, nil
	}
	record, err := runs.Read(ctx, r.Runs, m.Basin, m.Scenario)
	if errors.Is(err, storage.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	done := record.State == runs.Completed && record.JobID == r.ids.JobID && !record.StartedAt.Before(r.Since.Truncate(time.Second))
	return !done, nil
}

// current is the answer of a run that had nothing to do.
func (r *run) current(ctx context.Context) (*Answer, error) {
	marker, err := r.marker(ctx, r.ids)
	return &Answer{Current: true, Marker: marker}, err
}

// metadata is what the message says besides its own fields, as a JSON object;
// "" for nothing.
func metadata(m *message.Message) string {
	if len(m.Metadata) == 0 {
		return ""
	}
	text, err := json.Marshal(m.Metadata)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(text)
}
