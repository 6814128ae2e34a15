package report_test

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/report"
)

// withEnsemble adds one of ten runs, the last of which failed: the plume comes and
// goes by up to hours, and every third intake is not reached in the first run.
func withEnsemble(f *report.Facts) {
	o := ensemble.Options{Runs: 10, Seed: 1, Dispersion: 4, Flow: 0.1, Release: 0.25}
	s := ensemble.NewStudy(f.IDs, o, false, o.Draws(false), f.Intakes)
	for i := range 9 {
		later := time.Duration(i-4) * 7 * time.Minute
		var found []plume.Intake
		for k, in := range f.Intakes {
			if i == 0 && k%3 == 1 {
				in.LeadingEdge, in.PeakTime, in.TrailingEdge = nil, nil, nil
			}
			for _, at := range []**time.Time{&in.LeadingEdge, &in.PeakTime, &in.TrailingEdge} {
				if *at != nil {
					moved := (*at).Add(later)
					*at = &moved
				}
			}
			in.PeakMgL *= 1 + float64(i)/20
			found = append(found, in)
		}
		s.Completed(i, found)
	}
	s.Failed(9, reason.EngineFailed)
	f.Ensemble = s.Document()
}

// Every number of ensemble.json that the page, the message and the table show is
// that of the document.
func TestSpreadIsThatOfTheDocument(t *testing.T) {
	s := small()
	facts := s.facts()
	withEnsemble(&facts)
	r := s.report(withEnsemble)
	text := page(t, r)
	section := text[strings.Index(text, `id="h-spread"`):strings.Index(text, `id="h-curves"`)]
	if !strings.Contains(section, "9 runs of the engines with dispersion times 0.25 to 4, flows times 0.92 to 1.08, and the release up to 0.25 h earlier or later (1 run more failed") {
		t.Errorf("what was varied is not said:\n%.600s", section)
	}
	rows := regexp.MustCompile(`(?s)<tr[^>]*><th scope="row"><bdi>(Intake \d+)<.*?</tr>`).FindAllString(section, -1)
	var plain, table strings.Builder
	if err := r.Text(&plain); err != nil {
		t.Fatal(err)
	}
	if err := r.IntakesCSV(&table); err != nil {
		t.Fatal(err)
	}
	cells, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil || len(rows) != len(facts.Ensemble.Intakes) || len(cells) != len(rows)+1 {
		t.Fatalf("%d rows, %d lines for %d intakes: %v", len(rows), len(cells), len(facts.Ensemble.Intakes), err)
	}
	some := false
	for i, b := range facts.Ensemble.Intakes {
		clock := func(at time.Time) string { return at.Truncate(time.Minute).Format("2006-01-02 15:04Z") }
		up := func(at time.Time) string { return clock(at.Add(time.Minute - 1)) }
		some = some || b.Reached == 8
		for _, want := range []string{
			fmt.Sprintf("%d of 9", b.Reached), fmt.Sprintf("%d of 9", *b.AboveThreshold),
			`<time datetime="` + b.LeadingEdge.P05.Format(time.RFC3339) + `">` + clock(b.LeadingEdge.P05), up(b.LeadingEdge.P95),
			clock(b.PeakTime.P05), up(b.PeakTime.P95), up(b.TrailingEdge.P95),
			fmt.Sprintf(`<data value="%s">%.4g</data>`, full(b.PeakMgL.P05), b.PeakMgL.P05), fmt.Sprintf(`<data value="%s">%.4g</data>`, full(b.PeakMgL.P95), b.PeakMgL.P95),
		} {
			if !strings.Contains(rows[i], want) {
				t.Errorf("intake %d: %s is not in its row\n%s", i, want, rows[i])
			}
		}
		line := fmt.Sprintf("of 9 runs %d reach it; 90 %% of these arrive between %s and %s, peak %.4g to %.4g mg/L\n",
			b.Reached, clock(b.LeadingEdge.P05), up(b.LeadingEdge.P95), b.PeakMgL.P05, b.PeakMgL.P95)
		if !strings.Contains(plain.String(), line) {
			t.Errorf("the message lacks %s", line)
		}
		row := map[string]string{}
		for k, name := range cells[0] {
			row[name] = cells[i+1][k]
		}
		if row["runs"] != "9" || row["runs_reached"] != fmt.Sprint(b.Reached) || row["peak_mg_l_p50"] != full(b.PeakMgL.P50) ||
			row["leading_edge_p05"] != b.LeadingEdge.P05.Format(time.RFC3339) || row["hours_above_threshold_p95"] != full(b.HoursAboveThreshold.P95) {
			t.Errorf("intake %d: %v", i, row)
		}
	}
	if !some {
		t.Error("no intake that some runs do not reach")
	}
	if n := strings.Count(text, `<rect class="spread"`); n != len(rows) {
		t.Errorf("%d curves have a box, of %d", n, len(rows))
	}
}

func full(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Without an ensemble, or with one that has no band, nothing of it is shown.
func TestNoSpread(t *testing.T) {
	plain := page(t, small().report())
	without := page(t, small().report(func(f *report.Facts) {
		o := ensemble.Options{Runs: 2, Dispersion: 1}
		s := ensemble.NewStudy(f.IDs, o, false, o.Draws(false), f.Intakes)
		s.Failed(0, reason.EngineFailed)
		s.Failed(1, reason.EngineFailed)
		f.Ensemble = s.Document()
	}))
	if plain != without {
		t.Error("an ensemble without a band changes the page")
	}
	for _, word := range []string{"How far may it be off", "<rect class=\"spread\"", "runs"} {
		if strings.Contains(plain, word) {
			t.Errorf("the page has %s", word)
		}
	}
	var b strings.Builder
	if err := small().report().IntakesCSV(&b); err != nil || !strings.Contains(b.String(), "trailing_edge,hours_above_threshold\r\n") {
		t.Errorf("%v\n%.200s", err, b.String())
	}
}

// 500 intakes with bands, and names that could be markup: small and well-formed.
func TestSpreadOfManyIntakes(t *testing.T) {
	s := small()
	s.places, s.intakes, s.times = 500, 500, 100
	s.nameOf = func(i int) string { return fmt.Sprintf("<b>Waterworks & Sons no. %d</b>", i) }
	text := page(t, s.report(withEnsemble))
	if len(text) > 2<<20 || strings.Contains(text, "<b>") || strings.Contains(text, "NaN") || !strings.Contains(text, `class="arrivals" x=`) {
		t.Errorf("%d bytes", len(text))
	}
}

// An intake that only runs of the ensemble reach is told of.
func TestReachedInTheEnsembleOnly(t *testing.T) {
	s := small()
	s.times = 12
	r := s.report(func(f *report.Facts) {
		o := ensemble.Options{Runs: 2, Dispersion: 1}
		study := ensemble.NewStudy(f.IDs, o, false, o.Draws(false), f.Intakes)
		list := append([]plume.Intake(nil), f.Intakes...)
		list[5].LeadingEdge, list[5].PeakTime, list[5].PeakMgL = &begin, &begin, 0.5
		study.Completed(0, f.Intakes)
		study.Completed(1, list)
		f.Ensemble = study.Document()
	})
	var b strings.Builder
	if err := r.Text(&b); err != nil || !strings.Contains(b.String(), "not reached\n  of 2 runs 1 reach it; 90 % of these arrive between") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if text := page(t, r); !strings.Contains(text, "1 of 2") {
		t.Error("the page does not tell")
	}
}
