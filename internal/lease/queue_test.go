package lease

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// queue is a queue in memory, with receipts as a real one has them.
type queue struct {
	mu       sync.Mutex
	messages []*stored
	number   int      // of the last id or receipt
	done     []string // calls that were carried out
	// before is asked ahead of each call (op is Receive, Update, Delete, Send
	// or Peek); it may wait. after comes when the call was carried out: an
	// answer lost or late. Nil lets all pass.
	before, after func(ctx context.Context, op string) error
}

type stored struct {
	storage.QueueMessage
	visible time.Time
}

func (q *queue) call(ctx context.Context, op string, do func() error) error {
	q.mu.Lock()
	before, after := q.before, q.after
	q.mu.Unlock()
	if before != nil {
		if err := before(ctx, op); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q.mu.Lock()
	q.messages = slices.DeleteFunc(q.messages, func(m *stored) bool { return !m.ExpiresAt.IsZero() && !time.Now().Before(m.ExpiresAt) })
	err := do()
	if err == nil {
		q.done = append(q.done, op)
	}
	q.mu.Unlock()
	if err == nil && after != nil {
		return after(ctx, op)
	}
	return err
}

func (q *queue) name() string {
	q.number++
	return fmt.Sprint("n", q.number)
}

func (q *queue) Receive(ctx context.Context, visibility time.Duration) (got *storage.QueueMessage, err error) {
	err = q.call(ctx, "Receive", func() error {
		for _, m := range q.messages {
			if !time.Now().Before(m.visible) {
				m.Receipt, m.visible = q.name(), time.Now().Add(visibility)
				m.DequeueCount++
				copied := m.QueueMessage
				got = &copied
				break
			}
		}
		return nil
	})
	return got, err
}

func (q *queue) find(id, receipt string) (*stored, error) {
	for _, m := range q.messages {
		if m.ID == id && m.Receipt == receipt {
			return m, nil
		}
	}
	return nil, storage.ErrNotFound
}

func (q *queue) Update(ctx context.Context, id, receipt, text string, visibility time.Duration) (string, error) {
	fresh := ""
	err := q.call(ctx, "Update", func() error {
		m, err := q.find(id, receipt)
		if err == nil {
			m.Receipt, m.Text, m.visible = q.name(), text, time.Now().Add(visibility)
			fresh = m.Receipt
		}
		return err
	})
	return fresh, err
}

func (q *queue) Delete(ctx context.Context, id, receipt string) error {
	return q.call(ctx, "Delete", func() error {
		m, err := q.find(id, receipt)
		q.messages = slices.DeleteFunc(q.messages, func(other *stored) bool { return other == m })
		return err
	})
}

func (q *queue) Send(ctx context.Context, text string, hidden time.Duration) (sent *storage.QueueMessage, err error) {
	err = q.call(ctx, "Send", func() error {
		m := storage.QueueMessage{ID: q.name(), Receipt: q.name(), Text: text,
			InsertedAt: time.Now(), ExpiresAt: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
		q.messages = append(q.messages, &stored{m, time.Now().Add(hidden)})
		sent = &m
		return nil
	})
	return sent, err
}

func (q *queue) Peek(ctx context.Context, n int) (list []storage.QueueMessage, err error) {
	err = q.call(ctx, "Peek", func() error {
		for _, m := range q.messages {
			if !time.Now().Before(m.visible) && len(list) < n {
				peeked := m.QueueMessage
				peeked.Receipt = ""
				list = append(list, peeked)
			}
		}
		return nil
	})
	return list, err
}

func (q *queue) failWith(before, after func(context.Context, string) error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.before, q.after = before, after
}

// all are the messages as they stand.
func (q *queue) all() []stored {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []stored
	for _, m := range q.messages {
		list = append(list, *m)
	}
	return list
}

func (q *queue) calls(op string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, done := range q.done {
		if done == op {
			n++
		}
	}
	return n
}

// remove is what an operator does who clears the queue.
func (q *queue) remove() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = nil
}

var (
	errDown   = &reason.Error{Code: reason.StorageUnavailable, Detail: "the queue is down"}
	errDenied = &reason.Error{Code: reason.StorageDenied, Detail: "no right"}
)

// failing lets the named calls fail.
func failing(err error, ops ...string) func(context.Context, string) error {
	return func(_ context.Context, op string) error {
		if slices.Contains(ops, op) {
			return err
		}
		return nil
	}
}

// failingFor is failing for the first n of the named calls.
func failingFor(n int, err error, op string) func(context.Context, string) error {
	return func(_ context.Context, called string) error {
		if called == op && n > 0 {
			n--
			return err
		}
		return nil
	}
}

// silent lets the named calls wait for the end of their context.
func silent(ops ...string) func(context.Context, string) error {
	return func(ctx context.Context, op string) error {
		if slices.Contains(ops, op) {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	}
}

const visibility = 2 * time.Minute

const text = "  {\"riverbasin_id\": \"ohio\",\r\n\"scenario_id\": 42, \"note\": \"\u00e9\\u00e9\"}\t\n"

// bench is a queue with one message, a poison queue and what is logged.
type bench struct {
	queue, poison *queue
	log           journal
	sent          *storage.QueueMessage
}

// journal is what was logged, to be read while it grows.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{queue: &queue{}, poison: &queue{}}
	var err error
	if b.sent, err = b.queue.Send(t.Context(), text, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) options() Options {
	return Options{Queue: b.queue, Poison: b.poison, Visibility: visibility, Needs: 2 * time.Hour, Answer: time.Minute,
		Log: slog.New(slog.NewTextHandler(&b.log, nil))}
}

// claim takes the message of b, lets its first renewal pass, and cleans up
// after the test.
func (b *bench) claim(t *testing.T) *Lease {
	t.Helper()
	l, err := Claim(t.Context(), b.options())
	if err != nil || l == nil {
		t.Fatalf("%v, %v", l, err)
	}
	t.Cleanup(l.Abandon)
	synctest.Wait()
	return l
}

func (b *bench) logged(words string) bool { return strings.Contains(b.log.String(), words) }

// taken lets another worker receive the message, if it can.
func (b *bench) taken(t *testing.T) bool {
	t.Helper()
	m, err := b.queue.Receive(t.Context(), visibility)
	if err != nil {
		t.Fatal(err)
	}
	return m != nil
}

// pass lets time go by on the clock of the bubble, until all that falls due in
// it is done.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until is whether the context ends before d is over.
func until(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(d):
		return false
	}
}

// lostNow checks that l is lost and that its context says so.
func lostNow(t *testing.T, l *Lease) {
	t.Helper()
	if reason.Of(l.Err()) != reason.LeaseLost || reason.Of(context.Cause(l.Context())) != reason.LeaseLost {
		t.Errorf("error %v, cause %v", l.Err(), context.Cause(l.Context()))
	}
}

func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
