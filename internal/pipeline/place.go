package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// Place runs jobs somewhere else than in this process, each in this program
// again, which takes the scenario, publishes and records as always. A job is
// found again by its ids, so whoever started it may die.
type Place interface {
	// Running reports whether the job runs there or is about to.
	Running(ctx context.Context, e *Errand) (bool, error)
	// Run has the job run there, or joins the one that runs, and returns when it
	// has ended and nothing of it is left. When ctx ends the job is stopped, unless
	// the cause is reason.LeaseLost: then it is somebody else's. The error is
	// the cause of ctx, or *NotPlaced.
	Run(ctx context.Context, e *Errand) (Departed, error)
	// Remove stops the job there, if there is one, and removes what is left of it.
	Remove(ctx context.Context, e *Errand) error
}

// Errand is a job for a Place.
type Errand struct {
	Basin, Scenario, JobID string
	// Message is the text of the message, which names the job.
	Message string
	// Delivery is how often the queue message of the job was delivered, nil where
	// it has none.
	Delivery *message.Delivery
}

// Departed is what a Place knows itself of a job that ended there.
type Departed struct {
	Joined bool // it was started by somebody else
	Exit   int  // exit code of the program
	Log    []byte
}

// NotPlaced says that a Place could not take a job for a reason that is not the
// job's: it keeps its attempt.
type NotPlaced struct {
	Err   error         // with reason.StorageUnavailable
	After time.Duration // when to try again, 0 where not known
}

func (n *NotPlaced) Error() string { return n.Err.Error() }
func (n *NotPlaced) Unwrap() error { return n.Err }

// away has the job run in its Place.
func (r *run) away(ctx context.Context, m *message.Message) (*Answer, error) {
	e, request := r.errand(m), r.request(m)
	before, err := r.readRecord(ctx)
	if err != nil {
		return nil, r.fail(ctx, request, err)
	}
	if before.Asked(&request) {
		return nil, r.fail(ctx, request, stoppedByUser())
	}
	if before.Live(time.Now()) {
		running, err := r.Place.Running(ctx, e)
		if err != nil {
			return nil, r.notPlaced(ctx, request, err)
		}
		if !running {
			return nil, reason.New(reason.Busy, "scenario %s of basin %s is being run by another live owner", e.Basin, e.Scenario)
		}
	}
	gone, err := r.placed(ctx, e, request)
	if err != nil {
		r.bury(ctx, before)
		return nil, r.notPlaced(ctx, r.request(m), err)
	}
	answer, recorded, err := r.cameOf(ctx, before, gone)
	if err != nil && !recorded {
		err = r.notPlaced(ctx, r.request(m), err)
	}
	r.summary(answer, r.outcome(err))
	if err != nil {
		return nil, err
	}
	return answer, r.tell(ctx)
}

func stoppedByUser() error { return reason.New(reason.Cancelled, "cancelled by a user") }

// errand is the message as the Place gets it.
func (r *run) errand(m *message.Message) *Errand {
	named := *m
	named.JobID = r.ids.JobID
	text, err := named.Encode()
	if err != nil {
		panic(err) // it was decoded, and the job id is valid
	}
	e := &Errand{Basin: m.Basin, Scenario: m.Scenario, JobID: r.ids.JobID, Message: string(text)}
	if r.Message != "" {
		e.Delivery = &message.Delivery{MessageID: r.Message, Attempt: r.Attempt, Attempts: r.Attempts, InsertedAt: r.Since}
	}
	return e
}

// notPlaced tells the scenario why its job did not run, and returns that.
func (r *run) notPlaced(ctx context.Context, request runs.Request, err error) error {
	if reason.Of(err) == reason.LeaseLost {
		return err
	}
	return r.fail(ctx, request, err)
}

// vacate sees that nothing of a job is left in its Place that ended without it:
// its launchers died, one by one.
func (r *run) vacate(ctx context.Context, m *message.Message) error {
	if r.Place == nil {
		return nil
	}
	if err := r.Place.Remove(ctx, r.errand(m)); err != nil {
		return &Unsettled{Err: err}
	}
	return nil
}

// bury notes which owner of the scenario ended with its Place, if it did: it
// would look alive until its lease ends.
func (r *run) bury(ctx context.Context, before *runs.Record) {
	ctx, cancel := r.closing(ctx)
	defer cancel()
	if record, err := r.readRecord(ctx); err == nil && record.JobID == r.ids.JobID && record.Generation > before.Generation {
		r.Dead = record.Owner
	}
}

// readRecord is the run record, empty where there is none that can be read.
func (r *run) readRecord(ctx context.Context) (*runs.Record, error) {
	record, err := runs.Read(ctx, r.Runs, r.ids.Basin, r.ids.Scenario)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, runs.ErrUnreadable) {
		return &runs.Record{}, nil
	}
	return record, err
}

// exitSettings is the exit code of this program for bad settings, contract
// section 1.
const exitSettings = 2

const (
	// wishInterval is how often the record is asked whether a user wants a job in
	// its Place to stop.
	wishInterval = 5 * time.Second
	// wishPatience is how long a job that runs there may take to see that itself.
	wishPatience = time.Minute
)

// placed has the job run in its Place until it has ended or a user wants it to.
func (r *run) placed(ctx context.Context, e *Errand, request runs.Request) (Departed, error) {
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop(nil)
	watching.Go(func() { r.watchWishes(ctx, request, stop) })
	return r.Place.Run(ctx, e)
}

// watchWishes ends the job when a user wants it: at once where it has not taken
// the scenario yet, and so cannot see that itself.
func (r *run) watchWishes(ctx context.Context, request runs.Request, stop context.CancelCauseFunc) {
	tick := time.NewTicker(wishInterval)
	defer tick.Stop()
	var asked time.Time // when the wish was seen first
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		record, err := r.readRecord(ctx)
		if err != nil {
			continue // it is asked again; the job looks for itself
		}
		if !record.Asked(&request) {
			asked = time.Time{}
			continue
		}
		now := time.Now()
		if asked.IsZero() {
			asked = now
		}
		if !record.Live(now) || record.JobID != request.JobID || now.Sub(asked) >= wishPatience {
			stop(stoppedByUser())
			return
		}
	}
}

// cameOf finds out what a job came to that ended in its Place: from the run
// record or, where it never wrote into that, from its log.
func (r *run) cameOf(ctx context.Context, before *runs.Record, gone Departed) (answer *Answer, recorded bool, err error) {
	record, err := r.readRecord(ctx)
	if err != nil {
		return nil, true, &Unsettled{Err: err}
	}
	if end, over := record.Ending(r.Message); over && r.Message != "" {
		answer, err = r.cameTo(ctx, end.State, end.Reason, end.Detail)
		return answer, true, err
	}
	ours := record.JobID == r.ids.JobID && (gone.Joined || record.Generation > before.Generation)
	if ours && record.State != runs.Running {
		answer, err = r.cameTo(ctx, record.State, record.Reason, record.Detail)
		return answer, true, err
	}
	if ours {
		r.Dead = record.Owner
	}
	code, said := lastWords(gone.Log)
	switch {
	case gone.Exit == exitSettings:
		return nil, false, &NotPlaced{Err: reason.New(reason.StorageUnavailable,
			"the container refused its settings, exit code %d; its log names them", gone.Exit)}
	case said:
		return nil, false, reason.New(code, "the container ended with %s and did not record it; its log says more", code)
	case gone.Exit == 0 && record.JobID == r.ids.JobID && record.State == runs.Completed: // it was done already
		answer, err = r.cameTo(ctx, record.State, "", "")
		return answer, true, err
	}
	return nil, false, reason.New(reason.EngineFailed, "the container ended with exit code %d and did not record why; its log may say more", gone.Exit)
}

// cameTo is the answer of a job that recorded its end.
func (r *run) cameTo(ctx context.Context, state runs.State, code reason.Code, detail string) (*Answer, error) {
	if state == runs.Completed {
		marker, err := r.marker(ctx, r.ids)
		if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, publish.ErrNoMarker) {
			return nil, &Unsettled{Err: fmt.Errorf("read the result: %w", err)}
		}
		return &Answer{Marker: marker}, nil
	}
	if code == "" {
		code = reason.EngineFailed
	}
	return nil, &reason.Error{Code: code, Detail: detail}
}

// lastWords is the reason in the last line of a log of this program that tells of
// its end.
func lastWords(log []byte) (reason.Code, bool) {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		var said struct {
			Reason reason.Code
			Exit   int
		}
		if json.Unmarshal(lines[i], &said) == nil && said.Exit != 0 && slices.Contains(reason.Codes(), said.Reason) {
			return said.Reason, true
		}
	}
	return "", false
}
