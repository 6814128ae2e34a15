package ensemble

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

var (
	ids   = plume.IDs{Basin: "ohio", Scenario: "42", JobID: "job-1"}
	begin = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
)

// found is an answer: hours from begin, NaN where there is none, and mg/L.
func found(lead, peak, trail, mgL, above float64) plume.Intake {
	at := func(hours float64) *time.Time {
		if math.IsNaN(hours) {
			return nil
		}
		t := begin.Add(time.Duration(hours * float64(time.Hour)))
		return &t
	}
	in := plume.Intake{Name: "A", River: "Ohio", RiverMile: 7.5, LeadingEdge: at(lead), PeakTime: at(peak), TrailingEdge: at(trail), PeakMgL: mgL}
	if !math.IsNaN(above) {
		in.HoursAboveThreshold = &above
	}
	return in
}

var none = math.NaN()

func study(runs, intakes int) *Study {
	o := Options{Runs: runs, Seed: 1, Dispersion: 4, Flow: 0.1, Release: 0.25}
	list := slices.Repeat([]plume.Intake{found(1, 2, 3, 4, 1)}, intakes)
	return NewStudy(ids, o, false, o.Draws(false), list)
}

// Five runs at hours 1 to 5: by hand, 5 % of the way along four gaps is 1.2.
func TestQuantilesByHand(t *testing.T) {
	s := study(5, 1)
	for i, h := range []float64{3, 1, 5, 2, 4} {
		s.Completed(i, []plume.Intake{found(h, h+1, h+2, 10*h, h/10)})
	}
	b := s.Document().Intakes[0]
	five := func(at ...float64) *Spread[time.Time] {
		var list []time.Time
		for _, h := range at {
			list = append(list, begin.Add(time.Duration(h*float64(time.Hour))))
		}
		return &Spread[time.Time]{list[0], list[1], list[2], list[3], list[4]}
	}
	above := 5
	want := Band{Name: "A", River: "Ohio", RiverMile: 7.5, Reached: 5, Passed: 5, AboveThreshold: &above,
		LeadingEdge: five(1, 1.2, 3, 4.8, 5), PeakTime: five(2, 2.2, 4, 5.8, 6), TrailingEdge: five(3, 3.2, 5, 6.8, 7),
		PeakMgL: &Spread[float64]{10, 12, 30, 48, 50}, HoursAboveThreshold: &Spread[float64]{0.1, 0.12, 0.3, 0.48, 0.5}}
	if d := cmp.Diff(want, b, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-12 })); d != "" {
		t.Error(d)
	}
}

// Two runs: the ends are theirs, the rest lies between.
func TestTwoRuns(t *testing.T) {
	s := study(2, 1)
	s.Completed(1, []plume.Intake{found(2, 3, none, 6, none)})
	s.Completed(0, []plume.Intake{found(1, 3, 4, 2, none)})
	b := s.Document().Intakes[0]
	if b.Reached != 2 || b.Passed != 1 || *b.PeakMgL != (Spread[float64]{2, 2.2, 4, 5.8, 6}) || b.HoursAboveThreshold != nil ||
		!b.TrailingEdge.Min.Equal(b.TrailingEdge.Max) || !b.PeakTime.P05.Equal(b.PeakTime.P95) {
		t.Errorf("%+v", b)
	}
}

// An intake that some runs do not reach: the spread is of those that do, the
// others are counted.
func TestReachedBySome(t *testing.T) {
	s := study(4, 2)
	out := found(none, none, none, 1e-9, 0)
	s.Completed(0, []plume.Intake{found(1, 2, none, 4, 0.5), out})
	s.Completed(1, []plume.Intake{out, out})
	s.Completed(2, []plume.Intake{found(3, 4, 5, 2, 0), out})
	s.Completed(3, []plume.Intake{out, out})
	d := s.Document()
	some, never := d.Intakes[0], d.Intakes[1]
	if some.Reached != 2 || some.Passed != 1 || *some.AboveThreshold != 1 || some.PeakMgL.Min != 2 || some.PeakMgL.Max != 4 {
		t.Errorf("%+v", some)
	}
	if never.Reached != 0 || *never.AboveThreshold != 0 || never.LeadingEdge != nil || never.PeakMgL != nil || never.HoursAboveThreshold != nil {
		t.Errorf("%+v", never)
	}
}

// More than one in ten failed, or all: no band, and a word why.
func TestTooManyFailed(t *testing.T) {
	for _, tt := range []struct {
		runs, failed int
		band         bool
	}{{10, 0, true}, {10, 1, true}, {10, 2, false}, {19, 1, true}, {19, 2, false}, {2, 1, false}, {20, 2, true}, {3, 3, false}} {
		s := study(tt.runs, 1)
		for i := range tt.runs {
			if i < tt.failed {
				s.Failed(i, reason.EngineFailed)
			} else {
				s.Completed(i, []plume.Intake{found(1, 2, 3, 4, 1)})
			}
		}
		d := s.Document()
		if got := len(d.Intakes) == 1 && d.Problem == ""; got != tt.band || d.Failed != tt.failed || d.Completed != tt.runs-tt.failed {
			t.Errorf("%d of %d failed: %+v", tt.failed, tt.runs, d)
		}
		if !tt.band && !strings.Contains(d.Problem, "of the ensemble failed") {
			t.Errorf("problem %q", d.Problem)
		}
	}
}

// The order in which runs end makes no difference.
func TestOrderDoesNotCount(t *testing.T) {
	text := func(seed uint64) string {
		s := study(30, 3)
		for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(30) {
			h := float64(i%7) + 0.3
			if i == 4 {
				s.Failed(i, reason.EngineTimeout)
				continue
			}
			s.Completed(i, []plume.Intake{found(h, h+1, h+2, h, 0), found(none, none, none, 0, 0), found(h*2, h*3, none, 1/h, h)})
		}
		data, err := json.Marshal(s.Document())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if a, b := text(1), text(2); a != b {
		t.Errorf("\n%s\n%s", a, b)
	}
}

// The public form: key order, null where there is nothing, no NaN.
func TestDocumentForm(t *testing.T) {
	s := study(10, 2)
	for i := range 9 {
		s.Completed(i, []plume.Intake{found(1, 2, 3, 4, none), found(none, none, none, 0, none)})
	}
	s.Failed(9, reason.EngineFailed)
	d := s.Document()
	d.Runs = append(d.Runs[:1], d.Runs[9])
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"riverbasin_id":"ohio","scenario_id":"42","job_id":"job-1","seed":1,` +
		`"ranges":{"dispersion_factor":[0.25,4],"flow_factor":[0.92,1.08],"release_shift_hours":[-0.25,0.25]},"completed":9,"failed":1,` +
		`"intakes":[{"name":"A","river":"Ohio","river_mile":7.5,"reached":9,"passed":9,"above_threshold":0,` +
		`"leading_edge":` + five(`"2026-01-02T04:00:00Z"`) + `,"peak_time":` + five(`"2026-01-02T05:00:00Z"`) + `,"peak_mg_l":` + five("4") +
		`,"trailing_edge":` + five(`"2026-01-02T06:00:00Z"`) + `,"hours_above_threshold":null},` +
		`{"name":"A","river":"Ohio","river_mile":7.5,"reached":0,"passed":0,"above_threshold":0,` +
		`"leading_edge":null,"peak_time":null,"peak_mg_l":null,"trailing_edge":null,"hours_above_threshold":null}],` +
		`"runs":[{"number":1,"dispersion_factor":0.659586,"flow_factor":1.04,"release_shift_hours":-0.079172,"flow_level":4,"state":"completed"},` +
		`{"number":10,"dispersion_factor":0.259103,"flow_factor":0.92,"release_shift_hours":0.0608178,"flow_level":1,"state":"failed","reason":"engine_failed"}]}`
	if d := cmp.Diff(want, string(data)); d != "" {
		t.Error(d)
	}
}

func five(v string) string {
	return `{"min":` + v + `,"p05":` + v + `,"p50":` + v + `,"p95":` + v + `,"max":` + v + `}`
}

// Without intakes there is nothing to say, and no list is null.
func TestNoIntakes(t *testing.T) {
	s := NewStudy(ids, Options{Runs: 8, Dispersion: 1}, false, nil, nil)
	data, err := json.Marshal(s.Document())
	if err != nil || !strings.Contains(string(data), `"problem":"there is no band: the basin has no intakes`) ||
		!strings.Contains(string(data), `"intakes":[],"runs":[]`) || !strings.Contains(string(data), `"release_shift_hours":[0,0]`) {
		t.Errorf("%s %v", data, err)
	}
}

// What is kept of an ensemble of the largest size is a few numbers per intake.
func BenchmarkStudy(b *testing.B) {
	b.ReportAllocs()
	list := slices.Repeat([]plume.Intake{found(1, 2, 3, 4, 1)}, 500)
	for b.Loop() {
		s := study(1000, 500)
		for i := range 1000 {
			s.Completed(i, list)
		}
		s.Document()
	}
}
