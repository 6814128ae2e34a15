package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/reason"
)

// picky has the engines fail in the folders of some members, and returns the file
// in which each that runs is noted.
func picky(t *testing.T, j *Job, folders string) (starts string) {
	t.Helper()
	starts = filepath.Join(t.TempDir(), "starts")
	set, err := j.Engines()
	if err != nil {
		t.Fatal(err)
	}
	steps := slices.Clone(set.Steps)
	for i := range steps {
		steps[i].Args = []string{"picky", folders, starts, steps[i].Name}
	}
	set.Steps = steps
	return starts
}

// The flow engine runs once for each flow level, whatever the number of runs, and
// CXPLT for the run itself only.
func TestFlowsAreComputedOnce(t *testing.T) {
	o := few
	o.Runs = 11
	j := varied(t, writeChannel(t), o)
	starts := picky(t, j, "")
	mustRun(t, j, messageOf("channel", "s1", false))
	text, err := os.ReadFile(starts)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, name := range strings.Fields(string(text)) {
		got[name]++
	}
	if d := cmp.Diff(map[string]int{"daflow": 1 + 5, "bltm": 1 + 11, "ctplt": 1 + 11, "cxplt": 1}, got); d != "" {
		t.Error(d)
	}
}

// Flows that cannot be computed cost the runs of their level.
func TestFlowsThatFail(t *testing.T) {
	o := few
	o.Runs = 4
	j := varied(t, writeChannel(t), o)
	picky(t, j, "ensemble-flows-2")
	doc := mustRun(t, j, messageOf("channel", "s1", false)).Ensemble
	for _, run := range doc.Runs {
		if (run.State == "failed") != (run.FlowLevel == 2) {
			t.Errorf("%+v", run)
		}
	}
	if doc.Failed != 1 || doc.Problem == "" {
		t.Errorf("%+v", doc)
	}
}

// A member that fails is counted, warned of with its draw and left out; where many
// do there is no band, and a result all the same.
func TestMembersThatFail(t *testing.T) {
	for _, tt := range []struct {
		folders      string
		runs, failed int
		band         bool
	}{{"ensemble-3", 10, 1, true}, {"ensemble-3", 4, 1, false}} {
		dir := writeChannel(t)
		o := few
		o.Runs = tt.runs
		j := varied(t, dir, o)
		picky(t, j, tt.folders)
		answer := mustRun(t, j, messageOf("channel", "s1", false))
		doc := answer.Ensemble
		if doc.Failed != tt.failed || doc.Completed != tt.runs-tt.failed || doc.Runs[2].State != "failed" || doc.Runs[2].Reason != reason.EngineFailed || (len(doc.Intakes) == 1) != tt.band {
			t.Errorf("%s of %d: %+v", tt.folders, tt.runs, doc)
		}
		want := fmt.Sprintf("run 3 of the ensemble failed (%s): engine_failed: engine bltm ended with exit code 7", doc.Runs[2].Draw)
		if all := strings.Join(answer.Warnings, "\n"); !strings.Contains(all, want) || tt.band == strings.Contains(all, "there is no band") {
			t.Errorf("%s of %d: warnings %s", tt.folders, tt.runs, all)
		}
		if _, there := tree(t, dir)[reported+"result.json"]; !there {
			t.Error("no result")
		}
		// What a passing cause has spoilt is made by the next run that asks for it; a
		// band that is there is not made again.
		again := mustRun(t, varied(t, dir, o), messageOf("channel", "s1", false))
		if again.Current != tt.band || !tt.band && len(again.Ensemble.Intakes) != 1 {
			t.Errorf("%s of %d, again: current %v, %+v", tt.folders, tt.runs, again.Current, again.Ensemble)
		}
		if plain := mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false)); plain.Current {
			t.Error("a run without an ensemble leaves that of another")
		}
	}
}

// Where all fail only the first few are told one by one.
func TestAllMembersFail(t *testing.T) {
	o := few
	o.Runs = 9
	j := varied(t, writeChannel(t), o)
	var folders []string
	for i := range o.Runs {
		folders = append(folders, fmt.Sprintf("ensemble-%d", i+1))
	}
	picky(t, j, strings.Join(folders, ","))
	answer := mustRun(t, j, messageOf("channel", "s1", false))
	if all := strings.Join(answer.Warnings, "\n"); strings.Count(all, "of the ensemble failed (") != mostTold || !strings.Contains(all, "4 more runs of the ensemble failed") ||
		!strings.Contains(all, "there is no band: 9 of the 9 runs") {
		t.Error(all)
	}
}

// Engines of a team: the same answers as ours, where they are ours. Their flows are
// shared only where engine.json says that FLOW.IN is all they depend on.
func TestEnsembleOfForeignEngines(t *testing.T) {
	for _, reads := range [][]string{nil, {"FLOW.IN"}} {
		t.Run(strings.Join(reads, ","), func(t *testing.T) { foreignEnsemble(t, reads) })
	}
}

func foreignEnsemble(t *testing.T, reads []string) {
	dir := writeChannel(t)
	mustRun(t, varied(t, dir, two), messageOf("channel", "s1", false))
	ours := tree(t, dir)[reported+ensembleName]
	engines := t.TempDir()
	self, err := os.ReadFile(must(os.Executable()))
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]any{}
	for _, name := range engine.Names() {
		steps[name] = map[string]any{"executable": "engines.exe", "arguments": []string{"engine", name}}
	}
	if reads != nil {
		steps["daflow"].(map[string]any)["reads"] = reads
	}
	manifest, err := json.Marshal(map[string]any{"name": "copies", "environment": []string{"GORACE=atexit_sleep_ms=0"}, "steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(engines, "engines.exe"), self, 0o755), os.WriteFile(filepath.Join(engines, "engine.json"), manifest, 0o644)); err != nil {
		t.Fatal(err)
	}
	j := varied(t, dir, two)
	j.Engines = func() (*engine.Set, error) { return engine.Find(engines, "", os.LookupEnv) }
	answer := mustRun(t, j, messageOf("channel", "s1", false))
	if !strings.HasPrefix(answer.Marker.Engine, "copies ") || tree(t, dir)[reported+ensembleName] != ours {
		t.Errorf("engines %s gave another ensemble", answer.Marker.Engine)
	}
}

func must(path string, err error) string {
	if err != nil {
		panic(err)
	}
	return path
}
