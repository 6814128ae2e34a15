package lease

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// C65: work far longer than the visibility timeout keeps the message, by a
// renewal at a third of it; C61: the text stays as it is.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		if n := b.queue.calls("Update"); n != 1 {
			t.Errorf("%d renewals at once", n)
		}
		const leases = 10
		for range leases * 60 {
			pass(visibility / 60)
			if b.taken(t) {
				t.Fatal("another worker got the message")
			}
			if left := time.Until(b.queue.all()[0].visible); left < visibility*2/3-time.Second {
				t.Fatalf("%v of the lease are left", left)
			}
		}
		if l.Err() != nil || l.Context().Err() != nil {
			t.Fatalf("lost: %v", l.Err())
		}
		if n := b.queue.calls("Update"); n < 3*leases || n > 3*leases+1 {
			t.Errorf("%d renewals in %d leases", n, leases)
		}
		if m := b.queue.all()[0]; m.Text != text || m.DequeueCount != 1 {
			t.Errorf("%q, received %d times", m.Text, m.DequeueCount)
		}
		if err := l.Complete(t.Context()); err != nil || len(b.queue.all()) != 0 {
			t.Errorf("%v; the queue has %+v", err, b.queue.all())
		}
		n := b.queue.calls("Update")
		pass(2 * visibility)
		if b.queue.calls("Update") != n || l.Err() != nil {
			t.Errorf("renewed after the end, or lost: %v", l.Err())
		}
	})
}

// C47: an identity that may not update is told so before the work; the message
// is still ours to put aside.
func TestRenewalDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.queue.failWith(failing(errDenied, "Update"), nil)
		l := b.claim(t)
		cause := context.Cause(l.Context())
		if reason.Of(cause) != reason.StorageDenied || !strings.Contains(reason.Detail(cause), "Storage Queue Data Contributor") {
			t.Errorf("cause %v", cause)
		}
		if l.Err() != nil {
			t.Errorf("lost: %v", l.Err())
		}
		started := time.Now()
		if err := l.Release(t.Context(), 0); reason.Of(err) != reason.StorageDenied || time.Since(started) != 0 {
			t.Errorf("release: %v after %v", err, time.Since(started))
		}
		if err := l.Poison(t.Context(), reason.StorageDenied, "no right", "j"); err != nil {
			t.Errorf("poison: %v", err)
		}
		if len(b.queue.all()) != 0 || len(b.poison.all()) != 1 {
			t.Errorf("left %+v, poison %+v", b.queue.all(), b.poison.all())
		}
	})
}

// A queue that fails, or gives no answer at all, for less than what is left of
// the lease costs nothing; for longer it costs the lease.
func TestRenewalThroughAnOutage(t *testing.T) {
	tests := []struct {
		name   string
		before func(context.Context, string) error
		last   time.Duration
		keeps  bool
	}{
		{"errors, short", failing(errDown, "Update"), visibility / 2, true},
		{"errors, long", failing(errDown, "Update"), visibility + time.Second, false},
		{"unknown errors, short", failing(errors.New("?"), "Update"), visibility / 2, true},
		{"no answer, short", silent("Update"), visibility / 2, true},
		{"no answer, long", silent("Update"), visibility + time.Second, false},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			pass(visibility)
			b.queue.failWith(tt.before, nil)
			ended := until(l.Context(), tt.last)
			b.queue.failWith(nil, nil)
			if ended == tt.keeps {
				t.Fatalf("the context ended: %v", ended)
			}
			if !b.logged("trying again") {
				t.Error("no warning")
			}
			if tt.keeps {
				pass(3 * visibility)
				if l.Err() != nil || b.taken(t) {
					t.Errorf("lost: %v", l.Err())
				}
				return
			}
			lostNow(t, l)
			refusesToExtend(t, b, l)
		})
	}
}

// refusesToExtend checks that a lost lease sends no update, now and later,
// although its receipt would still work.
func refusesToExtend(t *testing.T, b *bench, l *Lease) {
	t.Helper()
	n := b.queue.calls("Update")
	pass(2 * visibility)
	for range 2 {
		if err := l.Release(t.Context(), time.Minute); reason.Of(err) != reason.LeaseLost {
			t.Errorf("release: %v", err)
		}
		if err := l.Poison(t.Context(), reason.Internal, "d", "j"); reason.Of(err) != reason.LeaseLost {
			t.Errorf("poison: %v", err)
		}
	}
	if b.queue.calls("Update") != n || b.poison.calls("Send") != 0 {
		t.Error("something was sent after the loss")
	}
	if reason.Of(l.Err()) != reason.LeaseLost {
		t.Errorf("error %v", l.Err())
	}
}

// After an error it is tried sooner, then less and less often.
func TestPauses(t *testing.T) {
	for _, tt := range []struct {
		visibility time.Duration
		want       []time.Duration
	}{
		{2 * time.Minute, []time.Duration{4 * time.Second, 8 * time.Second, 16 * time.Second, 20 * time.Second, 20 * time.Second}},
		{12 * time.Second, []time.Duration{time.Second, 2 * time.Second, 2 * time.Second}},
		{3 * time.Second, []time.Duration{500 * time.Millisecond, 500 * time.Millisecond}},
	} {
		l, pause := &Lease{o: Options{Visibility: tt.visibility}}, time.Duration(0)
		for i, want := range tt.want {
			if pause = l.longer(pause); pause != want {
				t.Errorf("visibility %v, error %d: %v, want %v", tt.visibility, i+1, pause, want)
			}
		}
	}
}

// Each try has a limit, and none outlives the lease.
func TestTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		var began, limits []time.Duration
		started := time.Now()
		outage := func() {
			b.queue.failWith(func(ctx context.Context, op string) error {
				deadline, _ := ctx.Deadline()
				began, limits = append(began, time.Since(started)), append(limits, time.Until(deadline))
				return silent("Update")(ctx, op)
			}, nil)
		}
		outage()
		pass(80 * time.Second)
		b.queue.failWith(nil, nil)
		pass(40 * time.Second) // renewed at 82 s
		outage()
		if !until(l.Context(), 2*visibility) {
			t.Error("the lease goes on")
		}
		synctest.Wait()
		const s = time.Second
		if want := []time.Duration{40 * s, 59 * s, 122 * s, 141 * s, 164 * s, 195 * s}; !slices.Equal(began, want) {
			t.Errorf("tries at %v, want %v", began, want)
		}
		if want := []time.Duration{15 * s, 15 * s, 15 * s, 15 * s, 15 * s, 7 * s}; !slices.Equal(limits, want) {
			t.Errorf("they may take %v, want %v", limits, want)
		}
	})
}

// The lease runs from when a request was sent, not from its answer.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		started := time.Now()
		b.queue.failWith(nil, func(ctx context.Context, op string) error {
			b.queue.failWith(failing(errDown, "Update"), nil)
			return waitFor(ctx, 10*time.Second)
		})
		if !until(l.Context(), 2*visibility) || time.Since(started) != visibility/3+visibility {
			t.Errorf("it ended after %v", time.Since(started))
		}
	})
}

// The context ends on the clock, not when the queue at last answers; and an
// answer that comes then extends nothing, though its receipt counts.
func TestLeaseEndsWhileTheQueueIsSilent(t *testing.T) {
	for _, carriedOut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, answer := newBench(t), make(chan struct{})
			l := b.claim(t)
			started := time.Now()
			deaf := func(_ context.Context, op string) error { // deaf to its context
				if op == "Update" {
					<-answer
				}
				return nil
			}
			if carriedOut {
				b.queue.failWith(nil, deaf)
			} else {
				b.queue.failWith(deaf, nil)
			}
			if !until(l.Context(), 2*visibility) || time.Since(started) != visibility {
				t.Fatalf("the context ended after %v", time.Since(started))
			}
			lostNow(t, l)
			b.queue.failWith(nil, nil)
			close(answer)
			synctest.Wait()
			refusesToExtend(t, b, l)
			if err := l.Complete(t.Context()); err != nil || len(b.queue.all()) != 0 {
				t.Errorf("complete: %v", err)
			}
		})
	}
}

// A suspended machine wakes up after its lease: no timer told it so yet.
func TestWallClockJump(t *testing.T) {
	jump := func(l *Lease) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.deadline = wall() // as if the clock had jumped there
	}
	bubble(t, "asked", func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		jump(l)
		if reason.Of(l.Err()) != reason.LeaseLost {
			t.Errorf("error %v", l.Err())
		}
		if !until(l.Context(), watchInterval+time.Second) {
			t.Error("the context goes on")
		}
		lostNow(t, l)
		refusesToExtend(t, b, l)
	})
	bubble(t, "not asked", func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		jump(l)
		pass(2 * watchInterval)
		lostNow(t, l)
		refusesToExtend(t, b, l)
	})
	bubble(t, "a renewal is due", func(t *testing.T) { // and its timer comes first
		b := newBench(t)
		l := b.claim(t)
		jump(l)
		if err := l.extend(t.Context()); reason.Of(err) != reason.LeaseLost {
			t.Errorf("renewal: %v", err)
		}
		if b.queue.calls("Update") != 1 {
			t.Error("it was sent")
		}
	})
	for name, answer := range map[string]error{"done": nil, "not found": storage.ErrNotFound} {
		bubble(t, "while a renewal is on its way, "+name, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			b.queue.failWith(failingFor(1, errDown, "Update"), nil)
			pass(visibility/3 + time.Second)
			b.queue.failWith(func(context.Context, string) error { jump(l); return answer }, nil)
			pass(visibility / 10)
			b.queue.failWith(nil, nil)
			lostNow(t, l)
			refusesToExtend(t, b, l)
		})
	}
	bubble(t, "and back", func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		jump(l)
		lost := l.Err()
		l.mu.Lock()
		l.deadline = wall().Add(visibility)
		l.mu.Unlock()
		if l.Err() != lost || lost == nil {
			t.Errorf("error %v, was %v", l.Err(), lost)
		}
	})
}

// C12: who is stopped keeps the message while the work is handed back.
func TestRenewalOutlivesItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		stop := reason.New(reason.Shutdown, "stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		l, err := Claim(ctx, b.options())
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		cancel(stop)
		if !errors.Is(context.Cause(l.Context()), stop) {
			t.Errorf("cause %v", context.Cause(l.Context()))
		}
		pass(5 * visibility)
		if l.Err() != nil || b.taken(t) {
			t.Errorf("lost: %v", l.Err())
		}
		if err := l.Release(t.Context(), 0); err != nil || !b.taken(t) {
			t.Errorf("release: %v", err)
		}
		if !errors.Is(context.Cause(l.Context()), stop) {
			t.Errorf("cause %v", context.Cause(l.Context()))
		}
	})
}

// A bug in the renewal ends the work as an internal error, with its stack, and
// the message can still be handed back.
func TestPanicInTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.queue.failWith(func(context.Context, string) error { panic("a bug") }, nil)
		pass(visibility / 2)
		b.queue.failWith(nil, nil)
		cause := context.Cause(l.Context())
		if reason.Of(cause) != reason.Internal || !strings.Contains(cause.Error(), "a bug") || !strings.Contains(cause.Error(), "goroutine") {
			t.Errorf("cause %v", cause)
		}
		if err := l.Release(t.Context(), 0); err != nil || !b.taken(t) {
			t.Errorf("release: %v", err)
		}
	})
}
