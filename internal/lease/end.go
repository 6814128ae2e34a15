package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// ErrEnded is the cause of the context of a lease that its holder has ended.
var ErrEnded = errors.New("the lease was ended by its holder")

// ending is how a lease was ended.
type ending string

const (
	released  ending = "released"
	completed ending = "completed"
	poisoned  ending = "moved to the poison queue"
	abandoned ending = "abandoned"
)

const (
	lastAnswer = 5 * time.Second        // how long the renewal may wait for its last answer
	firstPause = 250 * time.Millisecond // between two tries of an ending
	longPause  = 2 * time.Second
	peeked     = 32 // messages of the poison queue that are looked at
)

// end is what Release, Complete and Poison share. The renewal is over before
// the receipt is used. One of them succeeds once: the same again returns nil,
// another one an error that says how the lease ended. After an error each may
// be tried again; the message is not renewed any more. The context of the
// lease ends in any case.
func (l *Lease) end(ctx context.Context, how ending, do func() error) error {
	l.halt(ctx)
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	defer l.over()
	switch l.ended { // changed in turn
	case "":
	case how:
		return nil
	default:
		return reason.New(reason.Internal, "message %s cannot be %s: it was %s", l.id, how, l.ended)
	}
	if err := do(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = how
	return nil
}

// halt ends the renewal and waits for it. A renewal on its way gets a while
// for its answer, which brings the receipt to use, but not all of the time
// that ctx leaves.
func (l *Lease) halt(ctx context.Context) {
	l.quit()
	wait := lastAnswer
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-l.renewed:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.cut()
	<-l.renewed
}

// over ends the context and the watch of the clock. Not before the ending is
// done: it may use the context of the lease.
func (l *Lease) over() {
	l.cancel(ErrEnded)
	l.unwatch()
	<-l.watched
}

// Release makes the message visible again after delay, at once for 0, for
// another try by anybody. It refuses, with reason.LeaseLost, when the message
// is not ours. Errors of the queue are tried again until ctx ends or the lease
// runs out; a release that got no answer gives the message up. Where the
// receipt is lost with an answer of the queue the message reappears by itself,
// within the visibility timeout, and Release returns nil.
func (l *Lease) Release(ctx context.Context, delay time.Duration) error {
	return l.end(ctx, released, func() error {
		unsure := !l.unanswered.IsZero() // the renewal is over
		tried := false
		err := l.persist(ctx, func(ctx context.Context) error {
			if err := l.Err(); err != nil {
				return err
			}
			ctx, cancel := within(ctx, l.left())
			defer cancel()
			id, receipt := l.key()
			_, err := l.o.Queue.Update(ctx, id, receipt, l.text, delay)
			tried = tried || err != nil && !final(err)
			return err
		})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, storage.ErrNotFound) && tried:
			return nil // by the try whose answer is missing
		case errors.Is(err, storage.ErrNotFound) && unsure:
			l.Log().Warn("the receipt of the message was lost with an answer of the queue; the message reappears by itself",
				"within", l.o.Visibility)
			return nil
		case errors.Is(err, storage.ErrNotFound):
			return l.lose(l.gone())
		case tried:
			l.lose(reason.New(reason.LeaseLost, "message %s may have a new holder: its release got no answer", l.id))
		}
		return fmt.Errorf("release message %s: %w", l.id, err)
	})
}

// Complete deletes the message; call it when the work is done and recorded.
// It tries also after the lease ran out: the receipt still works exactly while
// nobody else took the message, and then there is nothing left to do for
// anybody. Where somebody did, it returns reason.LeaseLost. A message that is
// gone while it was ours is a success: it expired, was removed by hand, or by
// a request whose answer is missing. Errors of the queue are tried again until
// ctx ends or the lease runs out.
func (l *Lease) Complete(ctx context.Context) error {
	return l.end(ctx, completed, func() error { return l.remove(ctx) })
}

func (l *Lease) remove(ctx context.Context) error {
	err := l.persist(ctx, func(ctx context.Context) error {
		id, receipt := l.key()
		return l.o.Queue.Delete(ctx, id, receipt)
	})
	if err == nil {
		return nil
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("delete message %s: %w", l.id, err)
	}
	if lost := l.Err(); lost != nil {
		return lost
	}
	l.Log().Warn("message was not there to be deleted; should it be delivered again, it is found done")
	return nil
}

// Poison moves the message to the poison queue: copy first, delete second, so
// that it is never in neither. detail must be safe to show, see reason.Error.
// It refuses, with reason.LeaseLost, when the message is not ours. The copy of
// an earlier call, or of an earlier delivery that was killed before it
// deleted the message, is found among the first 32 of the poison queue and not
// made again. Errors are tried again as in Complete.
func (l *Lease) Poison(ctx context.Context, code reason.Code, detail, jobID string) error {
	return l.end(ctx, poisoned, func() error {
		p := message.Poison{Reason: code, Detail: detail, Original: l.text, MessageID: l.id, DequeueCount: l.count,
			InsertedAt: l.inserted, FailedAt: wall(), JobID: jobID}
		if err := l.copyOnce(ctx, &p); err != nil {
			return fmt.Errorf("copy message %s to the poison queue: %w", l.id, err)
		}
		return l.remove(ctx)
	})
}

// copyOnce puts the message into the poison queue unless it is there.
func (l *Lease) copyOnce(ctx context.Context, p *message.Poison) error {
	if l.copied {
		return nil
	}
	text, whole := p.Encode()
	if err := l.sendOnce(ctx, text); err != nil {
		return err
	}
	l.copied = true
	if whole {
		l.Log().Info("message put into the poison queue", "reason", p.Reason, "detail", p.Detail, "job_id", p.JobID)
	} else {
		l.Log().Warn("message put into the poison queue as it was, too long for its reason to go with it",
			"reason", p.Reason, "detail", p.Detail, "job_id", p.JobID)
	}
	return nil
}

func (l *Lease) sendOnce(ctx context.Context, text string) error {
	tried := false
	return l.persist(ctx, func(ctx context.Context) error {
		if err := l.Err(); err != nil {
			return err
		}
		there, err := l.o.Poison.Peek(ctx, peeked)
		if err != nil && reason.Of(err) != reason.StorageDenied { // who may send need not be allowed to look
			return err
		}
		for _, m := range there {
			// A copy without an envelope has no id; only after a try of ours
			// can the same text be taken for the same message.
			if p, err := message.DecodePoison(m.Text); err == nil && p.MessageID == l.id || tried && m.Text == text {
				return nil
			}
		}
		tried = true
		_, err = l.o.Poison.Send(ctx, text, 0)
		return err
	})
}

// Abandon stops the renewal and leaves the message to reappear by itself. It
// waits for an ending that is under way; after one that succeeded it does
// nothing.
func (l *Lease) Abandon() {
	l.cut()
	<-l.renewed
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.over()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == "" {
		l.ended = abandoned
	}
}

// persist repeats try while that may help: until ctx ends or the message is
// lost. Nothing is tried when ctx has ended.
func (l *Lease) persist(ctx context.Context, try func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := l.once(ctx, try)
		if err == nil || final(err) || l.Err() != nil || !sleep(ctx, pause) {
			return err
		}
		l.Log().Warn("message not handed over, trying again", "error", err)
	}
}

func (l *Lease) once(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := within(ctx, l.limit())
	defer cancel()
	return try(ctx)
}

// final reports whether err is an answer that stays the same.
func final(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || reason.Of(err) == reason.StorageDenied ||
		reason.Of(err) == reason.LeaseLost || storage.Missing(err)
}
