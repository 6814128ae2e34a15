package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/engine"
	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/message"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
	"rsmsjob/internal/storage"
)

// The files of a basin.
const (
	indexName = "RiverMileIndex.csv"
	flowName  = "FLOW.IN"
	basinName = "basin.json"
	nfqName   = "NFQ.csv"
)

// inputs are the bytes that a run depends on, and their hash.
type inputs struct {
	columns   map[string]any // of the scenario row
	files     map[string][]byte
	hashes    map[string]string
	key       string
	plainKey  string // without an ensemble
	tolerance float64
	ensemble  ensemble.Options
}

// load reads what the run depends on.
func (j *Job) load(ctx context.Context, m *message.Message, set *engine.Set) (*inputs, error) {
	in := &inputs{files: map[string][]byte{}, hashes: map[string]string{}, tolerance: j.Tolerance, ensemble: j.Ensemble}
	there, err := j.Inputs.BasinExists(ctx, m.Basin)
	if err != nil {
		return nil, fmt.Errorf("look for basin %s: %w", m.Basin, faulty(reason.BasinNotFound, err))
	}
	in.columns, err = j.Inputs.Scenario(ctx, m.Basin, m.Scenario)
	if errors.Is(err, storage.ErrNotFound) && there {
		return nil, reason.New(reason.ScenarioNotFound, "basin %s has no scenario %s in table Scenarios", m.Basin, m.Scenario)
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, reason.Wrap(reason.InvalidScenario, err, fmt.Sprintf("scenario %s of basin %s cannot be read", m.Scenario, m.Basin))
	}
	if !there {
		return nil, reason.New(reason.BasinNotFound, "basin %s is not in the store; it needs %s and %s", m.Basin, flowName, indexName)
	}
	names := []string{flowName, indexName, basinName}
	source, _ := in.columns["FlowSource"].(string)
	if source == string(river.FlowNFQ) {
		names = append(names, nfqName)
	}
	for _, name := range names {
		data, err := j.Inputs.Basin(ctx, m.Basin, name)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of basin %s: %w", name, m.Basin, faulty(reason.InvalidBasin, err))
		}
		in.files[name] = data
		in.hashes[name] = hash(data)
	}
	for _, name := range []string{flowName, indexName} {
		if in.files[name] == nil {
			return nil, reason.New(reason.InvalidBasin, "basin %s has no %s; it is required", m.Basin, name)
		}
	}
	if source == string(river.FlowNFQ) && in.files[nfqName] == nil {
		return nil, reason.New(reason.InvalidFlows, "scenario %s wants the flows of %s, and basin %s has none", m.Scenario, nfqName, m.Basin)
	}
	if in.key, err = in.runKey(m, set, in.ensemble); err == nil {
		in.plainKey, err = in.runKey(m, set, ensemble.Options{})
	}
	return in, err
}

// faulty gives what a store finds wrong with an input, such as a name in
// another letter case, its reason. Any other error of a store is not ours to
// judge.
func faulty(code reason.Code, err error) error {
	if len(reason.Faults(err)) == 0 {
		return err
	}
	return reason.Wrap(code, err, "")
}

// runKey is the hash of all that decides the numbers of a run.
func (in *inputs) runKey(m *message.Message, set *engine.Set, varied ensemble.Options) (string, error) {
	columns := map[string]any{}
	for _, name := range river.ScenarioColumns() {
		if v, ok := in.columns[name]; ok {
			columns[name] = v
		}
	}
	all := map[string]any{"type": m.Type, "version": m.Version, "scenario": columns,
		"files": in.hashes, "engine": set.Hash, "tolerance": in.tolerance}
	if varied.Runs > 0 { // a key without one stays what it was before there were any
		all["ensemble"] = varied
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", &reason.Error{Code: reason.InvalidScenario, Err: err, Detail: "the scenario row cannot be written as JSON"}
	}
	return hash(text), nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// plan parses and validates all inputs and lays the run out.
func (j *Job) plan(in *inputs) (*engine.Plan, []string, error) {
	var warnings []string
	warn := func(list []river.Warning) {
		for _, w := range list {
			warnings = append(warnings, w.String())
		}
	}
	c := engine.Case{Basin: &river.Basin{}}
	if data := in.files[basinName]; data != nil {
		basin, list, err := river.ParseBasin(data, basinName)
		if err != nil {
			return nil, nil, reason.Wrap(reason.InvalidBasin, err, "basin.json is not valid")
		}
		c.Basin = basin
		warn(list)
	}
	var err error
	c.Scenario, err = river.ParseScenario(in.columns, river.ScenarioDefaults{ConcentrationTolerance: in.tolerance,
		ThresholdMgL: c.Basin.ThresholdMgL, Zone: c.Basin.Zone})
	if err != nil {
		return nil, nil, reason.Wrap(reason.InvalidScenario, err, "the scenario is not valid")
	}
	if c.Input, err = daflow.ReadInput(bytes.NewReader(in.files[flowName]), flowName); err != nil {
		return nil, nil, reason.Wrap(reason.InvalidBasin, err, "FLOW.IN is not valid")
	}
	for _, w := range c.Input.Warnings {
		warnings = append(warnings, flowName+" "+w)
	}
	var list []river.Warning
	if c.Index, list, err = river.ParseIndex(bytes.NewReader(in.files[indexName]), indexName); err == nil {
		warn(list)
		list, err = c.Index.Bind(&c.Input.Network)
	}
	if err != nil {
		return nil, nil, reason.Wrap(reason.InvalidBasin, err, "RiverMileIndex.csv is not valid")
	}
	warn(list)
	if err := c.Basin.Validate(&c.Input.Network); err != nil {
		return nil, nil, reason.Wrap(reason.InvalidBasin, err, "basin.json is not valid")
	}
	warn(c.Basin.UnusedHydrology(c.Index))
	if data := in.files[nfqName]; data != nil {
		if c.Flows, list, err = river.ParseFlows(bytes.NewReader(data), nfqName, c.Basin.Zone); err == nil {
			err = c.Flows.Validate(&c.Input.Network)
		}
		if err != nil {
			return nil, nil, reason.Wrap(reason.InvalidFlows, err, "NFQ.csv is not valid")
		}
		warn(list)
	}
	plan, err := engine.NewPlan(c)
	if err != nil {
		code := reason.InvalidScenario
		if f := reason.Faults(err); len(f) > 0 && f[0].File == nfqName {
			code = reason.InvalidFlows
		}
		return nil, nil, reason.Wrap(code, err, "the scenario does not fit its basin")
	}
	return plan, append(warnings, plan.Warnings...), nil
}

// whole reports whether the published result is whole and of this run key:
// result.json can be read, every blob it names has the size and hash it says, but
// that what tells of the run may be gone, and the plume tables have as many rows.
func (j *Job) whole(ctx context.Context, ids plume.IDs, key string) (bool, error) {
	m, err := j.marker(ctx, ids)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return false, nil
	case errors.Is(err, publish.ErrNoMarker):
		j.Log.Warn("the last result is damaged, it is made again", "error", err)
		return false, nil
	case err != nil:
		return false, err
	case m.RunKey != key:
		return false, nil
	}
	byTime, byMile, err := j.Results.CountRows(ctx, ids.Basin, ids.Scenario)
	if err != nil {
		return false, err
	}
	if byTime != m.Rows.ByTime || byMile != m.Rows.ByMile {
		j.Log.Warn("the last result is damaged, it is made again", "rows_by_time", byTime, "rows_by_mile", byMile)
		return false, nil
	}
	for _, b := range m.Blobs {
		same, err := j.unchanged(ctx, ids, b)
		if err != nil {
			return false, err
		}
		if !same {
			j.Log.Warn("the last result is damaged, it is made again", "blob", b.Name)
			return false, nil
		}
	}
	return true, nil
}

// unchanged reports whether a blob is still what result.json says of it.
func (j *Job) unchanged(ctx context.Context, ids plume.IDs, b publish.BlobInfo) (bool, error) {
	r, err := j.Results.ReadResult(ctx, ids.Basin, ids.Scenario, b.Name)
	if errors.Is(err, storage.ErrNotFound) {
		return strings.HasPrefix(b.Name, storage.RunPrefix), nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, r)
	return size == b.Size && hex.EncodeToString(sum.Sum(nil)) == b.SHA256, err
}

func (j *Job) marker(ctx context.Context, ids plume.IDs) (*publish.Marker, error) {
	r, err := j.Results.ReadResult(ctx, ids.Basin, ids.Scenario, publish.MarkerName)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return publish.ReadMarker(r)
}
