// Package lease holds one queue message: it claims, renews, releases,
// completes or poisons it. Invariant: only the newest receipt is ever used, by
// one goroutine at a time, and a lease that ran out is never extended.
package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// Queue is where the messages are. Each call is tried once; only Delete may be
// repeated by the queue itself.
type Queue interface {
	// Receive takes the next message; nil, nil when there is none.
	Receive(ctx context.Context, visibility time.Duration) (*storage.QueueMessage, error)
	// Update and Delete return storage.ErrNotFound when the receipt is not ours
	// any more or the message is gone.
	Update(ctx context.Context, id, receipt, text string, visibility time.Duration) (newReceipt string, err error)
	Delete(ctx context.Context, id, receipt string) error
	// Send adds a message that never expires; what it returns can be updated
	// and deleted.
	Send(ctx context.Context, text string, hidden time.Duration) (*storage.QueueMessage, error)
}

// PoisonQueue is where messages go that cannot be worked on.
type PoisonQueue interface {
	Send(ctx context.Context, text string, hidden time.Duration) (*storage.QueueMessage, error)
	Peek(ctx context.Context, n int) ([]storage.QueueMessage, error)
}

// Options say what to claim from and for how long.
type Options struct {
	Queue  Queue
	Poison PoisonQueue
	// Visibility is the length of the lease, at least 1 s: how long the message
	// stays hidden after its holder fell silent.
	Visibility time.Duration
	Needs      time.Duration // the longest time that the work may take
	// Answer is how long the answer to the claim is waited for, also when ctx
	// ends; 15 s at most.
	Answer time.Duration
	Log    *slog.Logger
}

// maxTry bounds one call to the queue.
const maxTry = 15 * time.Second

// Lease is one message that is ours for a while. One of Release, Complete,
// Poison and Abandon must be called.
type Lease struct {
	o Options

	// The message as it was received; see outlive.
	id, text string
	original string // the id that it was received under
	count    int64
	inserted time.Time
	expires  time.Time

	log atomic.Pointer[slog.Logger]

	context context.Context
	cancel  context.CancelCauseFunc

	quit, cut context.CancelFunc // end the renewal, and the request it waits for
	renewed   <-chan struct{}    // closed when the renewal is over
	unwatch   context.CancelFunc // ends the watch of the clock
	watched   <-chan struct{}    // closed when it is over

	turn   chan struct{} // full while somebody ends the lease
	copied bool          // the poison queue has the message; changed in turn

	// mu is never held while the queue works, so that Err answers at once
	// however slow the queue is.
	mu       sync.Mutex
	receipt  string
	deadline time.Time // wall clock: nobody else can take the message before
	// unanswered is when the first renewal was sent since the last answer; the
	// queue may have given a receipt that we do not know. Zero = no doubt.
	unanswered time.Time
	lost       error
	ended      ending
}

// Claim takes the next message of the queue and keeps it; nil, nil when the
// queue is empty. When ctx has ended the message is given back, and the error
// is the cause of ctx. An error without an answer may have cost a message its
// visibility; it reappears by itself.
func Claim(ctx context.Context, o Options) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l, err := receive(ctx, o)
	if ctx.Err() != nil {
		if l != nil {
			l.giveBack(ctx)
		}
		return nil, context.Cause(ctx)
	}
	if l == nil || err != nil {
		return nil, err
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	l.outlive(ctx)
	l.start(ctx)
	return l, nil
}

// receive is not cut short when ctx ends: a request that is abandoned may have
// taken a message that nobody would know of.
func receive(ctx context.Context, o Options) (*Lease, error) {
	ctx, cancel := within(context.WithoutCancel(ctx), min(o.Answer, maxTry))
	defer cancel()
	sent := wall()
	m, err := o.Queue.Receive(ctx, o.Visibility)
	if m == nil || err != nil {
		return nil, err
	}
	l := &Lease{o: o, id: m.ID, original: m.ID, text: m.Text, count: m.DequeueCount, inserted: m.InsertedAt, expires: m.ExpiresAt,
		receipt: m.Receipt, deadline: sent.Add(o.Visibility)}
	l.LogTo(o.Log.With("message_id", m.ID))
	return l, nil
}

// giveBack makes a message visible that is not wanted any more.
func (l *Lease) giveBack(ctx context.Context) {
	ctx, cancel := within(context.WithoutCancel(ctx), l.limit())
	defer cancel()
	if _, err := l.o.Queue.Update(ctx, l.id, l.receipt, l.text, 0); err != nil {
		l.Log().Warn("message not given back; it reappears when its visibility timeout ends", "error", err)
	}
}

// outlive replaces a message that would expire under the work, which no
// renewal can prevent, by a copy that never expires. The copy gives the job id
// that the original stands for. The lease keeps the dequeue count and the
// insertion time of the original; a later delivery of the copy has its own.
func (l *Lease) outlive(ctx context.Context) {
	needed := wall().Add(l.o.Needs + l.o.Visibility)
	if l.expires.IsZero() || !l.expires.Before(needed) {
		return
	}
	ctx, cancel := within(context.WithoutCancel(ctx), l.limit())
	defer cancel()
	sent := wall()
	text := message.WithIdentity(l.text, l.id)
	// The copy is hidden from the start, so nobody sees two of them.
	m, err := l.o.Queue.Send(ctx, text, l.o.Visibility)
	if err != nil {
		l.Log().Warn("message may expire before the work is done: the copy that never expires was not made, or its answer was lost and it comes up later",
			"expires_at", l.expires, "error", err)
		return
	}
	old, receipt := l.id, l.receipt
	l.id, l.receipt, l.text, l.deadline = m.ID, m.Receipt, text, sent.Add(l.o.Visibility)
	l.LogTo(l.o.Log.With("message_id", l.id))
	l.Log().Info("message expires too soon; it was replaced by a copy that never does", "expires_at", l.expires, "original_id", old)
	if err := l.o.Queue.Delete(ctx, old, receipt); err != nil && !errors.Is(err, storage.ErrNotFound) {
		l.Log().Warn("message replaced by a copy was not deleted; it may be delivered once more", "error", err)
	}
}

// LogTo names the log of the work that the message is for; the lease writes
// into it from then on.
func (l *Lease) LogTo(log *slog.Logger) { l.log.Store(log) }

// Log is where the lease writes.
func (l *Lease) Log() *slog.Logger { return l.log.Load() }

// OriginalID is the id under which the message was delivered so far; it is
// another one than ID where the message was replaced by a copy.
func (l *Lease) OriginalID() string { return l.original }

// ID is the id of the message.
func (l *Lease) ID() string { return l.id }

// Text is what stands in the queue, byte for byte.
func (l *Lease) Text() string { return l.text }

// DequeueCount is how often the message was delivered, this time included.
func (l *Lease) DequeueCount() int64 { return l.count }

// InsertedAt is when the message was put into the queue.
func (l *Lease) InsertedAt() time.Time { return l.inserted }

// Context ends with the context of Claim, and when the message is lost or
// cannot be kept, with a *reason.Error as the cause; after the lease was ended
// the cause is ErrEnded where nothing else came first.
func (l *Lease) Context() context.Context { return l.context }

// Err returns why the message is no longer ours, a reason.LeaseLost error; nil
// while it is, and after Release, Complete or Poison have succeeded. It reads
// the wall clock, so a suspended machine does not wake up as a holder. A
// context that ended for another reason leaves the message ours until its
// deadline.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.check()
}

// check is Err for who holds mu. A loss stays one, even if the clock is put
// back.
func (l *Lease) check() error {
	if l.ended != "" && l.ended != abandoned {
		return nil
	}
	if l.lost == nil && !wall().Before(l.deadline) {
		l.lost = reason.New(reason.LeaseLost, "the lease on message %s ran out", l.id)
	}
	return l.lost
}

// lose notes why the message is not ours any more and returns the reason, or
// the earlier one.
func (l *Lease) lose(why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		l.lost = why
	}
	return l.lost
}

// key is what the queue wants to see for a change of the message.
func (l *Lease) key() (id, receipt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.receipt
}

func (l *Lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline.Sub(wall())
}

// limit is the time that one call gets: after a silent one there must be time
// for another.
func (l *Lease) limit() time.Duration { return min(maxTry, l.o.Visibility/3) }

// within limits one call to the queue; the cause says so.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, reason.New(reason.StorageUnavailable,
		"no answer from the queue within %v", limit.Round(time.Millisecond)))
}

// sleep waits for d or until ctx ends, and reports whether it has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// wall is the time without the monotonic reading, which stands still while a
// machine is suspended.
func wall() time.Time { return time.Now().Round(0).UTC() }
