package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
)

// Under the default tolerances: 0.001 mg/L, which is that of the runs, and a
// tenth of a percent; a minute; a tenth of a percent of the released mass.
func TestJudged(t *testing.T) {
	tests := []struct {
		name    string
		change  func(b *draft)
		options Options
		beyond  string // what is named in the verdict, "" for the same
	}{
		{"nothing", func(b *draft) {}, Options{}, ""},
		{"other job, time and engine", func(b *draft) {
			b.Marker.JobID, b.Marker.Engine, b.Marker.FinishedAt = "j2", "other 02", start.Add(time.Hour)
		}, Options{}, ""},
		{"cell at the tolerance", func(b *draft) { b.Rows[0].ConcentrationMgL += 0.001 + 0.001*2 }, Options{}, ""},
		{"cell beyond the tolerance", func(b *draft) { b.Rows[0].ConcentrationMgL += 0.0031 }, Options{}, "ConcentrationMgL of PlumeByTime (1)"},
		{"cell within --abs", func(b *draft) { b.Rows[0].ConcentrationMgL += 0.5 }, Options{Abs: ptr(0.5)}, ""},
		{"cell within --rel", func(b *draft) { b.Rows[0].ConcentrationMgL *= 2 }, Options{Abs: ptr(0.0), Rel: ptr(0.5)}, ""},
		{"cell beyond its own bound", func(b *draft) { b.Rows[0].ConcentrationMgL += 0.5 },
			Options{Abs: ptr(1.0), Fields: map[string]Tolerance{"ConcentrationMgL": {Abs: 0.1}}}, "ConcentrationMgL of PlumeByTime (1)"},
		{"grid", func(b *draft) { b.Rows[0].Grid = 7 }, Options{}, "Grid of PlumeByTime (1)"},
		{"hours", func(b *draft) { b.Rows[0].ElapsedHours += 1e-5 }, Options{}, "ElapsedHours of PlumeByTime (1)"},
		{"row that may be below the tolerance", func(b *draft) {
			b.Rows = append(b.Rows, plume.Row{River: "Main", RiverMile: 11, Branch: 1, Grid: 3, Time: b.Rows[5].Time, ElapsedHours: 2, ConcentrationMgL: 0.0019})
		}, Options{}, ""},
		{"row that cannot be below the tolerance", func(b *draft) {
			b.Rows = append(b.Rows, plume.Row{River: "Main", RiverMile: 11, Branch: 1, Grid: 3, Time: b.Rows[5].Time, ElapsedHours: 2, ConcentrationMgL: 0.0031})
		}, Options{}, "ConcentrationMgL of PlumeByTime (1)"},
		{"output time that only one has", func(b *draft) { b.Balance.Add(start.Add(3*time.Hour), plume.Ledger{InjectedKg: 100, InRiverKg: 100}) },
			Options{}, "what only one of them has (1)"},
		{"river that only one has", func(b *draft) { b.Edges.Series = append(b.Edges.Series, plume.EdgeSeries{River: "Side"}) },
			Options{}, "what only one of them has (1)"},
		{"intake that only one has", func(b *draft) { b.Intakes.Intakes = append(b.Intakes.Intakes, plume.Intake{Name: "Lower"}) },
			Options{}, "what only one of them has (1)"},
		{"arrival within a minute", func(b *draft) { b.Intakes.Intakes[0].LeadingEdge = ptr(start.Add(11 * time.Minute)) }, Options{}, ""},
		{"arrival later", func(b *draft) { b.Intakes.Intakes[0].LeadingEdge = ptr(start.Add(12 * time.Minute)) },
			Options{}, "leading_edge of intakes.json (1)"},
		{"arrival later, and allowed", func(b *draft) { b.Intakes.Intakes[0].LeadingEdge = ptr(start.Add(12 * time.Minute)) },
			Options{Fields: map[string]Tolerance{"leading_edge": {Abs: 2}}}, ""},
		{"end of the plume before that of the run", func(b *draft) { b.Intakes.Intakes[0].TrailingEdge = ptr(start.Add(110 * time.Minute)) },
			Options{}, "trailing_edge of intakes.json (1)"},
		{"end of the plume at that of the run", func(b *draft) { b.Intakes.Intakes[0].TrailingEdge = ptr(start.Add(120 * time.Minute)) }, Options{}, ""},
		{"plume that never came", func(b *draft) {
			b.Intakes.Intakes[0].LeadingEdge, b.Intakes.Intakes[0].PeakTime, b.Intakes.Intakes[0].PeakMgL = nil, nil, 0
		}, Options{}, "peak_mg_l of intakes.json (1), leading_edge of intakes.json (1), peak_time of intakes.json (1)"},
		{"plume that hardly came", func(b *draft) {
			b.Intakes.Intakes[0].LeadingEdge, b.Intakes.Intakes[0].PeakTime, b.Intakes.Intakes[0].PeakMgL = nil, nil, 0.9995
		}, Options{}, ""},
		{"hours above a level that only one has", func(b *draft) { b.Intakes.Intakes[0].HoursAboveThreshold = nil },
			Options{}, "hours_above_threshold of intakes.json (1)"},
		{"edge", func(b *draft) { b.Edges.Series[0].LeadingEdgeMile[1] = ptr(11.0) }, Options{}, ""},
		{"edge that is judged", func(b *draft) { b.Edges.Series[0].LeadingEdgeMile[1] = ptr(11.0) },
			Options{Fields: map[string]Tolerance{"leading_edge_mile": {Abs: 0.1}}}, "leading_edge_mile of edge_timeseries.json (1)"},
		{"peak of a river", func(b *draft) { b.Edges.Series[0].PeakMgL[1] = nil }, Options{}, "peak_mg_l of edge_timeseries.json (1)"},
		{"mass within", func(b *draft) { b.Balance.OutflowKg[1] = 0.1 }, Options{}, ""},
		{"mass beyond", func(b *draft) { b.Balance.OutflowKg[1] = 0.11 }, Options{}, "outflow_kg of mass_balance.json (1)"},
		{"mass at the end", func(b *draft) { b.Balance.Final.DecayedKg = 1 }, Options{}, "decayed_kg of mass_balance.json (1)"},
		{"series of an older version", func(b *draft) { b.Balance.WithdrawnKg = nil }, Options{}, ""},
	}
	for _, tt := range tests {
		b := newDraft()
		tt.change(b)
		for _, pair := range [][2]*draft{{newDraft(), b}, {b, newDraft()}} {
			report := compared(t, pair[0], pair[1], tt.options)
			want := "the same within the tolerances"
			if tt.beyond != "" {
				want = "different: " + tt.beyond
			}
			if strings.HasSuffix(tt.beyond, "of PlumeByTime (1)") { // and in the other table, which has the same rows
				want += ", " + strings.Replace(tt.beyond, byTimeTable, byMileTable, 1)
			}
			if got := report.verdict(); got != want || report.Same != (tt.beyond == "") {
				t.Errorf("%s: %s, want %s", tt.name, got, want)
			}
		}
	}
}

// A row at a time that the other did not compute has nothing to be below.
func TestTimeThatIsNotComputed(t *testing.T) {
	b := newDraft()
	at := start.Add(3 * time.Hour)
	b.Balance.Add(at, plume.Ledger{InjectedKg: 100, InRiverKg: 100})
	b.Rows = append(b.Rows, plume.Row{River: "Main", RiverMile: 10, Branch: 1, Grid: 1, Time: at, ElapsedHours: 3, ConcentrationMgL: 0.0011})
	report := compared(t, newDraft(), b, Options{})
	if report.Rows.OnlyB != 1 || report.Rows.OnlyBBeyond != 1 || report.Places[0].Beyond != 1 {
		t.Errorf("rows %+v, place %+v", report.Rows, report.Places[0])
	}
}

// The shift of a place goes by its rows, that of an intake by its answer.
func TestShifts(t *testing.T) {
	b := newDraft()
	b.Rows[2].ConcentrationMgL = 5 // the peak of mile 10, an hour late
	b.Rows = b.Rows[:5]            // mile 10.5 ends an hour early
	b.Intakes.Intakes[0].PeakTime = ptr(start.Add(50 * time.Minute))
	report := compared(t, newDraft(), b, Options{})
	if p := report.Places[0]; *p.PeakShift != 60 || *p.FirstShift != 0 || p.PeakA != 2 || p.PeakB != 5 {
		t.Errorf("mile 10: peak %+v, first %+v", *p.PeakShift, *p.FirstShift)
	}
	if p := report.Places[1]; *p.LastShift != -60 || p.OnlyA != 1 {
		t.Errorf("mile 10.5: last %+v, %+v", *p.LastShift, p)
	}
	if in := report.Intakes[0]; *in.PeakShift != -10 || !in.Beyond {
		t.Errorf("intake: %+v", in)
	}
}

// The worst cells are those furthest beyond the tolerance, ten at most.
func TestWorst(t *testing.T) {
	a, b := newDraft(), newDraft()
	a.Rows = nil
	for i := range 30 {
		a.Rows = append(a.Rows, plume.Row{River: "Main", RiverMile: float64(i), Branch: 1, Grid: i + 1, Time: start, ConcentrationMgL: 1})
	}
	b.Rows = slices.Clone(a.Rows)
	for i := range b.Rows {
		b.Rows[i].ConcentrationMgL += float64(i*7%30) / 10
	}
	report := compared(t, a, b, Options{})
	var got []float64
	for _, c := range report.Worst {
		got = append(got, math.Round(10*c.Difference))
	}
	if want := []float64{29, 28, 27, 26, 25, 24, 23, 22, 21, 20}; !slices.Equal(got, want) {
		t.Errorf("worst %v, want %v", got, want)
	}
	if f := report.Fields[0]; f.Largest != 2.9 || !strings.HasPrefix(f.At, "Main mile 17, branch 1, 2026") {
		t.Errorf("largest %g at %s", f.Largest, f.At)
	}
}

// What is told of the two results, and warned of.
func TestHeads(t *testing.T) {
	b := newDraft()
	b.Marker.Scenario, b.Marker.RunKey, b.Edges.ToleranceMgL = "s2", "k2", 0.01
	b.Params["inputs_sha256"] = map[string]any{"FLOW.IN": "bb", "NFQ.csv": "cc"}
	b.Params["scenario"] = map[string]any{"SpillMassKg": 200}
	report := compared(t, newDraft(), b, Options{})
	if len(report.Warnings) != 2 || !strings.Contains(report.Warnings[0], "tiny/s1 and tiny/s2") || !strings.Contains(report.Warnings[1], "0.01 mg/L on in B") {
		t.Errorf("warnings %q", report.Warnings)
	}
	if want := []string{"FLOW.IN", "NFQ.csv", "scenario SpillMassKg"}; !report.Inputs.Known || !slices.Equal(report.Inputs.Differ, want) {
		t.Errorf("inputs %+v", report.Inputs)
	}
	if want := []Entry{{"scenario_id", "s1", "s2"}, {"run_key", "k1", "k2"}}; !slices.Equal(report.Marker, want) {
		t.Errorf("marker %+v", report.Marker)
	}
	if report.Fields[0].Tolerance.Abs != 0.01 {
		t.Errorf("tolerance %+v, want that of the coarser result", report.Fields[0].Tolerance)
	}
	m := newDraft().store(t)
	delete(m.files, "run/j1/params.json")
	r, err := Open(t.Context(), m, Target{"tiny", "s1", "A", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if in := InputsOf(r, r); in.Known || in.Same() {
		t.Errorf("inputs of a result without params.json: %+v", in)
	}
}

// No result, or none that is whole.
func TestRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(d *draft)
		spoil  func(m *memory)
		code   reason.Code
		match  string
	}{
		{"no marker", nil, func(m *memory) { delete(m.files, publish.MarkerName) }, reason.ScenarioNotFound, "A, bad: there is no result of scenario s1 of basin tiny"},
		{"half a marker", nil, func(m *memory) { m.files[publish.MarkerName] = []byte(`{"run`) }, reason.EngineOutputInvalid, "result.json cannot be read"},
		{"another marker", nil, func(m *memory) { m.files[publish.MarkerName] = []byte(`{}`) }, reason.EngineOutputInvalid, "result.json is of scenario"},
		{"no document", nil, func(m *memory) { delete(m.files, intakeDocument) }, reason.EngineOutputInvalid, "intakes.json is missing"},
		{"half a document", nil, func(m *memory) { m.files[edgeDocument] = []byte(`{"series":[`) }, reason.EngineOutputInvalid, "edge_timeseries.json is not the document"},
		{"uneven edges", func(d *draft) { d.Edges.Series[0].PeakMgL = nil }, nil, reason.EngineOutputInvalid, "3 times and 0 values of river Main"},
		{"uneven balance", func(d *draft) { d.Balance.DecayedKg = d.Balance.DecayedKg[1:] }, nil, reason.EngineOutputInvalid, "3 times and 2 values of decayed_kg"},
		{"rows missing", nil, func(m *memory) { m.rows = m.rows[1:] }, reason.EngineOutputInvalid, "PlumeByTime has 5 rows and result.json says 6"},
		{"rows by mile missing", nil, func(m *memory) { m.byMile = nil }, reason.EngineOutputInvalid, "PlumeByMile has 0 rows and result.json says 6"},
		{"a row by mile of another job", nil, func(m *memory) { m.byMile[2].JobID = "j3" }, reason.EngineOutputInvalid, "a row of PlumeByMile is of another job"},
		{"places in pieces", nil, func(m *memory) { m.byMile[1], m.byMile[4] = m.byMile[4], m.byMile[1] }, reason.EngineOutputInvalid,
			"the rows of PlumeByMile of Main mile 10, branch 1, do not stand together"},
		{"row by mile twice", nil, func(m *memory) { m.byMile[1] = m.byMile[0] }, reason.EngineOutputInvalid, "PlumeByMile has two rows of Main mile 10 at 2026-01-02 00:00:00Z"},
		{"times of rivers that fall", func(d *draft) { slices.Reverse(d.Edges.Series[0].Time) }, nil, reason.EngineOutputInvalid, "the times of river Main in edge_timeseries.json do not rise"},
		{"times of the balance that stand", func(d *draft) { d.Balance.Time[1] = d.Balance.Time[0] }, nil, reason.EngineOutputInvalid, "the times of mass_balance.json do not rise"},
		{"tolerance below nothing", func(d *draft) { d.Edges.ToleranceMgL = -1 }, nil, reason.EngineOutputInvalid, "a tolerance of -1 mg/L"},
		{"a row of another job", func(d *draft) { d.Rows[3].JobID = "j3" }, nil, reason.EngineOutputInvalid, "a row of PlumeByTime is of another job than result.json, at mile 10.5"},
		{"times back", func(d *draft) { slices.Reverse(d.Rows) }, nil, reason.EngineOutputInvalid, "not in the order of time at 2026-01-02 01:00:00Z"},
		{"row twice", func(d *draft) { d.Rows[1] = d.Rows[0] }, nil, reason.EngineOutputInvalid, "two rows of Main mile 10 at 2026-01-02 00:00:00Z"},
	}
	for _, tt := range tests {
		d := newDraft()
		if tt.change != nil {
			tt.change(d)
		}
		m := d.store(t)
		if tt.spoil != nil {
			tt.spoil(m)
		}
		for _, first := range []bool{true, false} {
			r, err := Open(t.Context(), m, Target{"tiny", "s1", "A", "bad"})
			if err == nil {
				sides := []*Result{r, newDraft().open(t, "good")}
				if !first {
					slices.Reverse(sides)
				}
				_, err = Results(t.Context(), sides[0], sides[1], Options{Scratch: scratchFile(t)})
			}
			if reason.Of(err) != tt.code || err == nil || !strings.Contains(err.Error(), tt.match) {
				t.Errorf("%s: %v (%s), want %s %q", tt.name, err, reason.Of(err), tt.code, tt.match)
			}
		}
	}
}

// Numbers at the ends of their range are still numbers in JSON.
func TestFinite(t *testing.T) {
	a, b := newDraft(), newDraft()
	a.Rows[0].ConcentrationMgL, b.Balance.ErrorKg[0], a.Balance.ErrorKg[0] = math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64
	a.Balance.Final.InjectedKg = math.MaxFloat64
	report := compared(t, a, b, Options{Abs: ptr(math.MaxFloat64), Rel: ptr(1e300)})
	if _, err := json.Marshal(report); err != nil {
		t.Error(err)
	}
}

func TestParseTolerance(t *testing.T) {
	tests := []struct {
		text, field string
		want        Tolerance
		wrong       string
	}{
		{"ConcentrationMgL=0.5", "ConcentrationMgL", Tolerance{Abs: 0.5}, ""},
		{"peak_time=15:0", "peak_time", Tolerance{Abs: 15}, ""},
		{"mass_kg=1e-3:0.01", "mass_kg", Tolerance{Abs: 1e-3, Rel: 0.01}, ""},
		{"mass_kg", "", Tolerance{}, "not FIELD=ABS"},
		{"Mass=1", "", Tolerance{}, "there are: ConcentrationMgL, ElapsedHours"},
		{"mass_kg=", "", Tolerance{}, "not a number from 0 on"},
		{"mass_kg=1:", "", Tolerance{}, "not a number from 0 on"},
		{"mass_kg=-1", "", Tolerance{}, "not a number from 0 on"},
		{"mass_kg=NaN", "", Tolerance{}, "not a number from 0 on"},
		{"mass_kg=1:Inf", "", Tolerance{}, "not a number from 0 on"},
	}
	for _, tt := range tests {
		field, got, err := ParseTolerance(tt.text)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: %v, want %q", tt.text, err, tt.wrong)
			}
		} else if err != nil || field != tt.field || got != tt.want {
			t.Errorf("%s: %s %+v, %v", tt.text, field, got, err)
		}
	}
}

// failing is a writer that takes nothing.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestText(t *testing.T) {
	b := newDraft()
	b.Rows[0].ConcentrationMgL = 9
	report := compared(t, newDraft(), b, Options{})
	var out bytes.Buffer
	if err := report.Text(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasSuffix(line, " \n") {
			t.Errorf("line ends in a blank: %q", line)
		}
	}
	if want := "A a\nB b\ndifferent: ConcentrationMgL of PlumeByTime (1), ConcentrationMgL of PlumeByMile (1)\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("text %s", out.String())
	}
	if report.Text(failing{}) == nil || report.HTML(failing{}) == nil {
		t.Error("an answer that was not written is no error")
	}
}
