package compare

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// Inputs says whether two results were computed from the same.
type Inputs struct {
	// Known is false where a result has no params.json any more: it lies with
	// the logs of the run, which may be removed after some time.
	Known bool `json:"known"`
	// Differ are the basin files and scenario values that are not the same.
	Differ []string `json:"differ"`
}

// Same reports whether it is known that the inputs are the same.
func (i *Inputs) Same() bool { return i.Known && len(i.Differ) == 0 }

// parameters is what is compared of params.json.
type parameters struct {
	Files    map[string]string `json:"inputs_sha256"`
	Scenario map[string]any    `json:"scenario"`
}

// parameters reads params.json, which may be gone: nil then.
func (r *Result) parameters(ctx context.Context) (*parameters, error) {
	var p parameters
	name := storage.RunPrefix + r.Marker.JobID + "/params.json"
	in, err := r.store.ReadResult(ctx, r.Basin, r.Scenario, name)
	if errors.Is(err, storage.ErrNotFound) || len(reason.Faults(err)) > 0 {
		return nil, nil
	}
	if err != nil {
		return nil, r.told(err)
	}
	defer in.Close()
	if err := json.NewDecoder(in).Decode(&p); err != nil || p.Files == nil || p.Scenario == nil {
		return nil, nil
	}
	return &p, nil
}

// InputsOf says whether two results were computed from the same inputs.
func InputsOf(a, b *Result) Inputs {
	in := Inputs{Differ: []string{}}
	if a.params == nil || b.params == nil {
		return in
	}
	in.Known = true
	in.Differ = append(in.Differ, differing(a.params.Files, b.params.Files, "")...)
	in.Differ = append(in.Differ, differing(a.params.Scenario, b.params.Scenario, "scenario ")...)
	return in
}

// differing are the names that the maps do not agree about, sorted.
func differing[V any](a, b map[string]V, prefix string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x, inA := a[name]
		y, inB := b[name]
		if inA != inB || !reflect.DeepEqual(x, y) {
			names = append(names, prefix+name)
		}
	}
	return names
}
