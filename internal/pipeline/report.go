package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/report"
	"rsmsjob/internal/river"
	"rsmsjob/internal/storage"
)

// The blob of the report, and the optional file of a basin with what was measured.
const (
	reportName   = "report.html"
	observedName = "observed.csv"
)

// withReport makes a report of a result while its rows pass by, so that nothing is
// read twice.
func withReport(result *publish.Result, facts report.Facts) {
	b := report.New(facts)
	rows := result.ByTime
	result.ByTime = func(emit func(plume.Row) error) error {
		return rows(func(row plume.Row) error {
			b.Row(row)
			return emit(row)
		})
	}
	built := sync.OnceValue(b.Report)
	result.Blobs = append(result.Blobs, publish.Blob{Name: reportName, Write: func(w io.Writer) error { return built().HTML(w) }})
	for _, name := range report.Pictures() {
		result.Blobs = append(result.Blobs, publish.Blob{Name: name, Write: func(w io.Writer) error { return built().Picture(w, name) }})
	}
}

// facts are what a report says of this run. What was measured is no input of the
// engines: a file that cannot be used costs a warning.
func (r *run) facts(ctx context.Context, plan *engine.Plan, found *results, warnings []string) report.Facts {
	observed, problem := observations(ctx, r.Inputs, r.ids.Basin, r.ids.Scenario)
	if problem != "" {
		warnings = append(slices.Clone(warnings), problem)
	}
	basin := plan.Case.Basin
	return report.Facts{IDs: r.ids, BasinName: basin.Name, Contact: basin.Contact, Zone: basin.Zone, Scenario: plan.Case.Scenario,
		Engine: r.set.Version(), Inputs: r.in.hashes, Engines: origins(r.set.Files, r.set.Hash, r.Commit, r.in.key), Warnings: warnings,
		Edges: found.edges.Series(), Balance: found.balance, Intakes: found.intakes, Places: plan.Case.Index.Places,
		Observed: observed, Bands: bands(plan, found.intakes), Ensemble: found.ensemble}
}

// origins are what made the numbers besides the inputs.
func origins(files map[string]string, set, commit, key string) map[string]string {
	all := maps.Clone(files)
	if all == nil {
		all = map[string]string{}
	}
	for name, text := range map[string]string{"engine set": set, "program (commit)": commit, "run key": key} {
		if text != "" {
			all[name] = text
		}
	}
	return all
}

// BasinReader reads the files of a basin.
type BasinReader interface {
	Basin(ctx context.Context, basin, name string) ([]byte, error)
}

// observations reads what was measured; problem says why it is left out.
func observations(ctx context.Context, from BasinReader, basin, scenario string) (list []report.Observation, problem string) {
	data, err := from.Basin(ctx, basin, observedName)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, ""
	}
	if err == nil {
		list, err = report.ReadObserved(bytes.NewReader(data), observedName, scenario)
	}
	if err == nil {
		return list, ""
	}
	why := "it cannot be read"
	if f := reason.Faults(err); len(f) > 0 {
		why = f[0].Detail()
	}
	return nil, observedName + " is left out: " + why
}

// bands are what rivers have shown, as far as the basin knows its hydrology.
func bands(plan *engine.Plan, intakes []plume.Intake) []report.Band {
	c := plan.Case
	if !c.Basin.HasHydrology() {
		return nil
	}
	s := report.Stretch{River: c.Scenario.SpillRiver, Spill: c.Scenario.SpillMile, Hydrology: c.Basin.HydrologyAt}
	if s.River == "" { // the basin has one
		s.River = c.Index.Rivers()[0]
	}
	s.Sense = c.Index.Downstream(s.River)
	net := &plan.Flow.Network
	for _, p := range plan.Places {
		if p.River != s.River {
			continue
		}
		grids := net.Branches[p.Branch-1].Grids
		grid := grids[min(p.RunGrid, len(grids)-1)-1] // the last one has no properties
		s.Sites = append(s.Sites, report.Site{Mile: p.Mile, Flow: grid.Flow * net.Units.LitresPerVolume() / 1000, Slope: grid.Slope})
	}
	return report.Bands(c.Scenario.MassKg(), s, intakes)
}

// Published is where a result is read from.
type Published interface {
	BasinReader
	Scenario(ctx context.Context, basin, scenario string) (map[string]any, error)
	ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error)
	ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[storage.PlumeEntity, error]
}

// reading is a result while it is read.
type reading struct {
	ctx    context.Context
	from   Published
	marker *publish.Marker
	params parameters // of the run; zero where they are no longer kept
	kept   bool       // whether they are
	facts  report.Facts
}

// ReadFacts reads what a report says of a published result. Tolerance is what counts
// where the parameters of the run are gone and its scenario names none. What an older
// result does not know, and what has changed since, is left out with a warning.
func ReadFacts(ctx context.Context, from Published, basin, scenario string, tolerance float64) (report.Facts, error) {
	r := &reading{ctx: ctx, from: from}
	r.facts.IDs = plume.IDs{Basin: basin, Scenario: scenario}
	if err := r.readMarker(); err != nil {
		return report.Facts{}, err
	}
	if err := r.readDocuments(); err != nil {
		return report.Facts{}, err
	}
	if err := r.readBasin(tolerance); err != nil {
		return report.Facts{}, err
	}
	return r.facts, nil
}

func (r *reading) readMarker() error {
	basin, scenario := r.facts.Basin, r.facts.IDs.Scenario
	f, err := r.from.ReadResult(r.ctx, basin, scenario, publish.MarkerName)
	if errors.Is(err, storage.ErrNotFound) {
		return reason.New(reason.ScenarioNotFound, "scenario %s of basin %s has no result: there is no %s; it was never run, or a run is under way (rsms-job status %s %s)",
			scenario, basin, publish.MarkerName, basin, scenario)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if r.marker, err = publish.ReadMarker(f); err != nil {
		return &reason.Error{Code: reason.EngineOutputInvalid, Err: err,
			Detail: fmt.Sprintf("%s of scenario %s of basin %s cannot be read; run the scenario again with force", publish.MarkerName, scenario, basin)}
	}
	r.facts.JobID, r.facts.Engine = r.marker.JobID, r.marker.Engine
	return nil
}

// readDocuments reads the JSON documents of the result and the parameters of its run.
func (r *reading) readDocuments() error {
	var edges plume.EdgeDocument
	var balance plume.BalanceDocument
	var intakes plume.IntakeDocument
	var band *ensemble.Document
	run := storage.RunPrefix + r.marker.JobID + "/params.json"
	for name, into := range map[string]any{"edge_timeseries.json": &edges, "mass_balance.json": &balance, "intakes.json": &intakes, ensembleName: &band, run: &r.params} {
		found, err := r.document(name, into)
		if err != nil {
			return err
		}
		named := slices.ContainsFunc(r.marker.Blobs, func(b publish.BlobInfo) bool { return b.Name == name })
		switch {
		case name == run:
			r.kept = found
		case !found && named:
			return reason.New(reason.EngineOutputMissing, "%s of scenario %s of basin %s is missing, and %s names it; run the scenario again with force",
				name, r.facts.IDs.Scenario, r.facts.Basin, publish.MarkerName)
		}
	}
	r.facts.Edges, r.facts.Balance, r.facts.Intakes, r.facts.Ensemble = edges.Series, balance.Balance, intakes.Intakes, band
	r.facts.Inputs = r.params.InputHashes
	r.facts.Engines = origins(r.params.EngineFiles, r.params.EngineHash, r.marker.Commit, r.marker.RunKey)
	r.facts.Warnings = slices.Clone(r.params.Warnings)
	return nil
}

// document reads one JSON document; found is false where it is not there.
func (r *reading) document(name string, into any) (found bool, err error) {
	f, err := r.from.ReadResult(r.ctx, r.facts.Basin, r.facts.IDs.Scenario, name)
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
			Detail: fmt.Sprintf("%s of scenario %s of basin %s is damaged; run the scenario again with force", name, r.facts.IDs.Scenario, r.facts.Basin)}
	}
	return true, nil
}

// readBasin reads what the basin and the scenario say today, as far as it is still
// what the result was made from.
func (r *reading) readBasin(tolerance float64) error {
	in := &inputs{files: map[string][]byte{}, tolerance: tolerance}
	changed := false
	for _, name := range []string{flowName, indexName, basinName, nfqName} {
		data, err := r.from.Basin(r.ctx, r.facts.Basin, name)
		if errors.Is(err, storage.ErrNotFound) || name == nfqName && r.facts.Inputs[nfqName] == "" {
			continue
		}
		if err != nil {
			return err
		}
		in.files[name] = data
		if was := r.facts.Inputs[name]; r.kept && was != hash(data) {
			changed = true
			r.warn("%s has changed since this result was made", name)
		}
	}
	basin := &river.Basin{}
	if data := in.files[basinName]; data != nil {
		if parsed, _, err := river.ParseBasin(data, basinName); err == nil {
			basin = parsed
		}
	}
	r.facts.BasinName, r.facts.Contact, r.facts.Zone = basin.Name, basin.Contact, basin.Zone
	if index, _, err := river.ParseIndex(bytes.NewReader(in.files[indexName]), indexName); err == nil {
		r.facts.Places = index.Places
	} else {
		r.warn("%s cannot be read now: places without an intake are left out", indexName)
	}
	if err := r.readScenario(in, basin); err != nil {
		return err
	}
	var problem string
	if r.facts.Observed, problem = observations(r.ctx, r.from, r.facts.Basin, r.facts.IDs.Scenario); problem != "" {
		r.warn("%s", problem)
	}
	if !changed && basin.HasHydrology() {
		r.band(in)
	}
	return nil
}

// readScenario takes the scenario as the run had it, or as its row is now.
func (r *reading) readScenario(in *inputs, basin *river.Basin) error {
	var err error
	in.columns, err = r.from.Scenario(r.ctx, r.facts.Basin, r.facts.IDs.Scenario)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if r.kept {
		r.facts.Scenario = &r.params.Scenario
		return nil
	}
	if err != nil {
		return reason.New(reason.ScenarioNotFound, "the parameters of the run are no longer kept, and basin %s has no scenario %s in table Scenarios any more: nothing says what was spilled",
			r.facts.Basin, r.facts.IDs.Scenario)
	}
	s, err := river.ParseScenario(in.columns, river.ScenarioDefaults{ConcentrationTolerance: in.tolerance, ThresholdMgL: basin.ThresholdMgL, Zone: basin.Zone})
	if err != nil {
		return reason.Wrap(reason.InvalidScenario, err, "the parameters of the run are no longer kept, and the scenario is not valid now")
	}
	r.facts.Scenario = s
	r.warn("the parameters of the run are no longer kept: the scenario is shown as its row is now")
	return nil
}

// band adds the band where the inputs are those of the result.
func (r *reading) band(in *inputs) {
	plan, _, err := new(Job).plan(in)
	if err == nil && r.kept {
		now, _ := json.Marshal(plan.Case.Scenario)
		then, _ := json.Marshal(r.params.Scenario)
		if !bytes.Equal(now, then) {
			err = errors.New("another scenario")
		}
	}
	if err != nil {
		r.warn("the scenario has changed since this result was made: the plausibility band is left out")
		return
	}
	r.facts.Bands = bands(plan, r.facts.Intakes)
}

func (r *reading) warn(format string, args ...any) {
	r.facts.Warnings = append(r.facts.Warnings, fmt.Sprintf(format, args...))
}
