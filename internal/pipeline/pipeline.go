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
	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/message"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
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

	// Place is where the job runs; nil is this process.
	Place Place

	// Engines finds the set of engines.
	Engines   func() (*engine.Set, error)
	EngineEnv []string
	// StepCache returns the cache of a run. One that is to do all anew uses what it
	// has kept itself and what was kept since the job was asked for, by an attempt
	// that was killed; the zero time is a run by hand, which has no others. nil keeps
	// nothing.
	StepCache   func(anew bool, since time.Time) engine.Cache
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
	// Ensemble asks for a band of the answers at the intakes. A Dispersion of 0
	// is what fits the basin.
	Ensemble ensemble.Options

	// Held says why the message of the run is no longer ours; nil for a run by
	// hand.
	Held func() error
	// Message is the id of the queue message, "" for a run by hand.
	Message string
	// Since is when the job was asked for; the zero time is now.
	Since time.Time
	// Attempt is which delivery of the message this is, and Attempts how many it
	// may have; both are 0 for a run by hand, which nobody tries again.
	Attempt, Attempts int
	// Dead is an owner of the scenario that is known to have ended, "" for none.
	Dead string
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
	Ensemble *ensemble.Document // nil without one
	Warnings []string
	WorkDir  string // the kept run folder, "" where it was removed
}

// Run runs the message under the given job id. Errors carry a reason.
func (j *Job) Run(ctx context.Context, m *message.Message, jobID string) (*Answer, error) {
	r := j.run(m, jobID)
	r.sweep() // also where there is nothing else to do
	if r.Place != nil {
		return r.away(ctx, m)
	}
	if err := r.late(ctx); err != nil {
		return nil, err
	}
	return r.take(ctx, m)
}

func (j *Job) run(m *message.Message, jobID string) *run {
	return &run{Job: j, ids: plume.IDs{Basin: m.Basin, Scenario: m.Scenario, JobID: jobID}, began: time.Now()}
}

// request asks for the scenario in the name of this run.
func (r *run) request(m *message.Message) runs.Request {
	return runs.Request{Basin: m.Basin, Scenario: m.Scenario, JobID: r.ids.JobID, Message: r.Message, Owner: r.Owner, Dead: r.Dead, Lease: r.Lease,
		Metadata: metadata(m), Held: r.Held, Commit: r.Commit, Since: r.Since, Notify: r.Notify, Log: r.Log}
}

// take reads the inputs, makes the scenario ours and runs it.
func (r *run) take(ctx context.Context, m *message.Message) (*Answer, error) {
	r.step("inputs", 0)
	request := r.request(m)
	var err error
	if r.set, err = r.Engines(); err != nil {
		return nil, r.fail(ctx, request, err)
	}
	if r.in, err = r.load(ctx, m, r.set); err != nil {
		return nil, r.fail(ctx, request, err)
	}
	force, err := r.forced(ctx, m)
	if err != nil {
		return nil, r.fail(ctx, request, err)
	}
	if nothing, err := r.told(ctx, force); err != nil {
		return nil, r.fail(ctx, request, err)
	} else if nothing {
		return r.repeat(ctx)
	}
	request.RunKey, request.Engine = r.in.key, r.set.Version()
	if r.hold, err = runs.Take(ctx, r.Runs, request); err != nil {
		return nil, r.fail(ctx, r.request(m), withoutRow(err))
	}
	return r.owned(ctx, force)
}

// forced reports whether the message wants a run although the result is
// current. A message whose forced run was killed behind its result does not
// want another one.
func (r *run) forced(ctx context.Context, m *message.Message) (bool, error) {
	if !m.Force || r.Since.IsZero() {
		return m.Force, nil
	}
	made, err := r.made(ctx)
	return made == nil, err
}

// told reports whether there is nothing to do, not even to record: this very job
// is completed, its scenario says so, and the result is whole.
func (r *run) told(ctx context.Context, force bool) (bool, error) {
	if force || r.in.columns["Status"] != string(runs.Completed) {
		return false, nil
	}
	record, err := runs.Read(ctx, r.Runs, r.ids.Basin, r.ids.Scenario)
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, runs.ErrUnreadable):
		return false, nil
	case err != nil:
		return false, err
	case record.State != runs.Completed || record.JobID != r.ids.JobID || record.RunKey != r.in.key:
		return false, nil
	}
	return r.whole(ctx, r.ids, r.in.key)
}

// repeat is the answer to a job that is completed; a notice of that may wait.
func (r *run) repeat(ctx context.Context) (*Answer, error) {
	answer, err := r.current(ctx)
	if err != nil {
		return nil, r.unsettled(err, nil)
	}
	r.summary(answer, runs.Outcome{State: runs.Completed})
	return answer, r.tell(ctx)
}

// tell sends the notices that earlier runs of the scenario left behind. The
// error is runs.ErrNotTold or, where it is not known whether there are any,
// *Unsettled.
func (r *run) tell(ctx context.Context) error {
	err := runs.Tell(ctx, r.Runs, r.ids.Basin, r.ids.Scenario, r.Notify)
	if err != nil && !errors.Is(err, runs.ErrNotTold) {
		return r.unsettled(err, nil)
	}
	return err
}

// made is the marker of the result that this job made since it was asked for,
// nil where there is none.
func (r *run) made(ctx context.Context) (*publish.Marker, error) {
	marker, err := r.marker(ctx, r.ids)
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, publish.ErrNoMarker):
		return nil, nil
	case err != nil:
		return nil, err
	case marker.JobID != r.ids.JobID || marker.StartedAt.Before(r.Since.Truncate(time.Second)):
		return nil, nil
	}
	return marker, nil
}

// record ends a job whose result is there and was not recorded.
func (r *run) record(ctx context.Context, m *message.Message, made *publish.Marker) (*Answer, error) {
	request := r.request(m)
	request.RunKey, request.Engine = made.RunKey, made.Engine
	var err error
	if r.hold, err = runs.Take(ctx, r.Runs, request); err != nil {
		if err = withoutRow(err); reason.Of(err).Transient() && reason.Of(err) != reason.Busy {
			err = &Unsettled{Err: err}
		}
		return nil, err
	}
	answer := &Answer{Current: true, Marker: made}
	return answer, r.finish(ctx, answer, nil, nil)
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
