package pipeline

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/workdir"
)

// run is one run of a job.
type run struct {
	*Job
	ids   plume.IDs
	set   *engine.Set
	in    *inputs
	hold  *runs.Hold
	began time.Time
	steps engine.Cache // nil for none
	watch stopwatch
}

// owned is the run while the scenario is ours, to its recorded end.
func (r *run) owned(ctx context.Context, force bool) (*Answer, error) {
	defer func() {
		if p := recover(); p != nil { // a bug: the row must not say Running until the lease ends
			_ = r.finish(ctx, nil, reason.New(reason.Internal, "internal error; the log has the stack"), nil)
			panic(p)
		}
	}()
	r.steps = r.stepCache(force)
	if !force { // an earlier run may have been killed behind its result.json
		if whole, err := r.whole(r.hold.Context, r.ids, r.in.key); err != nil {
			return nil, r.finish(ctx, nil, err, nil)
		} else if whole {
			answer, err := r.current(ctx)
			return answer, r.finish(ctx, answer, err, nil)
		}
	}
	plan, warnings, err := r.plan(r.in)
	if err != nil {
		return nil, r.finish(ctx, nil, err, nil)
	}
	answer, again, err := r.attempt(ctx, plan, warnings)
	if again {
		r.steps = nil
		answer, _, err = r.attempt(ctx, plan, warnings)
	}
	return answer, err
}

// attempt is the run in a folder of its own, to its recorded end. again is set, and
// nothing recorded, where it came to nothing on what the cache had: that may be to
// blame, and a result that cannot be believed has no other attempt.
func (r *run) attempt(ctx context.Context, plan *engine.Plan, warnings []string) (answer *Answer, again bool, err error) {
	folder, err := r.folder()
	if err != nil {
		return nil, false, r.finish(ctx, nil, err, nil)
	}
	defer r.leave(folder)
	answer = &Answer{Warnings: warnings}
	if r.KeepWorkDir {
		answer.WorkDir = folder.Path
	}
	logs := engineLogs(folder.Path, r.ids.JobID, r.set)
	took, err := r.work(plan, folder.Path, answer, logs)
	switch reason.Of(err) {
	case reason.EngineFailed, reason.EngineOutputMissing, reason.EngineOutputInvalid:
		if took {
			r.Log.Warn("the run is made again without the step cache", "error", err)
			return nil, true, nil
		}
	}
	if err != nil {
		return nil, false, r.finish(ctx, nil, err, logs)
	}
	return answer, false, r.finish(ctx, answer, nil, nil)
}

// mostKeeping is how long a result that stands waits for the step cache. The lease is
// held meanwhile, and the scenario says Running.
const mostKeeping = 10 * time.Second

// work runs the engines, checks what they left and publishes it. took reports
// whether a step came from the cache.
func (r *run) work(plan *engine.Plan, dir string, answer *Answer, logs []publish.Blob) (took bool, err error) {
	// Behind the fence nothing is sent for a scenario that is no longer ours.
	ctx := storage.Fenced(r.hold.Context, r.hold.Err)
	for _, w := range answer.Warnings {
		r.Log.Warn(w)
	}
	if err := plan.WriteInputs(dir); len(reason.Faults(err)) > 0 {
		return false, reason.Wrap(reason.InvalidScenario, err, "")
	} else if err != nil {
		return false, &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "the engine inputs could not be written; is the disk of RSMS_WORK_DIR full?"}
	}
	runner := r.runner(plan)
	running, stop := context.WithCancel(ctx)
	defer func() {
		defer time.AfterFunc(mostKeeping, stop).Stop()
		runner.Keeping.Wait()
		stop()
	}()
	if err := runner.Run(running, dir); err != nil {
		return runner.Took(), noRoom(dir, err)
	}
	err = r.answer(ctx, plan, dir, answer, logs)
	forget(ctx, runner, err)
	return runner.Took(), err
}

// answer checks what the engines left and publishes it.
func (r *run) answer(ctx context.Context, plan *engine.Plan, dir string, answer *Answer, logs []publish.Blob) error {
	found, err := check(ctx, plan, dir, func(part float64) { r.step("check", part) })
	if err != nil {
		return noRoom(dir, err)
	}
	for _, w := range found.warnings {
		r.Log.Warn(w)
	}
	answer.Warnings = append(answer.Warnings, found.warnings...)
	answer.Intakes, answer.Balance = found.intakes, found.balance.Final
	if r.Ensemble.Runs > 0 {
		var warnings []string
		if found.ensemble, warnings, err = r.ensemble(ctx, plan, found.intakes, dir); err != nil {
			return err
		}
		answer.Ensemble, answer.Warnings = found.ensemble, append(answer.Warnings, warnings...)
		if found.ensemble.MayComeAgain() { // to the next who asks for a band, this is no answer
			r.in.key = r.in.plainKey
		}
	}
	result := found.result(ctx, r.ids, plan, dir)
	result.Marker.RunKey, result.Marker.Attempt, result.Marker.StartedAt = r.in.key, r.hold.Attempt(), r.hold.StartedAt()
	result.Marker.Engine, result.Marker.Commit = r.set.Version(), r.Commit
	withReport(result, r.facts(ctx, plan, found, answer.Warnings))
	result.Blobs = append(result.Blobs, params(r.ids, r.in, plan, r.set, answer.Warnings))
	result.Blobs = append(result.Blobs, logs...)
	r.step("publish", 0)
	answer.Marker, err = publish.Publish(ctx, r.Results, r.hold.Err, time.Now, result)
	return err
}

// forget drops what the engines left from the cache where that is why there is no
// result: the next attempt makes it anew.
func forget(ctx context.Context, runner *engine.Runner, err error) {
	switch reason.Of(err) {
	case reason.EngineOutputMissing, reason.EngineOutputInvalid, reason.Internal:
		runner.Forget(ctx)
	}
}

// runner is what runs the engines.
func (r *run) runner(plan *engine.Plan) *engine.Runner {
	return &engine.Runner{Set: r.set, Check: plan.Check, StepTimeout: r.StepTimeout, Grace: r.Grace, Supervisor: r.Supervisor,
		Env: r.EngineEnv, Cache: r.steps, Log: r.Log, Progress: r.step, Keeping: new(sync.WaitGroup)}
}

// stepCache is the cache of the run, nil for none.
func (r *run) stepCache(force bool) engine.Cache {
	if r.StepCache == nil {
		return nil
	}
	return r.StepCache(force, r.Since)
}

// leastRoom is the free space below which a disk is full, bytes.
const leastRoom = 1 << 20

// noRoom gives the failure of an engine its cause where the disk of the run folder
// is full: that passes, and no engine is to blame that leaves less than it should.
func noRoom(dir string, err error) error {
	if free, unknown := workdir.Free(dir); unknown == nil {
		return withFree(free, err)
	}
	return err
}

// withFree does that where so many bytes are free.
func withFree(free uint64, err error) error {
	switch reason.Of(err) {
	case reason.EngineFailed, reason.EngineOutputMissing, reason.EngineOutputInvalid:
		if free < leastRoom {
			return &reason.Error{Code: reason.StorageUnavailable, Err: err,
				Detail: fmt.Sprintf("the disk of RSMS_WORK_DIR is full, %d bytes are free; make room, or name another. %s", free, reason.Detail(err))}
		}
	}
	return err
}

// weights is where each step of a run begins and ends, in percent of a run.
var weights = map[string][2]float64{
	"daflow": {2, 25}, "bltm": {25, 62}, "ctplt": {62, 74}, "cxplt": {74, 80}, "check": {80, 88}, "publish": {88, 100},
}

// step notes which step the run is at and which part of it is done, 0..1.
func (r *run) step(step string, part float64) {
	w := weights[step]
	if r.Ensemble.Runs > 0 {
		w = ensembleWeights(step)
	}
	percent := w[0] + (w[1]-w[0])*part
	r.watch.enter(step)
	if r.hold != nil {
		r.hold.Progress(step, percent)
	}
	r.Progress(step, percent)
}

// sweep removes the folders of runs that were killed.
func (r *run) sweep() {
	for _, name := range workdir.Sweep(r.WorkDir) {
		r.Log.Warn("folder of a run that was killed removed", "folder", name)
	}
}

// folder makes the folder of the run.
func (r *run) folder() (*workdir.Folder, error) {
	f, err := workdir.Make(r.WorkDir)
	if err != nil {
		return nil, &reason.Error{Code: reason.StorageUnavailable, Err: err, Detail: "no run folder could be made in RSMS_WORK_DIR"}
	}
	return f, nil
}

// leave removes the run folder, or keeps it where it is wanted.
func (r *run) leave(f *workdir.Folder) {
	end := f.Remove
	if r.KeepWorkDir {
		r.Log.Info("run folder kept", "dir", f.Path)
		end = f.Keep
	}
	if err := end(); err != nil {
		r.Log.Warn("run folder was left behind", "error", err)
	}
}
