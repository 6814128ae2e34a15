package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
)

// C62: released means visible at once, or after the delay, with the text as it
// was (C61).
func TestRelease(t *testing.T) {
	for _, delay := range []time.Duration{0, 15 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			pass(3 * visibility)
			if err := l.Release(t.Context(), delay); err != nil {
				t.Fatal(err)
			}
			if delay > 0 {
				if pass(delay - 1); b.taken(t) {
					t.Error("visible too early")
				}
				pass(1)
			}
			if !b.taken(t) {
				t.Error("not visible")
			}
			if m := b.queue.all()[0]; m.Text != text || m.DequeueCount != 2 {
				t.Errorf("%q, received %d times", m.Text, m.DequeueCount)
			}
			if l.Err() != nil || !errors.Is(context.Cause(l.Context()), ErrEnded) {
				t.Errorf("error %v, cause %v", l.Err(), context.Cause(l.Context()))
			}
		})
	}
}

func TestReleaseThroughErrors(t *testing.T) {
	tests := []struct {
		name          string
		before, after func(context.Context, string) error
		gone          bool
		want          reason.Code // "" = released
		took          time.Duration
		free          bool
	}{
		{"two errors", failingFor(2, errDown, "Update"), nil, false, "", firstPause * 3, true},
		{"the answer is lost", nil, failingFor(1, errDown, "Update"), false, "", firstPause, true},
		{"denied", failing(errDenied, "Update"), nil, false, reason.StorageDenied, 0, false},
		{"gone", nil, nil, true, reason.LeaseLost, 0, false},
		{"down until the caller has enough", failing(errDown, "Update"), nil, false, reason.StorageUnavailable, 20 * time.Second, false},
		{"silent until the caller has enough", silent("Update"), nil, false, reason.Shutdown, 20 * time.Second, false},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			pass(time.Second)
			if tt.gone {
				b.queue.remove()
			}
			b.queue.failWith(tt.before, tt.after)
			enough := reason.New(reason.Shutdown, "enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, enough)
			defer cancel()
			started := time.Now()
			err := l.Release(ctx, 0)
			if reason.Of(err) != tt.want || time.Since(started) != tt.took {
				t.Errorf("%v after %v", err, time.Since(started))
			}
			b.queue.failWith(nil, nil)
			if got := b.taken(t); got != tt.free {
				t.Errorf("free: %v", got)
			}
			if l.Context().Err() == nil {
				t.Error("the context goes on")
			}
		})
	}
}

// A release without an answer gives the message up: somebody else may have it.
func TestReleaseWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.queue.failWith(nil, failing(errDown, "Update"))
		ctx, cancel := context.WithTimeout(t.Context(), firstPause/2)
		defer cancel()
		if err := l.Release(ctx, 0); reason.Of(err) != reason.StorageUnavailable || reason.Of(l.Err()) != reason.LeaseLost {
			t.Errorf("release: %v, error %v", err, l.Err())
		}
		b.queue.failWith(nil, nil)
		refusesToExtend(t, b, l)
	})
	// One that was never sent does not.
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Release(over, 0); !errors.Is(err, context.Canceled) || l.Err() != nil {
			t.Errorf("release: %v, error %v", err, l.Err())
		}
		if err := l.Release(t.Context(), 0); err != nil || !b.taken(t) {
			t.Errorf("release: %v", err)
		}
	})
	// Down until the lease runs out: nothing is sent after that.
	for name, before := range map[string]func(context.Context, string) error{
		"errors": failing(errDown, "Update"), "silent": silent("Update"),
	} {
		bubble(t, name, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			b.queue.failWith(before, nil)
			started := time.Now()
			err := l.Release(t.Context(), 0)
			if took := time.Since(started); err == nil || took < visibility || took > visibility+longPause {
				t.Errorf("release: %v after %v", err, took)
			}
			if name == "silent" && time.Since(started) != visibility {
				t.Errorf("a try went on until %v", time.Since(started))
			}
			b.queue.failWith(nil, nil)
			refusesToExtend(t, b, l)
		})
	}
}

// The receipt is lost with the answer to a renewal: the message cannot be
// released and comes back by itself.
func TestReleaseAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.queue.failWith(nil, failing(errDown, "Update"))
		pass(visibility/3 + time.Second)
		b.queue.failWith(nil, nil)
		if err := l.Release(t.Context(), 0); err != nil || !b.logged("reappears by itself") {
			t.Errorf("%v, log %s", err, b.log.String())
		}
		if b.taken(t) {
			t.Error("visible at once?")
		}
		if pass(visibility); !b.taken(t) {
			t.Error("it did not reappear")
		}
	})
}

// C59: a renewal that is on its way is waited for; its receipt is the one that
// deletes.
func TestEndWaitsForTheRenewal(t *testing.T) {
	ends := map[string]func(context.Context, *Lease) error{
		"complete": func(ctx context.Context, l *Lease) error { return l.Complete(ctx) },
		"release":  func(ctx context.Context, l *Lease) error { return l.Release(ctx, 0) },
		"poison":   func(ctx context.Context, l *Lease) error { return l.Poison(ctx, reason.Internal, "d", "j") },
	}
	for name, end := range ends {
		bubble(t, name, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			b.queue.failWith(nil, func(ctx context.Context, op string) error {
				if op == "Update" {
					b.queue.failWith(nil, nil)
					return waitFor(ctx, 2*time.Second)
				}
				return nil
			})
			pass(visibility / 3)
			started := time.Now()
			if err := end(t.Context(), l); err != nil || time.Since(started) != 2*time.Second {
				t.Errorf("%v after %v", err, time.Since(started))
			}
			if left := len(b.queue.all()); left > 0 && !b.taken(t) {
				t.Error("the message is hidden")
			}
			if b.log.String() != "" && name != "poison" {
				t.Errorf("log %s", b.log.String())
			}
		})
	}
}

func waitFor(ctx context.Context, d time.Duration) error {
	if !sleep(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}

// A renewal without an answer does not use up the time for the ending.
func TestEndWaitsForTheRenewalNotForever(t *testing.T) {
	tests := []struct {
		name   string
		within time.Duration // of the caller
		slow   time.Duration // to stop
		took   time.Duration
	}{
		{"patient", time.Minute, 0, lastAnswer},
		{"in a hurry", 4 * time.Second, 0, 2 * time.Second}, // the grace of Windows
		{"slow to stop", time.Minute, time.Second, lastAnswer + time.Second},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			b.queue.failWith(func(ctx context.Context, op string) error {
				b.queue.failWith(nil, nil)
				<-ctx.Done()
				<-time.After(tt.slow)
				return context.Cause(ctx)
			}, nil)
			pass(visibility / 3)
			ctx, cancel := context.WithTimeout(t.Context(), tt.within)
			defer cancel()
			started := time.Now()
			if err := l.Release(ctx, 0); err != nil || time.Since(started) != tt.took || !b.taken(t) {
				t.Errorf("%v after %v", err, time.Since(started))
			}
		})
	}
}

// A caller that has enough is not kept.
func TestEndInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.queue.failWith(silent("Update"), nil)
		pass(visibility / 3)
		enough := reason.New(reason.Shutdown, "enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(enough) })
		started := time.Now()
		if err := l.Complete(ctx); !errors.Is(err, enough) || time.Since(started) != time.Second {
			t.Errorf("complete: %v after %v", err, time.Since(started))
		}
	})
}

// An ending succeeds once: the same again says nothing, another one says how
// it ended, and neither sends anything.
func TestEndOnce(t *testing.T) {
	ends := []struct {
		name string
		end  func(*testing.T, *Lease) error
	}{
		{"release", func(t *testing.T, l *Lease) error { return l.Release(t.Context(), time.Minute) }},
		{"complete", func(t *testing.T, l *Lease) error { return l.Complete(t.Context()) }},
		{"poison", func(t *testing.T, l *Lease) error { return l.Poison(t.Context(), reason.Internal, "d", "j") }},
		{"abandon", func(t *testing.T, l *Lease) error { l.Abandon(); return nil }},
	}
	for i, first := range ends {
		for j, second := range ends {
			bubble(t, first.name+", "+second.name, func(t *testing.T) {
				b := newBench(t)
				l := b.claim(t)
				if err := first.end(t, l); err != nil {
					t.Fatal(err)
				}
				n := len(b.queue.done) + len(b.poison.done)
				err := second.end(t, l)
				if refused := err != nil; refused != (i != j && second.name != "abandon") {
					t.Errorf("the second says %v", err)
				}
				if len(b.queue.done)+len(b.poison.done) != n {
					t.Errorf("the second did %q, %q", b.queue.done, b.poison.done)
				}
			})
		}
	}
}

// Endings from several goroutines at the same time, while it is renewed:
// exactly one kind comes to be.
func TestEndRace(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			pass(visibility/3 - time.Nanosecond)
			slow := func(ctx context.Context, _ string) error { return waitFor(ctx, time.Millisecond) }
			b.queue.failWith(slow, nil)
			b.poison.failWith(slow, nil)
			var errs [3]error
			var all sync.WaitGroup
			for i, end := range []func() error{
				func() error { return l.Complete(t.Context()) },
				func() error { return l.Release(t.Context(), time.Hour) },
				func() error { return l.Poison(t.Context(), reason.Internal, "d", "j") },
			} {
				all.Go(func() {
					<-time.After(time.Nanosecond)
					errs[i] = end()
				})
			}
			all.Wait()
			left, copies := len(b.queue.all()), len(b.poison.all())
			if won := [3]bool{errs[0] == nil, errs[1] == nil, errs[2] == nil}; won != [3]bool{left == 0 && copies == 0, left == 1, copies == 1} {
				t.Errorf("%v: %d left, %d copies", errs, left, copies)
			}
		})
	}
}

// The end of the work comes with the deadline, also while an ending waits.
func TestContextWhileItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.queue.failWith(silent("Delete"), nil)
		done := make(chan error)
		go func() { done <- l.Complete(t.Context()) }()
		if pass(visibility / 2); l.Context().Err() != nil {
			t.Errorf("cause %v", context.Cause(l.Context()))
		}
		pass(visibility / 2)
		lostNow(t, l)
		if err := <-done; reason.Of(err) != reason.StorageUnavailable {
			t.Errorf("complete: %v", err)
		}
	})
}

func TestAbandon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.queue.failWith(silent("Update"), nil)
		pass(visibility / 3)
		started := time.Now()
		l.Abandon()
		if time.Since(started) != 0 || !errors.Is(context.Cause(l.Context()), ErrEnded) {
			t.Errorf("after %v, cause %v", time.Since(started), context.Cause(l.Context()))
		}
		if l.Err() != nil || b.taken(t) {
			t.Errorf("at once: %v", l.Err())
		}
		pass(visibility)
		if reason.Of(l.Err()) != reason.LeaseLost || !b.taken(t) {
			t.Errorf("later: %v", l.Err())
		}
	})
}
