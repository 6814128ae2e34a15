package runs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

func TestCancelOfALiveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		pass(lease / 4)
		at := time.Now()
		for range 2 { // the second changes nothing
			r, err := Cancel(t.Context(), store, "ohio", "42", at)
			if err != nil || r.State != Running || !r.CancelRequested || !r.CancelAt.Equal(at) || r.Owner != "a" {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		if !until(h.Context, watchInterval+1) || reason.Of(context.Cause(h.Context)) != reason.Cancelled {
			t.Errorf("the owner was told %v", context.Cause(h.Context))
		}
		pass(2 * lease) // renewals keep the flag
		if r := store.record(t); !r.CancelRequested || !r.CancelAt.Equal(at) {
			t.Errorf("record %+v", r)
		}
		mustFinish(t, h, Outcome{State: Cancelled, Reason: reason.Cancelled})
		if r, err := Cancel(t.Context(), store, "ohio", "42", time.Now()); err != nil || r.State != Cancelled {
			t.Errorf("once it is over: %+v, %v", r, err)
		}
	})
}

// A job that waits, or whose owner died, is cancelled when it is taken; one
// that was asked for after the cancel is not.
func TestCancelOfAWaitingJob(t *testing.T) {
	queue := func(t *testing.T, store *memory) {
		if _, err := Queue(t.Context(), store, "ohio", "42", "j", "", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		prep  func(*testing.T, *memory)
		later time.Duration // from the cancel to the wish for the job
		job   string
		heard bool
	}{
		{"queued", queue, -1, "j", true},
		{"queued, then asked for again", queue, 1, "j", false},
		{"queued, another comes first", queue, -1, "k", false},
		{"its owner died", func(t *testing.T, m *memory) { dead(t, m, "a"); pass(lease) }, -1, "j", true},
		{"its owner died, asked for again", func(t *testing.T, m *memory) { dead(t, m, "a"); pass(lease) }, 1, "j", false},
		{"no record", func(t *testing.T, m *memory) { m.status(Queued) }, -1, "k", true},
		{"no record, asked for after it", func(t *testing.T, m *memory) { m.status(Queued) }, 1, "k", false},
		{"an old record", func(t *testing.T, m *memory) {
			mustFinish(t, mustTake(t, m, request("a")), Outcome{State: Failed})
			m.status(Queued)
		}, -1, "j", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				tt.prep(t, store)
				at := time.Now()
				if r, err := Cancel(t.Context(), store, "ohio", "42", at); err != nil || !r.CancelRequested || r.Over() {
					t.Fatalf("%+v, %v", r, err)
				}
				pass(time.Minute)
				req := request("b")
				req.JobID, req.Since = tt.job, at.Add(tt.later)
				h := mustTake(t, store, req)
				if got := reason.Of(context.Cause(h.Context)) == reason.Cancelled; got != tt.heard {
					t.Errorf("cancelled: %v, want %v", got, tt.heard)
				}
				// It is handed back and comes again: still cancelled.
				mustFinish(t, h, Outcome{State: Queued, Reason: reason.Shutdown})
				h = mustTake(t, store, req)
				if got := h.Context.Err() != nil; got != tt.heard {
					t.Errorf("cancelled at the second time: %v, want %v", got, tt.heard)
				}
				mustFinish(t, h, Outcome{State: Cancelled})
				// Once that is over the next job is free.
				h = mustTake(t, store, req)
				if h.Context.Err() != nil {
					t.Error("a cancel was heard twice")
				}
				mustFinish(t, h, Outcome{State: Completed})
			})
		})
	}
}

// A job run by hand is asked for when it is taken.
func TestCancelBeforeARunByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		dead(t, store, "a")
		pass(lease)
		if _, err := Cancel(t.Context(), store, "ohio", "42", time.Now()); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		h := mustTake(t, store, request("b"))
		if h.Context.Err() != nil {
			t.Errorf("it ended with %v", context.Cause(h.Context))
		}
		mustFinish(t, h, Outcome{State: Completed})
	})
}

func TestCancelFails(t *testing.T) {
	store := &memory{noRow: true}
	if _, err := Cancel(t.Context(), store, "ohio", "42", time.Now()); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("no row: %v", err)
	}
	store.noRow = false
	for _, op := range []string{"Run", "Scenario", "PutRun"} {
		store.status(Queued)
		store.fail = failing(op)
		if _, err := Cancel(t.Context(), store, "ohio", "42", time.Now()); reason.Of(err) != reason.StorageUnavailable {
			t.Errorf("%s fails: %v", op, err)
		}
	}
	if len(store.written()) != 0 {
		t.Errorf("wrote %q", store.written())
	}
}

// The run that is to stop comes to its end while Cancel writes, and another
// job is next: that one is left alone.
func TestCancelAgainstTheEnd(t *testing.T) {
	after := map[string]func(*testing.T, *memory) *Hold{
		"nobody": func(*testing.T, *memory) *Hold { return nil },
		"queued": func(t *testing.T, m *memory) *Hold { m.status(Queued); return nil },
		"another job": func(t *testing.T, m *memory) *Hold {
			req := request("b")
			req.JobID = "k"
			return mustTake(t, m, req)
		},
	}
	for name, next := range after {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				h := mustTake(t, store, request("a"))
				var second *Hold
				raced := false
				store.failWith(func(_ context.Context, op string) error {
					if op == "PutRun" && !raced {
						raced = true
						mustFinish(t, h, Outcome{State: Completed})
						second = next(t, store)
					}
					return nil
				})
				r, err := Cancel(t.Context(), store, "ohio", "42", time.Now())
				if err != nil || !raced || r.CancelRequested {
					t.Errorf("%+v, %v", r, err)
				}
				if second != nil {
					pass(2 * watchInterval)
					if second.Context.Err() != nil {
						t.Error("another job was cancelled")
					}
					mustFinish(t, second, Outcome{State: Completed})
				}
			})
		})
	}
}

// Whoever comes first, the end stands.
func TestCancelRacesFinish(t *testing.T) {
	for i := range 40 {
		synctest.Test(t, func(t *testing.T) {
			store := &memory{}
			h := mustTake(t, store, request("a"))
			store.failWith(func(ctx context.Context, op string) error {
				<-time.After(time.Duration(1+(i*len(op))%5) * time.Millisecond)
				return nil
			})
			var all sync.WaitGroup
			all.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond / 2)
				if _, err := Cancel(t.Context(), store, "ohio", "42", time.Now()); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() { mustFinish(t, h, Outcome{State: Completed}) })
			all.Wait()
			if r := store.record(t); r.State != Completed || r.FinishedAt == nil || store.column("Status") != "Completed" {
				t.Errorf("record %+v, row %v", r, store.column("Status"))
			}
		})
	}
}

// Jobs that wait behind others can be cancelled, one after the other: behind one
// that runs, behind one that is over, behind one that was cancelled before.
func TestCancelOfWaitingJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		sent := map[string]time.Time{}
		for _, job := range []string{"k", "l", "m"} {
			pass(time.Second)
			sent[job] = time.Now()
			if r, err := Queue(t.Context(), store, "ohio", "42", job, "", time.Now()); err != nil || r.JobID != "j" {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		mustFinish(t, h, Outcome{State: Completed})
		cancel := func(want string) {
			t.Helper()
			pass(time.Second)
			r, err := Cancel(t.Context(), store, "ohio", "42", time.Now())
			if err != nil || r.JobID != want || !r.CancelRequested {
				t.Errorf("%+v, %v, want %s", r, err, want)
			}
		}
		cancel("k")
		cancel("l")
		take := func(job string, cancelled bool) {
			t.Helper()
			req := request(job)
			req.JobID, req.Message, req.Since = job, job, sent[job]
			h := mustTake(t, store, req)
			if got := h.Context.Err() != nil; got != cancelled {
				t.Errorf("%s is cancelled: %v", job, got)
			}
			mustFinish(t, h, Outcome{State: Completed})
		}
		take("l", true)
		take("m", false)
		take("k", true)
		if r := store.record(t); len(r.Waiting) != 0 || len(r.Cancels) != 0 {
			t.Errorf("left: %+v", r)
		}
		if r, err := Cancel(t.Context(), store, "ohio", "42", time.Now()); err != nil || r.JobID != "k" || !r.Over() {
			t.Errorf("with nothing to cancel: %+v, %v", r, err)
		}
	})
}

// A job that was queued before another one, which nobody took, waits as well.
func TestCancelOfTwoQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		store.status(Queued)
		for _, job := range []string{"k", "l"} {
			if _, err := Queue(t.Context(), store, "ohio", "42", job, "", time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{"l", "k", "l"} {
			pass(time.Second)
			if r, err := Cancel(t.Context(), store, "ohio", "42", time.Now()); err != nil || r.JobID != want || !r.CancelRequested {
				t.Errorf("%+v, %v, want %s", r, err, want)
			}
		}
	})
}
