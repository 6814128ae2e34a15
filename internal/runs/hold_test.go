package runs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
)

// C65: work far longer than the lease keeps it, by a renewal at a third of it.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		puts := len(store.written())
		const leases = 10
		for range leases * 60 {
			pass(lease / 60)
			if left := time.Until(store.record(t).LeaseUntil); left < lease/2 {
				t.Fatalf("%v of the lease are left", left)
			}
		}
		if err := h.Err(); err != nil || h.Context.Err() != nil {
			t.Fatalf("lost: %v", err)
		}
		if got := len(store.written()) - puts; got < 3*leases-2 || got > 3*leases+1 {
			t.Errorf("%d renewals in %d leases", got, leases)
		}
		mustFinish(t, h, Outcome{State: Completed})
		n := len(store.written())
		pass(2 * lease)
		if len(store.written()) != n {
			t.Error("renewed after Finish")
		}
	})
}

// A bug in the renewal ends the run as an internal error, with its stack, and
// the end can still be recorded.
func TestPanicInTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		store.failWith(func(context.Context, string) error { panic("a bug") })
		pass(lease / 2)
		store.failWith(nil)
		cause := context.Cause(h.Context)
		if reason.Of(cause) != reason.Internal || !strings.Contains(cause.Error(), "a bug") || !strings.Contains(cause.Error(), "goroutine") {
			t.Errorf("cause %v", cause)
		}
		mustFinish(t, h, Outcome{State: Failed, Reason: reason.Internal})
	})
}

// A store that fails, or gives no answer at all, for less than what is left of
// the lease costs nothing; for longer it costs the lease.
func TestRenewalThroughAnOutage(t *testing.T) {
	hang := func(ctx context.Context, op string) error { <-ctx.Done(); return context.Cause(ctx) }
	tests := []struct {
		name  string
		fail  func(context.Context, string) error
		last  time.Duration
		keeps bool
	}{
		{"errors, short", failing("Run", "PutRun"), lease / 2, true},
		{"errors, long", failing("Run", "PutRun"), lease + time.Second, false},
		{"no answer, short", hang, lease / 3, true},
		{"no answer, long", hang, lease + time.Second, false},
		{"reads only", failing("Run"), 3 * lease, true},
		{"scenario row only", failing("MergeScenario"), 3 * lease, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				h := mustTake(t, store, request("a"))
				pass(lease)
				store.failWith(tt.fail)
				ended := until(h.Context, tt.last)
				store.failWith(nil)
				if ended == tt.keeps {
					t.Fatalf("the context ended: %v", ended)
				}
				if tt.keeps {
					pass(3 * lease)
					mustFinish(t, h, Outcome{State: Completed})
					return
				}
				if got := reason.Of(context.Cause(h.Context)); got != reason.LeaseLost || reason.Of(h.Err()) != reason.LeaseLost {
					t.Errorf("cause %s, %v", got, h.Err())
				}
				refusesToWrite(t, store, h)
			})
		})
	}
}

// refusesToWrite checks that a lost hold writes nothing, now and later.
func refusesToWrite(t *testing.T, store *memory, h *Hold) {
	t.Helper()
	before := store.written()
	h.Progress("publish", 99)
	pass(2 * lease)
	for range 2 {
		if err := h.Finish(t.Context(), Outcome{State: Completed}); reason.Of(err) != reason.LeaseLost {
			t.Errorf("Finish: %v", err)
		}
	}
	if after := store.written(); !slices.Equal(before, after) {
		t.Errorf("wrote %q after the loss", after[len(before):])
	}
}

// The context ends on the clock, not when the store at last answers.
func TestLeaseEndsWhileTheStoreIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, answer := &memory{}, make(chan struct{})
		h := mustTake(t, store, request("a"))
		started := time.Now()
		store.failWith(func(context.Context, string) error { <-answer; return errDown }) // deaf to its context
		if !until(h.Context, 2*lease) {
			t.Fatal("the context outlives the lease")
		}
		if took := time.Since(started); took < lease || took > lease+watchInterval {
			t.Errorf("it ended after %v", took)
		}
		h.Progress("bltm", 50) // does not wait for the store either
		if reason.Of(h.Err()) != reason.LeaseLost {
			t.Errorf("Err: %v", h.Err())
		}
		store.failWith(nil)
		close(answer)
		refusesToWrite(t, store, h)
	})
}

// A suspended machine wakes up after its lease: no timer told it so yet.
func TestWallClockJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		h.mu.Lock()
		h.deadline = wall() // as if the clock had jumped there
		h.mu.Unlock()
		if reason.Of(h.Err()) != reason.LeaseLost {
			t.Errorf("Err: %v", h.Err())
		}
		if !until(h.Context, watchInterval+time.Second) || reason.Of(context.Cause(h.Context)) != reason.LeaseLost {
			t.Errorf("context %v", context.Cause(h.Context))
		}
		refusesToWrite(t, store, h)
	})
	// It is noticed by the watch before it renews, too, when nobody asks.
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		h.mu.Lock()
		h.deadline = wall()
		h.mu.Unlock()
		pass(2 * watchInterval)
		refusesToWrite(t, store, h)
	})
}

func TestTakenOver(t *testing.T) {
	tests := []struct {
		name string
		take func(*testing.T, *memory)
	}{
		{"by another owner", func(t *testing.T, m *memory) {
			m.change(t, func(r *Record) { r.Owner, r.Generation = "b", r.Generation+1 })
		}},
		{"by another owner who could not read the record", func(t *testing.T, m *memory) {
			m.change(t, func(r *Record) { r.Owner = "b" })
		}},
		{"by the same owner again", func(t *testing.T, m *memory) {
			m.change(t, func(r *Record) { r.Generation++ })
		}},
		{"removed", func(t *testing.T, m *memory) { m.remove() }},
		{"overwritten", func(t *testing.T, m *memory) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.data, m.etag = []byte("?"), m.etag+1
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				h := mustTake(t, store, request("a"))
				pass(lease)
				tt.take(t, store)
				if !until(h.Context, watchInterval+time.Second) {
					t.Fatal("not noticed")
				}
				if reason.Of(context.Cause(h.Context)) != reason.LeaseLost || reason.Of(h.Err()) != reason.LeaseLost {
					t.Errorf("cause %v, %v", context.Cause(h.Context), h.Err())
				}
				refusesToWrite(t, store, h)
			})
			// Finish itself looks, for it may be the first to.
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				h := mustTake(t, store, request("a"))
				tt.take(t, store)
				refusesToWriteNow(t, store, h)
			})
		})
	}
}

func refusesToWriteNow(t *testing.T, store *memory, h *Hold) {
	t.Helper()
	before := store.written()
	if err := h.Finish(t.Context(), Outcome{State: Completed}); reason.Of(err) != reason.LeaseLost {
		t.Errorf("Finish: %v", err)
	}
	if after := store.written(); !slices.Equal(before, after) {
		t.Errorf("wrote %q", after[len(before):])
	}
}

func TestCancel(t *testing.T) {
	// The flag comes in between two looks, or just before a renewal, whose
	// write then meets another ETag.
	for _, wait := range []time.Duration{0, 7 * time.Second, lease/3 - time.Second, lease} {
		t.Run(wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				h := mustTake(t, store, request("a"))
				pass(wait)
				store.change(t, func(r *Record) { r.CancelRequested = true })
				h.Progress("bltm", 40) // makes the next round a write
				if !until(h.Context, 2*watchInterval) {
					t.Fatal("the flag is not seen")
				}
				if got := context.Cause(h.Context); reason.Of(got) != reason.Cancelled || reason.Detail(got) == "" {
					t.Errorf("cause %v", got)
				}
				pass(5 * lease) // the engines take their time to stop
				if err := h.Err(); err != nil {
					t.Errorf("a cancelled run is still owned: %v", err)
				}
				if !store.record(t).CancelRequested {
					t.Error("the flag was overwritten")
				}
				mustFinish(t, h, Outcome{State: Cancelled, Reason: reason.Cancelled, Detail: "cancelled by a user"})
				r := store.record(t)
				if r.State != Cancelled || r.Reason != reason.Cancelled || store.column("Status") != "Cancelled" {
					t.Errorf("record %+v, status %v", r, store.column("Status"))
				}
			})
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		show := func() progress {
			r := store.record(t)
			row := progress{store.column("Step").(string), store.column("Progress").(float64)}
			if row != (progress{r.Step, r.Progress}) {
				t.Errorf("the row shows %v, the record %s %v", row, r.Step, r.Progress)
			}
			return row
		}
		h.Progress("daflow", 2)
		pass(watchInterval + time.Second)
		if got := show(); got != (progress{"daflow", 2}) {
			t.Errorf("shown %v", got)
		}
		// Many small steps add up.
		for i := range 50 {
			h.Progress("daflow", 2+float64(i)*0.1)
			pass(100 * time.Millisecond)
		}
		pass(watchInterval)
		if got := show(); got.percent < 5.9 {
			t.Errorf("shown %v of 6.9 percent", got)
		}
		// Less than one percent is not worth a write.
		n := len(store.written())
		h.Progress("daflow", 7.1)
		pass(3 * watchInterval)
		if len(store.written()) != n {
			t.Errorf("wrote %q", store.written()[n:])
		}
		// A row that could not be told is told later.
		store.failWith(failing("MergeScenario"))
		h.Progress("bltm", 30)
		pass(3 * watchInterval)
		store.failWith(nil)
		pass(watchInterval)
		if got := show(); got != (progress{"bltm", 30}) {
			t.Errorf("shown %v", got)
		}
		mustFinish(t, h, Outcome{State: Completed})
		if got := show(); got != (progress{"done", 100}) {
			t.Errorf("shown %v", got)
		}
	})
}

func TestFinishOrder(t *testing.T) {
	for _, state := range []State{Completed, Failed, Cancelled, TimedOut, Queued} {
		synctest.Test(t, func(t *testing.T) {
			store := &memory{}
			h := mustTake(t, store, request("a"))
			h.Progress("bltm", 50)
			out := Outcome{State: state, Reason: reason.EngineFailed, Detail: "detail"}
			mustFinish(t, h, out)
			want := []string{"record Running", "row Running", "row " + string(state), "record " + string(state)}
			if got := store.written(); !slices.Equal(got, want) {
				t.Errorf("%s: wrote %q, want %q", state, got, want)
			}
			r := store.record(t)
			if r.Reason != out.Reason || r.Detail != out.Detail || (r.FinishedAt == nil) != (state == Queued) {
				t.Errorf("record %+v", r)
			}
			if store.column("Reason") != string(out.Reason) || store.column("StatusDetail") != out.Detail {
				t.Errorf("row says %v, %v", store.column("Reason"), store.column("StatusDetail"))
			}
			if state != Completed && (r.Step != "bltm" || r.Progress != 50) {
				t.Errorf("it stopped at %s %v", r.Step, r.Progress)
			}
			// A run that ended has no owner.
			req := request("b")
			mustFinish(t, mustTake(t, store, req), out)
		})
	}
}

func TestFinishRefusesTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		n := len(store.written())
		for _, state := range []State{Running, "", "Done"} {
			if err := h.Finish(t.Context(), Outcome{State: state}); err == nil {
				t.Errorf("a run ended as %q", state)
			}
		}
		if len(store.written()) != n {
			t.Errorf("wrote %q", store.written()[n:])
		}
		mustFinish(t, h, Outcome{State: Completed})
		for _, state := range []State{Completed, Failed, Queued} {
			err := h.Finish(t.Context(), Outcome{State: state})
			if want := "a run cannot go from Completed to " + string(state); err == nil || err.Error() != want {
				t.Errorf("a completed run ended again: %v, want %s", err, want)
			}
		}
		if r := store.record(t); r.State != Completed {
			t.Errorf("record %+v", r)
		}
	})
}

func TestMayBecome(t *testing.T) {
	all := []State{"", Queued, Running, Completed, Failed, Cancelled, TimedOut, "Done"}
	for _, from := range all {
		for _, to := range all {
			want := to == Running && from != Running ||
				from == Running && slices.Contains([]State{Queued, Completed, Failed, Cancelled, TimedOut}, to)
			if got := from.mayBecome(to); got != want {
				t.Errorf("%q to %q: %v", from, to, got)
			}
		}
	}
}

// An outage of the store at the end leaves no goroutine behind (synctest fails
// if one is), and the end can be written when the store is back.
func TestFinishThroughAnOutage(t *testing.T) {
	for _, op := range []string{"Run", "PutRun", "MergeScenario"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				h := mustTake(t, store, request("a"))
				store.failWith(failing(op))
				if err := h.Finish(t.Context(), Outcome{State: Completed}); reason.Of(err) != reason.StorageUnavailable {
					t.Errorf("Finish: %v", err)
				}
				if h.Context.Err() == nil {
					t.Error("the context outlives Finish")
				}
				if r := store.record(t); r.State != Running {
					t.Errorf("record %+v", r)
				}
				store.failWith(nil)
				pass(lease / 2)
				mustFinish(t, h, Outcome{State: Completed})
				if r := store.record(t); r.State != Completed || store.column("Status") != "Completed" {
					t.Errorf("record %+v, status %v", r, store.column("Status"))
				}
			})
		})
	}
}

// C59: Finish waits for a renewal that is on its way, also where the store is
// slow to let go of it; the two never write at the same time.
func TestFinishWaitsForTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		busy := 0
		store.failWith(func(ctx context.Context, op string) error {
			if busy++; busy > 1 {
				t.Errorf("%s while another call is on its way", op)
			}
			if op == "Run" && ctx != t.Context() { // a look of the watch
				<-ctx.Done()
				pass(time.Second)
			}
			busy--
			return ctx.Err()
		})
		pass(watchInterval + time.Second)
		if busy != 1 {
			t.Fatalf("%d calls on their way", busy)
		}
		mustFinish(t, h, Outcome{State: Completed})
	})
}

// Another program writes the flag between the last look and the last write.
func TestFinishOverAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		raced := false
		store.failWith(func(_ context.Context, op string) error {
			if op == "MergeScenario" && !raced {
				raced = true
				store.change(t, func(r *Record) { r.CancelRequested = true })
			}
			return nil
		})
		mustFinish(t, h, Outcome{State: Completed})
		if r := store.record(t); r.State != Completed || !r.CancelRequested || r.FinishedAt == nil {
			t.Errorf("record %+v", r)
		}
	})
}

// C12: when the worker is told to stop, its context ends with that cause, but
// the scenario stays its own until it has handed back.
func TestCallerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		ctx, cancel := context.WithCancelCause(t.Context())
		h, err := Take(ctx, store, request("a"))
		if err != nil {
			t.Fatal(err)
		}
		stopped := reason.New(reason.Shutdown, "stopped")
		cancel(stopped)
		if !errors.Is(context.Cause(h.Context), stopped) {
			t.Errorf("cause %v", context.Cause(h.Context))
		}
		pass(3 * lease)
		if err := h.Err(); err != nil {
			t.Errorf("lost while it stops: %v", err)
		}
		mustFinish(t, h, Outcome{State: Queued, Reason: reason.Shutdown})
	})
}
