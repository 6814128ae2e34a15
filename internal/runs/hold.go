package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// Store is where run records and scenario rows live. PutRun writes only if the
// ETag is still current ("" = there must be no record), else it returns
// storage.ErrConflict; Run returns storage.ErrNotFound where there is none.
type Store interface {
	Run(ctx context.Context, basin, scenario string) (data []byte, etag string, err error)
	PutRun(ctx context.Context, basin, scenario string, data []byte, etag string) (newETag string, err error)
	MergeScenario(ctx context.Context, basin, scenario string, columns map[string]any) error
}

// ErrCurrent says that the scenario already has a result for the same run key.
var ErrCurrent = errors.New("the result is current")

// Request says who wants to run what.
type Request struct {
	Basin, Scenario string
	JobID, RunKey   string
	Owner           string        // unique per process
	Lease           time.Duration // how long a silent owner is believed to live
	Engine          string
	// Current reports whether the result of a completed run is whole; with
	// Force it is not asked.
	Current func(ctx context.Context) (bool, error)
	Force   bool
	Log     *slog.Logger
}

// watchInterval is how often the cancel flag is looked at and progress written.
const watchInterval = 2 * time.Second

// Hold is the ownership of one scenario. Its context ends, with a
// *reason.Error as the cause, when the ownership is lost or a user cancels.
type Hold struct {
	Context context.Context

	store  Store
	req    Request
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	record   Record
	etag     string
	dirty    bool      // progress not yet written
	deadline time.Time // wall clock: the end of the lease as last written
	lost     error
}

// Take makes the caller the owner of the scenario. It returns a reason.Busy
// error while somebody else is alive on it and ErrCurrent when there is nothing
// to do. The hold ends with ctx at the latest; Finish must be called.
func Take(ctx context.Context, store Store, req Request) (*Hold, error) {
	for range 5 {
		hold, err := take(ctx, store, req)
		if !errors.Is(err, storage.ErrConflict) {
			return hold, err
		}
	}
	return nil, busy(req)
}

func busy(req Request) error {
	return reason.New(reason.Busy, "scenario %s of basin %s is being run by another live owner", req.Scenario, req.Basin)
}

func take(ctx context.Context, store Store, req Request) (*Hold, error) {
	var old Record
	data, etag, err := store.Run(ctx, req.Basin, req.Scenario)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		etag = ""
	case err != nil:
		return nil, fmt.Errorf("read the run record: %w", err)
	default:
		r, err := decode(data)
		if err != nil {
			req.Log.Warn("run record replaced", "why", err)
		} else {
			old = *r
		}
	}
	now := wall()
	if old.live(req.Owner, now) {
		return nil, busy(req)
	}
	if old.State == Completed && old.RunKey == req.RunKey && !req.Force {
		current, err := req.Current(ctx)
		if err != nil {
			return nil, err
		}
		if current {
			return nil, ErrCurrent
		}
	}
	h := &Hold{store: store, req: req, done: make(chan struct{}), etag: etag, deadline: now.Add(req.Lease),
		record: Record{JobID: req.JobID, RunKey: req.RunKey, State: Running, Step: "inputs", Attempt: 1,
			Generation: old.Generation + 1, Owner: req.Owner, LeaseUntil: now.Add(req.Lease),
			StartedAt: now.Truncate(time.Second), Engine: req.Engine}}
	if old.RunKey == req.RunKey && old.JobID == req.JobID && old.State != Completed {
		h.record.Attempt = old.Attempt + 1
	}
	if err := h.put(ctx); err != nil {
		return nil, err
	}
	if err := store.MergeScenario(ctx, req.Basin, req.Scenario, h.columns()); err != nil {
		return nil, fmt.Errorf("write the scenario status: %w", err)
	}
	h.Context, h.cancel = context.WithCancelCause(ctx)
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	go h.watch(watch)
	return h, nil
}

// Attempt is which run of the same work this is, from 1.
func (h *Hold) Attempt() int { return h.record.Attempt }

// StartedAt is when this run took the scenario, in whole seconds UTC.
func (h *Hold) StartedAt() time.Time { return h.record.StartedAt.UTC() }

// Progress notes how far the run is; the record follows within seconds.
func (h *Hold) Progress(step string, percent float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if step != h.record.Step || percent >= h.record.Progress+1 {
		h.dirty = true
	}
	h.record.Step, h.record.Progress = step, percent
}

// Err returns why the ownership is gone, nil while it stands. It reads the
// wall clock, so a suspended machine does not wake up as an owner.
func (h *Hold) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.check()
}

// check must be called with mu held.
func (h *Hold) check() error {
	if h.lost == nil && !wall().Before(h.deadline) {
		h.lost = reason.New(reason.LeaseLost, "the lease on scenario %s of basin %s ran out", h.req.Scenario, h.req.Basin)
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
// row, then the record. It refuses when the ownership is lost.
func (h *Hold) Finish(ctx context.Context, out Outcome) error {
	h.stop()
	<-h.done
	defer h.cancel(context.Canceled)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.check(); err != nil {
		return err
	}
	if !h.record.State.mayBecome(out.State) {
		return fmt.Errorf("a run cannot go from %s to %s", h.record.State, out.State)
	}
	now := wall().Truncate(time.Second)
	h.record.State, h.record.Reason, h.record.Detail = out.State, out.Reason, out.Detail
	h.record.FinishedAt, h.record.LeaseUntil = &now, now
	if out.State == Completed {
		h.record.Step, h.record.Progress = "done", 100
	}
	if err := h.store.MergeScenario(ctx, h.req.Basin, h.req.Scenario, h.columns()); err != nil {
		return fmt.Errorf("write the scenario status: %w", err)
	}
	if err := h.write(ctx); err != nil {
		return err
	}
	return nil
}

// watch renews the lease, writes progress and looks at the cancel flag until
// it is stopped or the lease is lost.
func (h *Hold) watch(ctx context.Context) {
	defer close(h.done)
	tick := time.NewTicker(min(watchInterval, h.req.Lease/6))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := h.beat(ctx); err != nil {
			if ctx.Err() == nil {
				h.cancel(err)
			}
			return
		}
	}
}

// beat is one round of watch. It returns an error only when the run must end.
func (h *Hold) beat(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.check(); err != nil {
		return err
	}
	due := h.deadline.Sub(wall()) <= h.req.Lease*2/3
	var err error
	if due || h.dirty {
		err = h.write(ctx)
	} else {
		err = h.refresh(ctx)
	}
	switch {
	case h.lost != nil:
		return h.lost
	case err != nil && ctx.Err() == nil:
		h.req.Log.Warn("run record not written, trying again", "error", err)
	case h.record.CancelRequested:
		return reason.New(reason.Cancelled, "cancelled by a user")
	}
	return nil
}

// write puts the record with a new lease and tells the scenario row.
func (h *Hold) write(ctx context.Context) error {
	if h.record.State == Running {
		h.record.LeaseUntil = wall().Add(h.req.Lease)
	}
	err := h.put(ctx)
	if errors.Is(err, storage.ErrConflict) {
		if err := h.refresh(ctx); err != nil {
			return err
		}
		err = h.put(ctx)
	}
	if err != nil {
		return fmt.Errorf("write the run record: %w", err)
	}
	if h.record.State != Running || !h.dirty {
		return nil
	}
	h.dirty = false
	columns := map[string]any{"Step": h.record.Step, "Progress": h.record.Progress}
	return h.store.MergeScenario(ctx, h.req.Basin, h.req.Scenario, columns)
}

// refresh reads the record again: somebody may have asked to cancel, which
// changes the ETag and nothing else, or may have taken over.
func (h *Hold) refresh(ctx context.Context) error {
	data, etag, err := h.store.Run(ctx, h.req.Basin, h.req.Scenario)
	if err != nil {
		return fmt.Errorf("read the run record: %w", err)
	}
	now, err := decode(data)
	if err != nil || now.Owner != h.record.Owner || now.Generation != h.record.Generation {
		h.lost = reason.New(reason.LeaseLost, "scenario %s of basin %s was taken over by another owner", h.req.Scenario, h.req.Basin)
		return h.lost
	}
	h.etag = etag
	h.record.CancelRequested = h.record.CancelRequested || now.CancelRequested
	return nil
}

func (h *Hold) put(ctx context.Context) error {
	data, err := encode(&h.record)
	if err != nil {
		return err
	}
	etag, err := h.store.PutRun(ctx, h.req.Basin, h.req.Scenario, data, h.etag)
	if err != nil {
		return err
	}
	h.etag, h.deadline = etag, h.record.LeaseUntil
	return nil
}

// columns are those of the scenario row that the job writes.
func (h *Hold) columns() map[string]any {
	r := &h.record
	c := map[string]any{"Status": string(r.State), "StatusDetail": r.Detail, "Progress": r.Progress, "Step": r.Step,
		"JobId": r.JobID, "Attempt": r.Attempt, "StartedAt": r.StartedAt.UTC(), "Reason": string(r.Reason),
		"EngineVersion": r.Engine, "FinishedAt": ""}
	if r.FinishedAt != nil {
		c["FinishedAt"] = r.FinishedAt.UTC()
	}
	return c
}

// wall is the time without the monotonic reading, which stands still while a
// machine is suspended.
func wall() time.Time { return time.Now().Round(0) }
