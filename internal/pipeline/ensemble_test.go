package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
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
	if doc.Completed != 2 || len(doc.Intakes) != 1 || doc.Ranges.ReleaseShiftHours != [2]float64{} || doc.Ranges.FlowFactor != [2]float64{0.95, 1.05} {
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

// studied is members whose ends can be looked at.
func studied(t *testing.T) *members {
	t.Helper()
	o := ensemble.Options{Runs: 2, Dispersion: 1, Flow: 0.1}
	m := membersOf(t, jobOn(t, writeChannel(t)), o.Draws(false)...)
	m.study = ensemble.NewStudy(m.ids, o, false, m.draws, nil)
	return m
}

// A bug in a member costs that member: it is told, and the others and the result
// are as good as before.
func TestPanicInAMember(t *testing.T) {
	m := studied(t)
	m.central = nil
	if err := m.member(t.Context(), t.Context(), 1); err != nil {
		t.Error(err)
	}
	if run := m.study.Document().Runs[1]; run.Reason != reason.Internal || len(m.warnings) != 1 {
		t.Errorf("%+v, %q", run, m.warnings)
	}
}

// Behind half of the time that is left, members fail for time and the job goes on;
// that it ends itself ends all.
func TestEnsembleInTime(t *testing.T) {
	m := studied(t)
	late, stop := context.WithTimeoutCause(t.Context(), -time.Second, reason.New(reason.TimedOut, "half of the time"))
	defer stop()
	if err := m.member(t.Context(), late, 0); err != nil {
		t.Error(err)
	}
	if run := m.study.Document().Runs[0]; run.Reason != reason.TimedOut || len(m.warnings) != 1 {
		t.Errorf("%+v, %q", run, m.warnings)
	}
	why := errors.New("somebody else has the scenario")
	lost, lose := context.WithCancelCause(t.Context())
	lose(why)
	if err := m.member(lost, lost, 1); !errors.Is(err, why) {
		t.Errorf("ended by %v", err)
	}
	limited, done := context.WithTimeout(t.Context(), time.Hour)
	defer done()
	half, undo := m.inTime(limited)
	defer undo()
	if end, ok := half.Deadline(); !ok || time.Until(end) > 31*time.Minute || time.Until(end) < 29*time.Minute {
		t.Errorf("until %v", end)
	}
	if free, undo := m.inTime(t.Context()); free.Err() != nil {
		t.Error("ended at once")
	} else {
		undo()
	}
}

// Flows on which a member fails are dropped, once; a member that was stopped says
// nothing of them.
func TestFlowsInDoubt(t *testing.T) {
	for _, tt := range []struct {
		code reason.Code
		want int
	}{{reason.EngineFailed, 1}, {reason.EngineTimeout, 1}, {reason.EngineOutputInvalid, 1}, {reason.Cancelled, 0}, {reason.StorageUnavailable, 0}} {
		dropped := 0
		f := &sharedFlows{forget: func(context.Context) { dropped++ }}
		f.doubt(t.Context(), nil)
		for range 3 {
			f.doubt(t.Context(), reason.New(tt.code, "x"))
		}
		if dropped != tt.want {
			t.Errorf("%s: dropped %d times", tt.code, dropped)
		}
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
