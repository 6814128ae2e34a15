package lease

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// watchInterval is how often the clock is looked at, lest a machine that was
// suspended wait for a timer that was set before.
const watchInterval = 2 * time.Second

// start begins to keep the message.
func (l *Lease) start(ctx context.Context) {
	l.context, l.cancel = context.WithCancelCause(ctx)
	// The message is held while the work is handed back, so ctx does not end
	// the renewal.
	kept := context.WithoutCancel(ctx)
	requests, cut := context.WithCancel(kept)
	renewing, quit := context.WithCancel(requests)
	watching, unwatch := context.WithCancel(kept)
	l.cut, l.quit, l.unwatch = cut, quit, unwatch
	l.turn = make(chan struct{}, 1)
	l.renewed = l.goes(func() { l.renew(renewing, requests) })
	l.watched = l.goes(func() { l.watchClock(watching) })
}

// goes runs task in a goroutine of the lease; done is closed when it is over.
func (l *Lease) goes(task func()) (done <-chan struct{}) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer l.rescue()
		task()
	}()
	return over
}

// rescue turns a panic into the end of the work: the process would die of it
// with the exit code of bad flags.
func (l *Lease) rescue() {
	if p := recover(); p != nil {
		l.cancel(&reason.Error{Code: reason.Internal, Detail: "internal error; the log has the stack",
			Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())})
	}
}

// renew keeps the message until ctx ends or it is lost. The first renewal
// comes at once: an identity that may receive and not update is found out
// before the work, not after a third of the lease. A request that is on its
// way when ctx ends is waited for, lest its receipt be lost.
func (l *Lease) renew(ctx, requests context.Context) {
	var wait, pause time.Duration
	for sleep(ctx, wait) {
		err := l.extend(requests)
		if lost := l.Err(); lost != nil {
			l.cancel(lost)
			return
		}
		switch {
		case err == nil:
			pause = 0
			wait = l.left() - l.o.Visibility*2/3
		case errors.Is(err, storage.ErrNotFound):
			l.Log().Warn("the receipt of the message was lost with an answer of the queue; the message is held once more and cannot be renewed",
				"left", l.left().Round(time.Second))
			return
		case reason.Of(err) == reason.StorageDenied:
			l.cancel(&reason.Error{Code: reason.StorageDenied, Err: err, Detail: "message " + l.id +
				" cannot be renewed; the identity needs the role Storage Queue Data Contributor on the queue"})
			return
		default:
			pause = l.longer(pause)
			wait = pause
			if ctx.Err() == nil {
				l.Log().Warn("message not renewed, trying again", "error", err)
			}
		}
	}
}

// longer is the pause after one more error: short at first, and never so long
// that a try less fits into the lease.
func (l *Lease) longer(pause time.Duration) time.Duration {
	first := max(l.o.Visibility/30, time.Second)
	return min(max(2*pause, first), l.o.Visibility/6)
}

// extend sends one renewal, with the text as it was received: the queue would
// take another one for the new text. ErrNotFound says that an earlier renewal
// was done whose answer is lost, so that this lease is the last.
func (l *Lease) extend(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	ctx, cancel := within(ctx, min(l.limit(), l.left()))
	defer cancel()
	id, receipt := l.key()
	sent := wall()
	receipt, err := l.o.Queue.Update(ctx, id, receipt, l.text, l.o.Visibility)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.receipt, l.unanswered = receipt, time.Time{}
		if lost := l.check(); lost != nil {
			return lost
		}
		l.deadline = sent.Add(l.o.Visibility)
	case errors.Is(err, storage.ErrNotFound):
		return l.notFound(err)
	case reason.Of(err) == reason.StorageDenied:
	case l.unanswered.IsZero():
		l.unanswered = sent
	}
	return err
}

// notFound decides, for who holds mu, what it means that a renewal did not
// find the message. Nobody else can have taken it before the deadline; so where
// the answer to an earlier renewal is missing, that one was done and hides the
// message at least for its time.
func (l *Lease) notFound(err error) error {
	if lost := l.check(); lost != nil {
		return lost
	}
	if l.unanswered.IsZero() {
		l.lost = l.gone()
		return l.lost
	}
	l.deadline = l.unanswered.Add(l.o.Visibility)
	return err
}

func (l *Lease) gone() error {
	return reason.New(reason.LeaseLost, "message %s is not ours any more: it was deleted, or another worker took it", l.id)
}

// watchClock ends the context when the lease runs out, also while the queue
// gives no answer to renew.
func (l *Lease) watchClock(ctx context.Context) {
	for sleep(ctx, min(watchInterval, l.left())) {
		if err := l.Err(); err != nil {
			l.cancel(err)
			l.quit()
			return
		}
	}
}
