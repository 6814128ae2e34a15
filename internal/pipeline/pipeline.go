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
	"path"
	"time"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/message"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/workdir"
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

	Log      *slog.Logger
	Progress func(step string, percent float64)
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
	ids := plume.IDs{Basin: m.Basin, Scenario: m.Scenario, JobID: jobID}
	j.Progress("inputs", 0)
	request := runs.Request{Basin: m.Basin, Scenario: m.Scenario, JobID: jobID, Owner: j.Owner, Lease: j.Lease,
		Metadata: metadata(m), Force: m.Force, Log: j.Log}
	set, err := j.Engines()
	if err != nil {
		return nil, j.refuse(ctx, request, err)
	}
	raw, err := j.load(ctx, m, set)
	if err != nil {
		return nil, j.refuse(ctx, request, err)
	}
	request.RunKey, request.Engine = raw.key, set.Version()
	request.Current = func(ctx context.Context) (bool, error) { return j.current(ctx, ids, raw.key) }
	hold, err := runs.Take(ctx, j.Runs, request)
	if errors.Is(err, runs.ErrCurrent) {
		marker, err := j.marker(ctx, ids)
		return &Answer{Current: true, Marker: marker}, err
	}
	if err != nil {
		return nil, err
	}
	return j.owned(ctx, ids, raw, set, hold, m.Force)
}

// owned is the run while the scenario is ours, to its recorded end.
func (j *Job) owned(ctx context.Context, ids plume.IDs, raw *inputs, set *engine.Set, hold *runs.Hold, force bool) (*Answer, error) {
	defer func() {
		if p := recover(); p != nil { // a bug: the row must not say Running until the lease ends
			_ = j.finish(ctx, hold, reason.New(reason.Internal, "internal error; the log has the stack"), nil)
			panic(p)
		}
	}()
	if !force { // an earlier run may have been killed behind its result.json
		if whole, err := j.current(hold.Context, ids, raw.key); err != nil || whole {
			return j.alreadyDone(ctx, ids, hold, err)
		}
	}
	plan, warnings, err := j.plan(raw)
	if err != nil {
		return nil, j.finish(ctx, hold, err, nil)
	}
	folder, err := j.runFolder()
	if err != nil {
		return nil, j.finish(ctx, hold, err, nil)
	}
	defer j.leaveFolder(folder)
	answer := &Answer{Warnings: warnings}
	if j.KeepWorkDir {
		answer.WorkDir = folder.Path
	}
	logs := engineLogs(folder.Path, ids.JobID, set)
	if err := j.work(hold, ids, raw, set, plan, folder.Path, answer, logs); err != nil {
		return nil, j.finish(ctx, hold, err, func(ctx context.Context) { j.keepLogs(ctx, hold, ids, logs) })
	}
	return answer, j.finish(ctx, hold, nil, nil)
}

// alreadyDone ends a run that found the whole result of its inputs.
func (j *Job) alreadyDone(ctx context.Context, ids plume.IDs, hold *runs.Hold, err error) (*Answer, error) {
	if err := j.finish(ctx, hold, err, nil); err != nil {
		return nil, err
	}
	marker, err := j.marker(ctx, ids)
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

// finish records how a run ended, in a time of its own, and returns the error
// of the run, or of the recording where the run had none. before, where it is
// not nil, is called first with half of that time. A run that lost its scenario
// writes nothing.
func (j *Job) finish(ctx context.Context, hold *runs.Hold, err error, before func(context.Context)) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), j.Grace,
		reason.New(reason.StorageUnavailable, "the end of the run could not be recorded in time"))
	defer cancel()
	if before != nil {
		first, done := context.WithTimeout(ctx, j.Grace/2)
		before(first)
		done()
	}
	end := hold.Finish(ctx, outcome(err))
	if err == nil {
		if errors.Is(end, storage.ErrNotFound) {
			return reason.Wrap(reason.ScenarioNotFound, end, "the scenario row was removed during the run; the result is published")
		}
		if len(reason.Faults(end)) > 0 {
			return reason.Wrap(reason.InvalidScenario, end, "")
		}
		return end
	}
	if end != nil && reason.Of(err) != reason.LeaseLost {
		j.Log.Error("the end of the run was not recorded", "error", end)
	}
	return err
}

// outcome is the state that an error ends a run in.
func outcome(err error) runs.Outcome {
	o := runs.Outcome{State: runs.Failed, Reason: reason.Of(err)}
	if err == nil {
		return runs.Outcome{State: runs.Completed}
	}
	o.Detail = reason.Detail(err)
	switch o.Reason {
	case reason.Cancelled:
		o.State = runs.Cancelled
	case reason.TimedOut:
		o.State = runs.TimedOut
	}
	return o
}

// refuse tells the scenario row, where there is one and nobody runs it, that
// its inputs cannot even be read or there is no engine, and returns the error.
func (j *Job) refuse(ctx context.Context, request runs.Request, err error) error {
	switch reason.Of(err) {
	case reason.EngineMissing, reason.BasinNotFound, reason.InvalidBasin, reason.InvalidFlows, reason.InvalidScenario, reason.StorageDenied:
	default:
		return err
	}
	if _, unread := j.Inputs.Scenario(ctx, request.Basin, request.Scenario); unread != nil {
		return err // there is no row to tell, and a run record would stand for nothing
	}
	request.Force = true
	hold, took := runs.Take(ctx, j.Runs, request)
	if took != nil {
		j.Log.Warn("the scenario row was not told", "error", took)
		return err
	}
	return j.finish(ctx, hold, err, nil)
}

// work runs the engines, checks what they left and publishes it.
func (j *Job) work(hold *runs.Hold, ids plume.IDs, raw *inputs, set *engine.Set, plan *engine.Plan, dir string,
	answer *Answer, logs []publish.Blob) error {
	ctx := hold.Context
	for _, w := range answer.Warnings {
		j.Log.Warn(w)
	}
	if err := plan.WriteInputs(dir); len(reason.Faults(err)) > 0 {
		return reason.Wrap(reason.InvalidScenario, err, "")
	} else if err != nil {
		return &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "the engine inputs could not be written; is the disk of RSMS_WORK_DIR full?"}
	}
	if err := j.compute(ctx, plan, set, dir, hold); err != nil {
		return err
	}
	r, err := check(ctx, plan, dir, func(part float64) { j.progress(hold, "check", part) })
	if err != nil {
		return err
	}
	for _, w := range r.warnings {
		j.Log.Warn(w)
	}
	answer.Warnings = append(answer.Warnings, r.warnings...)
	answer.Intakes, answer.Balance = r.intakes, r.balance.Final
	result := r.result(ctx, ids, plan, dir)
	result.Marker.RunKey, result.Marker.Attempt, result.Marker.StartedAt = raw.key, hold.Attempt(), hold.StartedAt()
	result.Marker.Engine, result.Marker.Commit = set.Version(), j.Commit
	result.Blobs = append(result.Blobs, params(ids, raw, plan, set, answer.Warnings))
	result.Blobs = append(result.Blobs, logs...)
	j.progress(hold, "publish", 0)
	answer.Marker, err = publish.Publish(ctx, j.Results, hold.Err, time.Now, result)
	return err
}

// compute runs the engines.
func (j *Job) compute(ctx context.Context, plan *engine.Plan, set *engine.Set, dir string, hold *runs.Hold) error {
	runner := engine.Runner{Set: set, Check: plan.Check, StepTimeout: j.StepTimeout, Grace: j.Grace, Supervisor: j.Supervisor,
		Env: j.EngineEnv, Log: j.Log, Progress: func(step string, part float64) { j.progress(hold, step, part) }}
	return runner.Run(ctx, dir)
}

// weights is where each step of a run begins and ends, in percent of a run.
var weights = map[string][2]float64{
	"daflow": {2, 25}, "bltm": {25, 62}, "ctplt": {62, 74}, "cxplt": {74, 80}, "check": {80, 88}, "publish": {88, 100},
}

func (j *Job) progress(hold *runs.Hold, step string, part float64) {
	w := weights[step]
	percent := w[0] + (w[1]-w[0])*part
	hold.Progress(step, percent)
	j.Progress(step, percent)
}

// keepLogs publishes what the engines said in a run that failed.
func (j *Job) keepLogs(ctx context.Context, hold *runs.Hold, ids plume.IDs, logs []publish.Blob) {
	if m, err := j.marker(ctx, ids); err == nil && m.JobID == ids.JobID {
		// The logs of that name belong to a result, which stands.
		for i := range logs {
			folder, name := path.Split(logs[i].Name)
			logs[i].Name = path.Join(folder, "failed", name)
		}
	}
	if err := publish.Logs(ctx, j.Results, hold.Err, ids, logs); err != nil {
		j.Log.Warn("engine logs were not kept", "error", err)
	}
}

// runFolder makes the folder of the run, and removes those of runs that were
// killed.
func (j *Job) runFolder() (*workdir.Folder, error) {
	for _, name := range workdir.Sweep(j.WorkDir) {
		j.Log.Warn("folder of a run that was killed removed", "folder", name)
	}
	f, err := workdir.Make(j.WorkDir)
	if err != nil {
		return nil, &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "no run folder could be made in RSMS_WORK_DIR"}
	}
	return f, nil
}

// leaveFolder removes the run folder, or keeps it where it is wanted.
func (j *Job) leaveFolder(f *workdir.Folder) {
	end := f.Remove
	if j.KeepWorkDir {
		j.Log.Info("run folder kept", "dir", f.Path)
		end = f.Keep
	}
	if err := end(); err != nil {
		j.Log.Warn("run folder was left behind", "error", err)
	}
}
