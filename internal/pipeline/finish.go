package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// finish records how a run ended, in a time of its own, and returns the error
// of the run, or of the recording where the run had none; a done-notice that
// could not be sent is runs.ErrNotTold in both. What the engines of a
// failed run said, and the log of the run, are kept first, in half of that time.
// A run that lost its scenario writes nothing.
func (r *run) finish(ctx context.Context, answer *Answer, err error, engineLogs []publish.Blob) error {
	ctx, cancel := closing(ctx, r.Lease/2, r.Grace, "the end of the run could not be recorded in time")
	defer cancel()
	out := r.outcome(err)
	r.summary(answer, out)
	deadline, _ := ctx.Deadline()
	first, done := context.WithTimeout(ctx, time.Until(deadline)/2)
	r.keepLogs(first, engineLogs)
	done()
	end := r.hold.Finish(ctx, out)
	if err == nil {
		if errors.Is(end, storage.ErrNotFound) {
			return reason.Wrap(reason.ScenarioNotFound, end, "the scenario row was removed during the run; the result is published")
		}
		if len(reason.Faults(end)) > 0 {
			return reason.Wrap(reason.InvalidScenario, end, "")
		}
		return end
	}
	if errors.Is(end, runs.ErrNotTold) {
		return errors.Join(err, end)
	}
	if end != nil && reason.Of(err) != reason.LeaseLost {
		r.Log.Error("the end of the run was not recorded", "error", end)
	}
	return err
}

// closing is the time for the last writes of a run, which need one of their
// own: the limit, or the grace from a stop signal on, be it before or after
// now. late says what it means when that is over.
func closing(ctx context.Context, limit, grace time.Duration, late string) (context.Context, context.CancelFunc) {
	stopped := func() bool { return reason.Of(context.Cause(ctx)) == reason.Shutdown }
	if limit = max(limit, grace); ctx.Err() != nil && stopped() {
		limit = grace
	}
	last, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	why := reason.New(reason.StorageUnavailable, "%s", late)
	last, done := context.WithTimeoutCause(last, limit, why)
	var timer atomic.Pointer[time.Timer]
	unwatch := context.AfterFunc(ctx, func() {
		if stopped() {
			timer.Store(time.AfterFunc(grace, func() { cancel(why) }))
		}
	})
	return last, func() {
		unwatch()
		if t := timer.Load(); t != nil {
			t.Stop()
		}
		done()
		cancel(nil)
	}
}

// outcome is the state that an error ends a run in.
func (j *Job) outcome(err error) runs.Outcome {
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
	switch {
	case !o.Reason.Transient() || j.Attempts == 0:
	case j.again(o.Reason):
		o.State = runs.Queued
	default:
		o.Detail = j.exhausted(err).Detail
		o.Reason = reason.MaxAttempts
	}
	return o
}

// again reports whether a message whose run ended with the code is tried once
// more. Who was stopped or had a bug is: those count when it is claimed.
func (j *Job) again(code reason.Code) bool {
	return j.Attempt < j.Attempts || code == reason.Shutdown || code == reason.Internal || code == reason.LeaseLost || code == reason.Busy
}

// exhausted is the end of a message that had all its attempts, the last of
// which ended with err.
func (j *Job) exhausted(err error) *reason.Error {
	return &reason.Error{Code: reason.MaxAttempts, Err: err,
		Detail: fmt.Sprintf("attempt %d of %d ended with %s: %s", j.Attempt, j.Attempts, reason.Of(err), reason.Detail(err))}
}

// refuse tells the scenario row, where there is one and nobody runs it, that
// its inputs cannot even be read or there is no engine, and returns the error.
func (r *run) refuse(ctx context.Context, request runs.Request, err error) error {
	switch reason.Of(err) {
	case reason.EngineMissing, reason.BasinNotFound, reason.InvalidBasin, reason.InvalidFlows, reason.InvalidScenario, reason.StorageDenied:
	default:
		return err
	}
	return r.fail(ctx, request, err)
}

// fail ends the job with err without a run: the scenario row, where there is
// one, says so. The error is err, or reason.Busy where somebody runs it.
func (r *run) fail(ctx context.Context, request runs.Request, err error) error {
	if _, unread := r.Inputs.Scenario(ctx, request.Basin, request.Scenario); unread != nil {
		return err // there is no row to tell, and a run record would stand for nothing
	}
	request.Force = true
	hold, took := runs.Take(ctx, r.Runs, request)
	if reason.Of(took) == reason.Busy && r.Attempts > 0 {
		return took // its owner may still make it
	}
	if took != nil {
		r.Log.Warn("the scenario row was not told", "error", took)
		return err
	}
	r.hold = hold
	return r.finish(ctx, nil, err, nil)
}

// tellDuplicate sees that a job whose result was there already, so that it had
// no run to record, is told of: the notice of the run that made the result may
// be pending, and a job of another id has one of its own.
func (r *run) tellDuplicate(ctx context.Context, m *publish.Marker) error {
	if r.Notify == nil {
		return nil
	}
	if err := runs.Tell(ctx, r.Runs, m.Basin, m.Scenario, r.Notify); err != nil || m.JobID == r.ids.JobID {
		return err
	}
	notice := message.Done{Basin: m.Basin, Scenario: m.Scenario, JobID: r.ids.JobID, RunKey: m.RunKey, State: string(runs.Completed),
		Attempt: m.Attempt, StartedAt: m.StartedAt, FinishedAt: m.FinishedAt, Commit: m.Commit}
	if err := r.Notify(ctx, notice.Encode()); err != nil {
		return fmt.Errorf("%w: %w", runs.ErrNotTold, reason.Wrap(reason.StorageUnavailable, err, "the queue of RSMS_DONE_QUEUE_NAME took no done-notice"))
	}
	return nil
}

// keepLogs publishes what the engines said in a run that has no result, and the
// log of the run.
func (r *run) keepLogs(ctx context.Context, logs []publish.Blob) {
	if len(logs) > 0 {
		if m, err := r.marker(ctx, r.ids); err == nil && m.JobID == r.ids.JobID {
			// The logs of that name belong to a result, which stands.
			for i := range logs {
				folder, name := path.Split(logs[i].Name)
				logs[i].Name = path.Join(folder, "failed", name)
			}
		}
	}
	if r.RunLog != nil {
		text := r.RunLog()
		logs = append(logs, publish.Blob{Name: "run/" + r.ids.JobID + "/run-" + plume.TimeKey(r.hold.StartedAt()) + ".log",
			Write: func(w io.Writer) error { _, err := w.Write(text); return err }})
	}
	if err := publish.Logs(storage.Fenced(ctx, r.hold.Err), r.Results, r.hold.Err, r.ids, logs); err != nil {
		r.Log.Warn("the logs of the run were not kept", "error", err)
	}
}

// summary is the one line that says what a run came to. Times are in seconds.
func (r *run) summary(answer *Answer, out runs.Outcome) {
	list := []any{"state", string(out.State), "attempt_of_run", r.hold.Attempt(), "seconds", time.Since(r.began).Seconds()}
	if out.Reason != "" {
		list = append(list, "reason", string(out.Reason))
	}
	if !r.Since.IsZero() {
		list = append(list, "queue_wait", r.began.Sub(r.Since).Seconds())
	}
	for _, lap := range r.watch.stop() {
		list = append(list, "seconds_"+lap.step, lap.took.Seconds())
	}
	if answer != nil && answer.Marker != nil {
		bytes := int64(0)
		for _, b := range answer.Marker.Blobs {
			bytes += b.Size
		}
		list = append(list, "already_current", answer.Current, "rows_by_time", answer.Marker.Rows.ByTime,
			"rows_by_mile", answer.Marker.Rows.ByMile, "blobs", len(answer.Marker.Blobs), "bytes", bytes)
	}
	if r.Traffic != nil {
		requests, retries := r.Traffic()
		list = append(list, "requests", requests, "retries", retries)
	}
	r.Log.Info("summary", list...)
}

// stopwatch measures how long each step of a run took.
type stopwatch struct {
	mu   sync.Mutex
	laps []lap
	at   time.Time // when the last lap began
}

type lap struct {
	step string
	took time.Duration
}

// enter ends the lap of the step before, unless it is the same.
func (s *stopwatch) enter(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if n := len(s.laps); n > 0 {
		if s.laps[n-1].step == step {
			return
		}
		s.laps[n-1].took = now.Sub(s.at)
	}
	s.laps, s.at = append(s.laps, lap{step: step}), now
}

// stop ends the last lap and returns all of them.
func (s *stopwatch) stop() []lap {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.laps); n > 0 {
		s.laps[n-1].took = time.Since(s.at)
	}
	return s.laps
}
