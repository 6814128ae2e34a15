package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// C05, C22: whoever finds nothing leaves at once.
func TestClaimOfAnEmptyQueue(t *testing.T) {
	b := &bench{queue: &queue{}}
	if l, err := Claim(t.Context(), b.options()); l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
}

// C79: one message is taken, not more.
func TestClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if _, err := b.queue.Send(t.Context(), "another", 0); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		l := b.claim(t)
		if l.ID() != b.sent.ID || l.Text() != text || l.DequeueCount() != 1 || !l.InsertedAt().Equal(b.sent.InsertedAt) {
			t.Errorf("%s %q %d %v", l.ID(), l.Text(), l.DequeueCount(), l.InsertedAt())
		}
		if l.Err() != nil || l.Context().Err() != nil {
			t.Errorf("%v, %v", l.Err(), context.Cause(l.Context()))
		}
		if all := b.queue.all(); len(all) != 2 || all[1].DequeueCount != 0 {
			t.Errorf("the queue has %+v", all)
		}
	})
}

func TestClaimWhenAllIsOver(t *testing.T) {
	b := newBench(t)
	stop := reason.New(reason.Shutdown, "stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if l, err := Claim(ctx, b.options()); l != nil || !errors.Is(err, stop) {
		t.Errorf("%v, %v", l, err)
	}
	if b.queue.calls("Receive") != 0 {
		t.Error("a message was taken")
	}
}

// Interrupted while the request is on its way: the message is not lost to
// anybody for a visibility timeout.
func TestClaimInterrupted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(context.Context, string) error
		free   bool
	}{
		{"given back", nil, true},
		{"not given back", failing(errDown, "Update"), false},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			b := newBench(t)
			stop := reason.New(reason.Shutdown, "stopped")
			ctx, cancel := context.WithCancelCause(t.Context())
			b.queue.failWith(tt.before, func(ctx context.Context, op string) error {
				if op == "Receive" {
					cancel(stop)
					time.Sleep(time.Second) // the answer takes its time
					if ctx.Err() != nil {
						t.Error("the request was cut short")
					}
				}
				return nil
			})
			if l, err := Claim(ctx, b.options()); l != nil || !errors.Is(err, stop) {
				t.Errorf("%v, %v", l, err)
			}
			b.queue.failWith(nil, nil)
			if got := b.taken(t); got != tt.free {
				t.Errorf("free at once: %v", got)
			}
			if all := b.queue.all(); all[0].Text != text {
				t.Errorf("the text became %q", all[0].Text)
			}
			if tt.free {
				return
			}
			pass(visibility)
			if !b.logged("not given back") || !b.taken(t) {
				t.Errorf("the message did not reappear; log %s", b.log.String())
			}
		})
	}
}

func TestClaimErrors(t *testing.T) {
	slow := func(d time.Duration) func(context.Context, string) error {
		return func(context.Context, string) error { <-time.After(d); return nil }
	}
	tests := []struct {
		name          string
		before, after func(context.Context, string) error
		want          reason.Code
		took          time.Duration
	}{
		{"down", failing(errDown, "Receive"), nil, reason.StorageUnavailable, 0},
		{"denied", failing(errDenied, "Receive"), nil, reason.StorageDenied, 0},
		{"silent", silent("Receive"), nil, reason.StorageUnavailable, maxTry},
		{"the answer comes after the lease", nil, slow(visibility), reason.LeaseLost, visibility},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			b := newBench(t)
			b.queue.failWith(tt.before, tt.after)
			started := time.Now()
			l, err := Claim(t.Context(), b.options())
			if l != nil || reason.Of(err) != tt.want || time.Since(started) != tt.took {
				t.Errorf("%v, %v after %v", l, err, time.Since(started))
			}
		})
	}
}

func TestClaimOfAMessageThatSaysNotWhenItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.queue.messages[0].ExpiresAt = time.Time{}
		b.claim(t)
		if n := b.queue.calls("Send"); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

// The time to live runs while a message is held: one that would expire under
// the work is replaced, without a moment in which somebody else can take it.
func TestClaimOfAMessageThatExpires(t *testing.T) {
	const needed = 2*time.Hour + visibility
	tests := []struct {
		name     string
		ttl      time.Duration
		before   func(context.Context, string) error
		replaced bool
		messages int
		log      string
	}{
		{"late", needed + time.Second, nil, false, 1, ""},
		{"on the spot", needed, nil, false, 1, ""},
		{"soon", needed - time.Second, nil, true, 1, "replaced by a copy"},
		{"under the lease", visibility / 2, nil, true, 1, "replaced by a copy"},
		{"no copy", visibility * 2, failing(errDown, "Send"), false, 1, "may expire"},
		{"the original stays", time.Hour, failing(errDown, "Delete"), true, 2, "was not deleted"},
		{"the original is gone", time.Hour, failing(storage.ErrNotFound, "Delete"), true, 2, "replaced by a copy"},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			b := newBench(t)
			sent := time.Now()
			pass(time.Minute)
			b.queue.messages[0].ExpiresAt = time.Now().Add(tt.ttl)
			b.queue.failWith(tt.before, func(_ context.Context, op string) error {
				if op == "Send" && b.taken(t) {
					t.Error("somebody else took the copy at once")
				}
				return nil
			})
			l := b.claim(t)
			b.queue.failWith(nil, nil)
			all := b.queue.all()
			held := all[len(all)-1]
			// The copy stands for the job of the original, whatever its own id.
			want := text
			if tt.replaced {
				want = message.WithIdentity(text, b.sent.ID)
			}
			m, err := message.Decode([]byte(held.Text))
			if err != nil || m.Identity(held.ID) != b.sent.ID {
				t.Errorf("it stands for %+v, %v", m, err)
			}
			if len(all) != tt.messages || (held.ID != b.sent.ID) != tt.replaced || held.Text != want {
				t.Errorf("the queue has %+v", all)
			}
			if l.ID() != held.ID || l.DequeueCount() != 1 || !l.InsertedAt().Equal(sent) || l.Text() != want {
				t.Errorf("%s %d %v %q", l.ID(), l.DequeueCount(), l.InsertedAt(), l.Text())
			}
			if !b.logged(tt.log) || tt.log == "" && b.log.String() != "" {
				t.Errorf("log: %s", b.log.String())
			}
			if b.taken(t) {
				t.Error("somebody else took one")
			}
			if !tt.replaced {
				return
			}
			b.queue.mu.Lock()
			b.queue.messages = b.queue.messages[len(b.queue.messages)-1:] // what became of the original is another matter
			b.queue.mu.Unlock()
			for range 6 * 60 { // beyond the time the original had
				pass(visibility / 2)
				if b.taken(t) {
					t.Fatal("somebody else took the copy")
				}
			}
			if err := l.Complete(t.Context()); err != nil || len(b.queue.all()) != 0 {
				t.Errorf("%v; the queue has %+v", err, b.queue.all())
			}
		})
	}
}
