package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
	"rsmsjob/internal/storage/faultproxy"
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
	for _, text := range []string{``, `[]`, `null`, `{`, `{} {}`, `3`, `{"a":[]}`, `{"a":{}}`} {
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

// A store that refuses in the middle: what is loaded was printed, and the error
// says how much is not.
func TestInitStopsWithTheStore(t *testing.T) {
	o := newOffice(t)
	dir := t.TempDir()
	for _, name := range []string{"riverbasin/b/FLOW.IN", "riverbasin/b/basin.json", "tables/Scenarios/b/s1.json", "tables/Scenarios/b/s2.json"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := o.proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Service: faultproxy.Table, Path: "s1"}, Action: denied()})
	out, said := o.does(exitFailed, "init", "--from", dir)
	if !strings.Contains(out, "file       b/FLOW.IN\nfile       b/basin.json\n") || strings.Contains(out, "scenario") ||
		!strings.Contains(said, "2 of 4 are not loaded, from tables/Scenarios/b/s1.json on; try it again: no right to ") {
		t.Errorf("it said %s%s", out, said)
	}
	f.Remove()
	if out, _ := o.does(exitDone, "init", "--from", dir); strings.Count(out, "scenario ") != 2 {
		t.Errorf("it said %s", out)
	}
}
