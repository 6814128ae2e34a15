package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
)

// document is the answer of run as JSON.
type document struct {
	Current  bool                `json:"already_current"`
	Result   *publish.Marker     `json:"result"`
	Intakes  []plume.Intake      `json:"intakes,omitempty"`
	Balance  *plume.FinalBalance `json:"mass_balance,omitempty"`
	Warnings []string            `json:"warnings,omitempty"`
	WorkDir  string              `json:"work_dir,omitempty"`
}

func answerDocument(a *pipeline.Answer) document {
	d := document{Current: a.Current, Result: a.Marker, Intakes: a.Intakes, Warnings: a.Warnings, WorkDir: a.WorkDir}
	if !a.Current && a.Marker != nil {
		d.Balance = &a.Balance
	}
	return d
}

// printAnswer prints the answer of run for people.
func (a *app) printAnswer(m *message.Message, answer *pipeline.Answer) error {
	where := "rsms-results/" + m.Basin + "/" + m.Scenario
	if answer.Current {
		_, err := fmt.Fprintf(a.stdout, "%s %s: the result is current, nothing was done (run key %.12s); "+
			"\"force\": true in the message runs it again\nresult: %s in the store\n", m.Basin, m.Scenario, answer.Marker.RunKey, where)
		return err
	}
	if answer.Marker == nil {
		_, err := fmt.Fprintf(a.stdout, "%s %s: completed, and its result is no longer in the store\n", m.Basin, m.Scenario)
		return err
	}
	fmt.Fprintf(a.stdout, "%s %s: completed\n\n", m.Basin, m.Scenario)
	if len(answer.Intakes) > 0 {
		t := newTable(a.stdout)
		t.row("intake", "river mile", "leading edge", "peak", "mg/L", "trailing edge", "h above level")
		for _, in := range answer.Intakes {
			above := "-"
			if in.HoursAboveThreshold != nil {
				above = fmt.Sprintf("%.2f", *in.HoursAboveThreshold)
			}
			t.row(in.Name, fmt.Sprintf("%.2f", in.RiverMile), clock(in.LeadingEdge), clock(in.PeakTime),
				number(in.PeakMgL), clock(in.TrailingEdge), above)
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	b := answer.Balance
	_, err := fmt.Fprintf(a.stdout, "\nmass kg: released %s, in the river %s, left it %s, decayed %s, withdrawn %s (error %.1e of the release)\n"+
		"rows: %d by time, %d by mile\nresult: %s in the store\n", number(b.InjectedKg), number(b.InRiverKg), number(b.OutflowKg),
		number(b.DecayedKg), number(b.WithdrawnKg), b.RelativeError, answer.Marker.Rows.ByTime, answer.Marker.Rows.ByMile, where)
	return err
}

// clock is a time in UTC, "-" where there is none.
func clock(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}

// number has four significant digits, which is more than a model knows; without
// an exponent where that is readable.
func number(x float64) string {
	text := strconv.FormatFloat(x, 'g', 4, 64)
	if size := math.Abs(x); size < 1e-4 || size >= 1e7 || !strings.Contains(text, "e") {
		return text
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// table prints aligned columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) *table { return &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (t *table) row(cells ...string) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, c)
	}
	fmt.Fprintln(t.w)
}

func (t *table) flush() error { return t.w.Flush() }
