package report_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/report"
	"rsmsjob/internal/river"
)

// forms are all forms of a report that are text and are not made row by row.
func forms(t *testing.T, r *report.Report) map[string]string {
	t.Helper()
	all := map[string]string{}
	write := func(name string, err error, b *strings.Builder) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = b.String()
	}
	var html, text, table strings.Builder
	write("html", r.HTML(&html), &html)
	write("text", r.Text(&text), &text)
	write("csv", r.IntakesCSV(&table), &table)
	for _, name := range []string{report.CurvesSVG, report.MapSVG} {
		var b strings.Builder
		write(name, r.Picture(&b, name), &b)
	}
	return all
}

// The numbers of intakes.json are those of the message and of the table too, and of
// the words that say what a curve shows.
func TestNumbersOfTheOtherForms(t *testing.T) {
	s := small()
	facts := s.facts()
	all := forms(t, s.report())
	rows, err := csv.NewReader(strings.NewReader(all["csv"])).ReadAll()
	if err != nil || len(rows) != len(facts.Intakes)+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	document, err := json.Marshal(facts.Intakes)
	if err != nil {
		t.Fatal(err)
	}
	var intakes []map[string]any
	if err := json.Unmarshal(document, &intakes); err != nil {
		t.Fatal(err)
	}
	minute := func(v any, half time.Duration) string {
		at, err := time.Parse(time.RFC3339Nano, v.(string))
		if err != nil {
			t.Fatal(err)
		}
		return at.Add(half).Truncate(time.Minute).Format("2006-01-02 15:04Z")
	}
	for i, in := range intakes {
		for k, column := range rows[0] {
			want := ""
			switch v := in[column].(type) {
			case float64:
				want = strconv.FormatFloat(v, 'g', -1, 64)
			case string:
				want = v
			}
			if rows[i+1][k] != want {
				t.Errorf("intakes.csv has %s %s, the document %s", column, rows[i+1][k], want)
			}
		}
		peak := fmt.Sprintf("%.4g mg/L", in["peak_mg_l"])
		want := fmt.Sprintf("\n%s (Ohio, mile %.2f)\n  arrives %s\n  peak    %s, %s\n  over    %s\n  above the level of concern of 0.6 mg/L: %.2f h\n", in["name"], in["river_mile"],
			minute(in["leading_edge"], 0), minute(in["peak_time"], 30*time.Second), peak, minute(in["trailing_edge"], time.Minute-1), in["hours_above_threshold"])
		if !strings.Contains(all["text"], want) {
			t.Errorf("the message lacks %s", want)
		}
		if label := fmt.Sprintf(`aria-label="%s, Ohio, mile %.2f: the highest concentration is %s at %s.`, in["name"], in["river_mile"], peak, minute(in["peak_time"], 30*time.Second)); !strings.Contains(all["html"], label) {
			t.Errorf("the page lacks %s", label)
		}
	}
}

// A document of an older version may lack any series: the report opens.
func TestShortSeries(t *testing.T) {
	var changes []func(*report.Facts)
	add := func(change func(*report.Facts)) { changes = append(changes, change) }
	for i := 1; i < reflect.TypeFor[plume.EdgeSeries]().NumField(); i++ {
		for _, half := range []bool{false, true} {
			add(func(f *report.Facts) {
				for k := range f.Edges {
					shorten(reflect.ValueOf(&f.Edges[k]).Elem().Field(i), half)
				}
			})
		}
	}
	for i := range reflect.TypeFor[plume.Balance]().NumField() - 1 {
		for _, half := range []bool{false, true} {
			add(func(f *report.Facts) { shorten(reflect.ValueOf(&f.Balance).Elem().Field(i), half) })
		}
	}
	for i := range reflect.TypeFor[plume.Intake]().NumField() {
		add(func(f *report.Facts) {
			for k := range f.Intakes {
				reflect.ValueOf(&f.Intakes[k]).Elem().Field(i).SetZero()
			}
		})
	}
	add(func(f *report.Facts) { f.Balance.Final = plume.FinalBalance{} })
	add(func(f *report.Facts) { f.Edges[1].Time = f.Edges[1].Time[:3] })
	add(func(f *report.Facts) { f.Edges = nil })
	add(func(f *report.Facts) { slices.Reverse(f.Edges[0].Time) })
	add(func(f *report.Facts) { f.Scenario.ConcentrationTolerance, f.Scenario.SpillTime = 0, time.Time{} })
	for i, change := range changes {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := small()
			s.rivers = []string{"Ohio", "Beaver"}
			all := forms(t, s.report(change, func(f *report.Facts) { f.Bands = []report.Band{band("Ohio", f.Intakes[1].RiverMile, 7, 4, 5)} }))
			if strings.Contains(all["html"], "NaN") || !strings.Contains(all["text"], "The plume reaches") {
				t.Errorf("%.900s", all["text"])
			}
			wellFormed(t, all["html"])
		})
	}
}

func shorten(series reflect.Value, half bool) {
	if half {
		series.SetLen(series.Len() / 2)
	} else {
		series.SetZero()
	}
}

// Which way is down is what the index says; without it, what the plume did, even
// where an index is so coarse that both edges are always at one place.
func TestDownstream(t *testing.T) {
	coarse := func(f *report.Facts) {
		for i := range f.Edges {
			for k, lead := range f.Edges[i].LeadingEdgeMile {
				if lead != nil {
					m := float64(int(*lead/20) * 20)
					f.Edges[i].LeadingEdgeMile[k], f.Edges[i].TrailingEdgeMile[k] = &m, &m
				}
			}
		}
	}
	stays := func(f *report.Facts) {
		m := 30.0
		for k := range f.Edges[0].LeadingEdgeMile {
			f.Edges[0].LeadingEdgeMile[k], f.Edges[0].TrailingEdgeMile[k] = &m, &m
		}
	}
	index := func(f *report.Facts) { f.Downstream = map[string]int{"Ohio": -1} }
	for name, tt := range map[string]struct {
		falling bool
		change  []func(*report.Facts)
		want    string
	}{
		"coarse, falling":             {true, []func(*report.Facts){coarse}, "fall"},
		"coarse, rising":              {false, []func(*report.Facts){coarse}, "rise"},
		"one place, index":            {true, []func(*report.Facts){stays, index}, "fall"},
		"index against the movement":  {false, []func(*report.Facts){index}, "fall"},
		"coarse, falling, with index": {true, []func(*report.Facts){coarse, index}, "fall"},
	} {
		s := small()
		s.falling = tt.falling
		if text := page(t, s.report(tt.change...)); !strings.Contains(text, "its miles "+tt.want+" downstream") {
			t.Errorf("%s: miles do not %s", name, tt.want)
		}
	}
}

// Intakes stand as the water passes them.
func TestOrderOfIntakes(t *testing.T) {
	s := small()
	s.falling, s.rivers = true, []string{"Beaver", "Ohio"}
	all := forms(t, s.report(func(f *report.Facts) {
		f.Scenario.SpillRiver = "Ohio"
		slices.SortFunc(f.Intakes, func(a, b plume.Intake) int { return int(a.RiverMile - b.RiverMile) })
	}))
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^Intake \d+ \((\w+, mile [\d.]+)\)`).FindAllStringSubmatch(all["text"], -1) {
		got = append(got, m[1])
	}
	var want []string
	for _, name := range []string{"Ohio", "Beaver"} {
		for i := range 6 {
			want = append(want, fmt.Sprintf("%s, mile %.2f", name, s.mile(20*i)))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Characters that turn text round are in no form, names of other scripts in all.
func TestNamesTurnNothing(t *testing.T) {
	s := small()
	s.nameOf = func(i int) string { return fmt.Sprintf("מים \u202e\u2067%d", i) }
	s.name = "spill \u202egnp.exe"
	r := s.report(func(f *report.Facts) {
		f.BasinName, f.Contact, f.Warnings = "Ohio\u202e", "desk\u2066", []string{"x \u202e y"}
	})
	for name, text := range forms(t, r) {
		if i := strings.IndexFunc(strings.NewReplacer("\u2068מים", "", "\u2069", "").Replace(text), func(c rune) bool { return c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 }); i >= 0 {
			t.Errorf("%s has one at %d", name, i)
		}
		if name != report.MapSVG && !strings.Contains(text, "מים") {
			t.Errorf("%s lacks the names", name)
		}
	}
}

// An intake without a name is called by its place, wherever it is called.
func TestUnnamedIntake(t *testing.T) {
	s := small()
	s.nameOf = func(int) string { return "" }
	all := forms(t, s.report())
	want := fmt.Sprintf("Ohio mile %.2f", s.mile(20))
	for name, n := range map[string]int{"html": 4, "text": 1, report.CurvesSVG: 1, report.MapSVG: 1} {
		if got := strings.Count(all[name], want); got < n || strings.Contains(all[name], "no name<") {
			t.Errorf("%s has %s %d times, want %d", name, want, got, n)
		}
	}
}

// A plume that rivers would have brought and the engine does not is told of, unless
// it would be over the end of the simulation, or lost on the way.
func TestPlumeThatNeverComes(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*report.Facts)
		told   bool
	}{
		"never":                    {func(*report.Facts) {}, true},
		"lost on the way":          {func(f *report.Facts) { f.Scenario.HalfLifeHours = 0.5 }, false},
		"slowly lost":              {func(f *report.Facts) { f.Scenario.HalfLifeHours = 20 }, true},
		"after the end":            {func(f *report.Facts) { f.Scenario.SimulationHours = 11 }, false},
		"a release of days":        {func(f *report.Facts) { f.Scenario.SpillDurationHours = 40 }, false},
		"below what is written":    {func(f *report.Facts) { f.Scenario.ConcentrationTolerance = 3 }, false},
		"without the time of peak": {func(f *report.Facts) { f.Intakes[1].LeadingEdge = &begin }, false},
	} {
		s := small()
		all := forms(t, s.report(func(f *report.Facts) {
			f.Bands = []report.Band{band("Ohio", f.Intakes[1].RiverMile, 7, 4, 5)}
			f.Intakes[1].LeadingEdge, f.Intakes[1].PeakTime, f.Intakes[1].TrailingEdge, f.Intakes[1].PeakMgL = nil, nil, nil, 0
		}, tt.change))
		for form, want := range map[string]string{"text": "Intake 20: the engine never brings the plume here", "html": "<strong>outside:</strong> the engine never brings"} {
			if strings.Contains(all[form], want) != tt.told {
				t.Errorf("%s: %s has it: %v, want %v", name, form, !tt.told, tt.told)
			}
		}
	}
}

// The band stands beside the engine, in the page and in the message, and says for
// whom there is none.
func TestBandBesideTheEngine(t *testing.T) {
	s := small()
	all := forms(t, s.report(func(f *report.Facts) {
		b := band("Ohio", f.Intakes[1].RiverMile, 7, 4, 5)
		b.Probable.LeadingEdge, b.Fastest.LeadingEdge = 6.25, 3.5
		f.Bands, f.Unbanded = []report.Band{b}, f.Intakes[5:]
		lead, peak := begin.Add(5*time.Hour+18*time.Minute), begin.Add(6*time.Hour+30*time.Minute)
		f.Intakes[1].LeadingEdge, f.Intakes[1].PeakTime, f.Intakes[1].PeakMgL = &lead, &peak, 2.125
	}))
	cells := ""
	for _, v := range []string{"6.25", "7.00", "2.5", "3.50", "4.00", "5", "5.30", "6.50", "2.125"} {
		cells += `<td class="n">` + v + "</td>"
	}
	for form, wants := range map[string][]string{
		"html": {cells + "<td>inside</td>", "No band for Intake 100: hydrology of basin.json gives nothing"},
		"text": {"  tracer studies: arrival 6.25 h (fastest 3.50 h), peak 7.00 h (fastest 4.00 h) after the spill, 2.5 mg/L (highest 5 mg/L)\n", "- No band for Intake 100"},
	} {
		for _, want := range wants {
			if !strings.Contains(all[form], want) {
				t.Errorf("%s lacks %s", form, want)
			}
		}
	}
}

// What was measured has a time only where one was measured.
func TestMeasuredWithoutATime(t *testing.T) {
	text := page(t, small().report(func(f *report.Facts) {
		f.Observed = []report.Observation{{Name: "Intake 20", PeakMgL: 4}, {Name: "Intake 40", PeakMgL: 5, PeakHours: 7}}
	}))
	for _, want := range []string{"Measured: a peak of 4 mg/L.", "Measured: a peak of 5 mg/L at 2026-03-29 05:30Z."} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
}

// Warnings of many lines of a file do not bury the others.
func TestFoldedWarnings(t *testing.T) {
	all := forms(t, small().report(func(f *report.Facts) {
		f.Warnings = []string{"dispersion is estimated"}
		for i := range 20 {
			f.Warnings = append(f.Warnings, fmt.Sprintf("RiverMileIndex.csv line %d: odd", i+2))
		}
		f.Warnings = append(f.Warnings, "RiverMileIndex.csv: and 3 more warnings", "NFQ.csv line 3: a gap", "basin.json: odd")
	}))
	want := "- dispersion is estimated.\n- RiverMileIndex.csv: 23 warnings, first: line 2: odd.\n- NFQ.csv line 3: a gap.\n- basin.json: odd.\n"
	if !strings.Contains(all["text"], want) {
		t.Errorf("%s\nlacks %s", all["text"], want)
	}
}

// A page has as many curves as it has room for, and says what it leaves out.
func TestPageOfThousandsOfPlaces(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%s & gauge <%d>", strings.Repeat("Long", 20), i) }
	for name, intakes := range map[string]int{"places": 0, "intakes": 3000} {
		s := &spill{name: "x", rivers: []string{"Ohio"}, places: 3000, intakes: intakes, miles: 40, times: 60, hours: 0.5, peak: 12, tolerance: 1e-6, nameOf: long}
		r := s.report(func(f *report.Facts) {
			for i := range f.Places {
				if f.Places[i].Feature != river.Intake {
					f.Places[i].Name = long(i)
				}
			}
		})
		text := page(t, r)
		if n := strings.Count(text, "<polyline class=\"line\""); len(text) > 2e6 || n < 100 || !strings.Contains(text, "places more would make this page too large") {
			t.Errorf("%s: %d bytes, %d curves", name, len(text), n)
		}
		if intakes > 0 && !strings.Contains(text, "2200 intakes more would make this page too large") {
			t.Errorf("%s: the page does not say how many rows it lacks", name)
		}
		t.Logf("%s: %d bytes", name, len(text))
	}
}
