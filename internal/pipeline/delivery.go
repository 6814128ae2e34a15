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
	_, unsettled := errors.AsType[*Unsettled](err)
	unplaced, notPlaced := errors.AsType[*NotPlaced](err)
	switch {
	case err == nil:
		d.complete(ctx)
		return nil
	case d.lease.Err() != nil:
		err := d.lease.Err()
		d.lease.Abandon()
		return err
	case unsettled:
		return d.release(ctx, err, d.RetryDelay(d.attempt))
	case notPlaced:
		return d.snooze(ctx, err, max(unplaced.After, d.RetryDelay(1+d.waited)))
	case code == reason.LeaseLost, code == reason.Internal:
		d.lease.Abandon()
		return err
	case code == reason.Busy:
		return d.snooze(ctx, err, d.RetryDelay(1))
	case code == reason.Cancelled:
		if untold := d.settle(ctx, err); untold != nil {
			return d.stay(ctx, untold)
		}
		d.complete(ctx)
		return err
	case d.done && errors.Is(err, runs.ErrNotTold) && !(code.Transient() && d.job.again(code)):
		return d.untold(ctx, err)
	case !code.Transient():
		return d.poison(ctx, err)
	case d.job.again(code):
		return d.release(ctx, err, d.RetryDelay(d.attempt))
	default:
		return d.lastAttempt(ctx, err)
	}
}

// complete deletes the message: its work is done and recorded.
func (d *delivery) complete(ctx context.Context) {
	if err := d.lease.Complete(ctx); err != nil {
		d.log.Warn("the message was not deleted; when it comes back it is found to be done", "error", err)
		return
	}
	d.log.Info("message deleted")
}

// snooze hands a message back whose scenario somebody else runs, or whose Place
// had no room. That is no attempt: the record keeps count of it.
func (d *delivery) snooze(ctx context.Context, err error, delay time.Duration) error {
	if counted := runs.Snooze(ctx, d.job.Runs, d.message.Basin, d.message.Scenario, d.lease.ID()); counted != nil {
		d.log.Warn("that the message had to wait is not on record; it counts as an attempt", "error", counted)
	}
	return d.release(ctx, err, delay)
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

// lastAttempt ends a message that has no attempts left.
func (d *delivery) lastAttempt(ctx context.Context, err error) error {
	final := d.poison(ctx, d.job.exhausted(err))
	if reason.Of(err) == reason.TimedOut {
		return err
	}
	return final
}

// untold ends a message whose result stands and whose done-notice cannot be
// sent, now or by another attempt.
func (d *delivery) untold(ctx context.Context, err error) error {
	d.log.Error("the done-notice could not be sent; the next run of the scenario will", "error", err)
	d.complete(ctx)
	return nil
}

// onRecord reports whether the run record says what the message came to.
func (d *delivery) onRecord(ctx context.Context) (bool, error) {
	record, err := d.readRecord(ctx)
	if err != nil {
		return false, err
	}
	_, over := d.ending(record)
	return over, nil
}

// poison moves the message to the poison queue, once its scenario tells why.
func (d *delivery) poison(ctx context.Context, err error) error {
	if d.message != nil && d.message.Type == message.TypeRun {
		if untold := d.settle(ctx, err); untold != nil {
			return d.stay(ctx, untold)
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
	return &reason.Error{Code: reason.StorageUnavailable, Err: errors.Join(moved, err),
		Detail: "the message was not moved to the poison queue: " + reason.Detail(moved)}
}

// settle sees that the scenario and who waits for a done-notice are told of a
// job that failed for good. An error is why the message must stay.
func (d *delivery) settle(ctx context.Context, err error) error {
	over, unread := d.onRecord(ctx)
	if !over && (unread == nil || !reason.Of(unread).Transient()) {
		failed := d.job.Fail(ctx, d.message, d.jobID, err)
		if _, unsettled := errors.AsType[*Unsettled](failed); unsettled {
			return failed
		}
		switch reason.Of(failed) {
		case reason.LeaseLost:
			return failed
		case reason.Busy:
			if !d.refused {
				return failed
			}
		}
		over, unread = d.onRecord(ctx)
	}
	switch {
	case unread != nil && reason.Of(unread).Transient():
		return &Unsettled{Err: unread, Run: err}
	case over:
		if untold := d.job.run(d.message, d.jobID).tell(ctx); untold != nil {
			if reason.Of(untold).Transient() && d.attempt < d.Attempts {
				return untold
			}
			d.log.Error("the done-notice could not be sent; the next run of the scenario will", "error", untold)
		}
		return nil
	}
	return d.tellFailed(ctx, err)
}

// tellFailed sends the notice of a job that has no scenario whose record could
// keep it. Where that fails at the last attempt the message goes without it.
func (d *delivery) tellFailed(ctx context.Context, err error) error {
	if d.job.Notify == nil {
		return nil
	}
	now := time.Now()
	notice := message.Done{Basin: d.message.Basin, Scenario: d.message.Scenario, JobID: d.jobID, State: string(d.job.outcome(err).State),
		Reason: reason.Of(err), Detail: reason.Detail(err), Attempt: d.attempt, StartedAt: now, FinishedAt: now, Commit: d.job.Commit}
	untold := d.job.Notify(ctx, notice.Encode())
	if untold != nil && d.attempt >= d.Attempts {
		d.log.Error("the done-notice could not be sent", "error", untold)
		return nil
	}
	return reason.Wrap(reason.StorageUnavailable, untold, "the queue of RSMS_DONE_QUEUE_NAME took no done-notice")
}

// stay leaves the message in the queue because of err.
func (d *delivery) stay(ctx context.Context, err error) error {
	switch reason.Of(err) {
	case reason.LeaseLost:
		d.lease.Abandon()
		return err
	case reason.Busy:
		return d.snooze(ctx, err, d.RetryDelay(1))
	}
	return d.release(ctx, err, d.RetryDelay(d.attempt))
}
