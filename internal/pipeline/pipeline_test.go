package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// writeChannel writes a river of 40 km with one intake, miles falling
// downstream, and scenario "s1", into a new store.
func writeChannel(tb testing.TB) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	writeRiver(tb, dir, layout{branches: 1, grids: 21, subreachKm: 2, firstMile: 100, mileSense: -1})
	put(tb, dir, "tables/Scenarios/channel/s1.json", `{"Name":"test <&> spill","SpillMile":98.7,"SpillTime":"2026-01-02T03:00:00Z",`+
		`"SpillMassKg":250,"SimulationHours":24,"ThresholdMgL":1,"Owner":"somebody","Level":1.50}`)
	return dir
}

func put(tb testing.TB, dir, name, text string) {
	tb.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// tree returns all files below dir.
func tree(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

func decodeInto(t *testing.T, text string, v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func TestWholeRun(t *testing.T) {
	dir := writeChannel(t)
	j := jobOn(t, dir)
	answer := mustRun(t, j, messageOf("channel", "s1", false))
	files := tree(t, dir)

	var marker publish.Marker
	decodeInto(t, files["rsms-results/channel/s1/result.json"], &marker)
	if marker.Commit != "c0ffee" || marker.Attempt != 1 || marker.JobID != "job-1" || marker.RunKey == "" || marker.Rows.ByTime == 0 {
		t.Errorf("marker %+v", marker)
	}
	for _, b := range marker.Blobs {
		text, ok := files["rsms-results/channel/s1/"+b.Name]
		sum := sha256.Sum256([]byte(text))
		if !ok || int64(len(text)) != b.Size || hex.EncodeToString(sum[:]) != b.SHA256 {
			t.Errorf("blob %s is not what the marker says", b.Name)
		}
	}
	if n := strings.Count(files["tables/PlumeByTime/channel/s1.csv"], "\n") - 1; n != marker.Rows.ByTime {
		t.Errorf("%d rows by time, the marker says %d", n, marker.Rows.ByTime)
	}
	var row map[string]any
	if err := json.Unmarshal([]byte(files["tables/Scenarios/channel/s1.json"]), &row); err != nil {
		t.Fatal(err)
	}
	if row["Status"] != "Completed" || row["Progress"] != 100.0 || row["Owner"] != "somebody" || row["JobId"] != "job-1" || row["Reason"] != "" {
		t.Errorf("scenario row %v", row)
	}
	if !strings.Contains(files["tables/Scenarios/channel/s1.json"], "1.50") {
		t.Error("a column of somebody else was rewritten")
	}
	if off := math.Abs(answer.Balance.InjectedKg/250 - 1); off > 1e-9 || answer.Balance.RelativeError > 1e-9 {
		t.Errorf("balance %+v", answer.Balance)
	}
	if left, _ := os.ReadDir(j.WorkDir); len(left) != 0 {
		t.Errorf("run folders left: %v", left)
	}

	before := tree(t, dir)
	again := mustRun(t, j, messageOf("channel", "s1", false))
	if !again.Current || again.Marker.RunKey != marker.RunKey {
		t.Errorf("second run: %+v", again)
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("a run with nothing to do wrote something:\n%s", d)
	}
}

// A forced run gives the same bytes but for the named fields of the run.
func TestSameInputsSameBytes(t *testing.T) {
	dir := writeChannel(t)
	j := jobOn(t, dir)
	mustRun(t, j, messageOf("channel", "s1", false))
	first := tree(t, dir)
	mustRun(t, j, messageOf("channel", "s1", true))
	second := tree(t, dir)
	for name := range first {
		if strings.HasPrefix(name, "tables/Runs/") || strings.HasPrefix(name, "tables/Scenarios/") {
			continue
		}
		a, b := first[name], second[name]
		if strings.HasSuffix(name, "/result.json") {
			a, b = withoutRunFields(t, a), withoutRunFields(t, b)
		}
		if a != b {
			t.Errorf("%s differs", name)
		}
	}
	if len(first) != len(second) {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
}

func withoutRunFields(t *testing.T, text string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"started_at", "finished_at", "attempt"} {
		if _, ok := m[name]; !ok {
			t.Errorf("result.json has no %s", name)
		}
		delete(m, name)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The answers agree with the rows: edges are the outermost rows, the leading
// edge follows the water though the miles fall, both tables hold the same.
func TestAnswersAgreeWithRows(t *testing.T) {
	dir := writeChannel(t)
	j := jobOn(t, dir)
	answer := mustRun(t, j, messageOf("channel", "s1", false))
	store := j.Runs.(*storage.Folder)
	type cell struct {
		hours, mile float64
	}
	byTime, byMile := map[cell]float64{}, map[cell]float64{}
	for e, err := range store.ReadPlumeByTime(context.Background(), "channel", "s1") {
		if err != nil {
			t.Fatal(err)
		}
		byTime[cell{e.ElapsedHours, e.RiverMile}] = e.ConcentrationMgL
		if e.ConcentrationMgL < 0.001 {
			t.Errorf("row below the tolerance: %+v", e)
		}
	}
	for e, err := range store.ReadPlumeByMile(context.Background(), "channel", "s1") {
		if err != nil {
			t.Fatal(err)
		}
		byMile[cell{e.ElapsedHours, e.RiverMile}] = e.ConcentrationMgL
	}
	if d := cmp.Diff(byTime, byMile); d != "" || len(byTime) == 0 {
		t.Errorf("the tables differ:\n%s", d)
	}
	var edges plume.EdgeDocument
	decodeInto(t, tree(t, dir)["rsms-results/channel/s1/edge_timeseries.json"], &edges)
	s := edges.Series[0]
	if len(s.Time) != 25 || s.LeadingEdgeMile[0] != nil || s.MassKg[0] != 0 {
		t.Errorf("%d times, first %v", len(s.Time), s.LeadingEdgeMile[0])
	}
	for i := 1; i < len(s.Time); i++ {
		low, high, peak := math.Inf(1), math.Inf(-1), 0.0
		for c, v := range byTime {
			if c.hours == float64(i) {
				low, high, peak = min(low, c.mile), max(high, c.mile), max(peak, v)
			}
		}
		if *s.LeadingEdgeMile[i] != low || *s.TrailingEdgeMile[i] != high || *s.PeakMgL[i] != peak {
			t.Errorf("hour %d: edges %g %g, rows %g %g", i, *s.LeadingEdgeMile[i], *s.TrailingEdgeMile[i], low, high)
		}
		if i > 1 && *s.LeadingEdgeMile[i] > *s.LeadingEdgeMile[i-1] {
			t.Errorf("hour %d: the leading edge went upstream", i)
		}
	}
	in := answer.Intakes[0]
	if in.RiverMile != 90 || in.LeadingEdge == nil || in.PeakTime == nil || !in.LeadingEdge.Before(*in.PeakTime) || *in.HoursAboveThreshold <= 0 {
		t.Errorf("intake %+v", in)
	}
}

// Two runs at once share no file (H16).
func TestTwoRunsAtOnce(t *testing.T) {
	dir := writeChannel(t)
	text, err := os.ReadFile(filepath.Join(dir, "tables/Scenarios/channel/s1.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "tables/Scenarios/channel/s2.json", string(text))
	var wg sync.WaitGroup
	for _, id := range []string{"s1", "s2"} {
		j := jobOn(t, dir)
		wg.Go(func() {
			if _, err := j.Run(context.Background(), messageOf("channel", id, false), "job-1"); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	wg.Wait()
	files := tree(t, dir)
	a := files["tables/PlumeByMile/channel/s1.csv"]
	if b := strings.ReplaceAll(files["tables/PlumeByMile/channel/s2.csv"], "channel|s2|", "channel|s1|"); a != b || a == "" {
		t.Error("two equal scenarios gave different rows")
	}
}

// Bad inputs: the reason, what it says, and that nothing is left behind.
func TestBadInputs(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string // text "" removes the file
		code             reason.Code
		says             string
	}{
		{"no flow file", "riverbasin/channel/FLOW.IN", "", reason.InvalidBasin, "FLOW.IN"},
		{"no index", "riverbasin/channel/RiverMileIndex.csv", "", reason.InvalidBasin, "RiverMileIndex.csv"},
		{"no scenario", "tables/Scenarios/channel/s1.json", "", reason.ScenarioNotFound, "no scenario s1"},
		{"broken basin.json", "riverbasin/channel/basin.json", `{"dispersion":{"dqq":"x"}}`, reason.InvalidBasin, "basin.json line 1"},
		{"dispersion of no branch", "riverbasin/channel/basin.json", `{"dispersion":{"branches":{"9":{"dqq":1}}}}`, reason.InvalidBasin, "basin.json line 1"},
		{"index of another basin", "riverbasin/channel/RiverMileIndex.csv", "branch,grid,river,river_mile\n7,1,X,1\n7,2,X,2\n", reason.InvalidBasin, "RiverMileIndex.csv line 2"},
		{"truncated flow file", "riverbasin/channel/FLOW.IN", "title\n", reason.InvalidBasin, "FLOW.IN line"},
		{"spill outside", "tables/Scenarios/channel/s1.json", `{"SpillMile":3,"SpillTime":"2026-01-02T03:00:00Z","SpillMassKg":1}`, reason.InvalidScenario, "SpillMile"},
		{"flows wanted, none there", "tables/Scenarios/channel/s1.json",
			`{"SpillMile":98,"SpillTime":"2026-01-02T03:00:00Z","SpillMassKg":1,"FlowSource":"nfq"}`, reason.InvalidFlows, "NFQ.csv"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeChannel(t)
			if tt.text == "" {
				if err := os.Remove(filepath.Join(dir, tt.file)); err != nil {
					t.Fatal(err)
				}
			} else {
				put(t, dir, tt.file, tt.text)
			}
			j := jobOn(t, dir)
			_, err := j.Run(context.Background(), messageOf("channel", "s1", false), "job-1")
			if reason.Of(err) != tt.code || !strings.Contains(reason.Detail(err), tt.says) {
				t.Errorf("reason %s, detail %q", reason.Of(err), reason.Detail(err))
			}
			for name, text := range tree(t, dir) {
				if strings.HasPrefix(name, "rsms-results/") || strings.HasPrefix(name, "tables/Plume") {
					t.Errorf("%s was left behind", name)
				}
				if name == "tables/Scenarios/channel/s1.json" && (!strings.Contains(text, `"Failed"`) || !strings.Contains(text, string(tt.code))) {
					t.Errorf("the scenario row does not tell: %s", text)
				}
			}
			if left, _ := os.ReadDir(j.WorkDir); len(left) != 0 {
				t.Errorf("run folders left: %v", left)
			}
		})
	}
}

// A failed run leaves the last good result as it was.
func TestFailureKeepsTheLastResult(t *testing.T) {
	dir := writeChannel(t)
	j := jobOn(t, dir)
	mustRun(t, j, messageOf("channel", "s1", false))
	before := tree(t, filepath.Join(dir, "rsms-results"))
	put(t, dir, "riverbasin/channel/FLOW.IN", "title\n")
	if _, err := j.Run(context.Background(), messageOf("channel", "s1", false), "job-2"); reason.Of(err) != reason.InvalidBasin {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, tree(t, filepath.Join(dir, "rsms-results"))); d != "" {
		t.Error(d)
	}
}

// What changes the numbers changes the run key; what does not, does not.
func TestRunKey(t *testing.T) {
	dir := writeChannel(t)
	j := jobOn(t, dir)
	set, err := j.Engines()
	if err != nil {
		t.Fatal(err)
	}
	key := func(change func()) string {
		change()
		in, err := j.load(context.Background(), messageOf("channel", "s1", false), set)
		if err != nil {
			t.Fatal(err)
		}
		return in.key
	}
	base := key(func() {})
	row, err := os.ReadFile(filepath.Join(dir, "tables/Scenarios/channel/s1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if key(func() {
		put(t, dir, "tables/Scenarios/channel/s1.json", string(bytes.Replace(row, []byte(`"Owner"`), []byte(`"Status":"Queued","Owner"`), 1)))
	}) != base {
		t.Error("a status column changed the key")
	}
	if key(func() {
		put(t, dir, "tables/Scenarios/channel/s1.json", string(bytes.Replace(row, []byte("250"), []byte("251"), 1)))
	}) == base {
		t.Error("another mass, the same key")
	}
	put(t, dir, "tables/Scenarios/channel/s1.json", string(row))
	if key(func() { j.Tolerance = 0.002 }) == base {
		t.Error("another tolerance, the same key")
	}
	j.Tolerance = 0.001
	if key(func() { put(t, dir, "riverbasin/channel/NFQ.csv", "time,branch,grid,flow\n") }) != base {
		t.Error("flows that are not used changed the key")
	}
	if key(func() { put(t, dir, "riverbasin/channel/basin.json", `{"dispersion":{"dqq":0.3}}`) }) == base {
		t.Error("another dispersion, the same key")
	}
}

// A result that was damaged is made again; nothing but force was able to, once.
func TestDamagedResultIsMadeAgain(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"result.json":  func(path string) error { return os.WriteFile(path, []byte(`{"run_key":`), 0o644) },
		"intakes.json": os.Remove,
		"edge_timeseries.json": func(path string) error {
			return os.WriteFile(path, []byte("{}"), 0o644)
		},
		"../../../tables/PlumeByMile/channel/s1.csv": os.Remove,
		"../../../tables/PlumeByTime/channel/s1.csv": func(path string) error { return os.Truncate(path, 3000) },
	} {
		dir := writeChannel(t)
		j := jobOn(t, dir)
		mustRun(t, j, messageOf("channel", "s1", false))
		want := tree(t, filepath.Join(dir, "rsms-results"))
		if err := damage(filepath.Join(dir, "rsms-results/channel/s1", name)); err != nil {
			t.Fatal(err)
		}
		if answer := mustRun(t, j, messageOf("channel", "s1", false)); answer.Current {
			t.Errorf("%s damaged: taken for whole", name)
		}
		got := tree(t, filepath.Join(dir, "rsms-results"))
		delete(want, "channel/s1/result.json")
		delete(got, "channel/s1/result.json")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s damaged: %s", name, d)
		}
	}
}

// What tells of the run is removed after a while; the result is whole without it.
func TestResultWithoutItsRun(t *testing.T) {
	dir := writeChannel(t)
	j := jobOn(t, dir)
	mustRun(t, j, messageOf("channel", "s1", false))
	runs := filepath.Join(dir, "rsms-results/channel/s1/run")
	files := tree(t, runs)
	if err := os.RemoveAll(runs); err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if answer := mustRun(t, j, messageOf("channel", "s1", false)); !answer.Current {
		t.Error("it was made again")
	}
}

// A worker that was killed behind its result.json left a whole result: the next
// one records that and computes nothing.
func TestKilledBehindItsMarker(t *testing.T) {
	dir := writeChannel(t)
	j := jobOn(t, dir)
	mustRun(t, j, messageOf("channel", "s1", false))
	want := tree(t, filepath.Join(dir, "rsms-results"))
	record := filepath.Join(dir, "tables/Runs/channel/s1.json")
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "tables/Runs/channel/s1.json", strings.Replace(string(text), `"State":"Completed"`, `"State":"Running"`, 1))
	j.Owner = "another"
	if answer := mustRun(t, j, messageOf("channel", "s1", false)); !answer.Current {
		t.Error("computed again")
	}
	if d := cmp.Diff(want, tree(t, filepath.Join(dir, "rsms-results"))); d != "" {
		t.Error(d)
	}
	if text, err = os.ReadFile(record); err != nil || !strings.Contains(string(text), `"State":"Completed"`) {
		t.Errorf("record: %s %v", text, err)
	}
}

// A scenario row that somebody breaks or removes while it is run costs neither
// the result nor the next run.
func TestScenarioRowLostDuringTheRun(t *testing.T) {
	for name, tt := range map[string]struct {
		lose func(path string) error
		code reason.Code
	}{
		"removed": {os.Remove, reason.ScenarioNotFound},
		"broken":  {func(path string) error { return os.WriteFile(path, []byte(`{"half-sav`), 0o644) }, reason.InvalidScenario},
	} {
		dir := writeChannel(t)
		row := filepath.Join(dir, "tables/Scenarios/channel/s1.json")
		text, err := os.ReadFile(row)
		if err != nil {
			t.Fatal(err)
		}
		j := jobOn(t, dir)
		lost := false
		j.Progress = func(step string, _ float64) {
			if step == "check" && !lost {
				lost = true
				if err := tt.lose(row); err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := j.Run(context.Background(), messageOf("channel", "s1", false), "job-1"); reason.Of(err) != tt.code {
			t.Errorf("%s: %v: %v", name, reason.Of(err), err)
		}
		put(t, dir, "tables/Scenarios/channel/s1.json", string(text))
		j.Owner = "another"
		if answer := mustRun(t, j, messageOf("channel", "s1", false)); !answer.Current {
			t.Errorf("%s: the published result was not taken", name)
		}
	}
}

// Flows that only a scenario with FlowSource nfq uses are not even read.
func TestUnusedFlowsAreNotRead(t *testing.T) {
	dir := writeChannel(t)
	put(t, dir, "riverbasin/channel/nfq.csv", "junk")
	mustRun(t, jobOn(t, dir), messageOf("channel", "s1", false))
}

// Scaled out of every range: a fault of the scenario, not of the disk.
func TestScaledOutOfRange(t *testing.T) {
	dir := writeChannel(t)
	flow := tree(t, dir)["riverbasin/channel/FLOW.IN"]
	put(t, dir, "riverbasin/channel/FLOW.IN", strings.Replace(flow, "   40.000", " 2000000.", 1))
	put(t, dir, "tables/Scenarios/channel/s1.json", `{"SpillMile":98,"SpillTime":"2026-01-02T03:00:00Z","SpillMassKg":1,"FlowScale":1000}`)
	_, err := jobOn(t, dir).Run(context.Background(), messageOf("channel", "s1", false), "job-1")
	if reason.Of(err) != reason.InvalidScenario || !strings.Contains(err.Error(), "peak") {
		t.Errorf("%v: %v", reason.Of(err), err)
	}
}

// A long engine log is published with its end, where the last words are.
func TestLongLogKeepsItsEnd(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "bltm.stderr", strings.Repeat("x", maxLog)+"last words")
	set := &engine.Set{Steps: []engine.Step{{Name: "bltm"}}}
	var out strings.Builder
	if err := engineLogs(dir, "j", set)[1].Write(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "[10 bytes left out]\nx") || !strings.HasSuffix(text, "xlast words") {
		t.Errorf("%d bytes: %.30s", len(text), text)
	}
}
