package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

// Store is where a result is read.
type Store interface {
	ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error)
	ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[storage.PlumeEntity, error]
	ReadPlumeByMile(ctx context.Context, basin, scenario string) iter.Seq2[storage.PlumeEntity, error]
	runs.Reader
}

// Target names a result.
type Target struct {
	Basin, Scenario string
	Side            string // A or B
	Label           string // what the user calls it
}

// Result is a result that can be compared: all of it but the rows, which are
// read when they are compared.
type Result struct {
	Target
	Marker publish.Marker

	store   Store
	edges   plume.EdgeDocument
	balance plume.BalanceDocument
	intakes plume.IntakeDocument
	params  *parameters // nil where they are not kept any more
}

// maxDocument bounds a document of a result when it is read, in bytes.
const maxDocument = 256 << 20

// Open reads a result. Errors say which of the two it is and carry a reason:
// scenario_not_found where there is no result, busy where a run is replacing it.
func Open(ctx context.Context, store Store, target Target) (*Result, error) {
	r := &Result{Target: target, store: store}
	err := r.read(ctx)
	if err == nil {
		return r, nil
	}
	switch reason.Of(err) {
	case reason.ScenarioNotFound, reason.EngineOutputInvalid: // as a result in the middle of being replaced looks
		if moved := r.unchanged(ctx); moved != nil && reason.Of(moved) != reason.ScenarioNotFound {
			return nil, moved
		}
	}
	return nil, err
}

// who says in errors which of the two results it is.
func (r *Result) who() string { return r.Side + ", " + r.Label }

// none is the error of a result that is not there.
func (r *Result) none() error {
	return reason.New(reason.ScenarioNotFound, "%s: there is no result of scenario %s of basin %s, or it is not whole: it has no %s",
		r.who(), r.Scenario, r.Basin, publish.MarkerName)
}

// read reads all but the rows.
func (r *Result) read(ctx context.Context) error {
	marker, err := r.marker(ctx)
	if errors.Is(err, storage.ErrNotFound) {
		return r.none()
	}
	if err != nil {
		return err
	}
	r.Marker = *marker
	if marker.Basin != r.Basin || marker.Scenario != r.Scenario {
		return damaged(r.who(), "%s is of scenario %s of basin %s", publish.MarkerName, marker.Scenario, marker.Basin)
	}
	for _, d := range []struct {
		name string
		into any
	}{{"edge_timeseries.json", &r.edges}, {"mass_balance.json", &r.balance}, {"intakes.json", &r.intakes}} {
		if err := r.document(ctx, d.name, d.into); err != nil {
			return err
		}
	}
	if err := r.sound(); err != nil {
		return err
	}
	r.params, err = r.parameters(ctx)
	return err
}

func (r *Result) marker(ctx context.Context) (*publish.Marker, error) {
	in, err := r.store.ReadResult(ctx, r.Basin, r.Scenario, publish.MarkerName)
	if err != nil {
		return nil, r.told(err)
	}
	defer in.Close()
	m, err := publish.ReadMarker(in)
	if errors.Is(err, publish.ErrNoMarker) && ctx.Err() == nil {
		return nil, damaged(r.who(), "%s cannot be read", publish.MarkerName)
	}
	return m, r.told(err)
}

// told says which result an error is about.
func (r *Result) told(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", r.who(), reasoned(err))
	}
	return nil
}

// reasoned gives what a store finds wrong with a name or a row a reason.
func reasoned(err error) error {
	if len(reason.Faults(err)) > 0 {
		return reason.Wrap(reason.EngineOutputInvalid, err, "")
	}
	return err
}

// document reads a JSON document of the result.
func (r *Result) document(ctx context.Context, name string, into any) error {
	in, err := r.store.ReadResult(ctx, r.Basin, r.Scenario, name)
	if errors.Is(err, storage.ErrNotFound) {
		return damaged(r.who(), "%s is missing", name)
	}
	if err != nil {
		return r.told(err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err != nil {
		return r.told(err)
	}
	if len(data) > maxDocument {
		return damaged(r.who(), "%s is larger than %d bytes", name, maxDocument)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return damaged(r.who(), "%s is not the document that it should be", name)
	}
	return nil
}

// sound sees that times rise, and that every series has a value for each of
// them, or none at all, as one has that an older version did not write.
func (r *Result) sound() error {
	b := &r.balance
	if r.edges.ToleranceMgL < 0 {
		return damaged(r.who(), "edge_timeseries.json has a tolerance of %g mg/L", r.edges.ToleranceMgL)
	}
	if !rising(b.Time) {
		return damaged(r.who(), "the times of mass_balance.json do not rise")
	}
	for name, series := range balanceSeries(b) {
		if n := len(series); n != 0 && n != len(b.Time) {
			return damaged(r.who(), "mass_balance.json has %d times and %d values of %s", len(b.Time), n, name)
		}
	}
	for i := range r.edges.Series {
		s := &r.edges.Series[i]
		n := len(s.Time)
		if !rising(s.Time) {
			return damaged(r.who(), "the times of river %s in edge_timeseries.json do not rise", s.River)
		}
		for _, have := range []int{len(s.LeadingEdgeMile), len(s.TrailingEdgeMile), len(s.PeakMile), len(s.PeakMgL), len(s.MassKg)} {
			if have != n {
				return damaged(r.who(), "edge_timeseries.json has %d times and %d values of river %s", n, have, s.River)
			}
		}
	}
	return nil
}

func rising(times []time.Time) bool {
	for i := 1; i < len(times); i++ {
		if !times[i-1].Before(times[i]) {
			return false
		}
	}
	return true
}

// unchanged returns an error where the marker is not the one that Open has read:
// busy where another one is there or on its way, or was when it was looked at.
func (r *Result) unchanged(ctx context.Context) error {
	now, err := r.marker(ctx)
	switch {
	case err == nil && now.JobID == r.Marker.JobID && now.RunKey == r.Marker.RunKey && now.Attempt == r.Marker.Attempt &&
		now.StartedAt.Equal(r.Marker.StartedAt) && now.FinishedAt.Equal(r.Marker.FinishedAt):
		return nil
	case err == nil:
		return reason.New(reason.Busy, "%s: the result of %s/%s was replaced while it was compared; try again", r.who(), r.Basin, r.Scenario)
	case !errors.Is(err, storage.ErrNotFound) && reason.Of(err) != reason.EngineOutputInvalid:
		return err
	}
	switch owner, err := runs.Read(ctx, r.store, r.Basin, r.Scenario); {
	case err == nil && owner.Live(time.Now()):
		return reason.New(reason.Busy, "%s: the result of %s/%s is being replaced now, by job %s; try again", r.who(), r.Basin, r.Scenario, owner.JobID)
	case err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, runs.ErrUnreadable):
		return r.told(err)
	}
	return r.none()
}

// rows are the rows of a table; a result without any may have no table.
func (r *Result) rows(ctx context.Context, table string) iter.Seq2[storage.PlumeEntity, error] {
	read, want := r.store.ReadPlumeByTime, r.Marker.Rows.ByTime
	if table == byMileTable {
		read, want = r.store.ReadPlumeByMile, r.Marker.Rows.ByMile
	}
	return func(yield func(storage.PlumeEntity, error) bool) {
		n := 0
		for row, err := range read(ctx, r.Basin, r.Scenario) {
			if errors.Is(err, storage.ErrNotFound) && n == 0 {
				break
			}
			if err != nil {
				yield(row, r.told(fmt.Errorf("%s: %w", table, reasoned(err))))
				return
			}
			if row.JobID != r.Marker.JobID {
				yield(row, damaged(r.who(), "a row of %s is of another job than %s, at mile %g at %s", table, publish.MarkerName, row.RiverMile, moment(row.Time)))
				return
			}
			n++
			if !yield(row, nil) {
				return
			}
		}
		if n != want {
			yield(storage.PlumeEntity{}, damaged(r.who(), "%s has %d rows and %s says %d", table, n, publish.MarkerName, want))
		}
	}
}

func (r *Result) toleranceMgL() float64 { return r.edges.ToleranceMgL }

func (r *Result) side() Side {
	m := &r.Marker
	return Side{Label: r.Label, Basin: m.Basin, Scenario: m.Scenario, JobID: m.JobID, RunKey: m.RunKey, Engine: m.Engine, Commit: m.Commit,
		FinishedAt: m.FinishedAt, ToleranceMgL: r.toleranceMgL(), Rows: m.Rows.ByTime}
}
