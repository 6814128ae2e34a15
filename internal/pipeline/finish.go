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

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// Unsettled says that how a message ended is not on record, so that it must stay
// in the queue: deleted or put aside, it would leave a scenario that says Queued
// or Running for ever. Its reason is that of Err.
type Unsettled struct {
	Err error // why it is not
	Run error // what the run came to, nil for a result
}

func (u *Unsettled) Error() string {
	text := "how the job ended is not on record, so it is tried again: " + u.Err.Error()
	if u.Run != nil {
		text += "; the job: " + u.Run.Error()
	}
	return text
}

func (u *Unsettled) Unwrap() error { return u.Err }

// finish records how a run ended, in a time of its own, and returns the error
// of the run, or *Unsettled where it could not be recorded; a done-notice that
// could not be sent is runs.ErrNotTold in both. What the engines of a
// failed run said, and the log of the run, are kept first, in half of that time.
// A run that lost its scenario writes nothing.
func (r *run) finish(ctx context.Context, answer *Answer, err error, engineLogs []publish.Blob) error {
	ctx, cancel := r.closing(ctx)
	defer cancel()
	return r.finishWithin(ctx, answer, err, engineLogs)
}

func (j *Job) closing(ctx context.Context) (context.Context, context.CancelFunc) {
	return closing(ctx, j.Lease/2, j.Grace, "the end of the run could not be recorded in time")
}

// finishWithin is finish in the time of ctx.
func (r *run) finishWithin(ctx context.Context, answer *Answer, err error, engineLogs []publish.Blob) error {
	out := r.outcome(err)
	r.summary(answer, out)
	deadline, _ := ctx.Deadline()
	first, done := context.WithTimeout(ctx, time.Until(deadline)/2)
	r.keepLogs(first, engineLogs)
	done()
	end := r.hold.Finish(ctx, out)
	switch {
	case end == nil:
		return err
	case errors.Is(end, runs.ErrNotTold):
		return errors.Join(err, end)
	case reason.Of(err) == reason.LeaseLost:
		return err
	case reason.Of(end) == reason.LeaseLost:
		return end
	case err != nil && untellable(end):
		r.Log.Error("the scenario row cannot be told how the run ended", "error", end)
		return err
	case err != nil:
		return r.unsettled(end, err)
	case untellable(end):
		return withoutRow(end)
	}
	return r.unsettled(end, nil)
}

// unsettled is the error of a run whose end could not be recorded because of
// why. Nobody tries a run by hand again: it has the error of the run.
func (r *run) unsettled(why, err error) error {
	if r.Attempts > 0 && reason.Of(why) != reason.StorageDenied {
		return &Unsettled{Err: why, Run: err}
	}
	if err == nil {
		return why
	}
	r.Log.Error("the end of the run was not recorded", "error", why)
	return err
}

// untellable reports whether a scenario row cannot be told however often it is
// tried: there is none, or it is broken.
func untellable(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || len(reason.Faults(err)) > 0
}

// closingKey marks a context that closing has made.
type closingKey struct{}

// closing is the time for the last writes of a run, which need one of their
// own: the limit, or the grace from a stop signal on, be it before or after
// now. late says what it means when that is over.
func closing(ctx context.Context, limit, grace time.Duration, late string) (context.Context, context.CancelFunc) {
	if ctx.Value(closingKey{}) != nil {
		return context.WithCancel(ctx) // it is that already
	}
	stopped := func() bool { return reason.Of(context.Cause(ctx)) == reason.Shutdown }
	if limit = max(limit, grace); ctx.Err() != nil && stopped() {
		limit = grace
	}
	last, cancel := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), closingKey{}, true))
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

// withoutRow gives an error that a scenario row cannot be told its reason: there
// is none any more, or it takes no more columns.
func withoutRow(err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return reason.Wrap(reason.ScenarioNotFound, err, "the scenario row was removed during the run; a result that was published stands")
	}
	if len(reason.Faults(err)) > 0 {
		return reason.Wrap(reason.InvalidScenario, err, "")
	}
	return err
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
	_, notPlaced := errors.AsType[*NotPlaced](err)
	switch {
	case !o.Reason.Transient() || j.Attempts == 0:
	case notPlaced || j.again(o.Reason):
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
	last := &reason.Error{Code: reason.MaxAttempts, Err: err,
		Detail: fmt.Sprintf("attempt %d of %d ended with %s: %s", j.Attempt, j.Attempts, reason.Of(err), reason.Detail(err))}
	if e, ok := err.(*reason.Error); ok {
		last.Err = e.Err // its detail is said
	}
	return last
}

// fail ends the job with err without a run: the scenario row, where there is
// one, says so. The error is err, or reason.Busy where somebody runs it, or
// *Unsettled.
func (r *run) fail(ctx context.Context, request runs.Request, err error) error {
	switch reason.Of(err) {
	case reason.Busy, reason.LeaseLost, reason.Shutdown, reason.Internal:
		return err // the message comes back by itself
	}
	ctx, cancel := r.closing(ctx)
	defer cancel()
	_, why := r.Inputs.Scenario(ctx, request.Basin, request.Scenario)
	if why == nil {
		r.hold, why = runs.Take(ctx, r.Runs, request)
	}
	switch {
	case why == nil:
		return r.finishWithin(ctx, nil, err, nil)
	case untellable(why):
		return err // a run record would stand for nothing
	case reason.Of(why) == reason.StorageDenied:
		r.declare(ctx, request, err)
	case reason.Of(why) == reason.Busy && r.Attempts > 0:
		return why // its owner may still make it
	}
	return r.unsettled(why, err)
}

// declare says that the job ended with err where row and record cannot both be
// written: in the one that can.
func (r *run) declare(ctx context.Context, request runs.Request, err error) {
	out, now := r.outcome(err), time.Now().UTC().Truncate(time.Second)
	record := runs.Record{JobID: request.JobID, State: out.State, Reason: out.Reason, Detail: out.Detail, Attempt: max(r.Attempt, 1),
		StartedAt: r.began.UTC().Truncate(time.Second), FinishedAt: &now, Metadata: request.Metadata, Commit: request.Commit}
	if owned, unread := runs.Read(ctx, r.Runs, request.Basin, request.Scenario); unread == nil && owned.Live(now) && owned.Owner != r.Owner {
		return // its owner tells what comes of it
	}
	denied := r.Runs.MergeScenario(ctx, request.Basin, request.Scenario, record.Columns())
	if untellable(denied) {
		return
	}
	if denied != nil {
		r.Log.Error("the scenario row cannot say how the job ended", "error", denied)
	}
	if denied := runs.Note(ctx, r.Runs, request.Basin, request.Scenario, record); denied != nil {
		r.Log.Error("the run record cannot say how the job ended", "error", denied)
	}
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
		text, kind := r.RunLog(), "run-"
		if r.Place != nil {
			kind = "launch-" // the one of the run is that of the container
		}
		logs = append(logs, publish.Blob{Name: storage.RunPrefix + r.ids.JobID + "/" + kind + plume.TimeKey(r.hold.StartedAt()) + ".log",
			Write: func(w io.Writer) error { _, err := w.Write(text); return err }})
	}
	if err := publish.Logs(storage.Fenced(ctx, r.hold.Err), r.Results, r.hold.Err, r.ids, logs); err != nil {
		r.Log.Warn("the logs of the run were not kept", "error", err)
	}
}

// summary is the one line that says what a run came to. Times are in seconds.
func (r *run) summary(answer *Answer, out runs.Outcome) {
	list := []any{"state", string(out.State), "seconds", time.Since(r.began).Seconds()}
	if r.hold != nil {
		list = append(list, "attempt_of_run", r.hold.Attempt())
	}
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
