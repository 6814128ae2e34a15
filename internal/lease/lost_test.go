package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
)

// C64: an update whose answer is lost makes the receipt void. Nobody else can
// have the message yet, so the work goes on as long as that update hides it.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		claimed := time.Now()
		pass(visibility/3 - time.Second)
		b.queue.failWith(nil, failing(errDown, "Update")) // the one at a third
		pass(2 * time.Second)
		b.queue.failWith(nil, nil)
		pass(visibility / 2)
		if l.Err() != nil || l.Context().Err() != nil || !b.logged("receipt of the message was lost") {
			t.Fatalf("error %v, log %s", l.Err(), b.log.String())
		}
		if b.queue.calls("Update") != 2 {
			t.Errorf("%d renewals were done", b.queue.calls("Update"))
		}
		if !until(l.Context(), visibility) || time.Since(claimed) != visibility/3+visibility {
			t.Errorf("the context ended after %v", time.Since(claimed))
		}
		lostNow(t, l)
		if !b.taken(t) {
			t.Error("the message has not reappeared")
		}
		refusesToExtend(t, b, l)
	})
}

// Of several updates without an answer the first one may be the one that was
// done: its time counts.
func TestLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		claimed := time.Now()
		b.queue.failWith(silent("Update"), nil)
		pass(visibility / 2) // one try has ended without an answer
		b.queue.failWith(nil, failing(errDown, "Update"))
		if !until(l.Context(), 2*visibility) || time.Since(claimed) != visibility/3+visibility {
			t.Errorf("the context ended after %v", time.Since(claimed))
		}
	})
	// One that was not done costs nothing.
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.queue.failWith(silent("Update"), nil)
		pass(visibility / 2)
		b.queue.failWith(nil, nil)
		pass(visibility / 4) // and is forgotten with the next answer
		b.queue.remove()
		if !until(l.Context(), visibility/3+time.Second) {
			t.Error("the loss was not noticed")
		}
		lostNow(t, l)
	})
}

// A message that is gone without a doubt is lost at once.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.queue.remove()
		if !until(l.Context(), visibility/3+time.Second) {
			t.Fatal("not noticed")
		}
		lostNow(t, l)
		refusesToExtend(t, b, l)
		if err := l.Complete(t.Context()); reason.Of(err) != reason.LeaseLost {
			t.Errorf("complete: %v", err)
		}
	})
}
