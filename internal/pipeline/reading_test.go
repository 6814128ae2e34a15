package pipeline

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

const (
	byTimeTable  = "tables/PlumeByTime/channel/s1.csv"
	parameterOf1 = reported + "run/job-1/params.json"
	rowOfS1      = "tables/Scenarios/channel/s1.json"
)

// finished is a folder with a result whose basin knows its hydrology.
func finished(t *testing.T) (dir string) {
	t.Helper()
	dir = writeChannel(t)
	put(t, dir, "riverbasin/channel/basin.json", strings.ReplaceAll(basinKnows, `"Channel"`, `"`+riverName(t, dir)+`"`))
	mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false))
	return dir
}

// changed is a copy of files with some of them changed; "" removes one.
func changed(t *testing.T, base, change map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range base {
		if _, ok := change[name]; !ok {
			put(t, dir, name, text)
		}
	}
	for name, text := range change {
		if text != "" {
			put(t, dir, name, text)
		}
	}
	return dir
}

// The band is of what the result was made from, whatever the settings of the reader
// and the scenario of today; where that is not known or has changed there is none,
// and the cause is named.
func TestWhatChangedSince(t *testing.T) {
	base := tree(t, finished(t))
	flow, params := base["riverbasin/channel/FLOW.IN"], base[parameterOf1]
	if !strings.Contains(params, `"ConcentrationTolerance":0.001`) || !strings.Contains(params, `"SpillTime":"2026-01-02T03:00:00Z",`) {
		t.Fatal(params)
	}
	const left = "the plausibility band is left out"
	tests := []struct {
		name      string
		change    map[string]string
		tolerance float64
		since     []string // nil: nothing
		band      bool
	}{
		{"nothing", nil, 0.001, nil, true},
		{"another tolerance of the reader", nil, 0.5, nil, true},
		{"flows", map[string]string{"riverbasin/channel/FLOW.IN": flow + "\n"}, 0.001, []string{"FLOW.IN has changed", left}, false},
		{"flows gone", map[string]string{"riverbasin/channel/FLOW.IN": ""}, 0.001, []string{"FLOW.IN, which this result was made from, is no longer there", left}, false},
		{"basin.json gone", map[string]string{"riverbasin/channel/basin.json": ""}, 0.001, []string{"basin.json, which this result was made from, is no longer there"}, false},
		{"basin.json damaged", map[string]string{"riverbasin/channel/basin.json": "{"}, 0.001, []string{"basin.json has changed", "basin.json cannot be read now"}, false},
		{"a new scenario", map[string]string{rowOfS1: strings.Replace(base[rowOfS1], `"SpillMassKg":250`, `"SpillMassKg":300`, 1)}, 0.001,
			[]string{"the scenario has changed since this result was made (SpillMassKg)"}, true},
		{"a scenario that is not valid", map[string]string{rowOfS1: `{"SpillMile":1}`}, 0.001, []string{"is not valid now"}, true},
		{"no scenario", map[string]string{rowOfS1: ""}, 0.001, nil, true},
		{"no parameters", map[string]string{parameterOf1: ""}, 0.001, []string{"no longer kept", left}, false},
		{"parameters cut short", map[string]string{parameterOf1: params[:100]}, 0.001, []string{"no longer kept", left}, false},
		{"parameters without a tolerance", map[string]string{parameterOf1: strings.Replace(params, `"ConcentrationTolerance":0.001`, `"ConcentrationTolerance":0`, 1)}, 0.001, []string{"no longer kept", left}, false},
		{"parameters without a time", map[string]string{parameterOf1: strings.Replace(params, `"SpillTime":"2026-01-02T03:00:00Z",`, "", 1)}, 0.001, []string{"no longer kept", left}, false},
		{"parameters without a scenario", map[string]string{parameterOf1: strings.Replace(params, `"scenario"`, `"scene"`, 1)}, 0.001, []string{"no longer kept", left}, false},
		{"parameters without hashes", map[string]string{parameterOf1: strings.Replace(params, `"inputs_sha256"`, `"inputs"`, 1)}, 0.001, []string{left}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store, err := storage.OpenFolder(changed(t, base, tt.change))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			r, err := OpenResult(t.Context(), store, "channel", "s1", tt.tolerance)
			if err != nil {
				t.Fatal(err)
			}
			if has := len(r.Facts.Bands) > 0; has != tt.band {
				t.Errorf("has a band: %v, want %v", has, tt.band)
			}
			if len(r.Since) != len(tt.since) {
				t.Errorf("says %q, want %q", r.Since, tt.since)
			}
			for i, want := range tt.since {
				if i < len(r.Since) && !strings.Contains(r.Since[i], want) {
					t.Errorf("says %q, want %q", r.Since[i], want)
				}
			}
			if s := r.Facts.Scenario; s.SpillMassKg != 250 || !(s.ConcentrationTolerance > 0) || s.SpillTime.Year() != 2026 {
				t.Errorf("the scenario is %+v", s)
			}
		})
	}
}

// A result that is not of one piece makes no report.
func TestResultOfTwoJobs(t *testing.T) {
	base := tree(t, finished(t))
	rows := base[byTimeTable]
	lines := strings.SplitAfter(rows, "\n")
	tests := []struct {
		name   string
		change map[string]string
		code   reason.Code
		says   string
	}{
		{"as it is", nil, "", ""},
		{"a row of another job", map[string]string{byTimeTable: strings.Replace(rows, "job-1", "job-2", 1)}, reason.EngineOutputInvalid, "1 of "},
		{"all rows of another job", map[string]string{byTimeTable: strings.ReplaceAll(rows, "job-1", "job-2")}, reason.EngineOutputInvalid, "are of another job than result.json; run the scenario again with force"},
		{"a row less", map[string]string{byTimeTable: strings.Join(lines[:len(lines)-2], "")}, reason.EngineOutputInvalid, "and result.json names"},
		{"no table", map[string]string{byTimeTable: ""}, reason.EngineOutputMissing, "table PlumeByTime has none of its"},
		{"the answer of another job", map[string]string{reported + "intakes.json": strings.Replace(base[reported+"intakes.json"], "job-1", "job-2", 1)}, reason.EngineOutputInvalid, "intakes.json is of another job"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := reportOf(t, changed(t, base, tt.change))
			if tt.code == "" && err != nil || tt.code != "" && (reason.Of(err) != tt.code || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%v, want %s: %s", err, tt.code, tt.says)
			}
		})
	}
}

// replacing is a store in which a run begins to replace the result.
type replacing struct {
	*storage.Folder
	dir    string
	marker string // of the new result, "" where there is none yet
}

func (r *replacing) replace() error {
	path := filepath.Join(r.dir, filepath.FromSlash(reported+publish.MarkerName))
	if r.marker == "" {
		return os.Remove(path)
	}
	return os.WriteFile(path, []byte(r.marker), 0o644)
}

// duringRows replaces the result behind its first row, duringDocuments before its
// documents.
type duringRows struct{ *replacing }

func (r duringRows) ReadPlumeByTime(ctx context.Context, basin, scenario string) iter.Seq2[storage.PlumeEntity, error] {
	return func(yield func(storage.PlumeEntity, error) bool) {
		first := true
		for e, err := range r.Folder.ReadPlumeByTime(ctx, basin, scenario) {
			if first {
				err = errors.Join(err, r.replace())
				first = false
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

type duringDocuments struct{ *replacing }

func (r duringDocuments) ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error) {
	if name == "intakes.json" {
		return nil, errors.Join(storage.ErrNotFound, r.replace())
	}
	return r.Folder.ReadResult(ctx, basin, scenario, name)
}

// A result that is replaced while it is read is busy, not damaged.
func TestResultThatIsReplaced(t *testing.T) {
	base := tree(t, finished(t))
	next := strings.Replace(base[reported+publish.MarkerName], `"attempt":1`, `"attempt":2`, 1)
	if next == base[reported+publish.MarkerName] {
		t.Fatal(next)
	}
	for name, marker := range map[string]string{"gone": "", "new": next, "half": next[:40]} {
		for when, wrap := range map[string]func(*replacing) Published{"rows": func(r *replacing) Published { return duringRows{r} }, "documents": func(r *replacing) Published { return duringDocuments{r} }} {
			dir := changed(t, base, nil)
			store, err := storage.OpenFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			r, err := OpenResult(t.Context(), wrap(&replacing{store, dir, marker}), "channel", "s1", 0.001)
			if err == nil {
				err = r.Rows(t.Context(), func(plume.Row) error { return nil })
			}
			if reason.Of(err) != reason.Busy || !strings.Contains(err.Error(), "is being replaced; try again") {
				t.Errorf("%s, during %s: %v", name, when, err)
			}
		}
	}
}

// Which way miles run comes from the index of the result, for the run and for the
// report of it, and from no other index.
func TestSenseOfTheIndex(t *testing.T) {
	base := tree(t, finished(t))
	for name, change := range map[string]map[string]string{"as it was": nil,
		"another": {"riverbasin/channel/RiverMileIndex.csv": base["riverbasin/channel/RiverMileIndex.csv"] + "\n"}} {
		facts, _, err := reportOf(t, changed(t, base, change))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{}
		if change == nil {
			want[facts.Edges[0].River] = -1
		}
		if !maps.Equal(facts.Downstream, want) {
			t.Errorf("%s: %v, want %v", name, facts.Downstream, want)
		}
	}
}

// Hydrology of a river that the index does not have is told of, where other warnings
// of basin.json are; and an intake without hydrology has no band, which is said.
func TestHydrologyThatIsNotUsed(t *testing.T) {
	dir := writeChannel(t)
	name := riverName(t, dir)
	put(t, dir, "riverbasin/channel/basin.json", strings.Replace(strings.ReplaceAll(basinKnows, `"Channel"`, `"`+name+`"`), `"river":"`+name+`"`, `"river":"Chanel"`, 1))
	mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false))
	text := tree(t, dir)[reported+"report.html"]
	for _, want := range []string{"basin.json: hydrology names the river &#34;Chanel&#34;, which the index does not have", "Is it plausible?", "No band for "} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %s", want)
		}
	}
}
