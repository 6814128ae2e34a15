package river

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// smallest is a scenario with nothing but what must be there.
func smallest() map[string]any {
	return map[string]any{"SpillMile": 10.5, "SpillTime": "2026-01-02T00:00:00Z", "SpillMassKg": 1000.0}
}

// with returns the smallest scenario with pairs of name and value set.
func with(pairs ...any) map[string]any {
	s := smallest()
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i].(string)] = pairs[i+1]
	}
	return s
}

func TestParseScenario(t *testing.T) {
	defaults := ScenarioDefaults{ConcentrationTolerance: 0.001, ThresholdMgL: 0.5}
	base := Scenario{SpillMile: 10.5, SpillTime: at(0), SpillMassKg: 1000, ReleaseShape: ReleaseConstant, SimulationHours: 48, TimeStepMinutes: 15,
		OutputIntervalMinutes: 60, ConcentrationTolerance: 0.001, ThresholdMgL: 0.5, FlowSource: FlowBasin, FlowScale: 1}
	change := func(f func(*Scenario)) Scenario {
		s := base
		f(&s)
		return s
	}
	tests := []struct {
		name    string
		columns map[string]any
		zone    *time.Location
		want    Scenario
	}{
		{"smallest", smallest(), nil, base},
		{"unknown columns and those of the job", with("Status", "Queued", "Progress", 3, "spillmile", "x", "PartitionKey", "ohio"), nil, base},
		{"null is absent", with("Name", nil, "HalfLifeHours", nil, "FlowSource", nil, "ReleaseShape", nil, "TimeStepMinutes", nil, "SpillVolumeL", nil), nil, base},
		{"volume", map[string]any{"SpillMile": 10.5, "SpillTime": "2026-01-02T00:00:00Z", "SpillVolumeL": 500, "DensityKgPerL": 0.8}, nil,
			change(func(s *Scenario) { s.SpillMassKg, s.SpillVolumeL, s.DensityKgPerL = 0, 500, 0.8 })},
		{"everything", with("Name", " Drill ", "SpillRiver", "Ohio", "SpillDurationHours", 2, "ReleaseShape", "exponential", "HalfLifeHours", 33.0, "SimulationHours", int64(96),
			"TimeStepMinutes", 7.5, "OutputIntervalMinutes", int32(30), "ConcentrationTolerance", json.Number("1e-4"), "ThresholdMgL", 2.5, "FlowSource", "nfq", "FlowScale", 0.5), nil,
			Scenario{"Drill", "Ohio", 10.5, at(0), 1000, 0, 0, 2, ReleaseExponential, 33, 96, 7.5, 30, 1e-4, 2.5, FlowNFQ, 0.5}},
		{"H05 offset", with("SpillTime", "2026-01-01T19:00:00-05:00"), nil, base},
		{"H05 zone of the basin", with("SpillTime", "2026-01-01T19:00:00"), newYork(t), base},
		{"time with a fraction", with("SpillTime", "2026-01-02T00:00:00.9876543Z"), nil, base},
		{"time of a table", with("SpillTime", time.Date(2026, 1, 1, 19, 0, 0, 5, newYork(t))), nil, base},
		{"step of a third of a minute", with("TimeStepMinutes", 1.0/3, "OutputIntervalMinutes", 1), nil,
			change(func(s *Scenario) { s.TimeStepMinutes, s.OutputIntervalMinutes = 1.0/3, 1 })},
		{"bounds", with("SpillMassKg", 1e9, "SimulationHours", 8760, "SpillDurationHours", 8760, "FlowScale", 1e-3, "TimeStepMinutes", 1440, "OutputIntervalMinutes", 525600), nil,
			change(func(s *Scenario) {
				s.SpillMassKg, s.SimulationHours, s.SpillDurationHours, s.FlowScale, s.TimeStepMinutes, s.OutputIntervalMinutes = 1e9, 8760, 8760, 1e-3, 1440, 525600
			})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := defaults
			d.Zone = tt.zone
			got, err := ParseScenario(tt.columns, d)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

func TestParseScenarioFaults(t *testing.T) {
	const ways = "; give SpillMassKg, or SpillVolumeL with DensityKgPerL"
	const (
		mass = "must be a number above 0 and at most 1000000000"
		mile = "SpillMile: must be a number from 0 to 9999.9999"
	)
	volume := func(pairs ...any) map[string]any {
		s := with(pairs...)
		delete(s, "SpillMassKg")
		return s
	}
	tests := []struct {
		name    string
		columns map[string]any
		zone    *time.Location
		want    []string
	}{
		{"nothing", nil, nil, []string{"SpillMile: is missing", "SpillTime: is missing", "SpillMassKg: is missing" + ways}},
		{"two masses", with("SpillVolumeL", 1, "DensityKgPerL", 1), nil, []string{"SpillMassKg: the mass is given in two ways" + ways}},
		{"mass and density", with("DensityKgPerL", 1), nil, []string{"SpillMassKg: the mass is given in two ways" + ways}},
		{"no density", volume("SpillVolumeL", 1), nil, []string{"DensityKgPerL: is missing" + ways}},
		{"no volume", volume("DensityKgPerL", 1), nil, []string{"SpillVolumeL: is missing" + ways}},
		{"mass 0", with("SpillMassKg", 0), nil, []string{"SpillMassKg: " + mass + ` (found "0")`}},
		{"mass below 0", with("SpillMassKg", -1), nil, []string{"SpillMassKg: " + mass + ` (found "-1")`}},
		{"mass absurd", with("SpillMassKg", 1.1e9), nil, []string{"SpillMassKg: " + mass + ` (found "1.1e+09")`}},
		{"mass beyond all numbers", with("SpillMassKg", json.Number("1e999")), nil, []string{"SpillMassKg: " + mass + ` (found "+Inf")`}},
		{"volume makes an absurd mass", volume("SpillVolumeL", 3e9, "DensityKgPerL", 25), nil, []string{"SpillVolumeL: makes a mass beyond 1000000000 kg"}},
		{"density", volume("SpillVolumeL", 5, "DensityKgPerL", 790), nil, []string{`DensityKgPerL: must be a number from 0.3 to 25 (found "790")`}},
		{"not finite", with("SpillMile", math.NaN(), "FlowScale", math.Inf(1)), nil, []string{mile + ` (found "NaN")`, `FlowScale: must be a number from 0.001 to 1000 (found "+Inf")`}},
		{"wrong types", map[string]any{"Name": 5, "SpillRiver": true, "SpillMile": "10.5", "SpillTime": json.Number("5"), "SpillMassKg": []any{1}, "ReleaseShape": 1,
			"FlowSource": map[string]any{}, "HalfLifeHours": false, "FlowScale": struct{}{}, "TimeStepMinutes": map[string]any{}}, nil, []string{
			"Name: must be a string", "SpillRiver: must be a string", "SpillMile: must be a number, not a string", "SpillTime: must be a string with a time, not a number",
			"SpillMassKg: must be a number, not a list", "ReleaseShape: must be a string", "HalfLifeHours: must be a number, not a bool",
			"TimeStepMinutes: must be a number, not an object", "FlowSource: must be a string", "FlowScale: must be a number, not a value of another kind"}},
		{"words", with("ReleaseShape", "Constant", "FlowSource", ""), nil, []string{
			`ReleaseShape: must be one of constant, linear, exponential (found "Constant")`, "FlowSource: must be one of basin, nfq"}},
		{"names", with("Name", strings.Repeat("x", 201), "SpillRiver", "a\nb"), nil, []string{
			`Name: has more than 200 characters (found "` + strings.Repeat("x", 40) + `…")`, `SpillRiver: holds a control character (found "a\nb")`}},
		{"H05 no zone", with("SpillTime", "2026-01-02T00:00:00"), nil, []string{
			`SpillTime: is a time without a zone (found "2026-01-02T00:00:00"); write UTC with Z, or an offset like -05:00, or name time_zone in basin.json`}},
		{"H05 skipped", with("SpillTime", "2026-03-08T02:30:00"), newYork(t), []string{
			`SpillTime: is a local time that the change of clocks skips (found "2026-03-08T02:30:00"); write the offset, like -05:00`}},
		{"H05 doubled", with("SpillTime", "2026-11-01T01:30:00"), newYork(t), []string{
			`SpillTime: is a local time that the change of clocks gives twice (found "2026-11-01T01:30:00"); write the offset, like -05:00`}},
		{"year", with("SpillTime", "2026-01-02"), nil, []string{`SpillTime: must be a time like 2026-01-02T03:00:00Z (found "2026-01-02")`}},
		{"zero time of a table", with("SpillTime", time.Time{}), nil, []string{"SpillTime: must lie in the years 1900 to 2200"}},
		{"release too long", with("SpillDurationHours", 48.01), nil, []string{"SpillDurationHours: the release is longer than the simulation"}},
		{"release below 0", with("SpillDurationHours", -1), nil, []string{`SpillDurationHours: must be a number from 0 to 8760 (found "-1")`}},
		{"half-life 0", with("HalfLifeHours", 0), nil, []string{`HalfLifeHours: must be a number above 0 and at most 1000000000 (found "0")`}},
		{"tolerance 0", with("ConcentrationTolerance", 0, "ThresholdMgL", 0), nil, []string{
			`ConcentrationTolerance: must be a number above 0 and at most 1000000 (found "0")`, `ThresholdMgL: must be a number above 0 and at most 1000000 (found "0")`}},
		{"simulation too long", with("SimulationHours", 8761), nil, []string{`SimulationHours: must be a number above 0 and at most 8760 (found "8761")`}},
		{"step too short", with("TimeStepMinutes", 0.09), nil, []string{`TimeStepMinutes: must be a number from 0.1 to 1440 (found "0.09")`}},
		{"too many steps", with("TimeStepMinutes", 0.1, "SimulationHours", 8760), nil, []string{
			"TimeStepMinutes: makes 5256000 steps; 200000 at most; take a longer step or a shorter simulation"}},
		{"output no multiple", with("TimeStepMinutes", 25), nil, []string{"OutputIntervalMinutes: must be a multiple of TimeStepMinutes"}},
		{"output below the step", with("OutputIntervalMinutes", 5), nil, []string{"OutputIntervalMinutes: must be a multiple of TimeStepMinutes"}},
		{"output of half a second", with("TimeStepMinutes", 0.125, "OutputIntervalMinutes", 0.375), nil, []string{"OutputIntervalMinutes: must be whole seconds: outputs are named by them"}},
		{"output beyond the simulation", with("SimulationHours", 0.9), nil, []string{"OutputIntervalMinutes: is longer than the simulation"}},
		{"all at once", with("SpillMile", -1, "SimulationHours", 1, "SpillDurationHours", 2, "OutputIntervalMinutes", 70, "FlowScale", "x"), nil, []string{
			mile + ` (found "-1")`, "FlowScale: must be a number, not a string", "SpillDurationHours: the release is longer than the simulation",
			"OutputIntervalMinutes: must be a multiple of TimeStepMinutes", "OutputIntervalMinutes: is longer than the simulation"}},
		{"no faults that follow from others", with("TimeStepMinutes", "x", "SimulationHours", nil, "SpillDurationHours", true), nil, []string{
			"SpillDurationHours: must be a number, not a bool", "TimeStepMinutes: must be a number, not a string"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseScenario(tt.columns, ScenarioDefaults{ConcentrationTolerance: 0.001, Zone: tt.zone})
			if s != nil || err == nil {
				t.Fatalf("accepted: %+v", s)
			}
			wantFaults(t, err, tt.want...)
		})
	}
}

func TestScenarioSteps(t *testing.T) {
	tests := []struct {
		hours, step, output, release float64
		steps, every, releaseSteps   int
		seconds                      float64
	}{
		{48, 15, 60, 0, 192, 4, 1, 900},
		{48, 15, 60, 0.1, 192, 4, 1, 900},
		{48, 15, 60, 0.25, 192, 4, 1, 900},
		{48, 15, 60, 0.26, 192, 4, 2, 900},
		{1.1, 15, 60, 1, 5, 4, 4, 900},
		{1, 0.1, 1, 1, 600, 10, 600, 6},
		{1, 1.0 / 3, 1, 0.3, 180, 3, 54, 20},
		{0.3, 0.1, 0.3, 0.3, 180, 3, 180, 6},
		{1, 0.125, 0.25, 0, 480, 2, 1, 7.5},
	}
	for _, tt := range tests {
		s := Scenario{SimulationHours: tt.hours, TimeStepMinutes: tt.step, OutputIntervalMinutes: tt.output, SpillDurationHours: tt.release}
		if s.Steps() != tt.steps || s.OutputEvery() != tt.every || s.ReleaseSteps() != tt.releaseSteps || s.StepSeconds() != tt.seconds {
			t.Errorf("%+v: %d steps of %v s, output every %d, release over %d", tt, s.Steps(), s.StepSeconds(), s.OutputEvery(), s.ReleaseSteps())
		}
	}
}

func TestReleaseFraction(t *testing.T) {
	// One hour in steps of 15 minutes, from the integral of the rate.
	tests := []struct {
		shape    ReleaseShape
		duration float64
		want     []float64
	}{
		{ReleaseConstant, 0, []float64{1, 0}},
		{ReleaseLinear, 0.2, []float64{1, 0}},
		{ReleaseConstant, 1, []float64{.25, .25, .25, .25, 0}},
		{ReleaseConstant, 0.625, []float64{.4, .4, .2, 0}},
		{ReleaseLinear, 1, []float64{7. / 16, 5. / 16, 3. / 16, 1. / 16, 0}},
		// 100^(-1/4) = 0.316228 from one step to the next.
		{ReleaseExponential, 1, []float64{0.690679024, 0.218411885, 0.069067902, 0.021841188, 0}},
	}
	for _, tt := range tests {
		s := Scenario{ReleaseShape: tt.shape, SpillDurationHours: tt.duration, TimeStepMinutes: 15, SimulationHours: 48}
		if s.ReleaseFraction(0) != 0 || s.ReleaseFraction(-1) != 0 {
			t.Errorf("%s: released before the spill", tt.shape)
		}
		for i, want := range tt.want {
			if got := s.ReleaseFraction(i + 1); math.Abs(got-want) > 1e-8 {
				t.Errorf("%s over %v h, step %d: %v, want %v", tt.shape, tt.duration, i+1, got, want)
			}
		}
	}
}

func TestReleaseProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var worst float64
	for range 300 {
		s := Scenario{SimulationHours: 1e4, TimeStepMinutes: 0.1 + rng.Float64()*60, SpillDurationHours: rng.ExpFloat64() * 20,
			ReleaseShape: []ReleaseShape{ReleaseConstant, ReleaseLinear, ReleaseExponential}[rng.IntN(3)]}
		var sum float64
		last := s.ReleaseSteps()
		before := math.Inf(1)
		for step := 1; step <= last; step++ {
			part := s.ReleaseFraction(step)
			if part < 0 || part > before*(1+1e-9)+1e-12 {
				t.Fatalf("%+v: step %d releases %v after %v", s, step, part, before)
			}
			before = part
			sum += part
		}
		if s.ReleaseFraction(last+1) != 0 {
			t.Fatalf("%+v: released after the end", s)
		}
		worst = max(worst, math.Abs(sum-1))
	}
	if worst > 1e-13 {
		t.Errorf("the parts miss 1 by %v", worst)
	}
	t.Logf("worst sum misses 1 by %g", worst)
}

func TestScenarioSchema(t *testing.T) {
	text := ScenarioSchema()
	golden := filepath.Join("testdata", "scenario.schema.json")
	if *update {
		if os.Getenv("CI") != "" {
			t.Fatal("golden files are not written in CI")
		}
		if err := os.WriteFile(golden, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("the schema differs from %s:\n%s", golden, text)
	}
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	// Every field of a Scenario is a column, and the other way round.
	var fields []string
	for f := range reflect.TypeFor[Scenario]().Fields() {
		fields = append(fields, f.Name)
	}
	slices.Sort(fields)
	if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, fields) {
		t.Errorf("columns %q, fields %q", got, fields)
	}
	for _, name := range schema.Required {
		s := smallest()
		delete(s, name)
		if _, err := ParseScenario(s, ScenarioDefaults{}); err == nil {
			t.Errorf("%s is required by the schema alone", name)
		}
	}
}

// A number column refuses what lies just outside its bounds and takes what
// lies on them.
func TestScenarioBounds(t *testing.T) {
	for _, c := range scenarioColumns() {
		if c.kind != numberColumn {
			continue
		}
		refused := func(v float64) bool {
			_, err := ParseScenario(with(c.name, v), ScenarioDefaults{})
			return slices.ContainsFunc(details(err), func(s string) bool { return strings.HasPrefix(s, c.name+": must be a number ") })
		}
		below, beyond := math.Nextafter(c.low, math.Inf(-1)), math.Nextafter(c.high, math.Inf(1))
		if !refused(below) || !refused(beyond) || !refused(math.Inf(1)) || !refused(math.NaN()) {
			t.Errorf("%s takes %v, %v, infinity or NaN", c.name, below, beyond)
		}
		if refused(c.low) != c.above || refused(c.high) {
			t.Errorf("%s: bounds %v (excluded: %v) and %v", c.name, c.low, c.above, c.high)
		}
		if c.initial != 0 && !c.within(c.initial) {
			t.Errorf("%s: the default %v is out of bounds", c.name, c.initial)
		}
	}
}

func ExampleScenario_ReleaseFraction() {
	s := Scenario{SpillDurationHours: 1, TimeStepMinutes: 15, ReleaseShape: ReleaseLinear}
	for step := 1; step <= s.ReleaseSteps(); step++ {
		fmt.Println(s.ReleaseFraction(step))
	}
	// Output:
	// 0.4375
	// 0.3125
	// 0.1875
	// 0.0625
}
