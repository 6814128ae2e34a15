package compare

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

const plumeTable = "PlumeByTime"

// Rows counts the rows of both results.
type Rows struct {
	Both  int `json:"both"`
	OnlyA int `json:"only_a"`
	OnlyB int `json:"only_b"`
	// BothBeyond are those whose concentrations are too far apart.
	BothBeyond int `json:"both_beyond"`
	// OnlyABeyond and OnlyBBeyond are those that cannot be below the tolerance of
	// the other result: too high for that, or at a time that it has not.
	OnlyABeyond int `json:"only_a_beyond"`
	OnlyBBeyond int `json:"only_b_beyond"`
}

// mostWorst is how many cells are listed.
const mostWorst = 10

// Cell is a cell of the plume that differs. A or B is nil where that result has
// no row.
type Cell struct {
	River     string    `json:"river"`
	RiverMile float64   `json:"river_mile"`
	Branch    int       `json:"branch"`
	Time      time.Time `json:"time"`
	A         *float64  `json:"a_mg_l"`
	B         *float64  `json:"b_mg_l"`
	// Difference is the least that it can be: a row that is missing has any
	// concentration below the tolerance of its run.
	Difference float64 `json:"difference_mg_l"`
	Allowed    float64 `json:"allowed_mg_l"`
}

// excess orders cells: how far they are beyond what is allowed, in mg/L.
func (c *Cell) excess() float64 { return c.Difference - c.Allowed }

// plume compares the rows, both tables at the same time, step by step.
func (c *comparison) plume(ctx context.Context) error {
	var next [2]func() (*step, error, bool)
	var now [2]*step
	advance := func(i int) error {
		s, err, ok := next[i]()
		if now[i] = s; !ok {
			now[i] = nil
		}
		return err
	}
	for i, r := range c.sides {
		pull, stop := iter.Pull2(steps(r.Label, r.rows(ctx)))
		defer stop()
		next[i] = pull
		if err := advance(i); err != nil {
			return err
		}
	}
	for now[0] != nil || now[1] != nil {
		pair := now
		switch {
		case pair[0] == nil || pair[1] == nil:
		case pair[0].time.Before(pair[1].time):
			pair[1] = nil
		case pair[1].time.Before(pair[0].time):
			pair[0] = nil
		}
		c.step(pair)
		for i, s := range pair {
			if s == nil {
				continue
			}
			if err := advance(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// step compares the rows of one output time; nil is a result without any.
func (c *comparison) step(pair [2]*step) {
	var cells [2][]cell
	var at time.Time
	for i, s := range pair {
		if s != nil {
			cells[i], at = s.cells, s.time
		}
	}
	for len(cells[0]) > 0 || len(cells[1]) > 0 {
		var one [2]*cell
		for i := range cells {
			if len(cells[i]) > 0 {
				one[i] = &cells[i][0]
			}
		}
		if one[0] != nil && one[1] != nil {
			if n := one[0].spot.compare(one[1].spot); n < 0 {
				one[1] = nil
			} else if n > 0 {
				one[0] = nil
			}
		}
		c.cell(at, one)
		for i := range cells {
			if one[i] != nil {
				cells[i] = cells[i][1:]
			}
		}
	}
}

// cell compares two rows of the same time and spot, or counts one that has no
// other.
func (c *comparison) cell(at time.Time, pair [2]*cell) {
	have := cmp.Or(pair[0], pair[1])
	place := c.place(have)
	for i, row := range pair {
		if row != nil {
			place.sides[i].add(at, row.mgL)
		}
	}
	where := func() string { return whereOf(have, at) }
	if pair[0] == nil || pair[1] == nil {
		c.lone(at, pair, place, where)
		return
	}
	a, b := pair[0], pair[1]
	c.report.Rows.Both++
	place.Both++
	c.elapsed.add(a.elapsed, b.elapsed, where)
	c.grid.add(float64(a.grid), float64(b.grid), where)
	d := distance(a.mgL, b.mgL)
	if c.concentration.add(a.mgL, b.mgL, where) {
		c.report.Rows.BothBeyond++
		place.Beyond++
	}
	if d > 0 {
		place.Largest = max(place.Largest, d)
		c.worst(have, at, &a.mgL, &b.mgL, d)
	}
}

// lone counts a row that only one result has. The other one has a concentration
// below its tolerance there, if it computed that time at all.
func (c *comparison) lone(at time.Time, pair [2]*cell, place *Place, where func() string) {
	f, i := c.concentration, 0
	if pair[0] == nil {
		i = 1
	}
	row, other := pair[i], c.sides[1-i].toleranceMgL()
	computed := c.times[1-i][at.Unix()]
	if !computed {
		other = 0
	}
	d := max(0, row.mgL-other)
	beyond := f.addDistance(d, row.mgL, other, where)
	if !computed && !beyond {
		beyond = true
		f.Beyond++
	}
	f.OnlyOne++
	r := &c.report.Rows
	only, bad := &r.OnlyA, &r.OnlyABeyond
	mine := &place.OnlyA
	if i == 1 {
		only, bad, mine = &r.OnlyB, &r.OnlyBBeyond, &place.OnlyB
	}
	*only++
	*mine++
	if beyond {
		*bad++
		place.Beyond++
	}
	if d > 0 {
		place.Largest = max(place.Largest, d)
		var values [2]*float64
		values[i] = &row.mgL
		c.worst(row, at, values[0], values[1], d)
	}
}

// worst keeps a cell if it is one of the worst.
func (c *comparison) worst(row *cell, at time.Time, a, b *float64, d float64) {
	one := Cell{River: row.river, RiverMile: row.riverMile, Branch: row.branch, Time: at, Difference: d}
	var x, y float64
	if a != nil {
		x = *a
	}
	if b != nil {
		y = *b
	}
	one.Allowed = min(c.concentration.Tolerance.allows(x, y), math.MaxFloat64)
	list := c.report.Worst
	if len(list) == mostWorst && one.excess() <= list[len(list)-1].excess() {
		return
	}
	one.A, one.B = clone(a), clone(b) // the step they stand in will be another one
	i := len(list)
	for i > 0 && list[i-1].excess() < one.excess() {
		i--
	}
	list = slices.Insert(list, i, one)
	c.report.Worst = list[:min(len(list), mostWorst)]
}

func clone(x *float64) *float64 {
	if x == nil {
		return nil
	}
	y := *x
	return &y
}

func whereOf(row *cell, at time.Time) string {
	return fmt.Sprintf("%s mile %g, branch %d, %s", row.river, row.riverMile, row.branch, moment(at))
}
