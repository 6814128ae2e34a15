package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// Store is where a result is read.
type Store interface {
	ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error)
	ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[storage.PlumeEntity, error]
	// CountRows is as pipeline.Results has it.
	CountRows(ctx context.Context, basin, scenario string) (byTime, byMile int, err error)
}

// Result is a result that can be compared: all of it but the rows, which are
// read when they are compared.
type Result struct {
	Label  string
	Marker publish.Marker

	store   Store
	ids     plume.IDs // basin and scenario, where it stands
	edges   plume.EdgeDocument
	balance plume.BalanceDocument
	intakes plume.IntakeDocument
	params  *parameters // nil where they are not kept any more
}

// maxDocument bounds a document of a result when it is read, in bytes.
const maxDocument = 256 << 20

// Open reads a result; label is what errors and reports call it. Errors carry
// a reason: scenario_not_found where there is no result.
func Open(ctx context.Context, store Store, basin, scenario, label string) (*Result, error) {
	r := &Result{Label: label, store: store, ids: plume.IDs{Basin: basin, Scenario: scenario}}
	marker, err := r.marker(ctx)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, reason.New(reason.ScenarioNotFound, "%s: there is no result of scenario %s of basin %s, or it is not whole: it has no %s",
			label, scenario, basin, publish.MarkerName)
	}
	if err != nil {
		return nil, err
	}
	r.Marker = *marker
	if marker.Basin != basin || marker.Scenario != scenario {
		return nil, damaged(label, "%s is of scenario %s of basin %s", publish.MarkerName, marker.Scenario, marker.Basin)
	}
	for _, d := range []struct {
		name string
		into any
	}{{"edge_timeseries.json", &r.edges}, {"mass_balance.json", &r.balance}, {"intakes.json", &r.intakes}} {
		if err := r.document(ctx, d.name, d.into); err != nil {
			return nil, err
		}
	}
	if err := r.evenSeries(); err != nil {
		return nil, err
	}
	// The rows of PlumeByMile are those of PlumeByTime in another order, so they are
	// only counted.
	_, byMile, err := store.CountRows(ctx, basin, scenario)
	if err != nil {
		return nil, r.told(err)
	}
	if byMile != marker.Rows.ByMile && !(byMile < 0 && marker.Rows.ByMile == 0) {
		return nil, damaged(label, "PlumeByMile has %d rows and %s says %d", max(byMile, 0), publish.MarkerName, marker.Rows.ByMile)
	}
	r.params, err = r.parameters(ctx)
	return r, err
}

func (r *Result) marker(ctx context.Context) (*publish.Marker, error) {
	in, err := r.store.ReadResult(ctx, r.ids.Basin, r.ids.Scenario, publish.MarkerName)
	if err != nil {
		return nil, r.told(err)
	}
	defer in.Close()
	m, err := publish.ReadMarker(in)
	if errors.Is(err, publish.ErrNoMarker) && ctx.Err() == nil {
		return nil, damaged(r.Label, "%s cannot be read", publish.MarkerName)
	}
	return m, r.told(err)
}

// told says which result an error is about, and gives what a store finds wrong
// with a name or a row a reason.
func (r *Result) told(err error) error {
	if len(reason.Faults(err)) > 0 {
		err = reason.Wrap(reason.EngineOutputInvalid, err, "")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Label, err)
	}
	return nil
}

// document reads a JSON document of the result.
func (r *Result) document(ctx context.Context, name string, into any) error {
	in, err := r.store.ReadResult(ctx, r.ids.Basin, r.ids.Scenario, name)
	if errors.Is(err, storage.ErrNotFound) {
		return damaged(r.Label, "%s is missing", name)
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
		return damaged(r.Label, "%s is larger than %d bytes", name, maxDocument)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return damaged(r.Label, "%s is not the document that it should be", name)
	}
	return nil
}

// evenSeries sees that every series has a value for each of its times, or none
// at all, as one has that an older version did not write.
func (r *Result) evenSeries() error {
	b := &r.balance
	for name, series := range balanceSeries(b) {
		if n := len(series); n != 0 && n != len(b.Time) {
			return damaged(r.Label, "mass_balance.json has %d times and %d values of %s", len(b.Time), n, name)
		}
	}
	for i := range r.edges.Series {
		s := &r.edges.Series[i]
		n := len(s.Time)
		for _, have := range []int{len(s.LeadingEdgeMile), len(s.TrailingEdgeMile), len(s.PeakMile), len(s.PeakMgL), len(s.MassKg)} {
			if have != n {
				return damaged(r.Label, "edge_timeseries.json has %d times and %d values of river %s", n, have, s.River)
			}
		}
	}
	return nil
}

// unchanged returns an error where the result has been replaced since Open.
func (r *Result) unchanged(ctx context.Context) error {
	now, err := r.marker(ctx)
	switch {
	case errors.Is(err, storage.ErrNotFound), reason.Of(err) == reason.EngineOutputInvalid:
	case err != nil:
		return err
	case now.JobID == r.Marker.JobID && now.RunKey == r.Marker.RunKey && now.Attempt == r.Marker.Attempt &&
		now.StartedAt.Equal(r.Marker.StartedAt) && now.FinishedAt.Equal(r.Marker.FinishedAt):
		return nil
	}
	return reason.New(reason.Busy, "%s: the result was replaced while it was compared; compare again when the run is over", r.Label)
}

// rows are the rows of PlumeByTime; a result without any may have no table.
func (r *Result) rows(ctx context.Context) iter.Seq2[storage.PlumeEntity, error] {
	return func(yield func(storage.PlumeEntity, error) bool) {
		n := 0
		for row, err := range r.store.ReadPlumeByTime(ctx, r.ids.Basin, r.ids.Scenario) {
			if errors.Is(err, storage.ErrNotFound) && n == 0 {
				break
			}
			if err != nil {
				yield(row, r.told(err))
				return
			}
			if row.JobID != r.Marker.JobID {
				yield(row, damaged(r.Label, "a row of PlumeByTime is of another job than %s, at mile %g at %s", publish.MarkerName, row.RiverMile, row.Time.UTC().Format("2006-01-02T15:04Z")))
				return
			}
			n++
			if !yield(row, nil) {
				return
			}
		}
		if n != r.Marker.Rows.ByTime {
			yield(storage.PlumeEntity{}, damaged(r.Label, "PlumeByTime has %d rows and %s says %d", n, publish.MarkerName, r.Marker.Rows.ByTime))
		}
	}
}

func (r *Result) toleranceMgL() float64 { return r.edges.ToleranceMgL }

func (r *Result) side() Side {
	m := &r.Marker
	return Side{Label: r.Label, Basin: m.Basin, Scenario: m.Scenario, JobID: m.JobID, RunKey: m.RunKey, Engine: m.Engine, Commit: m.Commit,
		FinishedAt: m.FinishedAt, ToleranceMgL: r.toleranceMgL(), Rows: m.Rows.ByTime}
}
