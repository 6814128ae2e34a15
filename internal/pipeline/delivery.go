package pipeline

import (
	"context"
	"errors"
	"time"

	"rsmsjob/internal/lease"
	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
)

// handBack makes the message visible again because the process is stopped.
func handBack(ctx context.Context, l *lease.Lease, grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := l.Release(ctx, 0); err != nil {
		l.Log().Warn("the message was not handed back and comes back when its lease ends", "error", err)
		return
	}
	l.Log().Info("message handed back")
}

// end sees the message to the end that the error of its run asks for, and
// returns what is to be reported.
func (d *delivery) end(ctx context.Context, err error) error {
	ctx, cancel := closing(ctx, d.Lease/2, d.job.Grace, "the queue did not take the end of the message in time")
	defer cancel()
	code := reason.Of(err)
	switch {
	case err == nil:
		return d.complete(ctx)
	case d.lease.Err() != nil:
		err := d.lease.Err()
		d.lease.Abandon()
		return err
	case code == reason.LeaseLost, code == reason.Internal:
		d.lease.Abandon()
		return err
	case code == reason.Busy:
		return d.snooze(ctx, err)
	case code == reason.Cancelled:
		if gone := d.complete(ctx); gone != nil {
			d.log.Warn("the message of the cancelled job was not deleted", "error", gone)
		}
		return err
	case !code.Transient():
		return d.poison(ctx, err)
	case d.job.again(code):
		return d.release(ctx, err, d.RetryDelay(d.attempt))
	default:
		return d.lastAttempt(ctx, err)
	}
}

// complete deletes the message: its work is done and recorded. Where a
// done-notice is missing, the message comes back for it.
func (d *delivery) complete(ctx context.Context) error {
	if err := d.lease.Complete(ctx); err != nil {
		d.log.Warn("the message was not deleted; when it comes back it is found to be done", "error", err)
		return nil
	}
	d.log.Info("message deleted")
	return nil
}

// snooze hands a message back whose scenario somebody else runs. That is no
// attempt: the record keeps count of it.
func (d *delivery) snooze(ctx context.Context, err error) error {
	if counted := runs.Snooze(ctx, d.job.Runs, d.message.Basin, d.message.Scenario, d.lease.ID()); counted != nil {
		d.log.Warn("that the scenario was busy is not on record; it counts as an attempt", "error", counted)
	}
	return d.release(ctx, err, d.RetryDelay(1))
}

// release hands the message back, hidden for a while, and returns err.
func (d *delivery) release(ctx context.Context, err error, delay time.Duration) error {
	if back := d.lease.Release(ctx, delay); back != nil {
		d.log.Warn("the message was not handed back and comes back when its lease ends", "error", back)
	} else {
		d.log.Info("message handed back", "delay", delay.Seconds())
	}
	return err
}

// lastAttempt ends a message that has no attempts left. A job whose result
// stands, so that only its notice is missing, is done.
func (d *delivery) lastAttempt(ctx context.Context, err error) error {
	if errors.Is(err, runs.ErrNotTold) && d.done(ctx) {
		d.log.Error("the done-notice could not be sent; the next run of the scenario will", "error", err)
		return d.complete(ctx)
	}
	final := d.poison(ctx, d.job.exhausted(err))
	if reason.Of(err) == reason.TimedOut {
		return err
	}
	return final
}

// done reports whether the record says that the job is completed.
func (d *delivery) done(ctx context.Context) bool {
	record, err := runs.Read(ctx, d.job.Runs, d.message.Basin, d.message.Scenario)
	return err == nil && record.State == runs.Completed
}

// poison moves the message to the poison queue.
func (d *delivery) poison(ctx context.Context, err error) error {
	if d.message != nil && d.message.Type == message.TypeRun {
		if untold := d.tellFailed(ctx, err); untold != nil {
			d.log.Error("the done-notice could not be sent", "error", untold)
		}
	}
	moved := d.lease.Poison(ctx, reason.Of(err), reason.Detail(err), d.jobID)
	if moved == nil {
		return &Poisoned{err}
	}
	d.log.Error("the message was not moved to poison and comes back when its lease ends", "error", moved)
	if reason.Of(moved) == reason.LeaseLost {
		return moved
	}
	// That counts: the job has not failed for good before the message is put aside.
	return errors.Join(reason.Wrap(reason.StorageUnavailable, moved, "the message was not moved to the poison queue"), err)
}

// tellFailed sees that a job that failed for good is told of. Where it has a
// run record, the notice is with that; where there is no scenario to have one,
// it is sent as it is.
func (d *delivery) tellFailed(ctx context.Context, err error) error {
	if d.job.Notify == nil {
		return nil
	}
	record, unread := runs.Read(ctx, d.job.Runs, d.message.Basin, d.message.Scenario)
	if unread == nil && record.JobID == d.jobID && record.Over() {
		return d.tell(ctx)
	}
	now := time.Now()
	notice := message.Done{Basin: d.message.Basin, Scenario: d.message.Scenario, JobID: d.jobID, State: string(runs.Failed),
		Reason: reason.Of(err), Detail: reason.Detail(err), Attempt: d.attempt, StartedAt: now, FinishedAt: now, Commit: d.job.Commit}
	return d.job.Notify(ctx, notice.Encode())
}
