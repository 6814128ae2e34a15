package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// memoryQueue is a queue whose calls can be made to fail.
type memoryQueue struct {
	mu       sync.Mutex
	messages []*hiddenMessage
	named    int
	fail     func(op string) error // nil for none
}

type hiddenMessage struct {
	storage.QueueMessage
	until time.Time
}

func (q *memoryQueue) name() string {
	q.named++
	return fmt.Sprintf("n%d", q.named)
}

// enter takes the lock and returns the fault of the call.
func (q *memoryQueue) enter(op string) error {
	q.mu.Lock()
	if q.fail == nil {
		return nil
	}
	return q.fail(op)
}

func (q *memoryQueue) held(id, receipt string) (int, error) {
	i := slices.IndexFunc(q.messages, func(m *hiddenMessage) bool { return m.ID == id && m.Receipt == receipt })
	if i < 0 {
		return 0, storage.ErrNotFound
	}
	return i, nil
}

func (q *memoryQueue) Receive(_ context.Context, visibility time.Duration) (*storage.QueueMessage, error) {
	defer q.mu.Unlock()
	if err := q.enter("Receive"); err != nil {
		return nil, err
	}
	for _, m := range q.messages {
		if time.Now().Before(m.until) {
			continue
		}
		m.Receipt, m.until = q.name(), time.Now().Add(visibility)
		m.DequeueCount++
		taken := m.QueueMessage
		return &taken, nil
	}
	return nil, nil
}

func (q *memoryQueue) Update(_ context.Context, id, receipt, text string, visibility time.Duration) (string, error) {
	defer q.mu.Unlock()
	if err := q.enter("Update"); err != nil {
		return "", err
	}
	i, err := q.held(id, receipt)
	if err != nil {
		return "", err
	}
	m := q.messages[i]
	m.Receipt, m.Text, m.until = q.name(), text, time.Now().Add(visibility)
	return m.Receipt, nil
}

func (q *memoryQueue) Delete(_ context.Context, id, receipt string) error {
	defer q.mu.Unlock()
	if err := q.enter("Delete"); err != nil {
		return err
	}
	i, err := q.held(id, receipt)
	if err == nil {
		q.messages = slices.Delete(q.messages, i, i+1)
	}
	return err
}

func (q *memoryQueue) Send(_ context.Context, text string, hidden time.Duration) (*storage.QueueMessage, error) {
	defer q.mu.Unlock()
	if err := q.enter("Send"); err != nil {
		return nil, err
	}
	now := time.Now()
	m := storage.QueueMessage{ID: q.name(), Receipt: q.name(), Text: text, InsertedAt: now.UTC().Truncate(time.Second), ExpiresAt: now.AddDate(100, 0, 0)}
	q.messages = append(q.messages, &hiddenMessage{m, now.Add(hidden)})
	return &m, nil
}

func (q *memoryQueue) Peek(_ context.Context, n int) (list []storage.QueueMessage, err error) {
	defer q.mu.Unlock()
	if err := q.enter("Peek"); err != nil {
		return nil, err
	}
	for _, m := range q.messages {
		list = append(list, m.QueueMessage)
	}
	return list[:min(n, len(list))], nil
}

func (q *memoryQueue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}

// desk is a queue, a poison queue, a store with one scenario, and what workers
// on them have told.
type desk struct {
	*testing.T
	dir           string
	store         *storage.Folder
	queue, poison *memoryQueue
	lease         time.Duration
	change        func(*Job) // nil for none
	notices       []string
	workers       int
}

func newDesk(t *testing.T) *desk {
	d := &desk{T: t, dir: writeChannel(t), queue: &memoryQueue{}, poison: &memoryQueue{}, lease: 10 * time.Second}
	var err error
	if d.store, err = storage.OpenFolder(d.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.store.Close() })
	return d
}

// order puts message M of the scenario on the queue, sent an hour ago, which
// expires after a time and was delivered so often.
func (d *desk) order(expires time.Duration, delivered int64) {
	d.queue.messages = append(d.queue.messages, &hiddenMessage{storage.QueueMessage{ID: "M", Text: `{"riverbasin_id":"channel","scenario_id":"s1"}`,
		InsertedAt: time.Now().Add(-time.Hour).Truncate(time.Second), ExpiresAt: time.Now().Add(expires), DequeueCount: delivered}, time.Time{}})
}

const never = 1000 * time.Hour

// queued says that message M waits, since it was sent.
func (d *desk) queued() {
	d.Helper()
	if _, err := runs.Queue(d.Context(), d.store, "channel", "s1", "M", "", time.Now().Add(-time.Hour)); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) cancel(at time.Time) {
	d.Helper()
	if _, err := runs.Cancel(context.Background(), d.store, "channel", "s1", at); err != nil {
		d.Error(err)
	}
}

// next lets a worker take the next message; whatever is hidden is visible again.
func (d *desk) next() error {
	d.Helper()
	for _, m := range d.queue.messages {
		m.until = time.Time{}
	}
	d.workers++
	_, err := d.worker().Next(d.Context())
	return err
}

func (d *desk) worker() *Worker {
	quiet, owner := slog.New(slog.DiscardHandler), fmt.Sprint("worker ", d.workers)
	return &Worker{Queue: d.queue, Poison: d.poison, Lease: d.lease, Attempts: 5, RetryDelay: func(int) time.Duration { return 0 },
		JobTimeout: 2 * time.Hour, Patience: Patience{Deadline: 5 * time.Second, Log: quiet}, Answer: time.Second, Run: owner, Log: quiet,
		Look: func(context.Context) (bool, error) { return true, nil },
		Job: func(log *slog.Logger) *Job {
			j := jobOn(d, d.dir)
			j.Owner, j.Log, j.Lease, j.Notify = owner, log, d.lease, func(_ context.Context, text string) error {
				notice, err := message.DecodeDone(text)
				if err == nil {
					d.notices = append(d.notices, notice.JobID+" "+notice.State)
				}
				return err
			}
			if d.change != nil {
				d.change(j)
			}
			return j
		}}
}

// is checks everything that tells of a message behind its end.
func (d *desk) is(row string, queue, poison int, notices ...string) {
	d.Helper()
	columns, err := d.store.Scenario(d.Context(), "channel", "s1")
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		d.Fatal(err)
	}
	if got := fmt.Sprint(columns["Status"], " ", columns["Reason"]); err == nil && got != row {
		d.Errorf("the row says %q, want %q", got, row)
	}
	if got := []int{d.queue.length(), d.poison.length()}; !slices.Equal(got, []int{queue, poison}) {
		d.Errorf("%d messages in the queue and in the poison queue, want %d and %d", got, queue, poison)
	}
	if !slices.Equal(d.notices, notices) {
		d.Errorf("told %q, want %q", d.notices, notices)
	}
}

func (d *desk) ends(err error, want reason.Code) {
	d.Helper()
	if got := reason.Of(err); got != want {
		d.Errorf("it ended with %v (%s), want %q", err, got, want)
	}
}

// A message that was replaced by a copy, because it would expire, is the same
// message: what it came to, what was asked of it and how often it waited count.
func TestCopyIsTheMessage(t *testing.T) {
	t.Run("ended", func(t *testing.T) {
		d := newDesk(t)
		d.order(time.Hour, 0)
		d.queued()
		d.cancel(time.Now())
		deleted := 0
		d.queue.fail = func(op string) error {
			if op != "Delete" {
				return nil
			}
			if deleted++; deleted == 1 {
				return nil // the original
			}
			return reason.New(reason.StorageDenied, "as if it had died")
		}
		d.ends(d.next(), reason.Cancelled)
		d.queue.fail = nil
		d.ends(d.next(), reason.Cancelled)
		d.is("Cancelled cancelled", 0, 0, "M Cancelled")
	})
	t.Run("ended before it was copied", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		d.cancel(time.Now())
		d.queue.fail = func(op string) error {
			if op == "Delete" {
				return reason.New(reason.StorageDenied, "as if it had died")
			}
			return nil
		}
		d.ends(d.next(), reason.Cancelled)
		d.queue.fail = nil
		d.queue.messages[0].ExpiresAt = time.Now().Add(time.Hour)
		d.ends(d.next(), reason.Cancelled)
		d.is("Cancelled cancelled", 0, 0, "M Cancelled")
	})
	t.Run("cancelled before it was copied", func(t *testing.T) {
		d := newDesk(t)
		d.order(time.Hour, 0)
		d.queued()
		d.cancel(time.Now().Add(-30 * time.Minute))
		other, err := runs.Take(t.Context(), d.store, runs.Request{Basin: "channel", Scenario: "s1", JobID: "X", RunKey: "k", Owner: "x", Lease: time.Minute,
			Message: "X", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		d.ends(d.next(), reason.Busy)
		if err := other.Finish(t.Context(), runs.Outcome{State: runs.Failed, Reason: reason.InvalidFlows}); err != nil {
			t.Fatal(err)
		}
		d.ends(d.next(), reason.Cancelled)
		d.is("Cancelled cancelled", 0, 0, "M Cancelled")
	})
	t.Run("waited", func(t *testing.T) {
		d := newDesk(t)
		d.order(time.Hour, 6)
		d.queued()
		for range 6 {
			if err := runs.Snooze(t.Context(), d.store, "channel", "s1", "M"); err != nil {
				t.Fatal(err)
			}
		}
		d.ends(d.next(), "")
		d.is("Completed ", 0, 0, "M Completed")
	})
}

// faultyRuns fails as it is told.
type faultyRuns struct {
	*storage.Folder
	run, merge func() error
}

func (f faultyRuns) Run(ctx context.Context, basin, scenario string) ([]byte, string, error) {
	if f.run != nil {
		if err := f.run(); err != nil {
			return nil, "", err
		}
	}
	return f.Folder.Run(ctx, basin, scenario)
}

func (f faultyRuns) MergeScenario(ctx context.Context, basin, scenario string, columns map[string]any) error {
	if f.merge != nil {
		if err := f.merge(); err != nil {
			return err
		}
	}
	return f.Folder.MergeScenario(ctx, basin, scenario, columns)
}

// A cancelled job whose end cannot be written is told of all the same.
func TestCancelledAndDenied(t *testing.T) {
	d := newDesk(t)
	d.order(never, 0)
	d.queued()
	d.cancel(time.Now())
	taken := false
	d.change = func(j *Job) {
		j.Runs = faultyRuns{Folder: d.store, merge: func() error {
			if !taken {
				taken = true
				return nil
			}
			return reason.New(reason.StorageDenied, "no right to write table Scenarios")
		}}
	}
	d.ends(d.next(), reason.Cancelled)
	d.is("Running ", 0, 0, "M Cancelled")
	if r, err := runs.Read(t.Context(), d.store, "channel", "s1"); err != nil || r.State != runs.Cancelled {
		t.Errorf("the record says %+v, %v", r, err)
	}
}

// Where the record cannot be read, at whichever delivery, the row tells the end.
func TestRecordDenied(t *testing.T) {
	for delivered := range int64(2) {
		d := newDesk(t)
		d.order(never, delivered)
		d.queued()
		d.change = func(j *Job) {
			j.Runs = faultyRuns{Folder: d.store, run: func() error { return reason.New(reason.StorageDenied, "no right to read table Runs") }}
		}
		d.ends(d.next(), reason.StorageDenied)
		d.is("Failed storage_denied", 0, 1, "M Failed")
	}
}

// A scenario that is gone, or whose row takes no more columns, ends the message
// at once, also where a result was made.
func TestRowCannotBeTold(t *testing.T) {
	t.Run("gone behind the result", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 5)
		if _, err := jobOn(t, d.dir).Run(t.Context(), messageOf("channel", "s1", false), "M"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(d.dir, "tables/Scenarios/channel/s1.json")); err != nil {
			t.Fatal(err)
		}
		d.ends(d.next(), reason.ScenarioNotFound)
		d.is("", 0, 1, "M Failed")
	})
	t.Run("full", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.change = func(j *Job) {
			j.Runs = faultyRuns{Folder: d.store, merge: func() error {
				return &reason.Fault{File: "s1 in table Scenarios", Problem: "has more columns than a table can hold"}
			}}
		}
		d.ends(d.next(), reason.InvalidScenario)
		d.is("<nil> <nil>", 0, 1, "M Failed")
	})
}

// Who may send to the poison queue need not be allowed to look into it.
func TestPoisonQueueUnseen(t *testing.T) {
	d := newDesk(t)
	d.order(never, 0)
	if err := os.Remove(filepath.Join(d.dir, "tables/Scenarios/channel/s1.json")); err != nil {
		t.Fatal(err)
	}
	d.poison.fail = func(op string) error {
		if op == "Peek" {
			return reason.New(reason.StorageDenied, "no right to look into the queue")
		}
		return nil
	}
	d.ends(d.next(), reason.ScenarioNotFound)
	d.is("", 0, 1, "M Failed")
}

// Somebody who asked for a job and was suspended before the row was told finds
// that it is over.
func TestQueuedTooLate(t *testing.T) {
	d := newDesk(t)
	d.order(never, 0)
	d.ends(d.next(), "")
	d.queued()
	d.is("Completed ", 0, 0, "M Completed")
}

// The notice of a cancelled job is sent by its own message, not by the next one
// of the scenario, which may never come.
func TestNoticeOfACancelledJob(t *testing.T) {
	d := newDesk(t)
	d.order(never, 0)
	d.queued()
	d.cancel(time.Now())
	down := true
	d.change = func(j *Job) {
		send := j.Notify
		j.Notify = func(ctx context.Context, text string) error {
			if down {
				return reason.New(reason.StorageUnavailable, "down for a while")
			}
			return send(ctx, text)
		}
	}
	d.ends(d.next(), reason.StorageUnavailable)
	d.is("Cancelled cancelled", 1, 0)
	down = false
	d.ends(d.next(), reason.Cancelled)
	d.is("Cancelled cancelled", 0, 0, "M Cancelled")
}

// silentInputs gives no answer any more after so many.
type silentInputs struct {
	Inputs
	left   int
	silent chan<- struct{}
}

func (s *silentInputs) Scenario(ctx context.Context, basin, scenario string) (map[string]any, error) {
	if s.left--; s.left >= 0 {
		return s.Inputs.Scenario(ctx, basin, scenario)
	}
	if s.left == -1 {
		close(s.silent)
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A stop signal is heard while an end is recorded, and leaves the grace.
func TestStoppedWhileAnEndIsRecorded(t *testing.T) {
	d := newDesk(t)
	d.order(never, 0)
	if err := os.Remove(filepath.Join(d.dir, "tables/Scenarios/channel/s1.json")); err != nil {
		t.Fatal(err)
	}
	silent := make(chan struct{})
	inputs := &silentInputs{left: 2, silent: silent}
	d.lease = 5 * time.Minute // nothing but the signal can end it in time
	d.change = func(j *Job) { inputs.Inputs, j.Inputs = j.Inputs, inputs }
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	go func() {
		<-silent
		stop(reason.New(reason.Shutdown, "terminated"))
	}()
	if _, err := d.worker().Next(ctx); err == nil {
		t.Error("no error")
	}
	if d.queue.length()+d.poison.length() != 1 {
		t.Errorf("%d messages in the queue, %d in the poison queue", d.queue.length(), d.poison.length())
	}
}
