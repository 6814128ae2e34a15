package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
)

func TestScenarioColumns(t *testing.T) {
	for text, want := range map[string]map[string]any{
		`{"Name":"x","SpillMile":3,"Status":"Completed","JobId":"j","mine":true}`: {"Name": "x", "SpillMile": json.Number("3"), "mine": true},
		"\ufeff" + `{"SpillTime":"2026-01-02T03:00:00+02:00"}`:                    {"SpillTime": time.Date(2026, 1, 2, 1, 0, 0, 0, time.UTC)},
		`{"SpillTime":"2026-01-02 03:00"}`:                                        {"SpillTime": "2026-01-02 03:00"}, // for the run to judge
		`{"SpillTime":7}`:                                                         {"SpillTime": json.Number("7")},
		`{}`:                                                                      {},
	} {
		got, err := scenarioColumns([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{``, `[]`, `null`, `{`, `{} {}`, `3`} {
		if _, err := scenarioColumns([]byte(text)); len(reason.Faults(err)) == 0 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What a job writes is no input.
func TestJobColumnsAreNoInputs(t *testing.T) {
	inputs := river.ScenarioColumns()
	if !slices.Contains(inputs, spillTime) {
		t.Errorf("%s is no column of a scenario", spillTime)
	}
	for _, name := range jobColumns() {
		if slices.Contains(inputs, name) {
			t.Errorf("%s is both", name)
		}
	}
}
