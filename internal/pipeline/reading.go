package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/report"
	"rsmsjob/internal/river"
	"rsmsjob/internal/storage"
)

// Published is where a result is read from.
type Published interface {
	BasinReader
	Scenario(ctx context.Context, basin, scenario string) (map[string]any, error)
	ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error)
	ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[storage.PlumeEntity, error]
}

// Reading is a published result that a report is made of. Invariant: what it has is
// of one job; a result that is replaced meanwhile is an error.
type Reading struct {
	Facts report.Facts
	// Since says what an older result does not know and what has changed since it
	// was made; these warnings are among those of Facts too.
	Since []string

	from   Published
	marker *publish.Marker
	params keptParameters // of the run; zero where they are not kept
	kept   bool           // whether they are
}

// keptParameters are parameters with the scenario as it is written, so that it can
// be checked.
type keptParameters struct {
	parameters
	Written map[string]any `json:"scenario"`
}

// OpenResult reads what a report says of a published result. Tolerance is what counts
// where the parameters of the run are gone and its scenario names none. What an older
// result does not know, and what has changed since, is left out with a warning. Errors
// carry a reason: busy where a run is replacing the result.
func OpenResult(ctx context.Context, from Published, basin, scenario string, tolerance float64) (*Reading, error) {
	r := &Reading{from: from}
	r.Facts.IDs = plume.IDs{Basin: basin, Scenario: scenario}
	var err error
	if r.marker, err = r.readMarker(ctx); err != nil {
		return nil, err
	}
	r.Facts.JobID, r.Facts.Engine = r.marker.JobID, r.marker.Engine
	if err := r.readDocuments(ctx); err != nil {
		return nil, r.orReplaced(ctx, err)
	}
	if err := r.readBasin(ctx, tolerance); err != nil {
		return nil, err
	}
	r.Facts.Warnings = append(r.Facts.Warnings, r.Since...)
	return r, nil
}

// Rows hands over each row of PlumeByTime, and then sees that they were those of this
// result: the error is busy where it was replaced meanwhile.
func (r *Reading) Rows(ctx context.Context, each func(plume.Row) error) error {
	rows, foreign := 0, 0
	for e, err := range r.from.ReadPlumeByTime(ctx, r.Facts.Basin, r.Facts.IDs.Scenario) {
		if errors.Is(err, storage.ErrNotFound) {
			break // as many as none
		}
		if err != nil {
			return err
		}
		if rows++; e.JobID != r.marker.JobID {
			foreign++
		}
		if err := each(e.Row); err != nil {
			return err
		}
	}
	var problem error
	switch {
	case rows == 0 && r.marker.Rows.ByTime > 0:
		problem = r.bad(reason.EngineOutputMissing, "table PlumeByTime has none of its %d rows", r.marker.Rows.ByTime)
	case rows != r.marker.Rows.ByTime:
		problem = r.bad(reason.EngineOutputInvalid, "table PlumeByTime has %d rows and %s names %d", rows, publish.MarkerName, r.marker.Rows.ByTime)
	case foreign > 0:
		problem = r.bad(reason.EngineOutputInvalid, "%d of %d rows of PlumeByTime are of another job than %s", foreign, rows, publish.MarkerName)
	}
	return r.orReplaced(ctx, problem)
}

// bad is the error of a result that is not whole.
func (r *Reading) bad(code reason.Code, format string, args ...any) *reason.Error {
	return reason.New(code, "the result of scenario %s of basin %s is damaged: %s; run the scenario again with force",
		r.Facts.IDs.Scenario, r.Facts.Basin, fmt.Sprintf(format, args...))
}

// orReplaced is busy where the result is no longer the one that was opened: a run
// takes result.json away before it touches anything else. Otherwise it is err.
func (r *Reading) orReplaced(ctx context.Context, err error) error {
	now, failure := r.readMarker(ctx)
	switch {
	case failure == nil && sameRun(now, r.marker):
		return err
	case failure != nil && reason.Of(failure) != reason.ScenarioNotFound && reason.Of(failure) != reason.EngineOutputInvalid:
		return failure
	}
	return reason.New(reason.Busy, "the result of scenario %s of basin %s is being replaced; try again", r.Facts.IDs.Scenario, r.Facts.Basin)
}

// sameRun reports whether two markers are of one run of one job.
func sameRun(a, b *publish.Marker) bool {
	return a.JobID == b.JobID && a.RunKey == b.RunKey && a.Attempt == b.Attempt && a.StartedAt.Equal(b.StartedAt) && a.FinishedAt.Equal(b.FinishedAt) && a.Rows == b.Rows
}

func (r *Reading) readMarker(ctx context.Context) (*publish.Marker, error) {
	basin, scenario := r.Facts.Basin, r.Facts.IDs.Scenario
	f, err := r.from.ReadResult(ctx, basin, scenario, publish.MarkerName)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, reason.New(reason.ScenarioNotFound, "scenario %s of basin %s has no result: there is no %s; it was never run, or a run is under way (rsms-job status %s %s)",
			scenario, basin, publish.MarkerName, basin, scenario)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := publish.ReadMarker(f)
	if err != nil {
		return nil, &reason.Error{Code: reason.EngineOutputInvalid, Err: err,
			Detail: fmt.Sprintf("%s of scenario %s of basin %s cannot be read; run the scenario again with force", publish.MarkerName, scenario, basin)}
	}
	return m, nil
}

// readDocuments reads the JSON documents of the result and the parameters of its run.
func (r *Reading) readDocuments(ctx context.Context) error {
	var edges plume.EdgeDocument
	var balance plume.BalanceDocument
	var intakes plume.IntakeDocument
	var band *ensemble.Document
	for _, d := range []struct {
		name string
		into any
		job  func() string // that it is of, "" where it says nothing
	}{
		{"intakes.json", &intakes, func() string { return intakes.JobID }},
		{"edge_timeseries.json", &edges, func() string { return edges.JobID }},
		{"mass_balance.json", &balance, func() string { return balance.JobID }},
		{ensembleName, &band, func() string { return band.JobID }},
	} {
		found, err := r.document(ctx, d.name, d.into)
		if err != nil {
			return err
		}
		if !found && slices.ContainsFunc(r.marker.Blobs, func(b publish.BlobInfo) bool { return b.Name == d.name }) {
			return r.bad(reason.EngineOutputMissing, "%s is missing, and %s names it", d.name, publish.MarkerName)
		}
		if !found {
			continue
		}
		if job := d.job(); job != "" && job != r.marker.JobID {
			return r.bad(reason.EngineOutputInvalid, "%s is of another job than %s", d.name, publish.MarkerName)
		}
	}
	r.Facts.Edges, r.Facts.Balance, r.Facts.Intakes, r.Facts.Ensemble = edges.Series, balance.Balance, intakes.Intakes, band
	return r.readParameters(ctx)
}

// readParameters reads those of the run, which may be gone; damaged ones are no
// better than none.
func (r *Reading) readParameters(ctx context.Context) error {
	found, err := r.document(ctx, storage.RunPrefix+r.marker.JobID+"/params.json", &r.params)
	switch {
	case err != nil && reason.Of(err) != reason.EngineOutputInvalid:
		return err
	case err == nil && found:
		r.kept = r.params.check()
	}
	if !r.kept {
		r.params = keptParameters{}
	}
	r.Facts.Inputs = r.params.InputHashes
	r.Facts.Engines = origins(r.params.EngineFiles, r.params.EngineHash, r.marker.Commit, r.marker.RunKey)
	r.Facts.Warnings = slices.Clone(r.params.Warnings)
	return nil
}

// check reads the scenario of kept parameters; ok is false where it is not whole.
func (p *keptParameters) check() (ok bool) {
	// A quantity that was not given is written as 0 or "".
	for _, name := range []string{"Name", "SpillRiver", "SpillMassKg", "SpillVolumeL", "DensityKgPerL", "SpillDurationHours", "HalfLifeHours", "ThresholdMgL"} {
		if v := p.Written[name]; v == 0.0 || v == "" {
			delete(p.Written, name)
		}
	}
	s, err := river.ParseScenario(p.Written, river.ScenarioDefaults{})
	if err != nil || !(s.ConcentrationTolerance > 0) {
		return false
	}
	p.Scenario = *s
	return true
}

// document reads one JSON document; found is false where it is not there.
func (r *Reading) document(ctx context.Context, name string, into any) (found bool, err error) {
	f, err := r.from.ReadResult(ctx, r.Facts.Basin, r.Facts.IDs.Scenario, name)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, &reason.Error{Code: reason.EngineOutputInvalid, Err: err,
			Detail: fmt.Sprintf("%s of scenario %s of basin %s is damaged; run the scenario again with force", name, r.Facts.IDs.Scenario, r.Facts.Basin)}
	}
	return true, nil
}
