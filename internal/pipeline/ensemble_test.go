package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
)

// few is a small ensemble, two the smallest.
var (
	few = ensemble.Options{Runs: 6, Seed: 1, Dispersion: 2, Flow: 0.1, Release: 0.25}
	two = ensemble.Options{Runs: 2, Seed: 1, Dispersion: 2, Flow: 0.1, Release: 0.25}
)

// varied is a job on the store in dir that asks for an ensemble.
func varied(tb testing.TB, dir string, o ensemble.Options) *Job {
	j := jobOn(tb, dir)
	j.Ensemble = o
	return j
}

// An ensemble is a part of the result: published, named in result.json, shown by
// the report, which is the same when it is made of the stored result.
func TestEnsembleIsPublished(t *testing.T) {
	dir := writeChannel(t)
	j := varied(t, dir, few)
	answer := mustRun(t, j, messageOf("channel", "s1", false))
	files := tree(t, dir)
	var doc ensemble.Document
	decodeInto(t, files[reported+ensembleName], &doc)
	if d := cmp.Diff(answer.Ensemble, &doc); d != "" {
		t.Errorf("the answer has another ensemble than the store:\n%s", d)
	}
	if doc.Completed != 6 || doc.Failed != 0 || len(doc.Runs) != 6 || len(doc.Intakes) != len(answer.Intakes) || doc.JobID != "job-1" {
		t.Fatalf("%+v", doc)
	}
	in, band := answer.Intakes[0], doc.Intakes[0]
	if band.Name != in.Name || band.Reached != 6 || *band.AboveThreshold == 0 || !band.LeadingEdge.Min.Before(*in.LeadingEdge) ||
		!band.LeadingEdge.Max.After(*in.LeadingEdge) || band.PeakMgL.Min >= in.PeakMgL || band.PeakMgL.Max <= in.PeakMgL {
		t.Errorf("the band does not hold the answer: %+v\n%+v", band, in)
	}
	var m publish.Marker
	decodeInto(t, files[reported+"result.json"], &m)
	if !slices.ContainsFunc(m.Blobs, func(b publish.BlobInfo) bool {
		return b.Name == ensembleName && b.Size == int64(len(files[reported+ensembleName]))
	}) {
		t.Error("result.json does not name it")
	}
	_, text, err := reportOf(t, dir)
	if err != nil || text != files[reported+"report.html"] || !strings.Contains(text, "How far may it be off?") {
		t.Errorf("the report of the run and the one of the result differ, or do not show it: %v", err)
	}
	if left, _ := os.ReadDir(j.WorkDir); len(left) != 0 {
		t.Errorf("run folders left: %v", left)
	}
	// What launch reads of a result that a container published.
	read, _, err := j.run(messageOf("channel", "s1", false), "job-1").cameTo(t.Context(), runs.Completed, nil)
	if err != nil || !cmp.Equal(answer.Ensemble, read.Ensemble) {
		t.Errorf("a launcher reads another ensemble: %v", err)
	}
}

// A result is current for who wants the same ensemble, and the same seed gives the
// same bytes; without one, the key is as it was before there were any.
func TestEnsembleAndRunKey(t *testing.T) {
	dir := writeChannel(t)
	plain := mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false))
	set, err := jobOn(t, dir).Engines()
	if err != nil {
		t.Fatal(err)
	}
	in, err := jobOn(t, dir).load(t.Context(), messageOf("channel", "s1", false), set)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"type": "rsms.run", "version": 1, "files": in.hashes, "engine": set.Hash, "tolerance": 0.001,
		"scenario": map[string]any{"Name": "test <&> spill", "SpillMile": json.Number("98.7"), "SpillTime": "2026-01-02T03:00:00Z",
			"SpillMassKg": json.Number("250"), "SimulationHours": json.Number("24"), "ThresholdMgL": json.Number("1")}})
	if err != nil || plain.Marker.RunKey != hash(text) {
		t.Errorf("the key of a plain run is %s, want %s: %v", plain.Marker.RunKey, hash(text), err)
	}
	first := mustRun(t, varied(t, dir, two), messageOf("channel", "s1", false))
	if first.Current || first.Marker.RunKey == plain.Marker.RunKey {
		t.Error("a result without an ensemble is taken for one with it")
	}
	was := tree(t, dir)[reported+ensembleName]
	if again := mustRun(t, varied(t, dir, two), messageOf("channel", "s1", false)); !again.Current {
		t.Error("the same ensemble was made again")
	}
	mustRun(t, varied(t, dir, two), messageOf("channel", "s1", true))
	if tree(t, dir)[reported+ensembleName] != was {
		t.Error("the same seed gave other bytes")
	}
	other := two
	other.Seed = 2
	if answer := mustRun(t, varied(t, dir, other), messageOf("channel", "s1", false)); answer.Current || tree(t, dir)[reported+ensembleName] == was {
		t.Error("another seed gave the same")
	}
	if answer := mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false)); answer.Current || answer.Ensemble != nil {
		t.Error("a result with an ensemble is taken for one without")
	}
	if _, there := tree(t, dir)[reported+ensembleName]; there {
		t.Error("the ensemble of the last result is left")
	}
}

// Where nothing is varied every run is the run itself, and wider ranges make wider
// bands.
func TestBandsGrowFromNothing(t *testing.T) {
	dir := writeChannel(t)
	band := func(dispersion, flow, release float64) (*Answer, ensemble.Band) {
		answer := mustRun(t, varied(t, dir, ensemble.Options{Runs: 3, Seed: 3, Dispersion: dispersion, Flow: flow, Release: release}), messageOf("channel", "s1", true))
		return answer, answer.Ensemble.Intakes[0]
	}
	answer, b := band(1, 0, 0)
	in := answer.Intakes[0]
	for name, pair := range map[string][2]time.Time{"leading edge": {b.LeadingEdge.Min, b.LeadingEdge.Max}, "peak": {b.PeakTime.Min, b.PeakTime.Max},
		"trailing edge": {b.TrailingEdge.Min, b.TrailingEdge.Max}} {
		want := map[string]*time.Time{"leading edge": in.LeadingEdge, "peak": in.PeakTime, "trailing edge": in.TrailingEdge}[name]
		if !pair[0].Equal(*want) || !pair[1].Equal(*want) {
			t.Errorf("%s: %v, want %v", name, pair, want)
		}
	}
	if b.PeakMgL.Min != in.PeakMgL || b.PeakMgL.Max != in.PeakMgL || b.HoursAboveThreshold.P50 != *in.HoursAboveThreshold {
		t.Errorf("peak %+v, want %v", b.PeakMgL, in.PeakMgL)
	}
	var last time.Duration
	height := 0.0
	for _, wide := range []float64{0.02, 0.1, 0.3} {
		_, b := band(1+10*wide, wide, wide)
		if got := b.LeadingEdge.Max.Sub(b.LeadingEdge.Min); got <= last {
			t.Errorf("ranges of %g: arrivals within %v, those of narrower ones within %v", wide, got, last)
		} else {
			last = got
		}
		if got := b.PeakMgL.Max - b.PeakMgL.Min; got <= height {
			t.Errorf("ranges of %g: peaks within %g mg/L, those of narrower ones within %g", wide, got, height)
		} else {
			height = got
		}
	}
}

// membersOf prepares an ensemble of given draws.
func membersOf(t *testing.T, j *Job, draws ...ensemble.Draw) *members {
	t.Helper()
	r := j.run(messageOf("channel", "s1", false), "job-1")
	var err error
	if r.set, err = r.Engines(); err != nil {
		t.Fatal(err)
	}
	if r.in, err = r.load(t.Context(), messageOf("channel", "s1", false), r.set); err != nil {
		t.Fatal(err)
	}
	plan, _, err := r.plan(r.in)
	if err != nil {
		t.Fatal(err)
	}
	m := &members{run: r, central: plan, draws: draws, dir: j.WorkDir, parts: make([]float64, len(draws))}
	m.flows, m.set = r.set.ForCurves()
	m.levels = m.shareFlows(t.Context())
	return m
}

// More water comes sooner, more dispersion arrives sooner and lower, and a release
// that was an hour later comes an hour later where flows have no dates.
func TestDirections(t *testing.T) {
	same := ensemble.Draw{DispersionFactor: 1, FlowFactor: 1, FlowLevel: 1}
	more, wide, late := same, same, same
	more.FlowLevel, more.FlowFactor, wide.DispersionFactor, late.ReleaseShiftHours = 2, 1.2, 3, 1
	m := membersOf(t, jobOn(t, writeChannel(t)), same, more, wide, late)
	var lead []time.Time
	var peak []float64
	for i := range m.draws {
		found, err := m.compute(t.Context(), i)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		lead, peak = append(lead, *found[0].LeadingEdge), append(peak, found[0].PeakMgL)
	}
	if !lead[1].Before(lead[0]) || !lead[2].Before(lead[0]) || peak[2] >= peak[0] || lead[3].Sub(lead[0]) != time.Hour || peak[3] != peak[0] {
		t.Errorf("arrivals %v, peaks %v", lead, peak)
	}
	m.dropFlows()
	if left, _ := os.ReadDir(m.dir); len(left) != 0 {
		t.Errorf("folders left: %v", left)
	}
}

// Runs of one flow level ask the flow engine for the same bytes, so that it need
// run once for all; those of the middle one are those of the run itself.
func TestLevelsShareFlows(t *testing.T) {
	dir := writeChannel(t)
	put(t, dir, "riverbasin/channel/NFQ.csv", records("2026-01-01T00:00:00Z", 60))
	for _, source := range []string{"basin", "nfq"} {
		put(t, dir, "tables/Scenarios/channel/s1.json", `{"SpillMile":98.7,"SpillTime":"2026-01-02T03:00:00Z","SpillMassKg":250,"SimulationHours":24,"FlowSource":"`+source+`"}`)
		m := membersOf(t, jobOn(t, dir))
		o := few
		o.Runs = 20
		m.Ensemble, m.draws = o, nil
		m.draw(&o)
		flows := map[string]int{}
		for _, d := range m.draws {
			plan, err := m.plan(d)
			if err != nil {
				t.Fatal(err)
			}
			text := flowInput(t, plan)
			if level, seen := flows[text]; seen && level != d.FlowLevel {
				t.Errorf("%s: levels %d and %d have the same flows", source, level, d.FlowLevel)
			}
			flows[text] = d.FlowLevel
		}
		if len(flows) != 5 || flows[flowInput(t, m.central)] != 3 || len(m.warnings) != 0 {
			t.Errorf("%s: %d different flows for 5 levels, that of the run is level %d; %v", source, len(flows), flows[flowInput(t, m.central)], m.warnings)
		}
	}
}

// flowInput is the FLOW.IN of a plan.
func flowInput(t *testing.T, plan *engine.Plan) string {
	t.Helper()
	dir := t.TempDir()
	if err := plan.WriteInputs(dir); err != nil {
		t.Fatal(err)
	}
	return tree(t, dir)[flowName]
}

// records are hourly inflows from a time on, which rise.
func records(from string, hours int) string {
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	b.WriteString("time,branch,grid,flow\n")
	for h := range hours {
		fmt.Fprintf(&b, "%s,1,1,%.2f\n", at.Add(time.Duration(h)*time.Hour).Format(time.RFC3339), 20+float64(h)/10)
	}
	return b.String()
}

// Records that begin with the spill say nothing of an earlier release: that is not
// varied, and said; flows and dispersion are.
func TestRecordsTooShort(t *testing.T) {
	dir := writeChannel(t)
	put(t, dir, "riverbasin/channel/NFQ.csv", records("2026-01-02T03:00:00Z", 30))
	put(t, dir, "tables/Scenarios/channel/s1.json", `{"SpillMile":98.7,"SpillTime":"2026-01-02T03:00:00Z","SpillMassKg":250,"SimulationHours":24,"FlowSource":"nfq"}`)
	answer := mustRun(t, varied(t, dir, two), messageOf("channel", "s1", false))
	doc := answer.Ensemble
	if doc.Completed != 2 || len(doc.Intakes) != 1 || doc.Ranges.ReleaseShiftHours != [2]float64{} || doc.Ranges.FlowFactor != [2]float64{0.9, 1.1} {
		t.Errorf("%+v", doc)
	}
	if all := strings.Join(answer.Warnings, "\n"); !strings.Contains(all, "the ensemble does not vary the release time, for which the records are too short: NFQ.csv line 2 flow: branch 1 grid 1: no flow at") {
		t.Error(all)
	}
}

// The simulation ends while the plume arrives: some runs reach the intake.
func TestReachedBySomeRuns(t *testing.T) {
	dir := writeChannel(t)
	whole := mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false))
	hours := whole.Intakes[0].LeadingEdge.Sub(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)).Round(15 * time.Minute).Hours()
	put(t, dir, "tables/Scenarios/channel/s1.json", fmt.Sprintf(`{"SpillMile":98.7,"SpillTime":"2026-01-02T03:00:00Z","SpillMassKg":250,"SimulationHours":%g,"OutputIntervalMinutes":15}`, hours))
	o := few
	o.Flow, o.Dispersion = 0.3, 1
	b := mustRun(t, varied(t, dir, o), messageOf("channel", "s1", false)).Ensemble.Intakes[0]
	if b.Reached == 0 || b.Reached == 6 || b.Passed != 0 || b.TrailingEdge != nil || b.LeadingEdge == nil || b.AboveThreshold != nil {
		t.Errorf("%+v", b)
	}
}

// Without intakes there is nothing to vary for: no engine runs, the result stands.
func TestEnsembleWithoutIntakes(t *testing.T) {
	dir := writeChannel(t)
	index := strings.ReplaceAll(tree(t, dir)["riverbasin/channel/RiverMileIndex.csv"], ",intake", ",")
	put(t, dir, "riverbasin/channel/RiverMileIndex.csv", index)
	answer := mustRun(t, varied(t, dir, few), messageOf("channel", "s1", false))
	if doc := answer.Ensemble; len(doc.Runs) != 0 || len(doc.Intakes) != 0 || !slices.Contains(answer.Warnings, doc.Problem) || doc.Problem == "" {
		t.Errorf("%+v, warnings %q", doc, answer.Warnings)
	}
}

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

// Engines of a team: the same answers as ours, where they are ours.
func TestEnsembleOfForeignEngines(t *testing.T) {
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

// Who cancels during the ensemble waits for no member, and nothing is published.
func TestCancelDuringTheEnsemble(t *testing.T) {
	dir := writeChannel(t)
	o := few
	o.Runs = 1000
	j := varied(t, dir, o)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	seen := 0
	j.Progress = func(step string, percent float64) {
		if step == "ensemble" && percent > ensembleWeights(step)[0] {
			if seen++; seen == 4 { // engines run
				cancel(stoppedByUser())
			}
		}
	}
	_, err := j.Run(ctx, messageOf("channel", "s1", false), "job-1")
	if reason.Of(err) != reason.Cancelled {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(j.WorkDir); len(left) != 0 {
		t.Errorf("run folders left: %v", left)
	}
	for name := range tree(t, dir) {
		if strings.HasPrefix(name, "tables/Plume") || strings.HasPrefix(name, "rsms-results/") && !strings.Contains(name, "/run/") {
			t.Errorf("%s was published", name)
		}
	}
	for _, command := range running(t) {
		if strings.Contains(command, j.WorkDir) {
			t.Errorf("still there: %s", command)
		}
	}
}

// A bug in a member ends the run as a bug anywhere does: told, and not taken for
// bad flags.
func TestPanicInAMember(t *testing.T) {
	m := membersOf(t, jobOn(t, writeChannel(t)), ensemble.Draw{DispersionFactor: 1, FlowFactor: 1})
	m.central = nil
	if err := m.member(t.Context(), 0); reason.Of(err) != reason.Internal || !strings.Contains(err.Error(), "panic") {
		t.Error(err)
	}
}

// Each flow level has its first member before any has its second.
func TestByLevel(t *testing.T) {
	var draws []ensemble.Draw
	for _, level := range []int{2, 2, 1, 2, 1, 3} {
		draws = append(draws, ensemble.Draw{FlowLevel: level})
	}
	if d := cmp.Diff([]int{0, 2, 5, 1, 4, 3}, byLevel(draws)); d != "" {
		t.Error(d)
	}
}

// Progress rises from step to step, and stays within what each step has.
func TestEnsembleProgress(t *testing.T) {
	j := varied(t, writeChannel(t), two)
	last, steps := -1.0, []string{}
	j.Progress = func(step string, percent float64) {
		if percent < last-1e-9 || percent > 100 {
			t.Errorf("%s: %g behind %g", step, percent, last)
		}
		if last = percent; len(steps) == 0 || steps[len(steps)-1] != step {
			steps = append(steps, step)
		}
	}
	var log bytes.Buffer
	j.Log = slog.New(slog.NewJSONHandler(&log, nil))
	mustRun(t, j, messageOf("channel", "s1", false))
	if d := cmp.Diff([]string{"inputs", "daflow", "bltm", "ctplt", "cxplt", "check", "ensemble", "publish"}, steps); d != "" {
		t.Error(d)
	}
	if n := strings.Count(log.String(), `"msg":"engine done"`); n != 4 || !strings.Contains(log.String(), `"seconds_ensemble"`) {
		t.Errorf("%d engines in the log, those of members are as many as there are members", n)
	}
}
