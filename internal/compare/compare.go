// Package compare says how two results differ: cell by cell of the plume, and
// in what was concluded from it. Invariant: what it holds in memory grows with
// the places and the output times of a result, never with its rows; and A
// differs from B in what B differs from A.
package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rsmsjob/internal/reason"
)

// Report is how two results differ, and the document of rsms-job compare.
// Every number in it is finite.
type Report struct {
	// Same is set where nothing that is judged is beyond its tolerance, and
	// neither result has what the other lacks.
	Same     bool     `json:"same"`
	A        Side     `json:"a"`
	B        Side     `json:"b"`
	Warnings []string `json:"warnings"`
	Inputs   Inputs   `json:"inputs"`
	// Marker are the fields of result.json that differ; they are not judged.
	Marker []Entry `json:"marker"`
	// Unmatched is what only one result has: rivers, intakes, output times.
	Unmatched []string `json:"unmatched"`
	Rows      Rows     `json:"rows"`         // of PlumeByTime
	ByMile    Rows     `json:"rows_by_mile"` // of PlumeByMile
	Fields    []*Field `json:"fields"`
	Worst     []Cell   `json:"worst"` // the worst first, mostWorst at most
	Places    []*Place `json:"places"`
	Intakes   []Intake `json:"intakes"`
}

// Side is one of the two results.
type Side struct {
	Label        string    `json:"result"` // as the user wrote it
	Basin        string    `json:"riverbasin_id"`
	Scenario     string    `json:"scenario_id"`
	JobID        string    `json:"job_id"`
	RunKey       string    `json:"run_key"`
	Engine       string    `json:"engine"`
	Commit       string    `json:"commit"`
	FinishedAt   time.Time `json:"finished_at"`
	ToleranceMgL float64   `json:"tolerance_mg_l"` // rows below were not written
	Rows         int       `json:"rows"`
}

// Entry is a field of which both sides have another value.
type Entry struct {
	Field string `json:"field"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// comparison is a Report while it is made. Index 0 is A, 1 is B.
type comparison struct {
	sides  [2]*Result
	limits limits
	report *Report
	fields map[string]*Field // by document and name
	times  [2]map[int64]bool // output times, as seconds since 1970
	places map[spot]*Place
	// scratch is Options.Scratch.
	scratch func() (Scratch, error)
}

// Results compares two results under the tolerances of options. Errors carry a
// reason: busy where a result was replaced meanwhile, engine_output_invalid
// where it is not whole.
func Results(ctx context.Context, a, b *Result, options Options) (*Report, error) {
	c := &comparison{sides: [2]*Result{a, b}, limits: options.limits(a, b), fields: map[string]*Field{}, places: map[spot]*Place{},
		scratch: options.Scratch, report: &Report{A: a.side(), B: b.side(), Warnings: []string{}, Inputs: InputsOf(a, b), Marker: []Entry{}, Unmatched: []string{},
			Fields: []*Field{}, Worst: []Cell{}, Places: []*Place{}, Intakes: []Intake{}}}
	for i, r := range c.sides {
		c.times[i] = timeSet(r.balance.Time)
	}
	c.heads()
	err := c.plume(ctx)
	// A result that was replaced looks damaged; so this is asked first.
	for _, r := range c.sides {
		if moved := r.unchanged(ctx); moved != nil {
			return nil, moved
		}
	}
	if err != nil {
		return nil, err
	}
	c.outputTimes()
	c.intakes()
	c.edges()
	c.balance()
	c.settle()
	return c.report, nil
}

// plume compares the rows of both tables.
func (c *comparison) plume(ctx context.Context) error {
	byTime, byMile := c.table(byTimeTable, &c.report.Rows), c.table(byMileTable, &c.report.ByMile)
	if err := c.byTime(ctx, byTime); err != nil {
		return err
	}
	if err := c.byMile(ctx, byMile); err != nil {
		return err
	}
	c.report.Worst = worstOf(byTime.worst, byMile.worst)
	return nil
}

// heads compares what stands above the numbers.
func (c *comparison) heads() {
	a, b := &c.sides[0].Marker, &c.sides[1].Marker
	if a.Basin != b.Basin || a.Scenario != b.Scenario {
		c.warn("the results are of different scenarios: %s/%s and %s/%s", a.Basin, a.Scenario, b.Basin, b.Scenario)
	}
	if x, y := c.sides[0].toleranceMgL(), c.sides[1].toleranceMgL(); x != y {
		c.warn("rows are written from %g mg/L on in A and from %g mg/L on in B; a row that is missing counts as below that", x, y)
	}
	for _, e := range []Entry{
		{"riverbasin_id", a.Basin, b.Basin},
		{"scenario_id", a.Scenario, b.Scenario},
		{"job_id", a.JobID, b.JobID},
		{"run_key", a.RunKey, b.RunKey},
		{"attempt", fmt.Sprint(a.Attempt), fmt.Sprint(b.Attempt)},
		{"engine", a.Engine, b.Engine},
		{"commit", a.Commit, b.Commit},
		{"started_at", a.StartedAt.Format(time.RFC3339), b.StartedAt.Format(time.RFC3339)},
		{"finished_at", a.FinishedAt.Format(time.RFC3339), b.FinishedAt.Format(time.RFC3339)},
		{"plume_by_time", fmt.Sprint(a.Rows.ByTime), fmt.Sprint(b.Rows.ByTime)},
		{"plume_by_mile", fmt.Sprint(a.Rows.ByMile), fmt.Sprint(b.Rows.ByMile)},
	} {
		if e.A != e.B {
			c.report.Marker = append(c.report.Marker, e)
		}
	}
}

func (c *comparison) warn(format string, args ...any) {
	c.report.Warnings = append(c.report.Warnings, fmt.Sprintf(format, args...))
}

func (c *comparison) unmatched(format string, args ...any) {
	c.report.Unmatched = append(c.report.Unmatched, fmt.Sprintf(format, args...))
}

// outputTimes names the output times that only one result has.
func (c *comparison) outputTimes() {
	for i, name := range []string{"A", "B"} {
		var only []time.Time
		for _, t := range c.sides[i].balance.Time {
			if !c.times[1-i][t.Unix()] {
				only = append(only, t)
			}
		}
		if len(only) > 0 {
			c.unmatched("%d output times are in %s only, from %s to %s", len(only), name, moment(only[0]), moment(only[len(only)-1]))
		}
	}
}

// settle says whether the results are the same.
func (c *comparison) settle() {
	r := c.report
	r.Same = len(r.Unmatched) == 0
	for _, f := range r.Fields {
		r.Same = r.Same && f.Beyond == 0
	}
	if k := r.A.RunKey; !r.Same && k == r.B.RunKey {
		c.warn("both have run key %s: the same engines made different numbers of the same inputs, or a result was changed since", shortHash(k))
	}
	for _, p := range r.Places {
		p.settle()
	}
	slices.SortFunc(r.Places, func(p, q *Place) int { return p.spot.compare(q.spot) })
}

func timeSet(times []time.Time) map[int64]bool {
	set := make(map[int64]bool, len(times))
	for _, t := range times {
		set[t.Unix()] = true
	}
	return set
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// damaged is the error of a result that is not what its result.json says; who
// is which of the two it is.
func damaged(who, format string, args ...any) error {
	return reason.New(reason.EngineOutputInvalid, "%s: the result is damaged: %s; run the scenario again with force",
		who, fmt.Sprintf(format, args...))
}
