package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rsmsjob/internal/plume"
)

// curveView is the concentration against time at one place.
type curveView struct {
	Name, Where string
	Line        string // points
	Hours       []tick
	Levels      []tick
	Concern     string // length of the level of concern, "" where it is not seen
	Observed    []dot
	Spread      *shade // nil without an ensemble
	Summary     string
}

// dot is one measurement in a picture.
type dot struct{ X, Y string }

// Lengths of a picture of a curve, and how many points all of them may have.
const (
	curveLeft, curveRight, curveTop, curveLo = 52.0, 372.0, 14.0, 172.0
	allPoints                                = 60_000
)

// curveViews draws the places that the plume reached.
func (r *Report) curveViews() []curveView {
	views := make([]curveView, 0, len(r.curves))
	for i := range r.curves {
		views = append(views, r.curveView(&r.curves[i]))
	}
	return views
}

func (r *Report) curveView(c *course) curveView {
	in, observed := r.intakeAt(c.place), r.observedAt(c.place.Name)
	points := r.points(c, in)
	v := curveView{Name: cmp.Or(c.place.Name, "no name"), Where: c.place.River + ", mile " + mile(c.place.Mile)}
	from, to, most := points[0].h, points[len(points)-1].h, 0.0
	at := 0.0
	for _, p := range points {
		if p.c > most {
			at, most = p.h, p.c
		}
	}
	v.Summary = fmt.Sprintf("%s, %s: the highest concentration is %s mg/L at %s.", v.Name, v.Where, number(most), clock(r.after(at)))
	top := most
	if observed != nil {
		for _, p := range observed.points() {
			from, to, top = math.Min(from, p.h), math.Max(to, p.h), math.Max(top, p.c)
		}
		v.Summary += fmt.Sprintf(" Measured: %s mg/L at %s.", number(observed.PeakMgL), clock(r.after(observed.PeakHours)))
	}
	band := r.spreadAt(in)
	if drawn(band) {
		early, late, high := r.spreadExtent(band)
		from, to, top = math.Min(from, early), math.Max(to, late), math.Max(top, high)
		v.Summary += " " + r.spreadText(in) + "."
	}
	room := math.Max((to-from)*0.05, 1.0/60)
	x := scale{from - room, to + room, curveLeft, curveRight}
	y := scale{0, top * 1.08, curveLo, curveTop}
	v.Hours, v.Levels = r.moments(x, 4), y.ticks(4)
	var line strings.Builder
	for _, p := range points {
		fmt.Fprintf(&line, "%s,%s ", coordinate(x.at(p.h)), coordinate(y.at(p.c)))
	}
	v.Line = strings.TrimSpace(line.String())
	if level := r.Scenario.ThresholdMgL; level > top/50 && level < y.high {
		v.Concern = coordinate(y.at(level))
	}
	if drawn(band) {
		v.Spread = r.shade(band, x, y)
	}
	if observed != nil {
		for _, p := range observed.points() {
			v.Observed = append(v.Observed, dot{coordinate(x.at(p.h)), coordinate(y.at(p.c))})
		}
	}
	return v
}

// points are a curve: its samples, thinned where there are many places, and
// exactly the edges and the peak of an intake. A gap is drawn as none.
func (r *Report) points(c *course, in *plume.Intake) []point {
	points := c.samples(r.columns.n, r.thin())
	step := r.outputHours() * float64(r.columns.group)
	var list []point
	for i, p := range points {
		if i > 0 && p.h-points[i-1].h > 1.5*step*float64(r.thin()) {
			list = append(list, point{points[i-1].h + step, 0}, point{p.h - step, 0})
		}
		list = append(list, p)
	}
	if in == nil {
		if len(list) > 0 {
			list = append([]point{{list[0].h - step, 0}}, append(list, point{list[len(list)-1].h + step, 0})...)
		}
		return list
	}
	if in.LeadingEdge != nil {
		list = append(list, point{r.since(*in.LeadingEdge), r.tolerance()})
	}
	if in.PeakTime != nil {
		list = append(list, point{r.since(*in.PeakTime), in.PeakMgL})
	}
	if in.TrailingEdge != nil {
		list = append(list, point{r.since(*in.TrailingEdge), r.tolerance()})
	}
	slices.SortStableFunc(list, func(a, b point) int { return cmp.Compare(a.h, b.h) })
	return list
}

// samples are the highest of every few columns, without those that are clean.
func (c *course) samples(columns, every int) []point {
	var list []point
	for from := 0; from < columns && c.cells != nil; from += every {
		best := point{}
		for k := from; k < min(from+every, columns); k++ {
			if c.cells[k] > best.c {
				best = point{c.hours[k], c.cells[k]}
			}
		}
		if best.c > 0 {
			list = append(list, best)
		}
	}
	return list
}

// thin is how many columns share a point, so that the page stays small.
func (r *Report) thin() int {
	return 1 + len(r.curves)*r.columns.n/allPoints
}

// outputHours is the time from one output to the next.
func (r *Report) outputHours() float64 {
	if len(r.columns.times) < 2 {
		return 1
	}
	return r.columns.times[1].Sub(r.columns.times[0]).Hours()
}
