package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// channel is a uniform river of one or more branches in a chain: 2 km
// subreaches, 10 m3/s, 20 m2, so 0.5 m/s.
func channel(branches, grids int) *daflow.Input {
	in := &daflow.Input{Steps: 1, PrintEvery: 1, StepHours: 0.25, Peak: 20, Boundaries: [][]daflow.Change{{{Branch: 1, Grid: 1, Flow: 10}}}}
	net := &in.Network
	net.Units, net.InteriorJunctions = river.Metric, branches-1
	for b := range branches {
		branch := river.Branch{Share: 1, Up: b, Down: b + 1}
		if b == 0 {
			branch.Up = branches
		}
		if b == branches-1 {
			branch.Down = branches + 1
		}
		for g := range grids {
			branch.Grids = append(branch.Grids, river.Grid{Distance: float64(2 * g), Flow: 10, A1: 20 / math.Pow(10, 0.66), A2: 0.66,
				Slope: 0.001, W1: 10, W2: 0.26})
		}
		branch.Grids[grids-1] = river.Grid{Distance: float64(2 * (grids - 1))}
		net.Branches = append(net.Branches, branch)
	}
	return in
}

// indexOf counts miles of 2 km from first, by sense per subreach.
func indexOf(t *testing.T, in *daflow.Input, first, sense float64) *river.Index {
	t.Helper()
	var b strings.Builder
	b.WriteString("branch,grid,river,river_mile,name,feature\n")
	mile := first
	for n, branch := range in.Network.Branches {
		for g := range branch.Grids {
			if g > 0 {
				mile += sense
			}
			fmt.Fprintf(&b, "%d,%d,Test,%.4f,P%d-%d,intake\n", n+1, g+1, mile, n+1, g+1)
		}
	}
	index, _, err := river.ParseIndex(strings.NewReader(b.String()), "RiverMileIndex.csv")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index.Bind(&in.Network); err != nil {
		t.Fatal(err)
	}
	return index
}

func scenarioOf(t *testing.T, change map[string]any) *river.Scenario {
	t.Helper()
	columns := map[string]any{"SpillMile": 1, "SpillTime": "2026-01-02T03:00:00Z", "SpillMassKg": 100, "SimulationHours": 12}
	for k, v := range change {
		if v == nil {
			delete(columns, k)
			continue
		}
		columns[k] = v
	}
	s, err := river.ParseScenario(columns, river.ScenarioDefaults{ConcentrationTolerance: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func planOf(t *testing.T, in *daflow.Input, index *river.Index, change map[string]any) *Plan {
	t.Helper()
	basin, _, err := river.ParseBasin([]byte(`{"name":"t","dispersion":{"dqq":0.25}}`), "basin.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(Case{Scenario: scenarioOf(t, change), Basin: basin, Index: index, Input: in})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// computed runs the plan and returns the curves by place and the last ledger.
func computed(t *testing.T, p *Plan) (map[string]*plume.Curve, plume.Ledger) {
	t.Helper()
	dir := t.TempDir()
	if err := p.WriteInputs(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if err := (&Bundle{Dir: dir}).Run(name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	curves := map[string]*plume.Curve{}
	err := p.Curves(context.Background(), dir, func(at Place, c *plume.Curve) error {
		curves[at.Name] = &plume.Curve{Hours: append([]float64(nil), c.Hours...), C: append([]float64(nil), c.C...)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var last plume.Ledger
	if _, err := p.Ledgers(t.Context(), dir, func(_ int, l plume.Ledger, _ []float64) error { last = l; return nil }); err != nil {
		t.Fatal(err)
	}
	profiles := 0
	if err := p.Profiles(context.Background(), dir, func(step int, c []float64) error {
		for i, at := range p.Places {
			if curve := curves[at.Name]; curve.C[step] != c[i] {
				t.Errorf("step %d %s: %g along the river, %g over time", step, at.Name, c[i], curve.C[step])
			}
		}
		profiles++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if profiles != len(p.OutputSteps()) {
		t.Errorf("%d profiles, %d output steps", profiles, len(p.OutputSteps()))
	}
	return curves, last
}

// Wherever the spill is, its mass is exact and the places keep their numbers.
func TestSpillAnywhere(t *testing.T) {
	for _, tt := range []struct {
		name     string
		mile     float64
		sense    float64
		inserted int // grids more than in the basin
		grid     int
		distance float64
	}{
		{"head of the river", 0, 1, 0, 1, 0},
		{"grid", 2, 1, 0, 3, 4},
		{"between grids", 2.25, 1, 1, 4, 4.5},
		{"first grid of an inner branch counts as the last of the one above", 4, 1, 1, 5, 8 - 0.001},
		{"last grid of the river", 8, 1, 1, 5, 8 - 0.001},
		{"miles fall downstream", 97.75, -1, 1, 4, 4.5},
		{"a hair below a grid", 2.0001, 1, 1, 4, 4.0002},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := channel(2, 5)
			first := 0.0
			if tt.sense < 0 {
				first = 100
			}
			p := planOf(t, in, indexOf(t, in, first, tt.sense), map[string]any{"SpillMile": tt.mile, "SimulationHours": 30})
			b := p.release[0].Branch
			grids := p.Flow.Network.Branches[b-1].Grids
			if len(grids) != len(in.Network.Branches[b-1].Grids)+tt.inserted || p.release[0].Grid != tt.grid {
				t.Errorf("%d grids, release at grid %d", len(grids), p.release[0].Grid)
			}
			if got := grids[tt.grid-1].Distance; math.Abs(got-tt.distance) > 1e-9 {
				t.Errorf("spill grid at %.6f km, want %.6f", got, tt.distance)
			}
			for _, at := range p.Places {
				got := p.Flow.Network.Branches[at.Branch-1].Grids[at.RunGrid-1].Distance
				if want := in.Network.Branches[at.Branch-1].Grids[at.Grid-1].Distance; got != want {
					t.Errorf("place %s moved from %g to %g km", at.Name, want, got)
				}
			}
			_, l := computed(t, p)
			if off := math.Abs(l.InjectedKg/100 - 1); off > 1e-9 {
				t.Errorf("injected %.12g kg of 100", l.InjectedKg)
			}
			if math.Abs(l.ErrorKg()) > 1e-7 {
				t.Errorf("ledger error %g kg", l.ErrorKg())
			}
			if len(in.Network.Branches[0].Grids) != 5 || len(in.Boundaries) != 1 {
				t.Error("the basin's own input was changed")
			}
		})
	}
}

// A spill between two grids arrives when its distance says, whichever grid is
// near.
func TestSpillAtItsExactMile(t *testing.T) {
	for _, mile := range []float64{1, 1.1, 1.5, 1.9, 2} {
		in := channel(1, 16)
		p := planOf(t, in, indexOf(t, in, 0, 1), map[string]any{"SpillMile": mile, "SimulationHours": 24, "TimeStepMinutes": 5})
		curves, _ := computed(t, p)
		c := curves["P1-11"] // 20 km
		var area, moment float64
		for i := range c.C {
			area, moment = area+c.C[i], moment+c.C[i]*c.Hours[i]
		}
		// The mean time of a cloud past a point is (x + 2*D/U)/U; the release is
		// centred half a step after the spill.
		const u, d = 0.5, 0.25 * 0.5 * 0.5 * 900
		want := ((20-2*mile)*1000+2*d/u)/u/3600 + 2.5/60
		if got := moment / area; math.Abs(got-want) > 0.02 {
			t.Errorf("mile %g: mean time %.3f h, want %.3f", mile, got, want)
		}
	}
}

// Where the spill is on the last grid of the river, or of a branch, the place
// there sees what the passing water carries: m/(q*DT).
func TestSpillOnTheLastGrid(t *testing.T) {
	for _, mile := range []float64{4, 8} {
		in := channel(2, 5)
		p := planOf(t, in, indexOf(t, in, 0, 1), map[string]any{"SpillMile": mile})
		curves, _ := computed(t, p)
		at := "P1-5"
		if mile == 8 {
			at = "P2-5"
		}
		_, got := curves[at].Peak()
		if want := 100e6 / (10 * 900 * 1000.0); math.Abs(got/want-1) > 0.05 {
			t.Errorf("mile %g: %s has a peak of %.4g mg/L, the water carries %.4g", mile, at, got, want)
		}
	}
}

func TestReleaseShapes(t *testing.T) {
	for _, shape := range []string{"constant", "linear", "exponential"} {
		for _, hours := range []float64{0, 0.1, 0.25, 1, 2.6} {
			in := channel(1, 12)
			p := planOf(t, in, indexOf(t, in, 0, 1), map[string]any{"ReleaseShape": shape, "SpillDurationHours": hours})
			_, l := computed(t, p)
			if off := math.Abs(l.InjectedKg/100 - 1); off > 1e-9 {
				t.Errorf("%s over %g h: injected %.12g kg of 100", shape, hours, l.InjectedKg)
			}
			if n := int(math.Max(1, math.Ceil(hours*4))); len(p.release) != n+1 || p.release[n].C[0] != 0 {
				t.Errorf("%s over %g h: %d boundary values, want %d and a clean one", shape, hours, len(p.release), n)
			}
		}
	}
}

// A dry branch still takes a spill: the carrier water moves it.
func TestSpillIntoADryBed(t *testing.T) {
	in := channel(1, 6)
	in.Boundaries[0][0].Flow = 0
	for g := range in.Network.Branches[0].Grids {
		in.Network.Branches[0].Grids[g].Flow = 0
	}
	for _, mile := range []float64{0, 1.5} {
		p := planOf(t, in, indexOf(t, in, 0, 1), map[string]any{"SpillMile": mile})
		curves, l := computed(t, p)
		if off := math.Abs(l.InjectedKg/100 - 1); off > 1e-9 {
			t.Errorf("mile %g: injected %.12g kg of 100", mile, l.InjectedKg)
		}
		// A trickle carries it, and only where water is there is a concentration.
		for at, c := range curves {
			above := mile == 1.5 && (at == "P1-1" || at == "P1-2")
			if _, peak := c.Peak(); peak > 0 && (above || at == "P1-6") {
				t.Errorf("mile %g: %s has %g mg/L without water", mile, at, peak)
			}
		}
		if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], "dry") {
			t.Errorf("warnings %q", p.Warnings)
		}
	}
}

// Resampling keeps the volume of every series, whatever the two steps are.
func TestResampleKeepsTheVolume(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		source := []float64{0.25, 1, 0.1, 6}[r.IntN(4)]
		target := []float64{0.25, 0.05, 1, 1.0 / 3}[r.IntN(4)]
		points := []point{{0, 10 * r.Float64()}}
		for k := 1; k < 20; k++ {
			if r.IntN(2) == 0 {
				points = append(points, point{k, 10 * r.Float64()})
			}
		}
		steps := int(math.Round(20 * source / target))
		if steps == 0 || math.Abs(float64(steps)*target-20*source) > 1e-9 {
			continue
		}
		in := &daflow.Input{Steps: steps, StepHours: target, Boundaries: make([][]daflow.Change, steps)}
		resample(in, place{1, 1}, points, source)
		var want, got, q float64
		for i, p := range points {
			end := 20
			if i+1 < len(points) {
				end = points[i+1].step
			}
			want += p.flow * float64(end-p.step) * source
		}
		for _, changes := range in.Boundaries {
			for _, c := range changes {
				q = c.Flow
			}
			got += q * target
		}
		if math.Abs(got-want) > 1e-9*want {
			t.Fatalf("source step %g h, run step %g h: volume %g, want %g", source, target, got, want)
		}
	}
}

// FlowScale goes into every flow: the initial ones, the boundaries, the peak.
func TestFlowScale(t *testing.T) {
	in := channel(1, 5)
	p := planOf(t, in, indexOf(t, in, 0, 1), map[string]any{"FlowScale": 2.5, "SpillMile": 1.3})
	if p.Flow.Boundaries[0][0].Flow != 25 || p.Flow.Network.Branches[0].Grids[0].Flow != 25 || p.Flow.Peak != 50 {
		t.Errorf("%+v peak %g", p.Flow.Boundaries[0], p.Flow.Peak)
	}
}

// A factor is bound to the step it was given for; the coefficient it stands
// for does not change with the step of the run.
func TestDispersionDoesNotDependOnTheStep(t *testing.T) {
	in := channel(1, 5)
	index := indexOf(t, in, 0, 1)
	coefficient := func(minutes float64) float64 {
		p := planOf(t, in, index, map[string]any{"TimeStepMinutes": minutes})
		return p.Header.Branches[0].DQQ * 0.5 * 0.5 * minutes * 60
	}
	for _, minutes := range []float64{5, 15, 60} {
		if got, want := coefficient(minutes), 0.25*0.25*900; math.Abs(got-want) > 1e-9 {
			t.Errorf("step %g min: D = %g, want %g m2/s", minutes, got, want)
		}
	}
}

// Fischer's estimate, by hand: U 0.5, W 10*10^0.26 = 18.197, H 20/18.197 =
// 1.0991, S 0.001: D = 0.011*0.25*331.13/(1.0991*sqrt(9.81*1.0991*0.001)) = 7.979.
func TestFischer(t *testing.T) {
	in := channel(1, 3)
	r := reachOf(&in.Network, &in.Network.Branches[0], 0)
	if got := fischer(r); math.Abs(got-7.979) > 0.01 {
		t.Errorf("D = %.4f", got)
	}
	p, err := NewPlan(Case{Scenario: scenarioOf(t, nil), Basin: &river.Basin{}, Index: indexOf(t, in, 0, 1), Input: in})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Header.Branches[0].DQQ, 7.979/(0.25*900); math.Abs(got-want) > 1e-3 {
		t.Errorf("factor %g, want %g", got, want)
	}
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], "factor of 4") {
		t.Errorf("warnings %q", p.Warnings)
	}
}

// Records set the boundary flows and, as a river at rest with them, the
// initial flows; splits, tributaries and withdrawals add up.
func TestSettle(t *testing.T) {
	in := channel(3, 4)
	in.Network.Branches[1].Share = 0.25
	in.Boundaries[0] = []daflow.Change{{Branch: 1, Grid: 1, Flow: 40}, {Branch: 1, Grid: 3, Flow: 8}, {Branch: 2, Grid: 2, Flow: -20}}
	settle(in)
	want := [][]float64{{40, 40, 48}, {12, 0, 0}, {0, 0, 0}}
	for b := range want {
		for g, q := range want[b] {
			if got := in.Network.Branches[b].Grids[g].Flow; got != q {
				t.Errorf("branch %d grid %d: %g, want %g", b+1, g+1, got, q)
			}
		}
	}
}

// A scale on dispersion is one on the factor of every branch, given or estimated,
// and touches nothing that the flow engine reads.
func TestDispersionScale(t *testing.T) {
	in := channel(2, 6)
	basin, _, err := river.ParseBasin([]byte(`{"dispersion":{"branches":{"1":{"dqq":0.25}}}}`), "basin.json")
	if err != nil {
		t.Fatal(err)
	}
	plan := func(scale float64) *Plan {
		p, err := NewPlan(Case{Scenario: scenarioOf(t, nil), Basin: basin, Index: indexOf(t, in, 0, 1), Input: in, DispersionScale: scale})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	flowOf := func(p *Plan) string {
		var b strings.Builder
		if err := daflow.WriteInput(&b, p.Flow); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	base, third := plan(0), plan(1.0/3)
	for b := range base.Header.Branches {
		if got := third.Header.Branches[b].DQQ / base.Header.Branches[b].DQQ; math.Abs(got*3-1) > 1e-12 {
			t.Errorf("branch %d: %g of the factor", b+1, got)
		}
	}
	if plan(1).Header.Branches[1].DQQ != base.Header.Branches[1].DQQ || flowOf(base) != flowOf(third) {
		t.Error("a scale of 1 changes something, or one of dispersion the flows")
	}
	if !base.DispersionEstimated() || planOf(t, in, indexOf(t, in, 0, 1), nil).DispersionEstimated() {
		t.Error("which dispersion is estimated is not told")
	}
}

// What curves and ledgers need is made by the steps that have it among their
// outputs; nothing behind them runs. A step that makes more than flows may need more
// than FLOW.IN.
func TestForCurves(t *testing.T) {
	set := func(outputs ...[]string) *Set {
		s := &Set{}
		for i, files := range outputs {
			s.Steps = append(s.Steps, Step{Name: Names()[i], Outputs: files})
		}
		return s
	}
	for _, tt := range []struct {
		set         *Set
		flows, rest int
	}{
		{set([]string{flowFile}, []string{concentrationFile, ledgerFile}, []string{timesFile}, []string{profilesFile}), 1, 2},
		{set([]string{flowFile}, []string{concentrationFile, ledgerFile, timesFile}, []string{"X"}, []string{profilesFile}), 1, 1},
		{set([]string{flowFile}, []string{concentrationFile}, []string{timesFile}, []string{ledgerFile, profilesFile}), 1, 3},
		{set([]string{flowFile, ledgerFile}, []string{concentrationFile}, []string{timesFile}, []string{profilesFile}), 0, 3},
	} {
		flows, rest := tt.set.ForCurves()
		if (flows != nil) != (tt.flows > 0) || flows != nil && len(flows.Steps) != tt.flows || len(rest.Steps) != tt.rest || len(tt.set.Steps) != 4 {
			t.Errorf("%+v and %d steps of %d, want %d and %d", flows, len(rest.Steps), len(tt.set.Steps), tt.flows, tt.rest)
		}
	}
}
