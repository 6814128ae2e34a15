package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	byTimeTable = "PlumeByTime"
	byMileTable = "PlumeByMile"
)

// Rows counts the rows of one table in both results.
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

// add counts one pair, of which one may be nil.
func (r *Rows) add(pair [2]*cell, beyond bool) {
	n, bad := &r.Both, &r.BothBeyond
	switch {
	case pair[1] == nil:
		n, bad = &r.OnlyA, &r.OnlyABeyond
	case pair[0] == nil:
		n, bad = &r.OnlyB, &r.OnlyBBeyond
	}
	*n++
	if beyond {
		*bad++
	}
}

// mostWorst is how many cells are listed.
const mostWorst = 10

// Cell is a cell of the plume that differs. A or B is nil where that result has
// no row.
type Cell struct {
	// Tables are those in which it differs in this way.
	Tables    []string  `json:"tables"`
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

// compare orders cells, the worst first: by how far they are beyond what is
// allowed, and then by where they are, so that both tables have the same order.
func (c *Cell) compare(d *Cell) int {
	return cmp.Or(cmp.Compare(d.Difference-d.Allowed, c.Difference-c.Allowed), strings.Compare(c.River, d.River),
		cmp.Compare(c.RiverMile, d.RiverMile), cmp.Compare(c.Branch, d.Branch), c.Time.Compare(d.Time))
}

// same reports whether both are the same difference, whatever the table.
func (c *Cell) same(d *Cell) bool {
	return c.compare(d) == 0 && equal(c.A, d.A) && equal(c.B, d.B)
}

func equal(x, y *float64) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }

// table is one of the plume tables while it is compared.
type table struct {
	name                         string
	rows                         *Rows
	worst                        []Cell // the worst first, mostWorst at most
	concentration, elapsed, grid *Field
}

func (c *comparison) table(name string, rows *Rows) *table {
	return &table{name: name, rows: rows, concentration: c.field(name, "ConcentrationMgL"), elapsed: c.field(name, "ElapsedHours"),
		grid: c.field(name, "Grid")}
}

// cell compares two rows of the same time and spot, or judges one that has no
// other. It returns how far they are apart at least, in mg/L, and whether that
// is beyond the tolerance.
func (c *comparison) cell(t *table, pair [2]*cell) (d float64, beyond bool) {
	a, b := pair[0], pair[1]
	if a == nil || b == nil {
		d, beyond = c.lone(t, pair)
	} else {
		where := func() string { return whereOf(a) }
		t.elapsed.add(a.elapsed, b.elapsed, where)
		t.grid.add(float64(a.grid), float64(b.grid), where)
		d = distance(a.mgL, b.mgL)
		beyond = t.concentration.add(a.mgL, b.mgL, where)
	}
	t.rows.add(pair, beyond)
	if d > 0 {
		t.keep(pair, d)
	}
	return d, beyond
}

// lone judges a row that only one result has. The other one has a concentration
// below its tolerance there, if it computed that time at all.
func (c *comparison) lone(t *table, pair [2]*cell) (d float64, beyond bool) {
	row, i := pair[0], 0
	if row == nil {
		row, i = pair[1], 1
	}
	other := c.sides[1-i].toleranceMgL()
	computed := c.times[1-i][row.at.Unix()]
	if !computed {
		other = 0
	}
	f := t.concentration
	d = max(0, row.mgL-other)
	beyond = f.addDistance(d, row.mgL, other, func() string { return whereOf(row) })
	if !computed && !beyond {
		beyond = true
		f.Beyond++
	}
	f.OnlyOne++
	return d, beyond
}

// keep keeps a pair of rows if it is one of the worst.
func (t *table) keep(pair [2]*cell, d float64) {
	have := cmp.Or(pair[0], pair[1])
	one := Cell{River: have.river, RiverMile: have.riverMile, Branch: have.branch, Time: have.at, Difference: d}
	var values [2]float64
	for i, row := range pair {
		if row != nil {
			values[i] = row.mgL
		}
	}
	one.Allowed = min(t.concentration.Tolerance.allows(values[0], values[1]), math.MaxFloat64)
	if n := len(t.worst); n == mostWorst && one.compare(&t.worst[n-1]) >= 0 {
		return
	}
	one.Tables = []string{t.name}
	for i, to := range []**float64{&one.A, &one.B} {
		if pair[i] != nil {
			*to = new(values[i])
		}
	}
	i, _ := slices.BinarySearchFunc(t.worst, one, func(x, y Cell) int { return x.compare(&y) })
	t.worst = slices.Insert(t.worst, i, one)
	t.worst = t.worst[:min(len(t.worst), mostWorst)]
}

// worstOf are the worst cells of both tables. What is the same in both stands
// there once.
func worstOf(byTime, byMile []Cell) []Cell {
	all := append([]Cell{}, byTime...)
	for _, one := range byMile {
		if i := slices.IndexFunc(all, func(c Cell) bool { return c.same(&one) }); i >= 0 {
			all[i].Tables = append(all[i].Tables, one.Tables...)
		} else {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(x, y Cell) int { return x.compare(&y) })
	return all[:min(len(all), mostWorst)]
}

func whereOf(row *cell) string {
	return fmt.Sprintf("%s mile %g, branch %d, %s", row.river, row.riverMile, row.branch, moment(row.at))
}
