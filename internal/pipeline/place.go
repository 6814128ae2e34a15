package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/plume"
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
		// A launcher that died may have left it on its way.
		if err := r.vacate(ctx, m); err != nil {
			return nil, err
		}
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
	gone, err := r.placed(ctx, e, request, before)
	answer, recorded, err := r.cameOf(ctx, before, gone, err)
	if recorded {
		r.summary(answer, r.outcome(err))
	} else if err != nil {
		err = r.notPlaced(ctx, r.request(m), err)
	}
	if err != nil {
		return nil, err
	}
	last, cancel := r.closing(ctx) // the time of the job may be over
	defer cancel()
	return answer, r.tell(last)
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

// late is an error where this process runs a job for a launcher, and the message
// of it has come to its end: the launcher died, and another one gave the job up.
func (r *run) late(ctx context.Context) error {
	if r.Message == "" || r.Held != nil {
		return nil
	}
	record, err := r.readRecord(ctx)
	if err != nil {
		return err
	}
	if end, over := record.Ending(r.Message); over {
		return reason.New(reason.LeaseLost, "the message came to its end, %s, before this container began", end.State)
	}
	return nil
}

// readRecord is the run record, empty where there is none that can be read.
func (r *run) readRecord(ctx context.Context) (*runs.Record, error) {
	record, err := runs.Read(ctx, r.Runs, r.ids.Basin, r.ids.Scenario)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, runs.ErrUnreadable) {
		return &runs.Record{}, nil
	}
	return record, err
}

// untouched are the exit codes of this program, contract section 1, by which it
// did nothing with the message: bad settings, no start, stopped.
var untouched = []int{2, 16, 143}

const (
	// wishInterval is how often the record is asked whether a user wants a job in
	// its Place to stop.
	wishInterval = 5 * time.Second
	// wishPatience is how long a job that runs there may take to see that itself.
	wishPatience = time.Minute
)

// errOver ends the wait for a job whose end is on record though its Place does
// not say so.
var errOver = errors.New("the end of the job is on record")

// placed has the job run in its Place until it has ended or a user wants it to.
func (r *run) placed(ctx context.Context, e *Errand, request runs.Request, before *runs.Record) (Departed, error) {
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop(nil)
	watching.Go(func() { r.watchRecord(ctx, request, before, stop) })
	return r.Place.Run(ctx, e)
}

// watchRecord ends the wait for the job when a user wants that: at once where it
// has not taken the scenario yet, and so cannot see that itself. It does so, too,
// when the job has recorded its end.
func (r *run) watchRecord(ctx context.Context, request runs.Request, before *runs.Record, stop context.CancelCauseFunc) {
	tick := time.NewTicker(wishInterval)
	defer tick.Stop()
	var asked, over time.Time // when either was seen first
	since := func(first *time.Time, is bool, now time.Time) time.Duration {
		if !is {
			*first = time.Time{}
			return -1
		}
		if first.IsZero() {
			*first = now
		}
		return now.Sub(*first)
	}
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
		now := time.Now()
		sees := record.Live(now) && record.JobID == request.JobID
		if wish := since(&asked, record.Asked(&request), now); wish >= wishPatience || wish >= 0 && !sees {
			stop(stoppedByUser())
			return
		}
		_, _, known := r.recorded(record, before, false)
		if since(&over, known, now) >= wishPatience {
			stop(errOver)
			return
		}
	}
}

// recorded is what the record says of the end of the job since before, if it
// does; joined says that the job may have begun before that.
func (r *run) recorded(record, before *runs.Record, joined bool) (state runs.State, err error, known bool) {
	if end, over := record.Ending(r.Message); over && r.Message != "" {
		return end.State, ended(end.Reason, end.Detail), true
	}
	if !r.ran(record, before, joined) || record.State == runs.Running {
		return "", nil, false
	}
	return record.State, ended(record.Reason, record.Detail), true
}

// ran reports whether the record tells of a run of the job since before.
func (r *run) ran(record, before *runs.Record, joined bool) bool {
	return record.JobID == r.ids.JobID && (record.Generation > before.Generation || joined && before.State == runs.Running)
}

func ended(code reason.Code, detail string) error {
	return &reason.Error{Code: cmp.Or(code, reason.EngineFailed), Detail: detail}
}

// cameOf finds out what a job came to whose Place said gone and err: from the run
// record or, where it never wrote into that, from its log. recorded says that the
// end is on record.
func (r *run) cameOf(ctx context.Context, before *runs.Record, gone Departed, err error) (answer *Answer, recorded bool, _ error) {
	_, notPlaced := errors.AsType[*NotPlaced](err)
	switch reason.Of(err) {
	case reason.LeaseLost, reason.Shutdown: // the message has another holder, or may have
		return nil, false, err
	}
	last, cancel := r.closing(ctx)
	defer cancel()
	record, unread := r.readRecord(last)
	if unread != nil {
		return nil, true, &Unsettled{Err: unread, Run: err}
	}
	state, end, known := r.recorded(record, before, gone.Joined)
	switch {
	case known && (err == nil || errors.Is(err, errOver) || state != runs.Queued):
		return r.cameTo(last, state, end)
	case r.ran(record, before, gone.Joined):
		r.Dead = record.Owner
	}
	switch {
	case notPlaced:
		return nil, false, err
	case err != nil && !errors.Is(err, errOver):
		return nil, false, err
	}
	code, exit := lastWords(gone.Log)
	exit = cmp.Or(exit, gone.Exit)
	switch {
	case code == reason.Shutdown, !r.ran(record, before, gone.Joined) && slices.Contains(untouched, exit):
		return nil, false, &NotPlaced{Err: reason.New(reason.StorageUnavailable,
			"the container refused its settings, found no storage or was stopped, exit code %d; its log says which", exit)}
	case code != "":
		return nil, false, reason.New(code, "the container ended with %s and did not record it; its log says more", code)
	case exit == 0 && record.JobID == r.ids.JobID && record.State == runs.Completed: // it was done already
		answer, recorded, err = r.cameTo(last, record.State, nil)
		if answer != nil {
			answer.Current = answer.Marker != nil
		}
		return answer, recorded, err
	}
	return nil, false, reason.New(reason.EngineFailed, "the container ended with exit code %d and did not record why; its log may say more", exit)
}

// cameTo is the answer of a job that recorded its end.
func (r *run) cameTo(ctx context.Context, state runs.State, end error) (answer *Answer, recorded bool, err error) {
	switch {
	case state != runs.Completed && reason.Of(end) == reason.Shutdown:
		// Whoever stopped it had another reason than the job.
		return nil, true, &NotPlaced{Err: reason.New(reason.StorageUnavailable, "the container was stopped by somebody else")}
	case state != runs.Completed:
		return nil, true, end
	}
	answer = &Answer{}
	if answer.Marker, err = r.marker(ctx, r.ids); errors.Is(err, storage.ErrNotFound) || errors.Is(err, publish.ErrNoMarker) {
		r.Log.Warn("the job is completed, and its result is no longer there", "error", err)
		return &Answer{}, true, nil
	}
	var balance struct{ Final plume.FinalBalance }
	var intakes plume.IntakeDocument
	for name, document := range map[string]any{"mass_balance.json": &balance, "intakes.json": &intakes, ensembleName: &answer.Ensemble} {
		if err == nil {
			err = r.document(ctx, name, document)
		}
	}
	if err != nil {
		return nil, true, &Unsettled{Err: fmt.Errorf("read the result: %w", err)}
	}
	answer.Balance, answer.Intakes = balance.Final, intakes.Intakes
	return answer, true, nil
}

// document reads a JSON document of the result; one that is gone or broken leaves
// v as it is.
func (r *run) document(ctx context.Context, name string, v any) error {
	in, err := r.Results.ReadResult(ctx, r.ids.Basin, r.ids.Scenario, name)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err == nil && json.Unmarshal(data, v) != nil {
		r.Log.Warn("a document of the result cannot be read", "name", name)
	}
	return err
}

// lastWords is the reason and the exit code in the last line of a log of this
// program that tells of its end; "" and 0 where none does.
func lastWords(log []byte) (reason.Code, int) {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		var said struct {
			Reason reason.Code
			Exit   int
		}
		if json.Unmarshal(lines[i], &said) == nil && said.Exit != 0 && slices.Contains(reason.Codes(), said.Reason) {
			return said.Reason, said.Exit
		}
	}
	return "", 0
}
