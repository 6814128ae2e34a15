package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// inbox is where done-notices arrive.
type inbox struct {
	store *memory // that the runs are in
	texts []string
	err   error // what it says to the next ones, which do not arrive
	calls int
}

func (b *inbox) notify(ctx context.Context, text string) error {
	if b.calls++; b.err != nil {
		return b.err
	}
	b.texts = append(b.texts, text)
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.writes = append(b.store.writes, "notice")
	return nil
}

// jobs are those the notices are of.
func (b *inbox) jobs(t *testing.T) []string {
	t.Helper()
	jobs := []string{}
	for _, text := range b.texts {
		d, err := message.DecodeDone(text)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, d.JobID)
	}
	return jobs
}

// notified is a request for a job that sends notices.
func (b *inbox) notified(job string) Request {
	req := request("owner of " + job)
	req.JobID, req.Notify, req.Commit = job, b.notify, "c0ffee"
	return req
}

// run runs a job to its end.
func (b *inbox) run(t *testing.T, job string, out Outcome) error {
	t.Helper()
	return mustTake(t, b.store, b.notified(job)).Finish(t.Context(), out)
}

func newInbox() *inbox { return &inbox{store: &memory{}} }

func TestNoticeOrder(t *testing.T) {
	for _, state := range []State{Completed, Failed, Cancelled, TimedOut, Queued} {
		synctest.Test(t, func(t *testing.T) {
			box := newInbox()
			started := time.Now().UTC()
			h := mustTake(t, box.store, box.notified("j"))
			pass(time.Minute)
			n := len(box.store.written())
			seen := 0
			h.req.Notify = func(ctx context.Context, text string) error {
				seen = len(box.store.record(t).Notices)
				return box.notify(ctx, text)
			}
			mustFinish(t, h, Outcome{State: state, Reason: reason.EngineFailed, Detail: "detail"})
			want := []string{"row " + string(state), "record " + string(state), "notice", "record " + string(state)}
			if state == Queued {
				want = want[:2]
			}
			if got := box.store.written()[n:]; !slices.Equal(got, want) {
				t.Errorf("%s: wrote %q, want %q", state, got, want)
			}
			if left := box.store.record(t).Notices; left != nil {
				t.Errorf("%s: %d notices are left", state, len(left))
			}
			if state == Queued {
				return
			}
			if seen != 1 {
				t.Errorf("%d notices were in the record when one was sent", seen)
			}
			got, err := message.DecodeDone(box.texts[0])
			if err != nil {
				t.Fatal(err)
			}
			full := message.Done{Basin: "ohio", Scenario: "42", JobID: "j", RunKey: "key", State: string(state),
				Reason: reason.EngineFailed, Detail: "detail", Attempt: 1, StartedAt: started,
				FinishedAt: started.Add(time.Minute), Commit: "c0ffee"}
			if *got != full {
				t.Errorf("notice %+v\nwant   %+v", *got, full)
			}
		})
	}
}

// Without anybody to tell nothing is kept, but what others kept stays.
func TestNoNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		mustFinish(t, mustTake(t, store, request("a")), Outcome{State: Failed})
		if r := store.record(t); r.Notices != nil {
			t.Errorf("notices %q", r.Notices)
		}
		store.change(t, func(r *Record) { r.Notices = []string{"n"} })
		mustFinish(t, mustTake(t, store, request("a")), Outcome{State: Failed})
		if r := store.record(t); !slices.Equal(r.Notices, []string{"n"}) {
			t.Errorf("notices %q", r.Notices)
		}
		if err := Tell(t.Context(), store, "ohio", "42", nil); err != nil {
			t.Error(err)
		}
	})
}

var errFull = errors.New("queue full")

// A notice that cannot be sent waits, the end of the run stands, and whoever
// comes next sends it: the redelivered message by Tell, another job by Take.
func TestNoticeWaits(t *testing.T) {
	nexts := map[string]func(*testing.T, *inbox) error{
		"Tell": func(t *testing.T, b *inbox) error { return Tell(t.Context(), b.store, "ohio", "42", b.notify) },
		"Take": func(t *testing.T, b *inbox) error {
			mustFinish(t, mustTake(t, b.store, b.notified("k")), Outcome{State: Queued})
			return nil
		},
	}
	for name, next := range nexts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := newInbox()
				box.err = errFull
				err := box.run(t, "j", Outcome{State: Failed, Reason: reason.InvalidBasin})
				if !errors.Is(err, ErrNotTold) || !errors.Is(err, errFull) || reason.Of(err) != reason.StorageUnavailable ||
					!strings.Contains(reason.Detail(err), "RSMS_DONE_QUEUE_NAME") {
					t.Fatalf("Finish: %v", err)
				}
				if r := box.store.record(t); !r.Over() || len(r.Notices) != 1 || box.store.column("Status") != "Failed" {
					t.Errorf("record %+v, status %v", r, box.store.column("Status"))
				}
				for range 3 { // it still does not go
					if err := next(t, box); name == "Tell" && !errors.Is(err, ErrNotTold) {
						t.Errorf("%v", err)
					}
					if r := box.store.record(t); len(r.Notices) != 1 {
						t.Fatalf("notices %q", r.Notices)
					}
				}
				box.err = nil
				for range 3 { // it goes, once
					if err := next(t, box); err != nil {
						t.Error(err)
					}
				}
				if got := box.jobs(t); !slices.Equal(got, []string{"j"}) || box.store.record(t).Notices != nil {
					t.Errorf("sent %q, left %q", got, box.store.record(t).Notices)
				}
			})
		})
	}
}

// The reason of what sends notices is kept.
func TestNoticeReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := newInbox()
		box.err = reason.New(reason.StorageDenied, "no right to write queue done")
		err := box.run(t, "j", Outcome{State: Completed})
		if !errors.Is(err, ErrNotTold) || reason.Of(err) != reason.StorageDenied || reason.Detail(err) != "no right to write queue done" {
			t.Errorf("%v", err)
		}
	})
}

// One notice that cannot be sent keeps no other back; of too many the oldest
// are dropped.
func TestManyNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := newInbox()
		box.err = errFull
		for i := range maxNotices + 3 {
			if err := box.run(t, fmt.Sprint("j", i), Outcome{State: Failed}); !errors.Is(err, ErrNotTold) {
				t.Fatal(err)
			}
		}
		if got := len(box.store.record(t).Notices); got != maxNotices {
			t.Errorf("%d notices wait", got)
		}
		box.err = nil
		first := true
		refuse := func(ctx context.Context, text string) error {
			if first {
				first = false
				return errFull
			}
			return box.notify(ctx, text)
		}
		if err := Tell(t.Context(), box.store, "ohio", "42", refuse); !errors.Is(err, ErrNotTold) {
			t.Errorf("Tell: %v", err)
		}
		if err := Tell(t.Context(), box.store, "ohio", "42", box.notify); err != nil {
			t.Errorf("Tell: %v", err)
		}
		var want []string
		for i := range maxNotices {
			want = append(want, fmt.Sprint("j", 3+i))
		}
		want = append(want[1:], want[0])
		if got := box.jobs(t); !slices.Equal(got, want) {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

// The process dies between the record and the notice, or between the notice and
// the record: it is sent by the next one, at most once more.
func TestNoticeThroughACrash(t *testing.T) {
	tests := []struct {
		name string
		dies func(context.Context, *inbox, string) error // in the place of sending
		want int
	}{
		{"before it is sent", func(ctx context.Context, _ *inbox, _ string) error { <-ctx.Done(); return ctx.Err() }, 1},
		{"after it is sent", func(ctx context.Context, b *inbox, text string) error {
			err := b.notify(ctx, text)
			b.store.failWith(failing("Run", "PutRun"))
			return err
		}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := newInbox()
				req := box.notified("j")
				req.Notify = func(ctx context.Context, text string) error { return tt.dies(ctx, box, text) }
				h := mustTake(t, box.store, req)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := h.Finish(ctx, Outcome{State: Completed})
				if got := errors.Is(err, ErrNotTold); got != (tt.want == 1) || !got && err != nil {
					t.Errorf("Finish: %v", err)
				}
				box.store.failWith(nil)
				if r := box.store.record(t); r.State != Completed || len(r.Notices) != 1 {
					t.Fatalf("record %+v", r)
				}
				for _, job := range []string{"k", "l"} {
					if err := box.run(t, job, Outcome{State: Completed}); err != nil {
						t.Error(err)
					}
				}
				want := append(slices.Repeat([]string{"j"}, tt.want), "k", "l")
				if got := box.jobs(t); !slices.Equal(got, want) {
					t.Errorf("sent %q, want %q", got, want)
				}
			})
		})
	}
}

// The answer to the write of the end is lost and Finish is called again: there
// is one notice, of the end that stands.
func TestNoticeOfTwoFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := newInbox()
		h := mustTake(t, box.store, box.notified("j"))
		box.store.afterPut = errDown
		if err := h.Finish(t.Context(), Outcome{State: Completed}); reason.Of(err) != reason.StorageUnavailable || box.calls != 0 {
			t.Errorf("Finish: %v, %d notices", err, box.calls)
		}
		box.store.afterPut = nil
		pass(10 * time.Second)
		if err := h.Finish(t.Context(), Outcome{State: Failed, Reason: reason.Internal}); err != nil {
			t.Error(err)
		}
		if len(box.texts) != 1 || box.store.record(t).Notices != nil {
			t.Fatalf("%d notices, left %q", len(box.texts), box.store.record(t).Notices)
		}
		if d, err := message.DecodeDone(box.texts[0]); err != nil || d.State != string(Failed) {
			t.Errorf("notice %+v, %v", d, err)
		}
	})
}

// A row that is gone does not keep the notice back, and both are told of.
func TestNoticeWithoutARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := newInbox()
		h := mustTake(t, box.store, box.notified("j"))
		box.store.noRow, box.err = true, errFull
		err := h.Finish(t.Context(), Outcome{State: Completed})
		if !errors.Is(err, storage.ErrNotFound) || !errors.Is(err, ErrNotTold) {
			t.Errorf("%v", err)
		}
		if r := box.store.record(t); r.State != Completed || len(r.Notices) != 1 {
			t.Errorf("record %+v", r)
		}
	})
}

// Others write while a notice is on its way: it is taken out of what they made
// of the record, be it the run of another owner.
func TestNoticeAgainstOthers(t *testing.T) {
	others := map[string]func(*testing.T, *memory) *Hold{
		"a message that waits": func(t *testing.T, m *memory) *Hold {
			if err := Snooze(t.Context(), m, "ohio", "42", "m"); err != nil {
				t.Error(err)
			}
			return nil
		},
		"the next owner": func(t *testing.T, m *memory) *Hold {
			req := request("b")
			req.JobID = "k"
			return mustTake(t, m, req)
		},
	}
	for name, other := range others {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := newInbox()
				req := box.notified("j")
				var next *Hold
				req.Notify = func(ctx context.Context, text string) error {
					next = other(t, box.store)
					return box.notify(ctx, text)
				}
				mustFinish(t, mustTake(t, box.store, req), Outcome{State: Completed})
				if next != nil {
					pass(2 * lease) // its renewals do not bring it back
					mustFinish(t, next, Outcome{State: Completed})
				} else if got := box.store.record(t).Snoozed["m"]; got != 1 {
					t.Errorf("the message was counted %d times", got)
				}
				if left := box.store.record(t).Notices; left != nil || len(box.texts) != 1 {
					t.Errorf("sent %d, left %q", len(box.texts), left)
				}
			})
		})
	}
}

// What an earlier run left is sent before Take returns. A queue that gives no
// answer costs a part of the lease and no more.
func TestTakeSendsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := newInbox()
		box.err = errFull
		if err := box.run(t, "j", Outcome{State: Failed}); !errors.Is(err, ErrNotTold) {
			t.Fatal(err)
		}
		req := box.notified("k")
		req.Notify = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		h := mustTake(t, box.store, req)
		if took := time.Since(began); took != lease/6 {
			t.Errorf("Take took %v", took)
		}
		pass(3 * lease)
		if err := h.Err(); err != nil || len(box.store.record(t).Notices) != 1 {
			t.Errorf("%v, %d wait", err, len(box.store.record(t).Notices))
		}
		mustFinish(t, h, Outcome{State: Queued})
		box.err = nil
		h = mustTake(t, box.store, box.notified("k"))
		if got := box.jobs(t); !slices.Equal(got, []string{"j"}) || box.store.record(t).Notices != nil {
			t.Errorf("sent %q, left %q", got, box.store.record(t).Notices)
		}
		mustFinish(t, h, Outcome{State: Completed})
		// It is sent, and the record cannot be told: the run goes on.
		box.store.change(t, func(r *Record) { r.Notices = box.texts[:1] })
		req = box.notified("l")
		req.Notify = func(ctx context.Context, text string) error {
			box.store.failWith(failing("PutRun"))
			return box.notify(ctx, text)
		}
		h = mustTake(t, box.store, req)
		box.store.failWith(nil)
		pass(2 * lease)
		if err := h.Err(); err != nil || len(box.store.record(t).Notices) != 1 {
			t.Errorf("%v, %d wait", err, len(box.store.record(t).Notices))
		}
		mustFinish(t, h, Outcome{State: Queued})
	})
}

func TestTellWhereThereIsNothing(t *testing.T) {
	box := newInbox()
	for _, data := range []string{"", "?", "{}"} {
		box.store.data, box.store.etag = []byte(data), len(data)
		if err := Tell(t.Context(), box.store, "ohio", "42", box.notify); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	}
	box.store.fail = failing("Run")
	if err := Tell(t.Context(), box.store, "ohio", "42", box.notify); reason.Of(err) != reason.StorageUnavailable || errors.Is(err, ErrNotTold) {
		t.Errorf("store down: %v", err)
	}
	if box.calls != 0 || len(box.store.written()) != 0 {
		t.Errorf("%d notices, wrote %q", box.calls, box.store.written())
	}
}
