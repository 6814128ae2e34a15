package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// Bounds of what a report keeps. A peak is never lost: a cell holds the highest
// of what falls into it.
const (
	maxColumns = 400  // of time
	maxMiles   = 300  // of a river
	allMiles   = 600  // of all rivers together
	maxCurves  = 2000 // that the plume reached
)

// field is the concentration along one river over time.
type field struct {
	name  string
	sense int       // +1 where miles rise downstream, else -1
	miles []float64 // edges of the bins, in downstream order; one more than bins
	peak  float64   // of all cells, mg/L
	cells []float64 // bin*columns + column, mg/L; 0 below the tolerance

	places []float64 // miles of the places, rising
	binOf  []int     // place -> bin
}

// course is the concentration at one place over the columns.
type course struct {
	place river.Place
	cells []float64 // by column, mg/L; 0 below the tolerance
	hours []float64 // by column: when that was, from the spill
	// unheld is a place that the plume reached when there were already maxCurves.
	unheld bool
}

// Builder makes a Report from rows.
type Builder struct {
	r       Report
	byRiver map[string]int
	byPlace map[spot]int
	held    int // courses with cells
}

// spot is a place of the tables.
type spot struct {
	river  string
	mile   float64
	branch int
}

// columns are the output times, several in one column where there are many.
type columns struct {
	times []time.Time
	group int // times in a column
	n     int
}

func newColumns(times []time.Time) columns {
	c := columns{times: times, group: 1}
	if len(times) > maxColumns {
		c.group = (len(times) + maxColumns - 1) / maxColumns
	}
	c.n = (len(times) + c.group - 1) / c.group
	return c
}

// of is the column of a time, -1 for one that is no output time.
func (c *columns) of(t time.Time) int {
	at, ok := slices.BinarySearchFunc(c.times, t, time.Time.Compare)
	if !ok {
		return -1
	}
	return at / c.group
}

// span returns the first and the last time of a column.
func (c *columns) span(column int) (first, last time.Time) {
	return c.times[column*c.group], c.times[min((column+1)*c.group, len(c.times))-1]
}

// New prepares a report. Facts must have a scenario; the rows follow.
func New(facts Facts) *Builder {
	facts = facts.prepared()
	b := &Builder{r: Report{Facts: facts}, byRiver: map[string]int{}, byPlace: map[spot]int{}}
	if len(facts.Edges) > 0 {
		b.r.columns = newColumns(facts.Edges[0].Time)
	}
	b.fields()
	b.courses()
	return b
}

// fields lays out a field for each river that the plume reached.
func (b *Builder) fields() {
	var reached []plume.EdgeSeries
	for _, s := range b.r.Edges {
		if _, _, ok := extent(&s); ok {
			reached = append(reached, s)
		}
	}
	for _, s := range reached {
		f := field{name: s.River, sense: b.r.sense(s.River)}
		low, high, _ := extent(&s)
		f.layOut(b.r.Places, low, high, min(maxMiles, max(10, allMiles/len(reached))))
		f.cells = make([]float64, f.bins()*b.r.columns.n)
		b.byRiver[s.River] = len(b.r.rivers)
		b.r.rivers = append(b.r.rivers, f)
	}
}

// extent is the stretch of river that the plume touched, low mile to high mile.
func extent(s *plume.EdgeSeries) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range s.LeadingEdgeMile {
		for _, mile := range []*float64{s.LeadingEdgeMile[i], s.TrailingEdgeMile[i]} {
			if mile != nil {
				low, high, ok = math.Min(low, *mile), math.Max(high, *mile), true
			}
		}
	}
	return low, high, ok
}

// layOut sets the bins: one for each place of the river from low to high, with
// edges half way to its neighbours, or for several of them in a row.
func (f *field) layOut(places []river.Place, low, high float64, most int) {
	for _, p := range places {
		if p.River == f.name && p.Mile >= low && p.Mile <= high {
			f.places = append(f.places, p.Mile)
		}
	}
	if len(f.places) == 0 { // the index is gone: rows fall into even bins
		for i := range 100 {
			f.places = append(f.places, low+(high-low)*float64(i)/100)
		}
	}
	f.places = append(f.places, low, high)
	slices.Sort(f.places)
	f.places = slices.Compact(f.places)
	group := (len(f.places) + most - 1) / most
	bins := (len(f.places) + group - 1) / group
	edges := []float64{f.places[0]}
	for i := range f.places {
		bin := i / group
		if i > 0 && i%group == 0 {
			edges = append(edges, (f.places[i-1]+f.places[i])/2)
		}
		if f.sense < 0 {
			bin = bins - 1 - bin
		}
		f.binOf = append(f.binOf, bin)
	}
	edges = append(edges, f.places[len(f.places)-1])
	if low == high { // one place: half a mile to both sides is enough to be seen
		edges = []float64{low - 0.5, high + 0.5}
	}
	if f.sense < 0 {
		slices.Reverse(edges)
	}
	f.miles = edges
}

func (f *field) bins() int { return len(f.miles) - 1 }

// bin is where a mile belongs: the bin of the nearest place.
func (f *field) bin(mile float64) int {
	at, found := slices.BinarySearch(f.places, mile)
	switch {
	case found || at == 0:
	case at == len(f.places), mile-f.places[at-1] < f.places[at]-mile:
		at--
	}
	return f.binOf[at]
}

// at is the highest concentration in a bin and a column.
func (f *field) at(bin, column, columns int) float64 { return f.cells[bin*columns+column] }

// courses lays out a curve for each place that has a name: intakes first.
func (b *Builder) courses() {
	named := slices.DeleteFunc(slices.Clone(b.r.Places), func(p river.Place) bool { return p.Feature != river.Intake && p.Name == "" })
	slices.SortStableFunc(named, func(x, y river.Place) int {
		return cmp.Or(cmp.Compare(class(x), class(y)), cmp.Compare(x.River, y.River),
			cmp.Compare(b.downstream(x), b.downstream(y)), cmp.Compare(x.Branch, y.Branch))
	})
	for _, p := range named {
		b.byPlace[spot{p.River, p.Mile, p.Branch}] = len(b.r.curves)
		b.r.curves = append(b.r.curves, course{place: p})
	}
}

func class(p river.Place) int {
	if p.Feature == river.Intake {
		return 0
	}
	return 1
}

// downstream is the mile of a place, rising the way the water goes.
func (b *Builder) downstream(p river.Place) float64 { return float64(b.r.sense(p.River)) * p.Mile }

// Row adds a row of PlumeByTime, in any order.
func (b *Builder) Row(row plume.Row) {
	b.r.rows++
	column := b.r.columns.of(row.Time)
	if column < 0 {
		return
	}
	if i, ok := b.byRiver[row.River]; ok {
		f := &b.r.rivers[i]
		cell := &f.cells[f.bin(row.RiverMile)*b.r.columns.n+column]
		*cell = math.Max(*cell, row.ConcentrationMgL)
		f.peak = math.Max(f.peak, row.ConcentrationMgL)
	}
	i, ok := b.byPlace[spot{row.River, row.RiverMile, row.Branch}]
	if !ok { // the branches of a basin without an index are not known
		i, ok = b.byPlace[spot{row.River, row.RiverMile, 0}]
	}
	if ok && row.ConcentrationMgL > 0 {
		c := &b.r.curves[i]
		if c.cells == nil { // most places of a long river are never reached
			if b.held == maxCurves {
				c.unheld = true
				return
			}
			b.held++
			c.cells, c.hours = make([]float64, b.r.columns.n), make([]float64, b.r.columns.n)
		}
		if row.ConcentrationMgL > c.cells[column] {
			c.cells[column], c.hours[column] = row.ConcentrationMgL, row.ElapsedHours
		}
	}
}

// Report returns what was built; the Builder is done with.
func (b *Builder) Report() *Report {
	r := b.r
	r.curves = slices.DeleteFunc(r.curves, func(c course) bool {
		if c.unheld {
			r.unheld++
			return true
		}
		return c.cells == nil && !r.reaches(c.place)
	})
	return &r
}
