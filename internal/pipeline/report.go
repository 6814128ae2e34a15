package pipeline

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"rsmsjob/internal/engine"
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
	// A PNG takes more than all the rest of the report: rsms-job report draws it.
	for _, name := range []string{report.CurvesSVG, report.MapSVG} {
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
	bands, unbanded := bands(plan, found.intakes)
	return report.Facts{IDs: r.ids, BasinName: basin.Name, Contact: basin.Contact, Zone: basin.Zone, Scenario: plan.Case.Scenario,
		Engine: r.set.Version(), Inputs: r.in.hashes, Engines: origins(r.set.Files, r.set.Hash, r.Commit, r.in.key), Warnings: warnings,
		Edges: found.edges.Series(), Balance: found.balance, Intakes: found.intakes, Places: plan.Case.Index.Places,
		Downstream: senses(plan.Case.Index), Observed: observed, Bands: bands, Unbanded: unbanded, Ensemble: found.ensemble}
}

// senses are which way the miles of each river of the index run.
func senses(index *river.Index) map[string]int {
	all := map[string]int{}
	for _, name := range index.Rivers() {
		all[name] = index.Downstream(name)
	}
	return all
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

// bands are what rivers have shown, as far as the basin knows its hydrology, and the
// intakes for which it does not.
func bands(plan *engine.Plan, intakes []plume.Intake) (known []report.Band, unknown []plume.Intake) {
	c := plan.Case
	if !c.Basin.HasHydrology() {
		return nil, nil
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
