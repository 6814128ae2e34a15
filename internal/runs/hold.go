package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// watchInterval is how often the cancel flag is looked at and progress written.
const watchInterval = 2 * time.Second

// Hold is the ownership of one scenario. Its context ends, with a
// *reason.Error as the cause, when the ownership is lost or a user cancels; a
// cancelled run is still owned until Finish.
type Hold struct {
	Context context.Context

	store  Store
	req    Request
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // ends both goroutines
	done   sync.WaitGroup

	// etag and notice are used by one goroutine after the other: Take, watch,
	// Finish. notice is the one of our own end that the record may have.
	etag, notice string

	// mu is never held while the store works, so that Err and Progress answer
	// at once however slow the store is.
	mu       sync.Mutex
	record   Record
	told     progress  // what the scenario row shows
	deadline time.Time // wall clock: the end of the lease as last written
	lost     error
}

type progress struct {
	step    string
	percent float64
}

// start begins to watch over the ownership.
func (h *Hold) start(ctx context.Context) {
	h.told = progress{h.record.Step, h.record.Progress}
	h.Context, h.cancel = context.WithCancelCause(ctx)
	if h.record.CancelRequested {
		h.cancel(cancelled())
	}
	// The scenario is held while the run hands back what it has, so ctx does
	// not end the renewal; Finish does.
	watched, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	for _, watch := range []func(context.Context){h.watch, h.watchClock} {
		h.done.Go(func() {
			defer h.rescue()
			watch(watched)
		})
	}
}

func cancelled() error { return reason.New(reason.Cancelled, "cancelled by a user") }

// Attempt is which run of the same work this is, from 1.
func (h *Hold) Attempt() int { return h.snapshot().Attempt }

// StartedAt is when this run took the scenario, in whole seconds UTC.
func (h *Hold) StartedAt() time.Time { return h.snapshot().StartedAt }

func (h *Hold) snapshot() Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.record
}

// Progress notes how far the run is; the record follows within seconds.
func (h *Hold) Progress(step string, percent float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.record.Step, h.record.Progress = step, percent
}

// Err returns why the ownership is gone, nil while it stands: the record was
// lost, or what Request.Held says. It reads the wall clock, so a suspended
// machine does not wake up as an owner. What is lost stays lost.
func (h *Hold) Err() error {
	held := h.req.held() // without mu: it may lock something itself
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.lost != nil:
	case !wall().Before(h.deadline):
		h.lost = reason.New(reason.LeaseLost, "the lease on scenario %s of basin %s ran out", h.req.Scenario, h.req.Basin)
	default:
		h.lost = held
	}
	return h.lost
}

// Outcome is how a run ended.
type Outcome struct {
	State  State
	Reason reason.Code
	Detail string
}

// Finish stops the renewal and writes the end of the run: first the scenario
// row, then the record. It refuses when the ownership is lost. After an error
// of the store it may be called again while the lease lasts. Where the row is
// gone or broken the record is written all the same, and the error says so.
//
// The record of a run that will not be tried again is written together with
// its done-notice, which is then sent and taken out of the record. After
// ErrNotTold the end stands and the notice waits in the record: see Tell.
func (h *Hold) Finish(ctx context.Context, out Outcome) error {
	h.stop()
	h.done.Wait()
	defer h.cancel(context.Canceled)
	if r := h.snapshot(); !r.State.mayBecome(out.State) {
		return fmt.Errorf("a run cannot go from %s to %s", r.State, out.State)
	}
	if err := h.Err(); err != nil {
		return err
	}
	untold, err := h.end(ctx, out, wall())
	if err != nil {
		return errors.Join(err, untold)
	}
	return errors.Join(untold, h.sendOwn(ctx))
}

// end writes that the run ended. Where somebody came between, the scenario row
// is told again: it may have been told something else meanwhile. untold says
// that it cannot be told at all, which must not keep the scenario owned.
func (h *Hold) end(ctx context.Context, out Outcome, now time.Time) (untold, err error) {
	for range rounds {
		// Nobody watches any more, and the scenario row has no condition of its own.
		if err := h.refresh(ctx); err != nil {
			return untold, err
		}
		r := h.snapshot()
		r.end(out, now)
		untold = h.tell(ctx, r.Columns())
		if untold != nil && !unwritable(untold) {
			return nil, untold
		}
		h.leaveNotice(&r)
		h.leaveEnd(&r)
		if err := h.put(ctx, &r); !errors.Is(err, storage.ErrConflict) {
			return untold, err
		}
	}
	return untold, changing(h.req.Basin, h.req.Scenario)
}

// unwritable reports whether a scenario row cannot be written however often it
// is tried: somebody removed it or left it broken.
func unwritable(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || len(reason.Faults(err)) > 0
}

// end turns the record of a running run into that of one that ended.
func (r *Record) end(out Outcome, now time.Time) {
	r.State, r.Reason, r.Detail, r.LeaseUntil = out.State, out.Reason, out.Detail, now
	if out.State.over() {
		finished := now.Truncate(time.Second)
		r.FinishedAt = &finished
	}
	if out.State == Completed {
		r.Step, r.Progress = "done", 100
	}
}

// leaveEnd puts what the queue message of the run came to into r.
func (h *Hold) leaveEnd(r *Record) {
	if h.req.Message == "" || !r.Over() {
		return
	}
	r.Ended = slices.DeleteFunc(slices.Clone(r.Ended), func(e End) bool { return e.Message == h.req.Message })
	r.Ended = append(r.Ended, End{Message: h.req.Message, State: r.State, Reason: r.Reason, Detail: r.Detail})
	r.Ended = r.Ended[max(0, len(r.Ended)-maxEnded):]
	r.Snoozed = maps.Clone(r.Snoozed)
	delete(r.Snoozed, h.req.Message)
}

// rescue turns a panic of a watcher into the end of the run: the process would
// die of it with the exit code of bad flags, and the row would say Running.
func (h *Hold) rescue() {
	if p := recover(); p != nil {
		h.cancel(&reason.Error{Code: reason.Internal, Detail: "internal error; the log has the stack",
			Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())})
	}
}

// watch renews the lease, writes progress and looks at the cancel flag until
// it is stopped or the ownership is lost.
func (h *Hold) watch(ctx context.Context) {
	tick := time.NewTicker(h.interval())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A lease that ran out is not taken up again, even if nobody else did.
		var err error
		if h.Err() == nil {
			err = h.beat(ctx)
		}
		if lost := h.Err(); lost != nil {
			h.cancel(lost)
			return
		}
		if err != nil && ctx.Err() == nil {
			h.req.Log.Warn("run record not kept up, trying again", "error", err)
		}
		if h.snapshot().CancelRequested {
			h.cancel(cancelled())
		}
	}
}

// watchClock ends the context when the lease runs out, also while the store
// gives no answer to watch.
func (h *Hold) watchClock(ctx context.Context) {
	tick := time.NewTicker(h.interval())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := h.Err(); err != nil {
			h.cancel(err)
			h.stop()
			return
		}
	}
}

func (h *Hold) interval() time.Duration { return min(watchInterval, h.req.Lease/6) }

// beat is one round of watch: it writes when the lease or the progress asks
// for it and looks at the record otherwise. A store that does not answer gets
// a third of the lease, which leaves time for another try.
func (h *Hold) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.req.Lease/3)
	defer cancel()
	h.mu.Lock()
	now := progress{h.record.Step, h.record.Progress}
	moved := now.step != h.told.step || now.percent >= h.told.percent+1
	due := h.deadline.Sub(wall()) <= h.req.Lease*2/3
	h.mu.Unlock()
	if !moved && !due {
		return h.refresh(ctx)
	}
	if err := h.write(ctx, func(r *Record) { r.LeaseUntil = wall().Add(h.req.Lease) }); err != nil {
		return err
	}
	if !moved {
		return nil
	}
	if err := h.tell(ctx, map[string]any{"Step": now.step, "Progress": now.percent}); err != nil {
		return err
	}
	h.mu.Lock()
	h.told = now
	h.mu.Unlock()
	return nil
}

// write puts the record with a change. Where somebody came between, it is read
// and changed again.
func (h *Hold) write(ctx context.Context, change func(*Record)) error {
	for range rounds {
		r := h.snapshot()
		change(&r)
		if err := h.put(ctx, &r); !errors.Is(err, storage.ErrConflict) {
			return err
		}
		if err := h.refresh(ctx); err != nil {
			return err
		}
	}
	return changing(h.req.Basin, h.req.Scenario)
}

// refresh reads the record again: somebody may have left something in it for
// the owner or for others, which changes the ETag, or may have taken over.
func (h *Hold) refresh(ctx context.Context) error {
	now, etag, err := read(ctx, h.store, h.req.Basin, h.req.Scenario)
	if err != nil && etag == "" && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || now.Owner != h.record.Owner || now.Generation != h.record.Generation {
		if h.lost == nil {
			h.lost = reason.New(reason.LeaseLost, "scenario %s of basin %s was taken over by another owner", h.req.Scenario, h.req.Basin)
		}
		return h.lost
	}
	h.etag = etag
	h.record.CancelRequested, h.record.CancelAt = now.CancelRequested, now.CancelAt
	h.record.Notices, h.record.Snoozed = now.Notices, now.Snoozed
	h.record.Cancels, h.record.Ended, h.record.Waiting = now.Cancels, now.Ended, now.Waiting
	return nil
}

// put writes r under the ETag last seen and, once it is written, believes it.
// Step and progress are left alone: they may have moved on meanwhile.
func (h *Hold) put(ctx context.Context, r *Record) error {
	if err := h.Err(); err != nil {
		return err
	}
	etag, err := put(storage.Fenced(ctx, h.Err), h.store, h.req.Basin, h.req.Scenario, r, h.etag)
	if err != nil {
		return err
	}
	h.etag = etag
	h.mu.Lock()
	defer h.mu.Unlock()
	step, percent := h.record.Step, h.record.Progress
	h.record, h.deadline = *r, r.LeaseUntil
	h.record.Step, h.record.Progress = step, percent
	return nil
}

// tell merges columns into the scenario row.
func (h *Hold) tell(ctx context.Context, columns map[string]any) error {
	if err := h.Err(); err != nil {
		return err
	}
	return tell(storage.Fenced(ctx, h.Err), h.store, h.req.Basin, h.req.Scenario, columns)
}

// wall is the time without the monotonic reading, which stands still while a
// machine is suspended.
func wall() time.Time { return time.Now().Round(0).UTC() }
