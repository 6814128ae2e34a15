package report

import (
	"fmt"
	"slices"
	"strings"
)

// massView is where the mass is over time.
type massView struct {
	Areas  []area
	Hours  []tick
	Levels []tick
	Rows   []massRow
	Error  string // relative to the release
}

// area is one part of the mass, stacked on those before it.
type area struct{ Name, Colour, Points string }

// massRow is one part of the mass at the end.
type massRow struct {
	Name, Colour string // colour of its area, "" for the whole
	Kg, Exact    string
	Percent      string
}

// Lengths of the picture of the mass.
const (
	massLeft, massRight, massTop, massLo = 70.0, 880.0, 14.0, 196.0
)

// massView returns nil where the result knows no ledger.
func (r *Report) massView() *massView {
	b := &r.Balance
	final := b.Final
	if len(b.Time) == 0 || !(final.InjectedKg > 0) {
		return nil
	}
	parts := []struct {
		name, colour string
		kg           []float64
		end          float64
	}{
		{"in the river", blue, b.InRiverKg, final.InRiverKg},
		{"left the river at its end", sky, b.OutflowKg, final.OutflowKg},
		{"decayed", orange, b.DecayedKg, final.DecayedKg},
		{"withdrawn", purple, b.WithdrawnKg, final.WithdrawnKg},
	}
	row := func(name, colour string, kg float64) massRow {
		return massRow{Name: name, Colour: colour, Kg: number(kg), Exact: exact(kg), Percent: fmt.Sprintf("%.1f", 100*kg/final.InjectedKg)}
	}
	v := &massView{Error: fmt.Sprintf("%.1e", final.RelativeError), Rows: []massRow{row("released", "", final.InjectedKg)}}
	x := scale{r.since(b.Time[0]), r.since(b.Time[len(b.Time)-1]), massLeft, massRight}
	if x.high == x.low {
		x.high++
	}
	y := scale{0, final.InjectedKg, massLo, massTop}
	for _, kg := range b.InjectedKg {
		y.high = max(y.high, kg)
	}
	v.Hours, v.Levels = r.moments(x, 8), y.ticks(4)
	below := make([]float64, len(b.Time))
	every := 1 + len(b.Time)/maxColumns
	for _, p := range parts {
		v.Rows = append(v.Rows, row(p.name, p.colour, p.end))
		// A document may lack a part, which then is known at the end alone.
		if len(p.kg) != len(b.Time) || slices.Max(p.kg) <= 0 {
			continue
		}
		var upper, lower []string
		for i, t := range b.Time {
			at := coordinate(x.at(r.since(t)))
			bottom := below[i]
			below[i] += p.kg[i]
			if i%every == 0 || i == len(b.Time)-1 {
				lower = append(lower, at+","+coordinate(y.at(bottom)))
				upper = append(upper, at+","+coordinate(y.at(below[i])))
			}
		}
		slices.Reverse(lower)
		v.Areas = append(v.Areas, area{p.name, p.colour, strings.Join(upper, " ") + " " + strings.Join(lower, " ")})
	}
	return v
}
