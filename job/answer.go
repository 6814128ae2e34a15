package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"rsmsjob/internal/ensemble"
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
	Ensemble *ensemble.Document  `json:"ensemble,omitempty"`
	Warnings []string            `json:"warnings,omitempty"`
	WorkDir  string              `json:"work_dir,omitempty"`
}

func answerDocument(a *pipeline.Answer) document {
	d := document{Current: a.Current, Result: a.Marker, Intakes: a.Intakes, Ensemble: a.Ensemble, Warnings: a.Warnings, WorkDir: a.WorkDir}
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
	if err := a.printEnsemble(answer.Ensemble); err != nil {
		return err
	}
	b := answer.Balance
	_, err := fmt.Fprintf(a.stdout, "\nmass kg: released %s, in the river %s, left it %s, decayed %s, withdrawn %s (error %.1e of the release)\n"+
		"rows: %d by time, %d by mile\nresult: %s in the store\n", number(b.InjectedKg), number(b.InRiverKg), number(b.OutflowKg),
		number(b.DecayedKg), number(b.WithdrawnKg), b.RelativeError, answer.Marker.Rows.ByTime, answer.Marker.Rows.ByMile, where)
	return err
}

// printEnsemble prints the bands of an ensemble, nothing without one.
func (a *app) printEnsemble(e *ensemble.Document) error {
	if e == nil {
		return nil
	}
	if e.Problem != "" {
		_, err := fmt.Fprintf(a.stdout, "\nensemble: %s\n", e.Problem)
		return err
	}
	fmt.Fprintf(a.stdout, "\nensemble of %d runs: between which values 90 %% are of those that reach an intake\n\n", e.Completed)
	t := newTable(a.stdout)
	t.row("intake", "reached by", "leading edge from", "to", "peak from", "to", "mg/L from", "to")
	for _, b := range e.Intakes {
		cells := []string{b.Name, fmt.Sprint(b.Reached)}
		if b.LeadingEdge == nil || b.PeakTime == nil || b.PeakMgL == nil {
			t.row(append(cells, "-", "-", "-", "-", "-", "-")...)
			continue
		}
		t.row(append(cells, clock(&b.LeadingEdge.P05), clock(&b.LeadingEdge.P95), clock(&b.PeakTime.P05), clock(&b.PeakTime.P95),
			number(b.PeakMgL.P05), number(b.PeakMgL.P95))...)
	}
	return t.flush()
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
