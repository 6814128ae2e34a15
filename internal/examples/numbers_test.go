package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/engine"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// example is a shipped scenario, run in this process on files in a temporary
// folder: the same inputs and engines as in production without the processes.
type example struct {
	plan    *engine.Plan
	dir     string
	curves  map[string]*plume.Curve // by name of the place
	balance plume.Ledger            // at the end
}

func shipped(t *testing.T, name string) []byte {
	data, err := files.ReadFile("store/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// runExample runs a scenario with some of its columns changed.
func runExample(t *testing.T, s Scenario, change map[string]any) *example {
	t.Helper()
	columns := map[string]any{}
	if err := json.Unmarshal(shipped(t, "tables/Scenarios/"+s.Basin+"/"+s.ID+".json"), &columns); err != nil {
		t.Fatal(err)
	}
	for k, v := range change {
		columns[k] = v
	}
	c := engine.Case{}
	var err error
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := "riverbasin/" + s.Basin + "/"
	c.Scenario, err = river.ParseScenario(columns, river.ScenarioDefaults{ConcentrationTolerance: 0.001})
	must(err)
	c.Basin, _, err = river.ParseBasin(shipped(t, folder+"basin.json"), "basin.json")
	must(err)
	c.Input, err = daflow.ReadInput(bytes.NewReader(shipped(t, folder+"FLOW.IN")), "FLOW.IN")
	must(err)
	c.Index, _, err = river.ParseIndex(bytes.NewReader(shipped(t, folder+"RiverMileIndex.csv")), "RiverMileIndex.csv")
	must(err)
	_, err = c.Index.Bind(&c.Input.Network)
	must(err)
	if c.Scenario.FlowSource == river.FlowNFQ {
		c.Flows, _, err = river.ParseFlows(bytes.NewReader(shipped(t, folder+"NFQ.csv")), "NFQ.csv", nil)
		must(err)
	}
	e := &example{dir: t.TempDir(), curves: map[string]*plume.Curve{}}
	e.plan, err = engine.NewPlan(c)
	must(err)
	must(e.plan.WriteInputs(e.dir))
	for _, name := range engine.Names() {
		must((&engine.Bundle{Dir: e.dir}).Run(name))
	}
	must(e.plan.Curves(context.Background(), e.dir, func(at engine.Place, c *plume.Curve) error {
		if at.Name != "" {
			e.curves[at.Name] = &plume.Curve{Hours: append([]float64(nil), c.Hours...), C: append([]float64(nil), c.C...)}
		}
		return nil
	}))
	_, err = e.plan.Ledgers(context.Background(), e.dir, func(_ int, l plume.Ledger, _ []float64) error { e.balance = l; return nil })
	must(err)
	return e
}

// within fails the test when got is further from want than a part of want.
func within(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if off := got/want - 1; math.Abs(off) > part || math.IsNaN(off) {
		t.Errorf("%s: %.4g, measured %.4g, off by %.1f %%, allowed %.0f %%", what, got, want, 100*off, 100*part)
	} else {
		t.Logf("%s: %.4g, measured %.4g, off by %.1f %%", what, got, want, 100*off)
	}
}

// closed checks the mass: all that was released is accounted for.
func closed(t *testing.T, e *example) {
	t.Helper()
	mass := e.plan.Case.Scenario.MassKg()
	if off := math.Abs(e.balance.ErrorKg()) / mass; off > 1e-9 {
		t.Errorf("the ledger is open by %g of the release", off)
	}
	if off := math.Abs(e.balance.InjectedKg/mass - 1); off > 1e-9 {
		t.Errorf("injected %.12g kg of %.12g, off by %g", e.balance.InjectedKg, mass, off)
	}
}

// Antietam Creek, 24 March 1970, against the curves of constant mass.
func TestAntietam1970Conservative(t *testing.T) {
	s := Scenario{"antietam", "1970-03-24-conservative"}
	e := runExample(t, s, nil)
	closed(t, e)
	observed, err := Observations(s)
	if err != nil || len(observed) != 8 {
		t.Fatal(observed, err)
	}
	for _, o := range observed {
		got := plume.ShapeOf(e.curves[o.Name])
		within(t, o.Name+" peak time", got.PeakHours, o.PeakHours, 0.05)
		within(t, o.Name+" peak", got.PeakMgL, o.PeakMgL, 0.10)
		within(t, o.Name+" lead", got.LeadHours, o.LeadHours, 0.10)
		within(t, o.Name+" trail", got.TrailHours, o.TrailHours, 0.10)
	}
}

// The half-life of 33 h is the slope of a line through the eight recoveries;
// the line does not start at the released mass but above it, as more dye than
// was released passed the first two sites (recovery 1.06 and 1.07). Peaks are
// compared with the samples over that start of the line.
func TestAntietam1970WithLoss(t *testing.T) {
	s := Scenario{"antietam", "1970-03-24"}
	e := runExample(t, s, nil)
	closed(t, e)
	_, c := antietamLayout(t)
	start, halfLife := recoveryLine(c)
	within(t, "half-life of the recoveries", halfLife, 33, 0.03)
	observed, err := Observations(s)
	if err != nil || len(observed) != 8 {
		t.Fatal(observed, err)
	}
	for _, o := range observed {
		got := plume.ShapeOf(e.curves[o.Name])
		within(t, o.Name+" peak", got.PeakMgL, o.PeakMgL/start, 0.15)
		t.Logf("%s peak against the sample as it is: off by %.1f %%", o.Name, 100*(got.PeakMgL/o.PeakMgL-1))
	}
}

// recoveryLine fits ln(recovery) = ln(start) - t*ln(2)/halfLife.
func recoveryLine(c *antietamCase) (start, halfLife float64) {
	var n, st, sr, stt, str float64
	for _, site := range c.Releases[release1970].Sites {
		t, r := site.Peak, math.Log(site.Recovery)
		n, st, sr, stt, str = n+1, st+t, sr+r, stt+t*t, str+t*r
	}
	slope := (n*str - st*sr) / (n*stt - st*st)
	return math.Exp((sr - slope*st) / n), -math.Ln2 / slope
}

// At low flow nothing was fitted but the areas: arrival and end are the test.
func TestAntietam1969(t *testing.T) {
	s := Scenario{"antietam", "1969-05-27"}
	e := runExample(t, s, nil)
	closed(t, e)
	observed, err := Observations(s)
	if err != nil || len(observed) != 2 {
		t.Fatal(observed, err)
	}
	for _, o := range observed {
		got := plume.ShapeOf(e.curves[o.Name])
		within(t, o.Name+" lead", got.LeadHours, o.LeadHours, 0.10)
		within(t, o.Name+" peak time", got.PeakHours, o.PeakHours, 0.05)
		within(t, o.Name+" trail", got.TrailHours, o.TrailHours, 0.10)
	}
}

// One set of areas carries the Wind and Bighorn River from 55 to 233 m3/s.
func TestBighornTravelTime(t *testing.T) {
	_, c := bighornLayout(t)
	for _, v := range []struct{ id, release string }{{"1971-03-21", releaseMarch}, {"1971-06-29", releaseJune}} {
		s := Scenario{"wind-bighorn", v.id}
		e := runExample(t, s, nil)
		closed(t, e)
		for i, site := range c.Releases[v.release] {
			name := fmt.Sprintf("B%d", i+1)
			within(t, v.id+" "+name+" mean time", meanHours(e.curves[name]), site.Mean, 0.06)
		}
	}
}

// meanHours is the time of the centre of a curve.
func meanHours(c *plume.Curve) float64 {
	var area, moment float64
	for i := 1; i < len(c.C); i++ {
		a := (c.C[i-1] + c.C[i]) / 2 * (c.Hours[i] - c.Hours[i-1])
		area += a
		moment += a * (c.Hours[i-1] + c.Hours[i]) / 2
	}
	return moment / area
}

// The answer does not hang on the step: half of it moves no peak by more than
// 3 % and no time by more than the step.
func TestAntietamStep(t *testing.T) {
	s := Scenario{"antietam", "1970-03-24-conservative"}
	coarse := runExample(t, s, map[string]any{"TimeStepMinutes": 6, "SimulationHours": 60})
	fine := runExample(t, s, map[string]any{"TimeStepMinutes": 3, "SimulationHours": 60})
	for name, c := range coarse.curves {
		if name == "S1" { // 14 steps from the release: the release itself lasts one
			continue
		}
		a, b := plume.ShapeOf(c), plume.ShapeOf(fine.curves[name])
		within(t, name+" peak at half the step", a.PeakMgL, b.PeakMgL, 0.03)
		if math.Abs(a.PeakHours-b.PeakHours) > 0.1+1e-9 {
			t.Errorf("%s peak time %.2f and %.2f", name, a.PeakHours, b.PeakHours)
		}
	}
}

func TestWriteAndList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Éa b")
	edited := filepath.Join(dir, "riverbasin", "antietam", "basin.json")
	for i := range 3 {
		kept, err := Write(dir)
		if err != nil || len(kept) != i/2 {
			t.Fatalf("writing number %d: kept %v, %v", i+1, kept, err)
		}
		if i == 1 {
			if err := os.WriteFile(edited, []byte(`{"name":"mine"}`), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if text, err := os.ReadFile(edited); err != nil || string(text) != `{"name":"mine"}` {
		t.Errorf("an edited file was changed: %s %v", text, err)
	}
	list, err := Scenarios()
	if err != nil || len(list) != 5 || list[0] != (Scenario{"antietam", "1969-05-27"}) {
		t.Fatalf("%v %v", list, err)
	}
	for _, s := range list {
		if _, err := os.Stat(filepath.Join(dir, "tables", "Scenarios", s.Basin, s.ID+".json")); err != nil {
			t.Error(err)
		}
		if o, err := Observations(s); err != nil || len(o) == 0 {
			t.Errorf("%v: observations %v %v", s, o, err)
		}
	}
	if _, err := Write(filepath.Join(dir, "riverbasin", "antietam", "FLOW.IN")); err == nil {
		t.Error("written into a file")
	}
}
