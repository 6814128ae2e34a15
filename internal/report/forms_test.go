package report_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/report"
	"rsmsjob/internal/river"
)

func TestText(t *testing.T) {
	s := small()
	s.intakes, s.places, s.times = 2, 40, 24
	s.name = "Tank car\nWHAT nothing"
	var b strings.Builder
	if err := s.report(func(f *report.Facts) { f.Contact = "duty desk, +1 555 0100" }).Text(&b); err != nil {
		t.Fatal(err)
	}
	want := `RIVER SPILL: Tank car WHAT nothing

WHAT    1200 kg, at once
WHERE   Ohio, mile 0.00
WHEN    2026-03-28 22:30Z

INTAKES
The plume reaches 2 of 2 intakes. First: Intake 0, from 2026-03-28 22:30Z, highest 0.5272 mg/L at 2026-03-28 22:30Z.

Intake 0 (Ohio, mile 0.00)
  arrives 2026-03-28 22:30Z
  peak    2026-03-28 22:30Z, 0.5272 mg/L
  over    2026-03-28 23:19Z
  above the level of concern of 0.6 mg/L: 0.00 h

Intake 20 (Ohio, mile 30.77)
  arrives 2026-03-29 16:00Z
  peak    2026-03-29 18:15Z, 1.564 mg/L
  over    2026-03-29 20:50Z
  above the level of concern of 0.6 mg/L: 1.74 h

CONFIDENCE
Computed by a model, not measured.
- Reopen later than the end given here: water held in dead zones of the bed keeps the tail of a real plume longer. Beside tracer studies such an engine puts the 10 % leading edge about 3 % of the travel time too early and the 10 % trailing edge about 4.5 %.
- branch 1: dispersion is estimated, good to a factor of 4.

CONTACT duty desk, +1 555 0100
RESULT  ohio 42, job job-1, bundled 1
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestTextOfNothing(t *testing.T) {
	s := small()
	s.clean = true
	var b strings.Builder
	if err := s.report().Text(&b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), ": not reached\n"); n != 6 || strings.Contains(b.String(), "Reopen") || strings.Contains(b.String(), "CONTACT") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestCSV(t *testing.T) {
	s := small()
	s.nameOf = func(int) string { return `=HYPERLINK("x"), "y"` }
	r := s.report()
	var b strings.Builder
	if err := r.IntakesCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(rows) != 7 || rows[1][0] != `'=HYPERLINK("x"), "y"` {
		t.Errorf("%v, %v", rows, err)
	}
}

// The table of curves has each row of the places with a name, with all its digits,
// and no other.
func TestCurvesAreTheRows(t *testing.T) {
	s := small()
	s.falling = true
	for _, name := range []string{"with an index", "without"} {
		facts := s.facts()
		if name == "without" {
			facts.Places = nil
		}
		named := map[float64]string{}
		for _, in := range facts.Intakes {
			named[in.RiverMile] = in.Name
		}
		want := [][]string{{"name", "river", "river_mile", "branch", "time", "elapsed_hours", "concentration_mg_l"}}
		var b strings.Builder
		c, err := report.NewCurves(&b, facts)
		if err != nil {
			t.Fatal(err)
		}
		s.rows(func(row plume.Row) {
			if err := c.Row(row); err != nil {
				t.Fatal(err)
			}
			if place := named[row.RiverMile]; place != "" {
				text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
				want = append(want, []string{place, row.River, text(row.RiverMile), "1", row.Time.Format(time.RFC3339), text(row.ElapsedHours), text(row.ConcentrationMgL)})
			}
		})
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		if err != nil || len(want) < 20 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d rows, want %d, %v", name, len(got), len(want), err)
		}
	}
}

func TestMap(t *testing.T) {
	places := []river.Place{{River: "Ohio", Mile: 1, Branch: 1, Latitude: 40.5, Longitude: -80.25, HasPosition: true}, {River: "Ohio", Mile: 2, Branch: 1}}
	var b strings.Builder
	m, err := report.NewMap(&b, places)
	if err != nil {
		t.Fatal(err)
	}
	for _, mile := range []float64{1, 2, 1} {
		if err := m.Row(plume.Row{River: "Ohio", RiverMile: mile, Branch: 1, Time: begin, ElapsedHours: 2, ConcentrationMgL: 1e-9}); err != nil {
			t.Fatal(err)
		}
	}
	lost, err := m.Close()
	if lost != 1 || err != nil {
		t.Errorf("%d lost, %v", lost, err)
	}
	var doc struct {
		Type     string
		Features []struct {
			Geometry   struct{ Coordinates [2]float64 }
			Properties map[string]any
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil || doc.Type != "FeatureCollection" || len(doc.Features) != 2 ||
		doc.Features[1].Geometry.Coordinates != [2]float64{-80.25, 40.5} || doc.Features[0].Properties["concentration_mg_l"] != 1e-9 ||
		doc.Features[0].Properties["time"] != begin.Format(time.RFC3339) {
		t.Errorf("%v\n%s", err, b.String())
	}
	if _, err := report.NewMap(&b, places[1:]); reason.Of(err) != reason.InvalidBasin || !strings.Contains(err.Error(), "has no columns") {
		t.Errorf("without positions: %v", err)
	}
	if _, err := report.NewMap(&b, nil); reason.Of(err) != reason.InvalidBasin || !strings.Contains(err.Error(), "is missing or cannot be read") {
		t.Errorf("without an index: %v", err)
	}
}

func TestReadObserved(t *testing.T) {
	const head = "scenario,name,lead10_h,peak_h,peak_mg_l,trail10_h\n"
	got, err := report.ReadObserved(strings.NewReader(head+"a,S1,1,2,3.5,0\nb,S1,1,2,3,4\na,S2,1,2,3,4\n"), "observed.csv", "a")
	if err != nil || len(got) != 2 || got[0] != (report.Observation{Name: "S1", LeadHours: 1, PeakHours: 2, PeakMgL: 3.5}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := report.ReadObserved(strings.NewReader("\ufeffScenario, name,LEAD10_H,peak_h,peak_mg_l,trail10_h\n"), "observed.csv", "a"); err != nil {
		t.Errorf("a header by a spreadsheet: %v", err)
	}
	for text, want := range map[string]string{
		"a,S1,1,2\n":       "observed.csv line 2: must have 6 columns: scenario, name, lead10_h, peak_h, peak_mg_l, trail10_h",
		"a,S1,1,2,x,4\n":   "observed.csv line 2 peak_mg_l: must be a number of at least 0",
		"a,S1,1,NaN,3,4\n": "observed.csv line 2 peak_h: must be a number of at least 0",
		"a,S1,1,-2,3,4\n":  "observed.csv line 2 peak_h: must be a number of at least 0",
	} {
		_, err := report.ReadObserved(strings.NewReader(head+text), "observed.csv", "a")
		if f := reason.Faults(err); len(f) != 1 || f[0].Detail() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A file without its header, or with more rows than are read, is no file of
// observations: nothing is left out in silence.
func TestObservedIsWhole(t *testing.T) {
	const head = "scenario,name,lead10_h,peak_h,peak_mg_l,trail10_h\n"
	for text, want := range map[string]string{
		"a,S1,1,2,3.5,0\n": "observed.csv line 1: must be the header scenario,name,lead10_h,peak_h,peak_mg_l,trail10_h",
		"scenario,name,peak_h,lead10_h,peak_mg_l,x\n":    "observed.csv line 1: must be the header scenario,name,lead10_h,peak_h,peak_mg_l,trail10_h",
		head + strings.Repeat("b,S1,1,2,3,4\n", 100_001): "observed.csv line 100002: is row 100001, and a file may have 100000",
	} {
		_, err := report.ReadObserved(strings.NewReader(text), "observed.csv", "a")
		if f := reason.Faults(err); len(f) != 1 || f[0].Detail() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// The example of Jobson 1996: 6,000 kg, 15 km, one reach.
func TestBands(t *testing.T) {
	miles := 15 / river.KilometresPerMile
	hydrology := func(name string, mile float64) (river.Hydrology, bool) {
		return river.Hydrology{DrainageKm2: 390, MeanFlow: 4.50}, name == "Ohio" && mile < 100
	}
	for _, sense := range []int{1, -1} {
		at := func(below float64) float64 { return 50 + float64(sense)*below }
		intakes := []plume.Intake{{Name: "above", River: "Ohio", RiverMile: at(-1)}, {Name: "below", River: "Ohio", RiverMile: at(miles)}, {Name: "elsewhere", River: "Creek", RiverMile: at(miles)}}
		bands, unknown := report.Bands(6000, report.Stretch{River: "Ohio", Spill: 50, Sense: sense, Hydrology: hydrology,
			Sites: []report.Site{{Mile: at(5), Flow: 3.35}, {Mile: at(-2), Flow: 3.35}}}, intakes)
		if len(bands) != 1 || bands[0].Mile != at(miles) || len(unknown) != 0 {
			t.Fatalf("%+v", bands)
		}
		for _, v := range [][2]float64{{bands[0].Probable.Peak, 15.75}, {bands[0].Probable.LeadingEdge, 14.02}, {bands[0].Probable.PeakMgL, 179.8},
			{bands[0].Fastest.Peak, 6.451}, {bands[0].Fastest.PeakMgL, 360.0}} {
			if math.Abs(v[0]/v[1]-1) > 1e-3 {
				t.Errorf("sense %d: %v, want %v", sense, v[0], v[1])
			}
		}
	}
}

// What is read is usable, whatever the file holds.
func FuzzReadObserved(f *testing.F) {
	f.Add("scenario,name,lead10_h,peak_h,peak_mg_l,trail10_h\na,S1,1,2,3.5,0\n")
	f.Add("x\n\"a\",\"\",1e300,-0,0x1p-2,1_0")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := report.ReadObserved(strings.NewReader(text), "observed.csv", "a")
		if err != nil && len(list) > 0 {
			t.Errorf("%d observations with %v", len(list), err)
		}
		for _, o := range list {
			for _, v := range []float64{o.LeadHours, o.PeakHours, o.PeakMgL, o.TrailHours} {
				if !(v >= 0) || math.IsInf(v, 0) {
					t.Errorf("%+v", o)
				}
			}
		}
	})
}
