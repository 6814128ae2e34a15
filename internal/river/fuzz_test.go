package river

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// checkFaults is what holds for the error of any parser here: faults and
// nothing else, each with its file, none with a place outside the input, and
// none that repeats the input in its detail.
func checkFaults(t *testing.T, err error, data []byte) {
	t.Helper()
	faults := reason.Faults(err)
	if len(faults) == 0 || len(faults) > maxFaults+5 {
		t.Fatalf("%d faults in %v", len(faults), err)
	}
	lines := bytes.Split(data, []byte("\n"))
	for _, f := range faults {
		if f.File != "F" || f.Problem == "" || f.Line < 0 || f.Line > len(lines) {
			t.Fatalf("fault %+v of %d lines", *f, len(lines))
		}
		if f.Line > 0 && f.Column > utf8.RuneCount(lines[f.Line-1])+1 {
			t.Fatalf("fault %+v stands behind its line %q", *f, lines[f.Line-1])
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	for _, seed := range []string{"", "branch,grid,river,river_mile\n1,1,Ohio,0\n1,2,Ohio,6.2\n", "\xef\xbb\xbfRiver_Mile,grid,\"river\",branch,\r\n-0,1,O,1,,\r\n",
		"branch,grid,river,river_mile,latitude,longitude,name,feature\n1,1,O,9999.9999,40,-80,\"a, \"\"b\"\"\",dam\n2,1,O,0,,,é,x\n", "branch,grid,river,river_mile\n1,1,\"O\n", "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, warnings, err := ParseIndex(bytes.NewReader(data), "F")
		if err != nil {
			checkFaults(t, err, data)
			return
		}
		if len(warnings) > maxWarnings+1 || len(x.Places) == 0 {
			t.Fatalf("%d warnings, %d places", len(warnings), len(x.Places))
		}
		if !slices.IsSortedFunc(x.Places, placeOrder) {
			t.Fatal("not sorted")
		}
		for _, p := range x.Places {
			if p.Branch < 1 || p.Grid < 1 || riverProblem(p.River) != "" || !(p.Mile >= 0 && p.Mile <= maxMile) || math.Signbit(p.Mile) || p.Line < 2 {
				t.Fatalf("place %+v", p)
			}
		}
		// Bind and Locate must cope with whatever was parsed.
		n := network(2, []float64{3, 1, 0, 1, 2}, []float64{1, 2, 0, 1}, []float64{1, 2, 0, 1}, []float64{2, 4, 0, 5})
		if _, err := x.Bind(n); err != nil {
			checkFaults(t, err, data)
			return
		}
		for _, p := range x.Places {
			if _, err := x.Locate(n, p.River, p.Mile); err != nil {
				t.Fatalf("place %+v is not where it is: %v", p, err)
			}
		}
	})
}

func FuzzParseFlows(f *testing.F) {
	zone := newYork(f)
	for _, seed := range []string{"", "time,branch,grid,flow\n2026-01-02T00:00:00Z,1,1,5\n2026-01-01T00:00:00Z,1,1,-9999\n2026-01-01T00:00,1,2,-3\n",
		"flow,grid,branch,time\r\nIce,1,1,2026-01-02 00:00:00+0530\r\n1e3,1,1,2026-03-08T02:30\r\n", "time,branch,grid,flow\n2026-01-02T00:00:00.5Z,1,1,5\n2026-01-02T00:00:00Z,1,1,50\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		flows, warnings, err := ParseFlows(bytes.NewReader(data), "F", zone)
		if err != nil {
			checkFaults(t, err, data)
			return
		}
		if len(warnings) > maxWarnings+1 || len(flows.Series) == 0 {
			t.Fatalf("%d warnings, %d series", len(warnings), len(flows.Series))
		}
		if !slices.IsSortedFunc(flows.Series, func(a, b Series) int { return cmp.Or(cmp.Compare(a.Branch, b.Branch), cmp.Compare(a.Grid, b.Grid)) }) {
			t.Fatal("series not sorted")
		}
		for _, s := range flows.Series {
			for i := range s.Times {
				if i > 0 && !s.Times[i-1].Before(s.Times[i]) || math.Abs(s.Flows[i]) > maxFlow || s.Grid == 1 && s.Flows[i] < 0 {
					t.Fatalf("series %+v", s)
				}
				got, err := flows.Mean(s.Branch, s.Grid, s.Times[i], s.Times[i].Add(1))
				if err != nil || math.Abs(got-s.Flows[i]) > 1e-9*math.Abs(s.Flows[i]) {
					t.Fatalf("mean %v, %v, want %v", got, err, s.Flows[i])
				}
			}
		}
	})
}

func FuzzParseScenario(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"SpillMile":1,"SpillTime":"2026-01-02T00:00:00Z","SpillMassKg":5}`,
		`{"SpillMile":1,"SpillTime":"2026-01-02T00:00","SpillVolumeL":5,"DensityKgPerL":1,"SpillDurationHours":2,"ReleaseShape":"linear","TimeStepMinutes":0.125,"OutputIntervalMinutes":0.25}`,
		`{"a":1,"a":2}`, `{"SpillMile":1e999}`, "[1]", "{\"\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var columns map[string]any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if dec.Decode(&columns) != nil {
			return
		}
		s, err := ParseScenario(columns, ScenarioDefaults{ConcentrationTolerance: 0.001})
		if err != nil {
			checkFaults(t, reason.InFile(err, "F"), data)
			return
		}
		if !(s.MassKg() > 0) || s.Steps() < 1 || s.Steps() > maxSteps || s.OutputEvery() < 1 || s.OutputEvery() > s.Steps() ||
			s.ReleaseSteps() > s.Steps() || !(s.ReleaseFraction(1) > 0) || !(s.ConcentrationTolerance > 0) {
			t.Fatalf("scenario %+v", s)
		}
	})
}

func FuzzParseBasin(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"name":"x","time_zone":"Europe/Berlin","dispersion":{"dqq":1,"dqq_step_minutes":5,"branches":{"3":{"coefficient_m2_s":5}}},"intakes_threshold_mg_l":1}`,
		`{"dispersion":{"branches":{"x":1}}}`, `{"a":{"b":[]},"a":1}`, "{\"\\\"\": 1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, _, err := ParseBasin(data, "F")
		if err != nil {
			checkFaults(t, err, data)
			return
		}
		for branch := range maxBranch + 1 {
			d := b.Dispersion(branch)
			if !(d.Value >= 0) || (d.Kind == DispersionDQQ) != (d.StepMinutes > 0) {
				t.Fatalf("branch %d: %+v", branch, d)
			}
		}
	})
}

// What a parser says for people to read must not pass the reader's text on:
// details travel to places where the input may not.
func TestDetailsHoldNoInput(t *testing.T) {
	const secret = "hunter2"
	var errs []error
	for _, text := range []string{"branch,grid,river,river_mile,name\n" + secret + "," + secret + ",|" + secret + "," + secret + ",\x07" + secret + "\n",
		secret + "," + secret + "\n", "branch,grid,river,river_mile\n1,1,Ohio,0," + secret} {
		_, _, err := ParseIndex(strings.NewReader(text), "F")
		errs = append(errs, err)
	}
	_, _, err := ParseFlows(strings.NewReader("time,branch,grid,flow\n"+secret+","+secret+","+secret+",1"+secret), "F", nil)
	errs = append(errs, err)
	_, err = ParseScenario(map[string]any{"Name": "\x00" + secret, "SpillTime": secret, "ReleaseShape": secret, "FlowSource": secret, "SpillMile": secret}, ScenarioDefaults{})
	errs = append(errs, err)
	_, _, err = ParseBasin([]byte(`{"name":["`+secret+`"],"time_zone":"`+secret+`","dispersion":{"dqq":"`+secret+`","branches":{"`+secret+`":1}}}`), "F")
	errs = append(errs, err)
	for _, err := range errs {
		if err == nil {
			t.Error("an input was accepted")
			continue
		}
		if detail := reason.Detail(reason.Wrap(reason.InvalidBasin, err, "")); strings.Contains(detail, secret) || detail == "" {
			t.Errorf("detail %q", detail)
		}
	}
	if got := reason.Of(reason.Wrap(reason.InvalidFlows, errors.Join(errs...), "")); got != reason.InvalidFlows {
		t.Errorf("reason %s", got)
	}
}
