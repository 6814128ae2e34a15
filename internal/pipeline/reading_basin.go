package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
	"rsmsjob/internal/storage"
)

// readBasin reads what the basin and the scenario say today, as far as it is still
// what the result was made from.
func (r *Reading) readBasin(ctx context.Context, tolerance float64) error {
	in := &inputs{files: map[string][]byte{}, tolerance: tolerance}
	if r.kept {
		in.tolerance = r.params.Scenario.ConcentrationTolerance
	}
	same, err := r.readFiles(ctx, in)
	if err != nil {
		return err
	}
	basin := r.basin(in.files[basinName])
	r.index(in)
	if err := r.readScenario(ctx, in, basin); err != nil {
		return err
	}
	var problem string
	if r.Facts.Observed, problem = observations(ctx, r.from, r.Facts.Basin, r.Facts.IDs.Scenario); problem != "" {
		r.since("%s", problem)
	}
	if !basin.HasHydrology() {
		return nil
	}
	if !same {
		r.since("the plausibility band is left out: it would be of the basin as it is now")
		return nil
	}
	r.band(in)
	return nil
}

// readFiles reads the files of the basin; same is whether they are all those that the
// result was made from, as far as that is known.
func (r *Reading) readFiles(ctx context.Context, in *inputs) (same bool, err error) {
	was := r.Facts.Inputs
	known := r.kept && len(was) > 0
	same = known
	for _, name := range []string{flowName, indexName, basinName, nfqName} {
		if name == nfqName && was[nfqName] == "" {
			continue
		}
		data, err := r.from.Basin(ctx, r.Facts.Basin, name)
		if errors.Is(err, storage.ErrNotFound) {
			if was[name] != "" {
				same = false
				r.since("%s, which this result was made from, is no longer there", name)
			}
			continue
		}
		if err != nil {
			return false, err
		}
		in.files[name] = data
		switch {
		case !known || was[name] == hash(data):
		case was[name] == "":
			same = false
			r.since("%s was added since this result was made", name)
		default:
			same = false
			r.since("%s has changed since this result was made", name)
		}
	}
	return same, nil
}

// basin takes from basin.json what a report shows of it.
func (r *Reading) basin(data []byte) *river.Basin {
	basin := &river.Basin{}
	if data != nil {
		parsed, _, err := river.ParseBasin(data, basinName)
		if err != nil {
			r.since("%s cannot be read now: name, contact, zone and hydrology of the basin are left out", basinName)
		} else {
			basin = parsed
		}
	}
	r.Facts.BasinName, r.Facts.Contact, r.Facts.Zone = basin.Name, basin.Contact, basin.Zone
	return basin
}

// index takes the places, and which way miles run where the index is still that of
// the result: the flows of the network tell it.
func (r *Reading) index(in *inputs) {
	data := in.files[indexName]
	if data == nil {
		r.since("there is no %s now: places without an intake are left out", indexName)
		return
	}
	index, _, err := river.ParseIndex(bytes.NewReader(data), indexName)
	if err != nil {
		r.since("%s cannot be read now: places without an intake are left out", indexName)
		return
	}
	r.Facts.Places = index.Places
	if was := r.Facts.Inputs[indexName]; was != "" && was != hash(data) {
		return // this one may run the other way
	}
	if flows, err := daflow.ReadInput(bytes.NewReader(in.files[flowName]), flowName); err == nil {
		if _, err := index.Bind(&flows.Network); err == nil {
			r.Facts.Downstream = senses(index)
		}
	}
}

// readScenario takes the scenario as the run had it, or as its row is now.
func (r *Reading) readScenario(ctx context.Context, in *inputs, basin *river.Basin) error {
	columns, err := r.from.Scenario(ctx, r.Facts.Basin, r.Facts.IDs.Scenario)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if r.kept {
		r.Facts.Scenario = &r.params.Scenario
		in.columns = r.params.Written
		if err == nil {
			r.compareScenario(columns, basin)
		}
		return nil
	}
	if err != nil {
		return reason.New(reason.ScenarioNotFound, "the parameters of the run are no longer kept, and basin %s has no scenario %s in table Scenarios any more: nothing says what was spilled",
			r.Facts.Basin, r.Facts.IDs.Scenario)
	}
	in.columns = columns
	s, err := river.ParseScenario(columns, river.ScenarioDefaults{ConcentrationTolerance: in.tolerance, ThresholdMgL: basin.ThresholdMgL, Zone: basin.Zone})
	if err != nil {
		return reason.Wrap(reason.InvalidScenario, err, "the parameters of the run are no longer kept, and the scenario is not valid now")
	}
	r.Facts.Scenario = s
	r.since("the parameters of the run are no longer kept: the scenario is shown as its row is now")
	return nil
}

// compareScenario says what the row of the scenario has today that the run had not.
func (r *Reading) compareScenario(columns map[string]any, basin *river.Basin) {
	then := r.params.Scenario
	now, err := river.ParseScenario(columns, river.ScenarioDefaults{ConcentrationTolerance: then.ConcentrationTolerance, ThresholdMgL: then.ThresholdMgL, Zone: basin.Zone})
	if err != nil {
		r.since("the scenario has changed since this result was made and is not valid now; it is shown as the run had it")
		return
	}
	was, is := fields(&then), fields(now)
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if was[name] != is[name] {
			differ = append(differ, name)
		}
	}
	if len(differ) > 0 {
		r.since("the scenario has changed since this result was made (%s); it is shown as the run had it", strings.Join(differ, ", "))
	}
}

// fields are the columns of a scenario by name.
func fields(s *river.Scenario) map[string]any {
	var all map[string]any
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil
	}
	return all
}

// band adds the band of a run whose inputs are known and unchanged.
func (r *Reading) band(in *inputs) {
	plan, _, err := new(Job).plan(in)
	if err != nil {
		why := "its inputs cannot be used"
		if f := reason.Faults(err); len(f) > 0 {
			why = f[0].Detail()
		}
		r.since("the plausibility band is left out: %s", why)
		return
	}
	r.Facts.Bands, r.Facts.Unbanded = bands(plan, r.Facts.Intakes)
}

func (r *Reading) since(format string, args ...any) {
	r.Since = append(r.Since, fmt.Sprintf(format, args...))
}
