package compare

import (
	"fmt"
	"iter"
	"time"

	"rsmsjob/internal/plume"
)

const (
	intakeDocument  = "intakes.json"
	edgeDocument    = "edge_timeseries.json"
	balanceDocument = "mass_balance.json"
)

// Intake is how the answers for one intake differ. Shifts are B after A in
// minutes; nil where not both have the time.
type Intake struct {
	Name       string   `json:"name"`
	River      string   `json:"river"`
	RiverMile  float64  `json:"river_mile"`
	PeakA      float64  `json:"peak_a_mg_l"`
	PeakB      float64  `json:"peak_b_mg_l"`
	Leading    *float64 `json:"leading_edge_shift_min"`
	PeakShift  *float64 `json:"peak_shift_min"`
	Trailing   *float64 `json:"trailing_edge_shift_min"`
	Beyond     bool     `json:"beyond"`
	ReachedInA bool     `json:"reached_in_a"`
	ReachedInB bool     `json:"reached_in_b"`
}

// intakes compares intakes.json.
func (c *comparison) intakes() {
	var lists [2]map[string]*plume.Intake
	var order [2][]string
	for i, r := range c.sides {
		lists[i], order[i] = byName(r.intakes.Intakes)
	}
	for _, key := range order[0] {
		if b := lists[1][key]; b != nil {
			c.intake(lists[0][key], b)
		} else {
			c.unmatched("intake %s is in A only", key)
		}
	}
	for _, key := range order[1] {
		if lists[0][key] == nil {
			c.unmatched("intake %s is in B only", key)
		}
	}
}

// byName are the intakes by name and place; two that have both the same are
// told apart by their order.
func byName(list []plume.Intake) (map[string]*plume.Intake, []string) {
	all := map[string]*plume.Intake{}
	var order []string
	for i := range list {
		in := &list[i]
		base := fmt.Sprintf("%s at %s mile %.4f", in.Name, in.River, in.RiverMile)
		key := base
		for n := 2; all[key] != nil; n++ {
			key = fmt.Sprintf("%s (%d)", base, n)
		}
		all[key] = in
		order = append(order, key)
	}
	return all, order
}

func (c *comparison) intake(a, b *plume.Intake) {
	where := func() string { return a.Name }
	field := func(name string) *Field { return c.field(intakeDocument, name) }
	beyond := field("peak_mg_l").add(a.PeakMgL, b.PeakMgL, where)
	// Where only one of the two peaks is at the tolerance, and they are close to
	// each other, the times of that one say nothing.
	hardly := !beyond
	minutes := func(name string, x, y *time.Time) {
		f := field(name)
		switch {
		case x != nil && y != nil:
			beyond = f.add(0, y.Sub(*x).Minutes(), where) || beyond
		case x != nil || y != nil:
			f.alone(!hardly)
		}
	}
	minutes("leading_edge", a.LeadingEdge, b.LeadingEdge)
	minutes("peak_time", a.PeakTime, b.PeakTime)
	c.trailing(field("trailing_edge"), a, b, hardly, &beyond, where)
	if x, y := a.HoursAboveThreshold, b.HoursAboveThreshold; x != nil && y != nil {
		beyond = field("hours_above_threshold").add(*x, *y, where) || beyond
	} else if x != nil || y != nil {
		field("hours_above_threshold").alone(true)
		beyond = true
	}
	c.report.Intakes = append(c.report.Intakes, Intake{Name: a.Name, River: a.River, RiverMile: a.RiverMile, PeakA: a.PeakMgL, PeakB: b.PeakMgL,
		Leading: shift(a.LeadingEdge, b.LeadingEdge), PeakShift: shift(a.PeakTime, b.PeakTime), Trailing: shift(a.TrailingEdge, b.TrailingEdge),
		Beyond: beyond, ReachedInA: a.LeadingEdge != nil, ReachedInB: b.LeadingEdge != nil})
}

// trailing compares trailing edges. One that is missing while the plume has
// come lies behind the end of the run.
func (c *comparison) trailing(f *Field, a, b *plume.Intake, hardly bool, beyond *bool, where func() string) {
	x, y := a.TrailingEdge, b.TrailingEdge
	switch {
	case x != nil && y != nil:
		*beyond = f.add(0, y.Sub(*x).Minutes(), where) || *beyond
	case x != nil && b.LeadingEdge != nil:
		*beyond = f.addDistance(max(0, c.end(1).Sub(*x).Minutes()), 0, 0, where) || *beyond
	case y != nil && a.LeadingEdge != nil:
		*beyond = f.addDistance(max(0, c.end(0).Sub(*y).Minutes()), 0, 0, where) || *beyond
	case x != nil || y != nil:
		f.alone(!hardly)
	}
}

// end is the last output time of a result.
func (c *comparison) end(i int) time.Time {
	times := c.sides[i].balance.Time
	if len(times) == 0 {
		return time.Time{}
	}
	return times[len(times)-1]
}

// edges compares edge_timeseries.json, river by river and time by time.
func (c *comparison) edges() {
	var rivers [2]map[string]*plume.EdgeSeries
	for i, r := range c.sides {
		rivers[i] = map[string]*plume.EdgeSeries{}
		for k := range r.edges.Series {
			rivers[i][r.edges.Series[k].River] = &r.edges.Series[k]
		}
	}
	for i, name := range []string{"A", "B"} {
		for _, s := range c.sides[i].edges.Series {
			if other := rivers[1-i][s.River]; other == nil {
				c.unmatched("river %s is in %s only", s.River, name)
			} else if i == 0 {
				c.river(rivers[0][s.River], other)
			}
		}
	}
}

func (c *comparison) river(a, b *plume.EdgeSeries) {
	field := func(name string) *Field { return c.field(edgeDocument, name) }
	for i, j := range both(a.Time, b.Time) {
		where := func() string { return a.River + ", " + moment(a.Time[i]) }
		beyond := c.peak(field("peak_mg_l"), a.PeakMgL[i], b.PeakMgL[j], where)
		field("mass_kg").add(a.MassKg[i], b.MassKg[j], where)
		mile := func(name string, x, y *float64) {
			switch f := field(name); {
			case x != nil && y != nil:
				f.add(*x, *y, where)
			case x != nil || y != nil:
				f.alone(beyond)
			}
		}
		mile("leading_edge_mile", a.LeadingEdgeMile[i], b.LeadingEdgeMile[j])
		mile("trailing_edge_mile", a.TrailingEdgeMile[i], b.TrailingEdgeMile[j])
		mile("peak_mile", a.PeakMile[i], b.PeakMile[j])
	}
}

// peak compares the peaks of a river; nil is any below the tolerance of the run.
func (c *comparison) peak(f *Field, x, y *float64, where func() string) bool {
	switch {
	case x != nil && y != nil:
		return f.add(*x, *y, where)
	case x != nil:
		f.OnlyOne++
		return f.addDistance(max(0, *x-c.sides[1].toleranceMgL()), *x, 0, where)
	case y != nil:
		f.OnlyOne++
		return f.addDistance(max(0, *y-c.sides[0].toleranceMgL()), *y, 0, where)
	}
	return false
}

// both yields the indices of the times that are in a and in b, which rise.
func both(a, b []time.Time) iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
		for i, j := 0, 0; i < len(a) && j < len(b); {
			switch {
			case a[i].Before(b[j]):
				i++
			case b[j].Before(a[i]):
				j++
			default:
				if !yield(i, j) {
					return
				}
				i, j = i+1, j+1
			}
		}
	}
}

// balanceSeries yields the series of a mass balance by their names in JSON.
func balanceSeries(b *plume.BalanceDocument) iter.Seq2[string, []float64] {
	return func(yield func(string, []float64) bool) {
		_ = yield("injected_kg", b.InjectedKg) && yield("in_river_kg", b.InRiverKg) && yield("outflow_kg", b.OutflowKg) &&
			yield("decayed_kg", b.DecayedKg) && yield("withdrawn_kg", b.WithdrawnKg) && yield("error_kg", b.ErrorKg)
	}
}

// balance compares mass_balance.json, and its end under "final".
func (c *comparison) balance() {
	a, b := &c.sides[0].balance, &c.sides[1].balance
	other := map[string][]float64{}
	for name, series := range balanceSeries(b) {
		other[name] = series
	}
	for name, series := range balanceSeries(a) {
		f := c.field(balanceDocument, name)
		x, y := final(&a.Final, name), final(&b.Final, name)
		f.add(x, y, func() string { return "the end" })
		if len(series) == 0 || len(other[name]) == 0 {
			continue // an older version did not write it
		}
		for i, j := range both(a.Time, b.Time) {
			f.add(series[i], other[name][j], func() string { return moment(a.Time[i]) })
		}
	}
}

// final is a value of the last ledger by its name in JSON.
func final(f *plume.FinalBalance, name string) float64 {
	switch name {
	case "injected_kg":
		return f.InjectedKg
	case "in_river_kg":
		return f.InRiverKg
	case "outflow_kg":
		return f.OutflowKg
	case "decayed_kg":
		return f.DecayedKg
	case "withdrawn_kg":
		return f.WithdrawnKg
	}
	return f.ErrorKg
}
