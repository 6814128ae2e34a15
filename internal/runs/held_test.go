package runs

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// fragile is a queue message that may be lost.
type fragile struct{ lost atomic.Bool }

var errMessageLost = reason.New(reason.LeaseLost, "the message went to another worker")

func (m *fragile) held() error {
	if m.lost.Load() {
		return errMessageLost
	}
	return nil
}

// Who loses the queue message has lost the run, with that as the cause, and
// writes nothing more; also where the message seems to come back.
func TestHeldIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, m := &memory{}, &fragile{}
		req := request("a")
		req.Held = m.held
		h := mustTake(t, store, req)
		pass(2 * lease)
		if err := h.Err(); err != nil {
			t.Fatal(err)
		}
		m.lost.Store(true)
		if !until(h.Context, watchInterval+1) || !errors.Is(context.Cause(h.Context), errMessageLost) {
			t.Errorf("cause %v", context.Cause(h.Context))
		}
		m.lost.Store(false)
		if err := h.Err(); !errors.Is(err, errMessageLost) {
			t.Errorf("Err: %v", err)
		}
		refusesToWrite(t, store, h)
	})
	// Finish may be the first to ask.
	synctest.Test(t, func(t *testing.T) {
		store, m := &memory{}, &fragile{}
		req := request("a")
		req.Held = m.held
		h := mustTake(t, store, req)
		m.lost.Store(true)
		refusesToWriteNow(t, store, h)
	})
}

// It is asked before each write, also for a store without a fence: the message
// is lost while the first of two writes is on its way.
func TestHeldIsLostBetweenWrites(t *testing.T) {
	for _, op := range []string{"PutRun", "MergeScenario"} {
		synctest.Test(t, func(t *testing.T) {
			store, m := &memory{}, &fragile{}
			req := request("a")
			req.Held = m.held
			h := mustTake(t, store, req)
			n := len(store.written())
			store.failWith(func(_ context.Context, now string) error {
				if now == op {
					m.lost.Store(true)
				}
				return nil
			})
			h.Progress("bltm", 50)
			want := "record Running" // of the renewal, which tells the row next
			if op == "PutRun" {
				pass(2 * watchInterval)
			} else {
				want = "row Completed"
				if err := h.Finish(t.Context(), Outcome{State: Completed}); !errors.Is(err, errMessageLost) {
					t.Errorf("Finish: %v", err)
				}
			}
			if got := store.written()[n:]; !slices.Equal(got, []string{want}) {
				t.Errorf("wrote %q, want %q", got, want)
			}
			refusesToWrite(t, store, h)
		})
	}
}

func TestTakeWithoutTheMessage(t *testing.T) {
	store, m := &memory{}, &fragile{}
	m.lost.Store(true)
	req := request("a")
	req.Held = m.held
	if h, err := Take(t.Context(), store, req); h != nil || !errors.Is(err, errMessageLost) || len(store.written()) != 0 {
		t.Errorf("%v, %v, wrote %q", h, err, store.written())
	}
}

// The loss comes in the midst of a write: what a client of Azure was about to
// send, or to send once more, is not sent.
func TestWritesAreFenced(t *testing.T) {
	writes := map[string]func(*memory, *Hold) error{
		"Take": func(*memory, *Hold) error { return nil },
		"the renewal": func(store *memory, h *Hold) error {
			pass(lease)
			return context.Cause(h.Context)
		},
		"Finish": func(store *memory, h *Hold) error { return h.Finish(h.Context, Outcome{State: Completed}) },
	}
	for name, write := range writes {
		for _, op := range []string{"PutRun", "MergeScenario"} {
			t.Run(name+" "+op, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkFenced(t, name, op, write) })
			})
		}
	}
}

func checkFenced(t *testing.T, name, op string, write func(*memory, *Hold) error) {
	store, m := &memory{}, &fragile{}
	queue := closed(t).Queue("q")
	asked := false
	lose := func(ctx context.Context, now string) error {
		if now != op {
			return nil
		}
		asked = true
		m.lost.Store(true)
		return queue.Delete(ctx, "id", "receipt") // stands for any request
	}
	req := request("a")
	req.Held = m.held
	if name == "Take" {
		store.fail = lose
	}
	h, err := Take(t.Context(), store, req)
	if err == nil {
		store.failWith(lose)
		h.Progress("bltm", 50)
		err = write(store, h)
		h.stop()
		h.done.Wait()
	}
	if !asked || !errors.Is(err, errMessageLost) {
		t.Errorf("%v, want %v", err, errMessageLost)
	}
}

// closed is an account where nobody answers.
func closed(t *testing.T) *storage.Azure {
	c, err := config.ParseConnection("UseDevelopmentStorage=true")
	if err != nil {
		t.Fatal(err)
	}
	c.Blob, c.Queue, c.Table = "http://127.0.0.1:1/x", "http://127.0.0.1:1/x", "http://127.0.0.1:1/x"
	account, err := storage.OpenConnection(c, storage.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// C55: who is told to stop hands the message back first; the end is written
// all the same.
func TestFinishAfterTheMessageIsHandedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		handedBack := atomic.Bool{}
		asked := atomic.Int32{}
		req := request("a")
		req.Held = func() error {
			if handedBack.Load() {
				asked.Add(1)
			}
			return nil
		}
		h := mustTake(t, store, req)
		handedBack.Store(true)
		mustFinish(t, h, Outcome{State: Queued, Reason: reason.Shutdown})
		if asked.Load() == 0 || !slices.Contains(store.written(), "record Queued") {
			t.Errorf("asked %d times, wrote %q", asked.Load(), store.written())
		}
	})
}
