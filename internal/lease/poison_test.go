package lease

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
)

// C67, C72: the poison queue has exactly one copy, the queue nothing.
func TestPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		sent := time.Now()
		pass(time.Minute)
		l := b.claim(t)
		pass(visibility)
		if err := l.Poison(t.Context(), reason.InvalidBasin, "a detail", "job-1"); err != nil {
			t.Fatal(err)
		}
		copies := b.poison.all()
		if len(copies) != 1 || len(b.queue.all()) != 0 || copies[0].visible.After(time.Now()) {
			t.Fatalf("left %+v, poison %+v", b.queue.all(), copies)
		}
		got, err := message.DecodePoison(copies[0].Text)
		if err != nil {
			t.Fatal(err)
		}
		if got.Reason != reason.InvalidBasin || got.Detail != "a detail" || got.Original != text || got.MessageID != b.sent.ID ||
			got.DequeueCount != 1 || !got.InsertedAt.Equal(sent) || time.Since(got.FailedAt) >= time.Second || got.JobID != "job-1" {
			t.Errorf("%+v", got)
		}
		if b.logged("WARN") || !b.logged("reason=invalid_basin") {
			t.Errorf("log %s", b.log.String())
		}
	})
}

func TestPoisonThroughErrors(t *testing.T) {
	tests := []struct {
		name                         string
		before, after                func(context.Context, string) error // of the poison queue
		queueBefore, queueAfter      func(context.Context, string) error
		want                         reason.Code
		left, copies, sends, maxPeek int
	}{
		{"not sent twice", failingFor(2, errDown, "Send"), nil, nil, nil, "", 0, 1, 1, 3},
		{"the answer is lost", nil, failingFor(1, errDown, "Send"), nil, nil, "", 0, 1, 1, 2},
		{"no look twice", failingFor(2, errDown, "Peek"), nil, nil, nil, "", 0, 1, 1, 1},
		{"silent once", silentOnce("Send"), nil, nil, nil, "", 0, 1, 1, 2},
		{"denied", failing(errDenied, "Send"), nil, nil, nil, reason.StorageDenied, 1, 0, 0, 1},
		{"down", failing(errDown, "Send"), nil, nil, nil, reason.LeaseLost, 1, 0, 0, 1000},
		{"not deleted at first", nil, nil, failingFor(2, errDown, "Delete"), nil, "", 0, 1, 1, 1},
		{"the answer to the deletion is lost", nil, nil, nil, failingFor(1, errDown, "Delete"), "", 0, 1, 1, 1},
		{"not deleted", nil, nil, failing(errDown, "Delete"), nil, reason.StorageUnavailable, 1, 1, 1, 1},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			b := newBench(t)
			l := b.claim(t)
			b.poison.failWith(tt.before, tt.after)
			b.queue.failWith(tt.queueBefore, tt.queueAfter)
			if err := l.Poison(t.Context(), reason.Undecodable, "d", ""); reason.Of(err) != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if left, copies := len(b.queue.all()), len(b.poison.all()); left != tt.left || copies != tt.copies {
				t.Errorf("%d left, %d copies", left, copies)
			}
			if sends, peeks := b.poison.calls("Send"), b.poison.calls("Peek"); sends != tt.sends || peeks > tt.maxPeek {
				t.Errorf("sent %d times, looked %d times", sends, peeks)
			}
		})
	}
}

// Killed, or refused, between copy and deletion: the next one to receive the
// message, or the next call, does not double the copy.
func TestPoisonAgain(t *testing.T) {
	bubble(t, "the next delivery", func(t *testing.T) {
		b := newBench(t)
		for range 3 { // other copies come first
			p := message.Poison{Reason: reason.Internal, Original: text, MessageID: "other", FailedAt: time.Now()}
			other, _ := p.Encode()
			if _, err := b.poison.Send(t.Context(), other, 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.poison.Send(t.Context(), "no envelope", 0); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			l := b.claim(t)
			b.queue.failWith(failing(errDenied, "Delete"), nil)
			if i == 2 {
				b.queue.failWith(nil, nil)
			}
			err := l.Poison(t.Context(), reason.MaxAttempts, "d", "j")
			if i < 2 && reason.Of(err) != reason.StorageDenied || i == 2 && err != nil {
				t.Errorf("poison: %v", err)
			}
			if n := len(b.poison.all()); n != 5 {
				t.Fatalf("delivery %d: %d messages in the poison queue", i+1, n)
			}
			b.queue.failWith(nil, nil)
			pass(visibility)
		}
		if len(b.queue.all()) != 0 {
			t.Error("the message is still there")
		}
	})
	bubble(t, "the next call", func(t *testing.T) {
		b := newBench(t)
		b.queue.messages[0].Text = incompressible() // no envelope tells the copy
		l := b.claim(t)
		b.queue.failWith(failing(errDenied, "Delete"), nil)
		if err := l.Poison(t.Context(), reason.Internal, "d", "j"); reason.Of(err) != reason.StorageDenied {
			t.Errorf("poison: %v", err)
		}
		b.queue.failWith(nil, nil)
		if err := l.Poison(t.Context(), reason.Internal, "d", "j"); err != nil || len(b.poison.all()) != 1 || len(b.queue.all()) != 0 {
			t.Errorf("poison: %v; %d copies, %d left", err, len(b.poison.all()), len(b.queue.all()))
		}
	})
	bubble(t, "released instead", func(t *testing.T) {
		b := newBench(t)
		l := b.claim(t)
		b.poison.failWith(failing(errDenied, "Send"), nil)
		if err := l.Poison(t.Context(), reason.Internal, "d", "j"); reason.Of(err) != reason.StorageDenied {
			t.Errorf("poison: %v", err)
		}
		if err := l.Release(t.Context(), 0); err != nil || !b.taken(t) {
			t.Errorf("release: %v", err)
		}
	})
}

// Two messages may say the same.
func TestPoisonOfEqualMessages(t *testing.T) {
	for name, text := range map[string]string{"short": text, "long": incompressible()} {
		bubble(t, name, func(t *testing.T) {
			b := newBench(t)
			b.queue.messages[0].Text = text
			if _, err := b.queue.Send(t.Context(), text, 0); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := b.claim(t).Poison(t.Context(), reason.InvalidMessage, "d", ""); err != nil {
					t.Fatal(err)
				}
			}
			if len(b.poison.all()) != 2 || len(b.queue.all()) != 0 {
				t.Errorf("%d copies, %d left", len(b.poison.all()), len(b.queue.all()))
			}
		})
	}
}

// What is too long for an envelope goes as it is, once, and the log says why.
func TestPoisonTooLong(t *testing.T) {
	long := incompressible()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.queue.messages[0].Text = long
		l := b.claim(t)
		b.poison.failWith(nil, failingFor(1, errDown, "Send"))
		if err := l.Poison(t.Context(), reason.InvalidMessage, "the message is too long", "j"); err != nil {
			t.Fatal(err)
		}
		copies := b.poison.all()
		if len(copies) != 1 || copies[0].Text != long || len(b.queue.all()) != 0 {
			t.Errorf("%d copies, %d left", len(copies), len(b.queue.all()))
		}
		if !b.logged("WARN") || !b.logged("reason=invalid_message") || !b.logged("the message is too long") || b.logged(long[:40]) {
			t.Error("the log does not say why, or too much")
		}
	})
}

// incompressible is a text that fills a queue message.
func incompressible() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < 64<<10 {
		b.WriteByte(letters[r.IntN(len(letters))])
	}
	return b.String()
}
