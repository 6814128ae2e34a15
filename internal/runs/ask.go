package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rsmsjob/internal/storage"
)

// What those who do not own the scenario may do with its record. They write
// under its ETag and leave owner, lease and state of a live run alone; the
// owner finds what they left at its next look.

// Rows is a Store that shows the scenario rows too; storage.ErrNotFound where
// there is no such row.
type Rows interface {
	Store
	Scenario(ctx context.Context, basin, scenario string) (map[string]any, error)
}

// Read returns the run record of a scenario, storage.ErrNotFound where there is
// none, ErrUnreadable where there is something else.
func Read(ctx context.Context, store Reader, basin, scenario string) (*Record, error) {
	r, _, err := read(ctx, store, basin, scenario)
	return r, err
}

// late is how long behind the sending of a message its job cannot have been
// taken: less than the time it is hidden at first, and more than the clocks of
// workers are off.
const late = 10 * time.Second

// Queue notes in the scenario row and in the record that a job is on the queue
// or about to be, and returns the record. Call it while nobody can take the
// message yet: a cancel of an earlier job of the same id is forgotten. now is
// the time of the service when the message was sent; the clock of who asks may
// be off. While a live owner runs the scenario, the job is noted to wait behind
// it, and the record returned is that of its run, in state Running. Nothing is
// changed where the job itself was taken meanwhile. storage.ErrNotFound says
// that there is no scenario row; no record is written then. ErrToldOnly says
// that the row may say Queued and the record does not.
func Queue(ctx context.Context, store Store, basin, scenario, jobID, metadata string, now time.Time) (*Record, error) {
	told := false
	record, err := change(ctx, store, basin, scenario, func(r *Record) (bool, error) {
		if r.Live(now) {
			known := len(r.Waiting)
			if r.JobID != jobID {
				r.wait(jobID)
			}
			if !told {
				return len(r.Waiting) > known, nil
			}
			// It was taken after we told the row. The row is set right, and
			// the record gets another ETag, so that an owner who has told its
			// end meanwhile tells it again.
			return true, tell(ctx, store, basin, scenario, r.Columns())
		}
		if r.JobID == jobID && r.StartedAt.After(now.Add(late)) {
			return false, nil // who asks is late: the job was taken, and is over
		}
		*r = *r.waiting(jobID, metadata)
		// The row comes first: once the record is written without a conflict,
		// nobody can have taken the scenario before the row was told.
		err := tell(ctx, store, basin, scenario, r.Columns())
		told = told || !unwritable(err)
		return true, err
	})
	if err != nil && told {
		return nil, fmt.Errorf("%w: %w", ErrToldOnly, err)
	}
	return record, err
}

// ErrToldOnly says that a scenario row was told that its job waits, or may have
// been, and the run record was not. The job can be run all the same.
var ErrToldOnly = errors.New("the scenario row says Queued, the run record does not")

// Cancel asks the job that runs in the scenario to stop, else one that waits, and
// returns the record, or what it would be of a job that waits behind others:
// the oldest of them that was not asked before. An owner sees it within seconds,
// a job that waits when it is taken.
// Where the scenario row says Queued and the record knows of no job, whichever
// comes next is cancelled if it was asked for before now. A record that is over
// is returned as it is: there is nothing to cancel. storage.ErrNotFound says
// that there is neither a record nor a job, or no scenario row.
func Cancel(ctx context.Context, store Rows, basin, scenario string, now time.Time) (*Record, error) {
	at := now.Round(0).UTC()
	job := ""    // that is to stop, once it is known: no other must
	behind := "" // the job that is to stop, where it waits behind others
	record, err := change(ctx, store, basin, scenario, func(r *Record) (bool, error) {
		switch {
		case job != "" && (r.JobID != job || r.Over()):
			return false, nil
		case r.Over() || r.State == Queued && r.CancelRequested:
			if behind = r.cancelWaiting(at); behind != "" {
				return true, nil
			}
		}
		switch r.State {
		case Running, Queued:
			job = r.JobID
			return r.cancel(at), nil
		}
		// The owner of a run that ends tells the row first. So a row that says
		// Queued beside a record that is over was queued since.
		row, err := store.Scenario(ctx, basin, scenario)
		if err != nil {
			return false, fmt.Errorf("read the scenario row: %w", err)
		}
		if row["Status"] != string(Queued) {
			if r.State == "" {
				return false, fmt.Errorf("a job of scenario %s of basin %s to cancel: %w", scenario, basin, storage.ErrNotFound)
			}
			return false, nil
		}
		*r = *r.waiting("", "")
		return r.cancel(at), nil
	})
	if err == nil && behind != "" {
		return &Record{JobID: behind, State: Queued, CancelRequested: true, CancelAt: &at}, nil
	}
	return record, err
}

// Snooze counts in the record that the queue message found the scenario busy.
// Where the answer to a write is lost it may count twice.
func Snooze(ctx context.Context, store Store, basin, scenario, messageID string) error {
	_, err := change(ctx, store, basin, scenario, func(r *Record) (bool, error) {
		if r.State == "" {
			return false, fmt.Errorf("a run record to count in: %w", storage.ErrNotFound)
		}
		r.snooze(messageID)
		return true, nil
	})
	return err
}

// Note writes a record as it is given and touches no scenario row. Only what
// waits for others in the record before it stays, and its generation. It
// returns a reason.Busy error while a live owner runs the scenario.
func Note(ctx context.Context, store Store, basin, scenario string, r Record) error {
	_, err := change(ctx, store, basin, scenario, func(old *Record) (bool, error) {
		if old.Live(wall()) {
			return false, busy(basin, scenario)
		}
		r.inherit(old)
		*old = r
		return true, nil
	})
	return err
}
