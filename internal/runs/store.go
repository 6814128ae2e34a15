package runs

import (
	"context"
	"errors"
	"fmt"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// Reader is a Store as those see it who only look.
type Reader interface {
	Run(ctx context.Context, basin, scenario string) (data []byte, etag string, err error)
}

// Store is where run records and scenario rows live. PutRun writes only if the
// ETag is still current ("" = there must be no record), else it returns
// storage.ErrConflict; Run returns storage.ErrNotFound where there is none, and
// so does MergeScenario where there is no row.
type Store interface {
	Reader
	PutRun(ctx context.Context, basin, scenario string, data []byte, etag string) (newETag string, err error)
	MergeScenario(ctx context.Context, basin, scenario string, columns map[string]any) error
}

// rounds bounds how often a write is done again because somebody else wrote
// meanwhile. Each of the others comes to its end, so many can be at it at once.
const rounds = 32

func changing(basin, scenario string) error {
	return reason.New(reason.Busy, "the run record of scenario %s of basin %s is changed by others all the time; try again", scenario, basin)
}

// ErrUnreadable says that there is something in the place of a run record that
// is none. The next run of the scenario replaces it.
var ErrUnreadable = errors.New("the run record is not readable")

// read returns the record and its ETag, storage.ErrNotFound where there is
// none. With ErrUnreadable there is an ETag too.
func read(ctx context.Context, store Reader, basin, scenario string) (*Record, string, error) {
	data, etag, err := store.Run(ctx, basin, scenario)
	if err != nil && etag == "" {
		return nil, "", fmt.Errorf("read the run record: %w", err)
	}
	var r *Record
	if err == nil {
		r, err = decode(data)
	}
	if err != nil {
		return nil, etag, &reason.Error{Code: reason.Internal, Err: fmt.Errorf("%w: %w", ErrUnreadable, err), Detail: fmt.Sprintf(
			"the run record of scenario %s of basin %s is not readable; the next run of the scenario replaces it", scenario, basin)}
	}
	return r, etag, nil
}

// put writes the record under an ETag and returns the new one.
func put(ctx context.Context, store Store, basin, scenario string, r *Record, etag string) (string, error) {
	data, err := encode(r)
	if err == nil {
		etag, err = store.PutRun(ctx, basin, scenario, data, etag)
	}
	if err != nil {
		return "", fmt.Errorf("write the run record: %w", err)
	}
	return etag, nil
}

// change reads the record, the zero record where there is none or none that
// can be read, and writes it as edit leaves it; again where somebody came
// between. edit says whether there is anything to write. The result is the
// record that is there at the end.
func change(ctx context.Context, store Store, basin, scenario string, edit func(*Record) (bool, error)) (*Record, error) {
	for range rounds {
		r, etag, err := read(ctx, store, basin, scenario)
		if etag != "" && err != nil || errors.Is(err, storage.ErrNotFound) {
			r, err = &Record{}, nil
		}
		if err != nil {
			return nil, err
		}
		if write, err := edit(r); err != nil {
			return nil, err
		} else if !write {
			return r, nil
		}
		if _, err = put(ctx, store, basin, scenario, r, etag); err == nil {
			return r, nil
		} else if !errors.Is(err, storage.ErrConflict) {
			return nil, err
		}
	}
	return nil, changing(basin, scenario)
}

// tell merges columns into the scenario row.
func tell(ctx context.Context, store Store, basin, scenario string, columns map[string]any) error {
	if err := store.MergeScenario(ctx, basin, scenario, columns); err != nil {
		return fmt.Errorf("write the scenario status: %w", err)
	}
	return nil
}

// Columns are those of the scenario row that the job writes; nil clears one. A
// job that did not run yet has nothing of the run before it.
func (r *Record) Columns() map[string]any {
	c := map[string]any{"Status": string(r.State), "StatusDetail": r.Detail, "Progress": r.Progress, "Step": r.Step,
		"JobId": r.JobID, "Reason": string(r.Reason), "Attempt": r.Attempt, "EngineVersion": r.Engine,
		"StartedAt": nil, "FinishedAt": nil}
	if !r.StartedAt.IsZero() {
		c["StartedAt"] = r.StartedAt
	}
	if r.FinishedAt != nil {
		c["FinishedAt"] = *r.FinishedAt
	}
	return c
}
