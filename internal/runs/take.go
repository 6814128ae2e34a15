package runs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// Request says who wants to run what.
type Request struct {
	Basin, Scenario string
	JobID           string
	RunKey          string        // "" for a job that ends without a run
	Message         string        // id of its queue message, "" for none
	Owner           string        // unique per process
	Dead            string        // an owner that is known to have ended without saying so, "" for none
	Lease           time.Duration // how long a silent owner is believed to live
	Engine          string
	Metadata        string // see Record
	// Held returns why the caller may write no more, besides the lease on the
	// record; nil is always held. It is asked by several goroutines, must
	// answer at once, and must return nil after a hand-back of the caller's own.
	Held   func() error
	Commit string // of this program
	// Since is when the job was asked for: the insertion of its message. Zero
	// is now. A cancel asked for before it does not mean this job.
	Since time.Time
	// Notify sends a done-notice; nil sends and leaves none.
	Notify Notify
	Log    *slog.Logger
}

// held returns why the caller may write no more, nil while it may.
func (r *Request) held() error {
	if r.Held == nil {
		return nil
	}
	return r.Held()
}

// takeRounds is how often Take looks again when somebody else wrote between
// its reading and its writing.
const takeRounds = 5

// Take makes the caller the owner of the scenario. It returns a reason.Busy
// error while somebody else is alive on it. The hold ends with ctx at the
// latest; Finish must be called. Where a user asked to cancel the job before it
// was taken, the context of the hold has ended already. Notices that are still
// to be sent are sent first; those that cannot be sent go on waiting in the
// record.
func Take(ctx context.Context, store Store, req Request) (*Hold, error) {
	if req.Since.IsZero() {
		req.Since = wall()
	}
	for range takeRounds {
		hold, err := take(ctx, store, req)
		if !errors.Is(err, storage.ErrConflict) {
			return hold, err
		}
	}
	return nil, busy(req.Basin, req.Scenario)
}

func busy(basin, scenario string) error {
	return reason.New(reason.Busy, "scenario %s of basin %s is being run by another live owner", scenario, basin)
}

func take(ctx context.Context, store Store, req Request) (*Hold, error) {
	old, etag, err := last(ctx, store, &req)
	if err != nil {
		return nil, err
	}
	now := wall()
	if old.Live(now) && old.Owner != req.Owner && (req.Dead == "" || old.Owner != req.Dead) {
		return nil, busy(req.Basin, req.Scenario)
	}
	h := &Hold{store: store, req: req, etag: etag, record: next(old, &req, now)}
	h.deadline = h.record.LeaseUntil
	if err := h.announce(ctx); err != nil {
		return nil, err
	}
	h.sendOld(ctx)
	h.start(ctx)
	return h, nil
}

// last returns the record as it is, the zero record where there is none or
// none that can be read.
func last(ctx context.Context, store Store, req *Request) (*Record, string, error) {
	old, etag, err := read(ctx, store, req.Basin, req.Scenario)
	switch {
	case err == nil:
		return old, etag, nil
	case errors.Is(err, storage.ErrNotFound):
		return &Record{}, "", nil
	case etag != "":
		req.Log.Warn("run record replaced", "why", err)
		return &Record{}, etag, nil
	}
	return nil, "", err
}

// next is the record of the run that follows old.
func next(old *Record, req *Request, now time.Time) Record {
	r := Record{JobID: req.JobID, RunKey: req.RunKey, State: Running, Step: "inputs", Attempt: 1,
		Owner: req.Owner, StartedAt: now.Truncate(time.Second), Engine: req.Engine, Metadata: req.Metadata, Commit: req.Commit}
	switch {
	case req.RunKey == "" && old.JobID == req.JobID && !old.StartedAt.IsZero():
		// It tells of the last run of the job.
		r.RunKey, r.Engine, r.Step, r.Progress, r.Attempt, r.StartedAt = old.RunKey, old.Engine, old.Step, old.Progress, old.Attempt, old.StartedAt
	case !old.same(req) || old.State == Completed:
	case old.State == Running && old.Owner == req.Owner:
		// Our own write, whose answer was lost on the way.
		r.Attempt = max(old.Attempt, 1)
	default:
		r.Attempt = old.Attempt + 1
	}
	r.inherit(old)
	r.Generation++
	r.LeaseUntil = now.Add(req.Lease)
	if whose, yes := cancels(r.Cancels, req); yes {
		r.CancelRequested = true
		if at := r.Cancels[whose]; !at.IsZero() {
			r.CancelAt = &at
		}
		delete(r.Cancels, whose)
	}
	delete(r.Cancels, req.JobID)
	r.waitNot(req.JobID)
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
	if err == nil {
		err = h.tell(ctx, h.record.Columns())
	}
	if err == nil {
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
		if h.req.RunKey != "" {
			r.Attempt--
		}
	})
}
