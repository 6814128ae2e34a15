package pipeline

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/report"
	"rsmsjob/internal/storage"
)

const reported = "rsms-results/channel/s1/"

// reportOf builds the report of a published result, as rsms-job report does.
func reportOf(t *testing.T, dir string) (report.Facts, string, error) {
	t.Helper()
	store, err := storage.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	reading, err := OpenResult(t.Context(), store, "channel", "s1", 0.001)
	if err != nil {
		return report.Facts{}, "", err
	}
	facts := reading.Facts
	b := report.New(facts)
	if err := reading.Rows(t.Context(), func(row plume.Row) error { b.Row(row); return nil }); err != nil {
		return facts, "", err
	}
	var text bytes.Buffer
	if err := b.Report().HTML(&text); err != nil {
		t.Fatal(err)
	}
	return facts, text.String(), nil
}

// basinKnows is all that a report may take from basin.json.
const basinKnows = `{"name":"The <Channel>","time_zone":"America/New_York","contact":"duty desk","hydrology":[
 {"river":"Channel","river_mile":100,"drainage_area_km2":300,"mean_flow_m3_s":40},
 {"river":"Channel","river_mile":60,"drainage_area_km2":500,"mean_flow_m3_s":60}]}`

// riverName is the river of the channel.
func riverName(t *testing.T, dir string) string {
	t.Helper()
	row := strings.Split(strings.Split(tree(t, dir)["riverbasin/channel/RiverMileIndex.csv"], "\n")[1], ",")
	return row[2]
}

// A run publishes its report, and the report made of the stored result afterwards
// is the same, byte for byte.
func TestRunReports(t *testing.T) {
	dir := writeChannel(t)
	put(t, dir, "riverbasin/channel/basin.json", strings.ReplaceAll(basinKnows, `"Channel"`, `"`+riverName(t, dir)+`"`))
	put(t, dir, "riverbasin/channel/observed.csv", "scenario,name,lead10_h,peak_h,peak_mg_l,trail10_h\ns1,none,1,2,3,4\n")
	mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false))
	files := tree(t, dir)
	var m publish.Marker
	decodeInto(t, files[reported+"result.json"], &m)
	for _, name := range []string{"report.html", "report-curves.svg", "report-map.svg"} {
		at := slices.IndexFunc(m.Blobs, func(b publish.BlobInfo) bool { return b.Name == name })
		if at < 0 || m.Blobs[at].Size != int64(len(files[reported+name])) {
			t.Errorf("result.json does not name %s as it is", name)
		}
	}
	facts, text, err := reportOf(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if text != files[reported+"report.html"] {
		t.Errorf("the report of the run has %d bytes, that made of the result %d:\n%s", len(files[reported+"report.html"]), len(text), facts.Warnings)
	}
	for _, want := range []string{"The &lt;Channel&gt;", "duty desk", "America/New_York", "Is it plausible?", "test &lt;&amp;&gt; spill", "c0ffee"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %s", want)
		}
	}
}

// A file of observations that cannot be used costs a warning and no result.
func TestBadObservations(t *testing.T) {
	dir := writeChannel(t)
	put(t, dir, "riverbasin/channel/observed.csv", "scenario,name\n")
	mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false))
	if text := tree(t, dir)[reported+"report.html"]; !strings.Contains(text, "observed.csv is left out: observed.csv line 1: must have 6 columns") {
		t.Error("the report does not say why the observations are left out")
	}
}

// Results of older versions know less, and what a result was made from changes:
// the report opens and says so.
func TestOldResults(t *testing.T) {
	done := writeChannel(t)
	mustRun(t, jobOn(t, done), messageOf("channel", "s1", false))
	base := tree(t, done)
	var m publish.Marker
	decodeInto(t, base[reported+"result.json"], &m)
	m.Blobs = slices.DeleteFunc(m.Blobs, func(b publish.BlobInfo) bool { return b.Name == "mass_balance.json" })
	short, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		change  map[string]string // "" removes the file
		warning string
		code    reason.Code
		says    string
	}{
		{"as it is", nil, "", "", ""},
		{"no marker", map[string]string{reported + "result.json": ""}, "", reason.ScenarioNotFound, "has no result: there is no result.json"},
		{"marker cut short", map[string]string{reported + "result.json": `{"run_k`}, "", reason.EngineOutputInvalid, "result.json of scenario s1 of basin channel cannot be read"},
		{"answer gone", map[string]string{reported + "intakes.json": ""}, "", reason.EngineOutputMissing, "intakes.json is missing, and result.json names it"},
		{"answer damaged", map[string]string{reported + "intakes.json": "{"}, "", reason.EngineOutputInvalid, "intakes.json of scenario s1 of basin channel is damaged"},
		{"answer that no version had", map[string]string{reported + "mass_balance.json": "", reported + "result.json": string(short)}, "", "", ""},
		{"parameters gone", map[string]string{reported + "run/job-1/params.json": ""}, "the scenario is shown as its row is now", "", ""},
		{"parameters and scenario gone", map[string]string{reported + "run/job-1/params.json": "", "tables/Scenarios/channel/s1.json": ""}, "", reason.ScenarioNotFound, "no longer kept"},
		{"scenario gone", map[string]string{"tables/Scenarios/channel/s1.json": ""}, "", "", ""},
		{"another index", map[string]string{"riverbasin/channel/RiverMileIndex.csv": "branch,grid,river,river_mile\n1,1,X,1\n"}, "RiverMileIndex.csv has changed since", "", ""},
		{"no index", map[string]string{"riverbasin/channel/RiverMileIndex.csv": ""}, "RiverMileIndex.csv, which this result was made from, is no longer there", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range base {
				put(t, dir, name, text)
			}
			for name, text := range tt.change {
				put(t, dir, name, text)
				if text == "" {
					if err := os.Remove(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			facts, text, err := reportOf(t, dir)
			if tt.code != "" {
				if reason.Of(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v, want %s: %s", err, tt.code, tt.says)
				}
				return
			}
			if err != nil || !strings.Contains(text, "The plume reaches") {
				t.Errorf("%v\n%.300s", err, text)
			}
			if all := strings.Join(facts.Warnings, "\n"); !strings.Contains(all, tt.warning) || tt.warning == "" && strings.Contains(all, "changed") {
				t.Errorf("warnings: %s", all)
			}
		})
	}
}
