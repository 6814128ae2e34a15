package compare

import "time"

// Place is how the plume differs at one place, by PlumeByTime. Shifts are B after A in minutes,
// by output times; nil where not both have rows.
type Place struct {
	River     string  `json:"river"`
	RiverMile float64 `json:"river_mile"`
	Branch    int     `json:"branch"`
	Both      int     `json:"rows_both"`
	OnlyA     int     `json:"rows_only_a"`
	OnlyB     int     `json:"rows_only_b"`
	Beyond    int     `json:"beyond"`
	Largest   float64 `json:"largest_mg_l"`
	// Peaks are 0 where there are no rows.
	PeakA      float64  `json:"peak_a_mg_l"`
	PeakB      float64  `json:"peak_b_mg_l"`
	FirstShift *float64 `json:"first_shift_min"`
	PeakShift  *float64 `json:"peak_shift_min"`
	LastShift  *float64 `json:"last_shift_min"`

	spot  spot
	sides [2]passage
}

// passage is the plume at one place in one result.
type passage struct {
	rows              int
	first, peak, last time.Time
	mgL               float64 // at the peak
}

// add notes a row; rows come in the order of time.
func (p *passage) add(at time.Time, mgL float64) {
	if p.rows == 0 {
		p.first = at
	}
	if p.rows == 0 || mgL > p.mgL {
		p.peak, p.mgL = at, mgL
	}
	p.last = at
	p.rows++
}

// place is the one of a row.
func (c *comparison) place(row *cell) *Place {
	p := c.places[row.spot]
	if p == nil {
		p = &Place{River: row.river, RiverMile: row.riverMile, Branch: row.branch, spot: row.spot}
		c.places[row.spot] = p
		c.report.Places = append(c.report.Places, p)
	}
	return p
}

// add notes two rows of the place, of which one may be nil: d mg/L apart, and
// beyond the tolerance or not.
func (p *Place) add(pair [2]*cell, d float64, beyond bool) {
	for i, row := range pair {
		if row != nil {
			p.sides[i].add(row.at, row.mgL)
		}
	}
	switch {
	case pair[1] == nil:
		p.OnlyA++
	case pair[0] == nil:
		p.OnlyB++
	default:
		p.Both++
	}
	if beyond {
		p.Beyond++
	}
	p.Largest = max(p.Largest, d)
}

// settle fills in what is known when all rows were seen.
func (p *Place) settle() {
	a, b := &p.sides[0], &p.sides[1]
	p.PeakA, p.PeakB = a.mgL, b.mgL
	if a.rows > 0 && b.rows > 0 {
		p.FirstShift, p.PeakShift, p.LastShift = shift(&a.first, &b.first), shift(&a.peak, &b.peak), shift(&a.last, &b.last)
	}
}

// shift is how much later b is than a, in minutes; nil where there is not both.
func shift(a, b *time.Time) *float64 {
	if a == nil || b == nil {
		return nil
	}
	m := b.Sub(*a).Minutes()
	return &m
}
