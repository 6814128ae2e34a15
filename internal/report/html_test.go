package report_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/plausible"
	"rsmsjob/internal/report"
)

func page(t testing.TB, r *report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageIsOfOnePiece(t *testing.T) {
	text := page(t, small().report())
	for _, bad := range []string{"http:", "https:", "src=\"/", "<link", "@import", "NaN", "Inf", "<nil>", "ZgotmplZ", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	for _, want := range []string{"default-src &#39;none&#39;", "<caption>", `scope="col"`, `scope="row"`, `role="img" aria-label="`, `lang="en"`, "prefers-reduced-motion", "@media print"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if again := page(t, small().report()); again != text {
		t.Error("the same result gives other bytes")
	}
}

// Every number of intakes.json is on the page: rounded as the caption says, and
// with all its digits beside it.
func TestNumbersAreThoseOfTheDocument(t *testing.T) {
	s := small()
	text := page(t, s.report())
	rows := regexp.MustCompile(`(?s)<tr><th scope="row"><bdi>(Intake \d+)<.*?</tr>`).FindAllStringSubmatch(text, -1)
	document, err := json.Marshal(s.facts().Intakes)
	if err != nil {
		t.Fatal(err)
	}
	var intakes []map[string]any
	if err := json.Unmarshal(document, &intakes); err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(intakes) || len(rows) == 0 {
		t.Fatalf("%d rows for %d intakes", len(rows), len(intakes))
	}
	for i, in := range intakes {
		row := rows[i][0]
		for name, round := range map[string]string{"river_mile": "%.2f", "peak_mg_l": "%.4g", "hours_above_threshold": "%.2f"} {
			v := in[name].(float64)
			want := fmt.Sprintf(`<data value="%s">%s</data>`, strconv.FormatFloat(v, 'g', -1, 64), fmt.Sprintf(round, v))
			if !strings.Contains(row, want) {
				t.Errorf("%v: %s %v is not in its row as %s\n%s", in["name"], name, v, want, row)
			}
		}
		for name, half := range map[string]time.Duration{"leading_edge": 0, "peak_time": 30 * time.Second, "trailing_edge": time.Minute - 1} {
			at, err := time.Parse(time.RFC3339Nano, in[name].(string))
			shown := at.Add(half).Truncate(time.Minute) // down, to the nearest, up
			if want := fmt.Sprintf(`<time datetime="%s">%s`, in[name], shown.Format("2006-01-02 15:04Z")); err != nil || !strings.Contains(row, want) {
				t.Errorf("%v: %s is not in its row as %s", in["name"], name, want)
			}
		}
	}
}

// Results at the edges: the page is whole, well-formed, and says what is not there.
func TestPageOfAnyResult(t *testing.T) {
	long := func(i int) string { return strings.Repeat("Very long name of a water works ", 6) + strconv.Itoa(i) }
	markup := func(i int) string { return fmt.Sprintf(`</script><script>alert(%d)</script><b onload="x">&"'`, i) }
	tests := []struct {
		name   string
		change func(*spill)
		want   []string
		not    []string
	}{
		{"no rows", func(s *spill) { s.clean = true }, []string{"reaches none of the 6 intakes", "not reached", "0 rows"}, []string{"<svg class=\"wide\" viewBox=\"0 0 900 410\"", "id=\"play\"", "<script"}},
		{"no intakes", func(s *spill) { s.intakes = 0 }, []string{"has no intakes in its index", "id=\"play\""}, []string{"Concentration at each place"}},
		{"one place", func(s *spill) { s.places, s.intakes = 1, 1 }, []string{"reaches 1 of 1 intake.", "Intake 0"}, nil},
		{"one time", func(s *spill) { s.times, s.hours = 1, 1 }, []string{"22:30Z", "<h3>Ohio</h3>", `"times":["2026-03-28 22:30Z"]`}, nil},
		{"long names", func(s *spill) { s.nameOf = long; s.name = long(1) }, []string{long(100)}, nil},
		{"markup", func(s *spill) { s.nameOf = markup; s.name = markup(7) }, []string{"&lt;/script&gt;&lt;script&gt;alert(7)"}, []string{"<script>alert", "<b onload"}},
		{"tiny", func(s *spill) { s.peak, s.tolerance = 1e-7, 1e-9 }, []string{"1e-09"}, nil},
		{"huge", func(s *spill) { s.peak, s.tolerance = 1e6, 1e-9 }, []string{"1e-09", "mg/L"}, nil},
		{"miles fall downstream", func(s *spill) { s.falling = true }, []string{"its miles fall downstream"}, []string{"its miles rise"}},
		{"several rivers", func(s *spill) { s.rivers = []string{"Ohio", "Beaver", "Creek"} }, []string{"<h3>Ohio</h3>", "<h3>Beaver</h3>", "<h3>Creek</h3>", `id="profile-2"`}, nil},
		{"many times", func(s *spill) { s.times, s.hours = 3000, 0.02 }, []string{"the highest of several"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := small()
			tt.change(s)
			text := page(t, s.report())
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("lacks %s", want)
				}
			}
			for _, not := range append(tt.not, "NaN", "Inf", "ZgotmplZ", "%!") {
				if strings.Contains(text, not) {
					t.Errorf("holds %s", not)
				}
			}
			wellFormed(t, text)
			for _, name := range []string{report.CurvesSVG, report.MapSVG} {
				var b strings.Builder
				if err := s.report().Picture(&b, name); err != nil || !strings.Contains(b.String(), "<text") {
					t.Errorf("%s: %d bytes, %v", name, b.Len(), err)
				}
				wellFormed(t, b.String())
			}
		})
	}
}

// Pictures are what their names say, and the same bytes for the same result.
func TestPictures(t *testing.T) {
	r := small().report()
	for name, begins := range map[string]string{report.CurvesPNG: "\x89PNG", report.MapPNG: "\x89PNG", report.CurvesSVG: "<?xml", report.MapSVG: "<?xml"} {
		var a, b strings.Builder
		if err := errors.Join(r.Picture(&a, name), r.Picture(&b, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasPrefix(a.String(), begins) || a.String() != b.String() {
			t.Errorf("%s begins with %.10q", name, a.String())
		}
	}
}

// wellFormed reads a page as the XML that its tags nearly are.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	scripts := regexp.MustCompile(`(?s)<script.*?</script>|<style.*?</style>|<!doctype html>`)
	d := xml.NewDecoder(strings.NewReader(scripts.ReplaceAllString(text, "")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Errorf("not well-formed: %v", err)
			return
		}
	}
}

// A page stays small, however large the result.
func TestPageStaysSmall(t *testing.T) {
	for name, s := range map[string]*spill{
		"1000000 rows": {name: "x", rivers: []string{"Ohio", "Beaver", "Creek"}, places: 1000, intakes: 20, miles: 60, times: 2000, hours: 0.02, peak: 12, tolerance: 1e-12, nameOf: plain},
		"500 places":   {name: "x", rivers: []string{"Ohio"}, places: 1000, intakes: 500, miles: 100, times: 700, hours: 0.1, peak: 12, tolerance: 1e-6, nameOf: plain},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.report()
			text := page(t, r)
			if len(text) > 2e6 {
				t.Errorf("%d bytes", len(text))
			}
			rows := regexp.MustCompile(`(\d+) rows`).FindStringSubmatch(text)
			if n, err := strconv.Atoi(rows[1]); err != nil || name == "1000000 rows" && n < 1e6 {
				t.Errorf("the page counts %s", rows[0])
			}
			t.Logf("%d bytes, %s", len(text), rows[0])
		})
	}
}

// A cell holds the highest of what falls into it, so that a peak is never lost.
func TestPeakIsNeverLost(t *testing.T) {
	s := small()
	s.times, s.hours, s.places = 1100, 0.04, 900
	most := 0.0
	for k := range s.times {
		for i := range s.places {
			most = max(most, s.field(s.below(i), float64(k)*s.hours))
		}
	}
	want := fmt.Sprintf("The highest concentration is %.4g mg/L", most)
	if text := page(t, s.report()); !strings.Contains(text, want) {
		t.Errorf("lacks %s", want)
	}
}

func TestBandOnThePage(t *testing.T) {
	s := small()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	text := page(t, s.report(func(f *report.Facts) {
		f.Zone, f.Contact = zone, "duty desk"
		f.Observed = []report.Observation{{Name: "Intake 20", LeadHours: 5, PeakHours: 6, TrailHours: 8, PeakMgL: 4}}
		f.Bands = []report.Band{band("Ohio", f.Intakes[1].RiverMile, 7, 4, 5), band("Ohio", f.Intakes[2].RiverMile, 30, 20, 50)}
	}))
	for _, want := range []string{"Is it plausible?", "inside", "<strong>outside:</strong>", "before the fastest that rivers have shown (20.00 h)", "America/New_York", "EDT", "duty desk", `class="dot" cx=`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
}

func band(river string, mile, probable, fastest, peak float64) report.Band {
	b := report.Band{River: river, Mile: mile}
	b.Probable, b.Fastest = plausible.Passage{Peak: probable, PeakMgL: peak / 2}, plausible.Passage{Peak: fastest, PeakMgL: peak}
	return b
}
