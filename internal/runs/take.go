package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	Metadata        string // see Record
	// Current reports whether the result of a completed run is whole; with
	// Force it is not asked.
	Current func(ctx context.Context) (bool, error)
	Force   bool
	Log     *slog.Logger
}

// takeRounds is how often Take looks again when somebody else wrote between
// its reading and its writing.
const takeRounds = 5

// Take makes the caller the owner of the scenario. It returns a reason.Busy
// error while somebody else is alive on it and ErrCurrent when there is nothing
// to do. The hold ends with ctx at the latest; Finish must be called. Where a
// user asked to cancel the job before it was taken, the context of the hold
// has ended already.
func Take(ctx context.Context, store Store, req Request) (*Hold, error) {
	for range takeRounds {
		hold, err := take(ctx, store, req)
		if !errors.Is(err, storage.ErrConflict) {
			return hold, err
		}
	}
	return nil, busy(&req)
}

func busy(req *Request) error {
	return reason.New(reason.Busy, "scenario %s of basin %s is being run by another live owner", req.Scenario, req.Basin)
}

func take(ctx context.Context, store Store, req Request) (*Hold, error) {
	old, etag, err := last(ctx, store, &req)
	if err != nil {
		return nil, err
	}
	now := wall()
	if old.live(req.Owner, now) {
		return nil, busy(&req)
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
	h := &Hold{store: store, req: req, etag: etag, record: next(old, &req, now)}
	if err := h.announce(ctx); err != nil {
		return nil, err
	}
	h.start(ctx)
	return h, nil
}

// last returns the record as it is, the zero record where there is none or
// none that can be read.
func last(ctx context.Context, store Store, req *Request) (*Record, string, error) {
	data, etag, err := store.Run(ctx, req.Basin, req.Scenario)
	if errors.Is(err, storage.ErrNotFound) {
		return &Record{}, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the run record: %w", err)
	}
	old, err := decode(data)
	if err != nil {
		req.Log.Warn("run record replaced", "why", err)
		return &Record{}, etag, nil
	}
	return old, etag, nil
}

// next is the record of the run that follows old.
func next(old *Record, req *Request, now time.Time) Record {
	r := Record{JobID: req.JobID, RunKey: req.RunKey, State: Running, Step: "inputs", Attempt: 1,
		Generation: old.Generation + 1, Owner: req.Owner, LeaseUntil: now.Add(req.Lease),
		StartedAt: now.Truncate(time.Second), Engine: req.Engine, Metadata: req.Metadata}
	switch {
	case !old.same(req) || old.State == Completed:
	case old.State == Running && old.Owner == req.Owner:
		// Our own write, whose answer was lost on the way.
		r.Attempt = max(old.Attempt, 1)
	default:
		r.Attempt = old.Attempt + 1
	}
	// Who asked to stop a job meant its later attempts too.
	r.CancelRequested = old.CancelRequested && old.JobID == req.JobID && !old.State.over()
	return r
}

// announce writes the record and tells the scenario row. Where that does not
// come to its end, the scenario is given back, lest it look taken for a whole
// lease while nobody works on it.
func (h *Hold) announce(ctx context.Context) error {
	err := h.put(ctx, &h.record)
	if errors.Is(err, storage.ErrConflict) {
		return err
	}
	if err != nil {
		err = fmt.Errorf("write the run record: %w", err)
	} else if err = h.tell(ctx, columns(&h.record)); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.req.Lease/3)
	defer cancel()
	if back := h.giveBack(ctx); back != nil && reason.Of(back) != reason.LeaseLost {
		h.req.Log.Warn("the scenario was not given back and looks taken until its lease ends", "error", back)
	}
	return err
}

// giveBack writes that the scenario waits again, if the record says it is
// ours: the answer to a write may be lost where the write was not. The attempt
// that never began does not count.
func (h *Hold) giveBack(ctx context.Context) error {
	if err := h.refresh(ctx); err != nil {
		return err
	}
	return h.write(ctx, func(r *Record) {
		r.State, r.Step, r.LeaseUntil = Queued, "", wall()
		r.Attempt--
	})
}
