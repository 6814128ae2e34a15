package runs

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
)

func TestTakeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, now := &memory{}, time.Now().UTC()
		h := mustTake(t, store, request("a"))
		want := Record{JobID: "j", RunKey: "key", State: Running, Step: "inputs", Attempt: 1, Generation: 1, Owner: "a",
			LeaseUntil: now.Add(lease), StartedAt: now, Engine: "bundled"}
		if got := store.record(t); !reflect.DeepEqual(got, want) {
			t.Errorf("record %+v\nwant   %+v", got, want)
		}
		for column, want := range map[string]any{"Status": "Running", "StatusDetail": "", "Progress": 0.0, "Step": "inputs",
			"JobId": "j", "Attempt": 1, "StartedAt": now, "FinishedAt": nil, "Reason": "", "EngineVersion": "bundled"} {
			if got := store.column(column); got != want {
				t.Errorf("column %s is %v, want %v", column, got, want)
			}
		}
		if h.Attempt() != 1 || h.StartedAt() != now || h.Err() != nil || h.Context.Err() != nil {
			t.Errorf("attempt %d since %v, %v, %v", h.Attempt(), h.StartedAt(), h.Err(), h.Context.Err())
		}
		mustFinish(t, h, Outcome{State: Completed})
		if got := store.record(t); got.State != Completed || got.FinishedAt == nil || !got.FinishedAt.Equal(now) || got.Progress != 100 {
			t.Errorf("record %+v", got)
		}
		if got := store.column("FinishedAt"); got != now {
			t.Errorf("FinishedAt is %v, want %v", got, now)
		}
	})
}

func TestTakeBusyWhileTheOwnerLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		h := mustTake(t, store, request("a"))
		for range 20 { // far beyond one lease
			pass(lease / 2)
			before := store.record(t)
			hold, err := Take(t.Context(), store, request("b"))
			if hold != nil || reason.Of(err) != reason.Busy {
				t.Fatalf("a second owner: %v, %v", hold, err)
			}
			if after := store.record(t); !reflect.DeepEqual(after, before) {
				t.Fatalf("being refused wrote %+v over %+v", after, before)
			}
		}
		mustFinish(t, h, Outcome{State: Failed, Reason: reason.InvalidBasin, Detail: "d"})
		mustFinish(t, mustTake(t, store, request("b")), Outcome{State: Completed})
	})
}

// dead leaves a record of an owner that stopped without a word (C12, C68).
func dead(t *testing.T, store *memory, owner string) {
	t.Helper()
	h := mustTake(t, store, request(owner))
	h.stop()
	h.done.Wait()
	h.cancel(context.Canceled)
}

func TestTakeOverADeadOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		dead(t, store, "a")
		pass(lease - time.Nanosecond)
		if _, err := Take(t.Context(), store, request("b")); reason.Of(err) != reason.Busy {
			t.Fatalf("within the lease: %v", err)
		}
		pass(time.Nanosecond)
		h := mustTake(t, store, request("b"))
		if r := store.record(t); r.Owner != "b" || r.Generation != 2 || r.Attempt != 2 || h.Attempt() != 2 {
			t.Errorf("record %+v", r)
		}
		mustFinish(t, h, Outcome{State: Completed})
	})
}

func TestTakeCountsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		steps := []struct {
			job, key string
			end      State
			want     int
		}{
			{"j", "key", Queued, 1},
			{"j", "key", Queued, 2},
			{"j", "key", Failed, 3},
			{"j", "key", TimedOut, 4},
			{"k", "key", Queued, 1},   // another job
			{"k", "key", Queued, 2},   //
			{"k", "other", Queued, 1}, // other inputs
			{"k", "other", Completed, 2},
			{"k", "other", Queued, 1}, // again after success: new work
			{"k", "other", Completed, 2},
		}
		for i, s := range steps {
			req := request(fmt.Sprint("owner ", i))
			req.JobID, req.RunKey = s.job, s.key
			h := mustTake(t, store, req)
			if h.Attempt() != s.want || store.column("Attempt") != s.want {
				t.Errorf("step %d: attempt %d, row %v, want %d", i, h.Attempt(), store.column("Attempt"), s.want)
			}
			if g := store.record(t).Generation; g != int64(i+1) {
				t.Errorf("step %d: generation %d", i, g)
			}
			mustFinish(t, h, Outcome{State: s.end})
		}
	})
}

func TestTakeReplacesAnUnreadableRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{data: []byte(`{"State":`), etag: 7}
		h := mustTake(t, store, request("a"))
		if r := store.record(t); r.Owner != "a" || r.Generation != 1 || r.Attempt != 1 {
			t.Errorf("record %+v", r)
		}
		mustFinish(t, h, Outcome{State: Completed})
	})
}

// C22: N workers, one message: exactly one runs it.
func TestTakeRace(t *testing.T) {
	for _, state := range []string{"no record", "a dead owner", "a queued run"} {
		t.Run(state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				switch state {
				case "a dead owner":
					dead(t, store, "dead")
					pass(lease)
				case "a queued run":
					mustFinish(t, mustTake(t, store, request("last")), Outcome{State: Queued})
				}
				const takers = 16
				holds, errs := make([]*Hold, takers), make([]error, takers)
				begin := make(chan struct{})
				var all sync.WaitGroup
				for i := range takers {
					all.Go(func() {
						<-begin
						holds[i], errs[i] = Take(t.Context(), store, request(fmt.Sprint("owner ", i)))
					})
				}
				close(begin)
				all.Wait()
				winners := 0
				for i, h := range holds {
					switch {
					case h != nil && errs[i] == nil:
						winners++
						if got := store.record(t).Owner; got != fmt.Sprint("owner ", i) {
							t.Errorf("owner %d believes it won, the record says %s", i, got)
						}
						mustFinish(t, h, Outcome{State: Failed})
					case h != nil || reason.Of(errs[i]) != reason.Busy:
						t.Errorf("owner %d: %v, %v", i, h, errs[i])
					}
				}
				if winners != 1 {
					t.Errorf("%d winners", winners)
				}
			})
		})
	}
}

// Whoever always comes second is told that somebody else is there.
func TestTakeEndlessConflictIsBusy(t *testing.T) {
	store := &memory{}
	puts := 0
	store.fail = func(_ context.Context, op string) error {
		if op == "PutRun" {
			puts++
			store.mu.Lock()
			store.data, store.etag = []byte(`{"State":"Queued"}`), store.etag+1
			store.mu.Unlock()
		}
		return nil
	}
	if h, err := Take(t.Context(), store, request("a")); h != nil || reason.Of(err) != reason.Busy || puts != takeRounds {
		t.Errorf("%v, %v after %d rounds", h, err, puts)
	}
}

var errDown = &reason.Error{Code: reason.StorageUnavailable, Detail: "the store is down"}

// failing lets the named calls fail.
func failing(ops ...string) func(context.Context, string) error {
	return func(_ context.Context, op string) error {
		if slices.Contains(ops, op) {
			return errDown
		}
		return nil
	}
}

// A scenario that could not be taken in full is free at once for the next one.
func TestTakeThatFailsGivesTheScenarioBack(t *testing.T) {
	tests := []struct {
		name string
		prep func(*memory)
	}{
		{"the scenario row is not written", func(m *memory) { m.fail = failing("MergeScenario") }},
		{"the answer to the first write is lost", func(m *memory) { m.afterPut = errDown }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				tt.prep(store)
				if h, err := Take(t.Context(), store, request("a")); h != nil || reason.Of(err) != reason.StorageUnavailable {
					t.Fatalf("%v, %v", h, err)
				}
				if r := store.record(t); r.State != Queued || r.Generation != 1 || r.LeaseUntil.After(time.Now()) {
					t.Errorf("record %+v", r)
				}
				store.fail, store.afterPut = nil, nil
				h := mustTake(t, store, request("b"))
				if h.Attempt() != 1 { // the one that failed did not begin
					t.Errorf("attempt %d", h.Attempt())
				}
				mustFinish(t, h, Outcome{State: Completed})
			})
		})
	}
}

func TestTakeThatFailsAndCannotGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		store.fail = func(_ context.Context, op string) error {
			if op == "MergeScenario" {
				store.failWith(failing("Run", "PutRun", "MergeScenario"))
				return errDown
			}
			return nil
		}
		if h, err := Take(t.Context(), store, request("a")); h != nil || reason.Of(err) != reason.StorageUnavailable {
			t.Fatalf("%v, %v", h, err)
		}
		store.fail = nil
		if _, err := Take(t.Context(), store, request("b")); reason.Of(err) != reason.Busy {
			t.Errorf("within the lease: %v", err)
		}
		pass(lease)
		mustFinish(t, mustTake(t, store, request("b")), Outcome{State: Completed})
	})
}

// The caller is stopped while the scenario row is written: it is still handed
// back.
func TestTakeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := reason.New(reason.Shutdown, "stopped")
		store.fail = func(ctx context.Context, op string) error {
			if op == "MergeScenario" {
				cancel(stopped)
				return context.Cause(ctx)
			}
			return nil
		}
		if h, err := Take(ctx, store, request("a")); h != nil || !errors.Is(err, stopped) {
			t.Fatalf("%v, %v", h, err)
		}
		if r := store.record(t); r.State != Queued {
			t.Errorf("record %+v", r)
		}
	})
}

func TestTakeErrorsOfTheStore(t *testing.T) {
	for _, op := range []string{"Run", "PutRun"} {
		store := &memory{fail: failing(op)}
		if h, err := Take(t.Context(), store, request("a")); h != nil || reason.Of(err) != reason.StorageUnavailable {
			t.Errorf("%s: %v, %v", op, h, err)
		}
		if len(store.written()) != 0 {
			t.Errorf("%s: wrote %q", op, store.written())
		}
	}
}

// A client that repeats a write whose answer was lost is told of a conflict
// with itself; that is no second attempt.
func TestTakeConflictWithItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &repeating{memory: &memory{}}
		h := mustTake(t, store, request("a"))
		if r := store.record(t); h.Attempt() != 1 || r.Owner != "a" || r.State != Running {
			t.Errorf("attempt %d, record %+v", h.Attempt(), r)
		}
		mustFinish(t, h, Outcome{State: Completed})
	})
}

// repeating sends its first write twice and answers with the second answer.
type repeating struct {
	*memory
	once sync.Once
}

func (r *repeating) PutRun(ctx context.Context, basin, scenario string, data []byte, etag string) (string, error) {
	var first error
	r.once.Do(func() { _, first = r.memory.PutRun(ctx, basin, scenario, data, etag) })
	if first != nil {
		return "", first
	}
	return r.memory.PutRun(ctx, basin, scenario, data, etag)
}

// Who asked to stop a job that waits, or whose owner died before it saw the
// flag, is heard by the next attempt of the same job and by no other job.
func TestTakeHearsAnEarlierCancel(t *testing.T) {
	tests := []struct {
		name  string
		end   State // "" = the owner dies
		job   string
		heard bool
	}{
		{"waits", Queued, "j", true},
		{"owner died", "", "j", true},
		{"another job", Queued, "k", false},
		{"it was cancelled then", Cancelled, "j", false},
		{"it failed then", Failed, "j", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				if tt.end == "" {
					dead(t, store, "a")
					pass(lease)
				} else {
					mustFinish(t, mustTake(t, store, request("a")), Outcome{State: tt.end})
				}
				store.change(t, func(r *Record) { r.CancelRequested = true })
				req := request("b")
				req.JobID = tt.job
				h := mustTake(t, store, req)
				if got := h.Context.Err() != nil; got != tt.heard {
					t.Errorf("cancelled %v, want %v", got, tt.heard)
				}
				if tt.heard && reason.Of(context.Cause(h.Context)) != reason.Cancelled {
					t.Errorf("cause %v", context.Cause(h.Context))
				}
				mustFinish(t, h, Outcome{State: Cancelled, Reason: reason.Cancelled})
			})
		})
	}
}

// Who is known to have ended is no live owner, whatever its lease says.
func TestTakeFromTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		if err := mustTake(t, store, request("container")).Finish(t.Context(), Outcome{}); err == nil { // it only stops to renew
			t.Fatal("a run ended in no state")
		}
		req := request("launcher")
		for _, dead := range []string{"", "another"} {
			req.Dead = dead
			if _, err := Take(t.Context(), store, req); reason.Of(err) != reason.Busy {
				t.Errorf("dead is %q: %v", dead, err)
			}
		}
		req.Dead = "container"
		mustFinish(t, mustTake(t, store, req), Outcome{State: Failed, Reason: reason.EngineFailed})
	})
}

// A wish to stop a job is seen before the job is taken, and while it runs.
func TestAsked(t *testing.T) {
	now := time.Now()
	mine, later := request("a"), request("a")
	mine.Since, later.Since, later.JobID = now.Add(-time.Minute), now.Add(time.Minute), "another"
	at := now
	for _, tt := range []struct {
		name   string
		record Record
		mine   bool
	}{
		{"nothing", Record{}, false},
		{"waits", Record{JobID: "j", State: Queued, CancelRequested: true, CancelAt: &at}, true},
		{"runs", Record{JobID: "j", State: Running, CancelRequested: true, CancelAt: &at}, true},
		{"runs, not asked", Record{JobID: "j", State: Running}, false},
		{"is over", Record{JobID: "j", State: Failed, CancelRequested: true, CancelAt: &at}, false},
		{"another runs", Record{JobID: "k", State: Running, CancelRequested: true, CancelAt: &at}, false},
		{"behind another", Record{JobID: "k", State: Running, Cancels: map[string]time.Time{"j": at}}, true},
		{"whoever comes", Record{Cancels: map[string]time.Time{"": at}}, true},
	} {
		if got := tt.record.Asked(&mine); got != tt.mine {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.mine)
		}
		if tt.record.Asked(&later) {
			t.Errorf("%s: a later job is asked", tt.name)
		}
	}
}
