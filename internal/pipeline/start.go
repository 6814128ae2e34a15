package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"rsmsjob/internal/lease"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// Patience says how long a storage is waited for that does not answer yet.
type Patience struct {
	// Deadline bounds the wait for a credential and a first answer.
	Deadline time.Duration
	// LateRoles is set where a refusal is no answer yet: the roles of an identity
	// may come later than the identity.
	LateRoles bool
	Log       *slog.Logger
}

const (
	// firstPause and longestPause are between two tries.
	firstPause   = 500 * time.Millisecond
	longestPause = 5 * time.Second
)

// ErrEmpty says that the queue had no message.
var ErrEmpty = errors.New("the queue is empty")

// NoStart says that there was no credential, or no answer of the storage.
type NoStart struct{ Err error }

func (n *NoStart) Error() string { return "no start: " + n.Err.Error() }
func (n *NoStart) Unwrap() error { return n.Err }

// Start calls try, the first that is asked of a storage, until it succeeds. It
// returns a *NoStart with the last error of the storage behind the deadline, or
// at once where waiting cannot help; any other error as it is; and the cause of
// ctx.
func (p Patience) Start(ctx context.Context, try func(ctx context.Context) error) error {
	began, pause := time.Now(), firstPause
	for {
		err := p.bounded(ctx, try)
		left := p.Deadline - time.Since(began)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case reason.Of(err) != reason.StorageUnavailable && reason.Of(err) != reason.StorageDenied:
			return err
		case !p.late(err) || left <= 0:
			return &NoStart{err}
		}
		p.Log.Warn("no answer from the storage yet, trying again", "error", err)
		if !sleep(ctx, min(pause, left)) {
			return context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}

// bounded calls try with the deadline as its limit: a storage that takes the
// call and says nothing must not hold it longer.
func (p Patience) bounded(ctx context.Context, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.Deadline,
		reason.New(reason.StorageUnavailable, "no answer from the storage in %.0f s", p.Deadline.Seconds()))
	defer cancel()
	return try(ctx)
}

// late reports whether an error of the first call may go away by itself.
func (p Patience) late(err error) bool {
	switch reason.Of(err) {
	case reason.StorageUnavailable:
		return !storage.Missing(err)
	case reason.StorageDenied:
		return p.LateRoles
	}
	return false
}

// claim takes the next message; an empty queue is looked at again for as long
// as a first message is waited for.
func (w *Worker) claim(ctx context.Context) (*lease.Lease, error) {
	began, pause := time.Now(), firstPause
	for {
		waiting := w.looked
		if !waiting {
			err := w.Patience.Start(ctx, func(ctx context.Context) (err error) {
				waiting, err = w.Look(ctx)
				return err
			})
			if err != nil {
				return nil, err
			}
			w.looked = waiting
		}
		if waiting {
			if l, err := w.take(ctx); l != nil || err != nil {
				return l, err
			}
		}
		left := w.PollWait - time.Since(began)
		if left <= 0 {
			return nil, ErrEmpty
		}
		if !sleep(ctx, min(pause, left)) {
			return nil, context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}

// take claims a message; nil where there is none.
func (w *Worker) take(ctx context.Context) (l *lease.Lease, err error) {
	err = w.Patience.Start(ctx, func(context.Context) (err error) {
		// The lease outlives the limit of the first call, so it has the context
		// of the process.
		l, err = lease.Claim(ctx, lease.Options{Queue: w.Queue, Poison: w.Poison, Visibility: w.Lease, Needs: w.JobTimeout,
			Answer: w.Answer, Log: w.Log.With("run", w.Run)})
		return err
	})
	return l, err
}

// sleep waits, and reports whether ctx lasted so long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
