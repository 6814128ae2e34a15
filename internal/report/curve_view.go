package report

import (
	"cmp"
	"fmt"
	"html/template"
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

// curveViews draws the places that the plume reached, as many as the page has room
// for, in bytes; the first few always.
func (r *Report) curveViews(room int) []curveView {
	var views []curveView
	for i := range r.curves {
		v := r.curveView(&r.curves[i])
		if room -= v.size(); room < 0 && i >= firstCurves {
			break
		}
		views = append(views, v)
	}
	return views
}

// size is about what a curve takes in the page, in bytes.
func (v *curveView) size() int {
	const lineOfTick, lineOfDot, frame = 130, 60, 700
	text := template.HTMLEscapeString(v.Name + v.Where + v.Summary)
	return len(text) + len(v.Line) + lineOfTick*(len(v.Hours)+len(v.Levels)) + lineOfDot*len(v.Observed) + frame
}

func (r *Report) curveView(c *course) curveView {
	in, observed := r.intakeAt(c.place), r.observedAt(c.place.Name)
	points := r.points(c, in)
	v := curveView{Name: nameOfPlace(c)}
	if c.place.Name != "" { // else the name says it
		v.Where = c.place.River + ", mile " + mile(c.place.Mile)
	}
	from, to, most := points[0].h, points[len(points)-1].h, 0.0
	at := 0.0
	for _, p := range points {
		if p.c > most {
			at, most = p.h, p.c
		}
	}
	v.Summary = fmt.Sprintf("%s: the highest concentration is %s mg/L at %s.", strings.TrimSuffix(isolated(v.Name)+", "+v.Where, ", "), number(most), clock(r.after(at)))
	top := most
	if observed != nil {
		for _, p := range observed.points() {
			from, to, top = math.Min(from, p.h), math.Max(to, p.h), math.Max(top, p.c)
		}
		v.Summary += r.measured(observed)
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

// measured says what was measured at a place.
func (r *Report) measured(o *Observation) string {
	text := " Measured: a peak of " + number(o.PeakMgL) + " mg/L"
	if o.PeakHours > 0 {
		text += " at " + clock(r.after(o.PeakHours))
	}
	return text + "."
}

// points are a curve: its samples, thinned where there are many places, and
// exactly the edges and the peak of an intake.
func (r *Report) points(c *course, in *plume.Intake) []point {
	list := r.samples(c)
	if in == nil {
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

// samples are the highest of every few columns. Where the place is clean, a curve
// is none at the first and at the last of the output times that say so: a time
// that has a row, and one behind the simulation, are never among them.
func (r *Report) samples(c *course) []point {
	if c.cells == nil {
		return nil
	}
	var list []point
	every, last := r.thin(), r.columns.n-1
	dirty := false // the few columns before
	for from := 0; from <= last; from += every {
		to := min(from+every-1, last)
		best, found := c.highest(from, to)
		begin, _ := r.columns.span(from)
		_, end := r.columns.span(to)
		if _, next := c.highest(to+1, min(to+every, last)); !found {
			if dirty {
				list = append(list, point{r.since(begin), 0})
			}
			if next && !(dirty && begin.Equal(end)) {
				list = append(list, point{r.since(end), 0})
			}
		} else {
			list = append(list, best)
		}
		dirty = found
	}
	return list
}

// highest is the highest of some columns, found where one is not clean.
func (c *course) highest(from, to int) (best point, found bool) {
	for k := from; k <= to; k++ {
		if c.cells[k] > best.c {
			best, found = point{c.hours[k], c.cells[k]}, true
		}
	}
	return best, found
}

// thin is how many columns share a point, so that the page stays small.
func (r *Report) thin() int {
	return 1 + len(r.curves)*r.columns.n/allPoints
}
