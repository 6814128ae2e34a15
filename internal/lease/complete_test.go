package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
)

// C57, C58: the newest receipt deletes, whoever got it.
func TestComplete(t *testing.T) {
	for _, renewals := range []int{0, 1, 3, 20} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			for range renewals {
				pass(visibility / 3)
			}
			if n := b.queue.calls("Update"); n != renewals+1 {
				t.Errorf("%d renewals, want %d", n, renewals+1)
			}
			if err := l.Complete(t.Context()); err != nil || len(b.queue.all()) != 0 {
				t.Errorf("%v; the queue has %+v", err, b.queue.all())
			}
			if l.Err() != nil || !errors.Is(context.Cause(l.Context()), ErrEnded) || b.log.String() != "" {
				t.Errorf("error %v, cause %v, log %s", l.Err(), context.Cause(l.Context()), b.log.String())
			}
			if pass(2 * visibility); l.Err() != nil {
				t.Errorf("later: %v", l.Err())
			}
		})
	}
}

func TestCompleteThroughErrors(t *testing.T) {
	deaf := func(*testing.T, *bench) { pass(visibility) } // the renewals fail meanwhile
	tests := []struct {
		name          string
		before, after func(context.Context, string) error
		prepare       func(*testing.T, *bench)
		want          reason.Code
		left          int
		log           string
	}{
		{"two errors", failingFor(2, errDown, "Delete"), nil, nil, "", 0, "trying again"},
		{"silent once", silentOnce("Delete"), nil, nil, "", 0, "trying again"},
		{"the answer is lost", nil, failingFor(1, errDown, "Delete"), nil, "", 0, "found done"},
		{"gone", nil, nil, func(_ *testing.T, b *bench) { b.queue.remove() }, "", 0, "found done"},
		{"denied", failing(errDenied, "Delete"), nil, nil, reason.StorageDenied, 1, ""},
		{"down", failing(errDown, "Delete"), nil, nil, reason.StorageUnavailable, 1, "trying again"},
		{"lease over, nobody took it", failing(errDown, "Update"), nil, deaf, "", 0, ""},
		{"lease over, taken", failing(errDown, "Update"), nil, func(t *testing.T, b *bench) {
			if deaf(t, b); !b.taken(t) {
				t.Error("not visible")
			}
		}, reason.LeaseLost, 1, ""},
		{"lease over, down", failing(errDown, "Update", "Delete"), nil, deaf, reason.StorageUnavailable, 1, ""},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			b.queue.failWith(tt.before, tt.after)
			if tt.prepare != nil {
				tt.prepare(t, b)
			}
			started := time.Now()
			if err := l.Complete(t.Context()); reason.Of(err) != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if took := time.Since(started); took > visibility+longPause {
				t.Errorf("it took %v", took)
			}
			if got := len(b.queue.all()); got != tt.left || !b.logged(tt.log) {
				t.Errorf("%d left, log %s", got, b.log.String())
			}
		})
	}
}

func silentOnce(op string) func(context.Context, string) error {
	wait, first := silent(op), true
	return func(ctx context.Context, called string) error {
		if called != op || !first {
			return nil
		}
		first = false
		return wait(ctx, called)
	}
}
