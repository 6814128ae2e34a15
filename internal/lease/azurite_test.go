package lease

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// watchedQueue is a queue of the emulator that tells of each update, and may
// refuse to delete.
type watchedQueue struct {
	*storage.Queue
	updated chan error
	keeps   bool
}

func (q *watchedQueue) Update(ctx context.Context, id, receipt, text string, visibility time.Duration) (string, error) {
	fresh, err := q.Queue.Update(ctx, id, receipt, text, visibility)
	q.updated <- err
	return fresh, err
}

func (q *watchedQueue) Delete(ctx context.Context, id, receipt string) error {
	if q.keeps {
		return errDenied
	}
	return q.Queue.Delete(ctx, id, receipt)
}

// realQueues returns a queue and its poison queue in the emulator.
func realQueues(t *testing.T) (*watchedQueue, *storage.Queue) {
	t.Helper()
	names := azurite.NewNames()
	a := azurite.Open(t, azurite.Connection(t), names.Layout)
	q := &watchedQueue{Queue: a.Queue(names.Queue), updated: make(chan error, 1000)}
	poison := a.Queue(names.Poison)
	for _, queue := range []*storage.Queue{q.Queue, poison} {
		if err := queue.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return q, poison
}

func realClaim(t *testing.T, q *watchedQueue, poison *storage.Queue, visibility time.Duration) *Lease {
	t.Helper()
	l, err := Claim(t.Context(), Options{Queue: q, Poison: poison, Visibility: visibility, Needs: 2 * time.Hour, Answer: time.Minute,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil || l == nil {
		t.Fatalf("%v, %v", l, err)
	}
	t.Cleanup(l.Abandon)
	return l
}

func send(t *testing.T, q *watchedQueue) {
	t.Helper()
	if _, err := q.Send(t.Context(), text, 0); err != nil {
		t.Fatal(err)
	}
}

// renewed waits for n renewals.
func renewed(t *testing.T, q *watchedQueue, l *Lease, n int) {
	t.Helper()
	for range n {
		select {
		case err := <-q.updated:
			if err != nil {
				t.Fatal(err)
			}
		case <-l.Context().Done():
			t.Fatal(context.Cause(l.Context()))
		}
	}
}

func lengths(t *testing.T, queues ...*storage.Queue) (list []int) {
	t.Helper()
	for _, q := range queues {
		n, err := q.Length(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// C57, C58, C61, C62, C65 on a real service.
func TestRealRenewal(t *testing.T) {
	for _, release := range []bool{true, false} {
		t.Run(map[bool]string{true: "release", false: "complete"}[release], func(t *testing.T) {
			t.Parallel()
			q, poison := realQueues(t)
			send(t, q)
			l := realClaim(t, q, poison, 4*time.Second)
			renewed(t, q, l, 7) // the first at once, then three in each lease
			if m, err := q.Receive(t.Context(), time.Second); m != nil || err != nil {
				t.Fatalf("another worker got %+v, %v", m, err)
			}
			if !release {
				if err := l.Complete(t.Context()); err != nil || lengths(t, q.Queue)[0] != 0 {
					t.Errorf("complete: %v, %d left", err, lengths(t, q.Queue)[0])
				}
				return
			}
			if err := l.Release(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			m, err := q.Receive(t.Context(), time.Minute)
			if err != nil || m == nil {
				t.Fatalf("not visible at once: %v, %v", m, err)
			}
			if m.Text != text || l.Text() != text || m.DequeueCount != 2 || m.ID != l.ID() {
				t.Errorf("%+v", m)
			}
		})
	}
}

// C67: exactly one copy, also after a first try that could not delete.
func TestRealPoison(t *testing.T) {
	q, poison := realQueues(t)
	send(t, q)
	l := realClaim(t, q, poison, time.Minute)
	q.keeps = true
	if err := l.Poison(t.Context(), reason.InvalidBasin, "d", "j"); reason.Of(err) != reason.StorageDenied {
		t.Errorf("poison: %v", err)
	}
	q.keeps = false
	if err := l.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	again := realClaim(t, q, poison, time.Minute)
	if err := again.Poison(t.Context(), reason.InvalidBasin, "d", "j"); err != nil {
		t.Fatal(err)
	}
	if n := lengths(t, q.Queue, poison); n[0] != 0 || n[1] != 1 {
		t.Errorf("%d left, %d in the poison queue", n[0], n[1])
	}
	list, err := poison.Peek(t.Context(), 32)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if p, err := message.DecodePoison(list[0].Text); err != nil || p.Original != text || p.MessageID != l.ID() {
		t.Errorf("%+v, %v", p, err)
	}
}

// Without a poison queue nothing is tried for long, and nothing is lost.
func TestRealPoisonQueueMissing(t *testing.T) {
	q, poison := realQueues(t)
	missing := azurite.Open(t, azurite.Connection(t), azurite.NewNames().Layout).Queue(poison.Name() + "-no")
	send(t, q)
	l := realClaim(t, q, missing, time.Minute)
	started := time.Now()
	if err := l.Poison(t.Context(), reason.InvalidBasin, "d", "j"); !storage.Missing(err) || time.Since(started) > time.Minute/2 {
		t.Errorf("poison: %v after %v", err, time.Since(started))
	}
	if err := l.Release(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// A message that expires within the work is replaced by one that never does.
func TestRealTimeToLive(t *testing.T) {
	q, poison := realQueues(t)
	service, err := azqueue.NewServiceClientFromConnectionString(azurite.Connection(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	hour := int32(3600)
	sent, err := service.NewQueueClient(q.Name()).EnqueueMessage(t.Context(), text, &azqueue.EnqueueMessageOptions{TimeToLive: &hour})
	if err != nil {
		t.Fatal(err)
	}
	l := realClaim(t, q, poison, time.Minute)
	renewed(t, q, l, 1)
	named := message.WithIdentity(text, *sent.Messages[0].MessageID)
	if n := lengths(t, q.Queue); l.ID() == *sent.Messages[0].MessageID || l.Text() != named || n[0] != 1 {
		t.Errorf("id %s, %d messages", l.ID(), n[0])
	}
	if m, err := q.Receive(t.Context(), time.Minute); m != nil || err != nil {
		t.Fatalf("another worker got %+v, %v", m, err)
	}
	if err := l.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	m, err := q.Receive(t.Context(), time.Minute)
	if err != nil || m == nil || m.Text != named || m.ID != l.ID() || m.ExpiresAt.Before(time.Now().AddDate(100, 0, 0)) {
		t.Errorf("%+v, %v", m, err)
	}
}
