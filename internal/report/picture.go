package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	"rsmsjob/internal/drawing"
	"rsmsjob/internal/plume"
)

// The pictures beside the page.
const (
	CurvesSVG = "report-curves.svg"
	CurvesPNG = "report-curves.png"
	MapSVG    = "report-map.svg"
	MapPNG    = "report-map.png"
)

// Pictures names the pictures of every report.
func Pictures() []string { return []string{CurvesPNG, CurvesSVG, MapPNG, MapSVG} }

// Lengths of a picture: that of one plot, and of the frame in it.
const (
	plotWidth, plotHeight                        = 900.0, 470.0
	frameLeft, frameRight, frameTop, frameBottom = 70.0, 880.0, 86.0, 426.0
	titleSize, textSize                          = 17.0, 12.0
	pixels                                       = 2 // of a PNG in a length of 1
	maxLines                                     = 8 // curves that a picture may have and still be read
	maxMaps                                      = 4 // rivers in the picture of the map, those reached first in the index
	entryWidth, entryHeight, entriesInRow        = 202.5, 16.0, 4
)

var (
	ink   = color.RGBA{0x11, 0x11, 0x11, 255}
	faint = color.RGBA{0x55, 0x5c, 0x66, 255}
	grid  = color.RGBA{0xdd, 0xe1, 0xe6, 255}
)

// Picture writes one of Pictures.
func (r *Report) Picture(w io.Writer, name string) error {
	draw, title := r.curvePicture, "Concentration against time: "
	if strings.HasPrefix(name, "report-map") {
		draw, title = r.mapPicture, "River mile against time: "
	}
	p := draw()
	err := error(nil)
	if strings.HasSuffix(name, ".svg") {
		err = p.SVG(w, title+oneLine(r.title()))
	} else {
		err = p.PNG(w, pixels)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", name, err)
	}
	return nil
}

// chart is one plot in a picture.
type chart struct {
	*drawing.Picture
	top float64 // of the plot in the picture
}

// heading writes what a plot shows.
func (c chart) heading(title, below string) {
	c.Text(drawing.Point{X: frameLeft, Y: c.top + 26}, title, drawing.Words{Colour: ink, Size: titleSize, Bold: true, Most: frameRight - frameLeft})
	c.Text(drawing.Point{X: frameLeft, Y: c.top + 44}, below, drawing.Words{Colour: faint, Size: textSize})
}

// axes draws the lines of a frame and what they stand for.
func (c chart) axes(across, up []tick, unit string) {
	for _, t := range across {
		c.Line([]drawing.Point{{X: t.at, Y: c.top + frameTop}, {X: t.at, Y: c.top + frameBottom}}, drawing.Stroke{Colour: grid, Width: 1})
		c.Text(drawing.Point{X: t.at, Y: c.top + frameBottom + 18}, t.Text, drawing.Words{Colour: faint, Size: textSize, Anchor: drawing.Middle})
	}
	for _, t := range up {
		c.Line([]drawing.Point{{X: frameLeft, Y: t.at}, {X: frameRight, Y: t.at}}, drawing.Stroke{Colour: grid, Width: 1})
		c.Text(drawing.Point{X: frameLeft - 6, Y: t.at + 4}, t.Text, drawing.Words{Colour: faint, Size: textSize, Anchor: drawing.End})
	}
	c.Text(drawing.Point{X: frameLeft - 6, Y: c.top + frameTop - 10}, unit, drawing.Words{Colour: faint, Size: textSize, Anchor: drawing.End})
	c.Text(drawing.Point{X: frameRight, Y: c.top + frameBottom + 34}, "UTC", drawing.Words{Colour: faint, Size: textSize, Anchor: drawing.End})
}

// entry is a line of a legend.
func (c chart) entry(i int, text string, s drawing.Stroke) {
	x := frameLeft + float64(i%entriesInRow)*entryWidth
	y := c.top + 58 + float64(i/entriesInRow)*entryHeight
	c.Line([]drawing.Point{{X: x, Y: y}, {X: x + 22, Y: y}}, s)
	c.Text(drawing.Point{X: x + 28, Y: y + 4}, text, drawing.Words{Colour: ink, Size: textSize, Most: entryWidth - 36})
}

// curvePicture is the concentration at the places, evenly chosen where there are many.
func (r *Report) curvePicture() *drawing.Picture {
	c := chart{drawing.New(plotWidth, plotHeight), 0}
	low, high := logarithms(r.tolerance(), r.highest())
	x := scale{0, math.Max(r.Scenario.SimulationHours, 1), frameLeft, frameRight}
	y := scale{low, high, frameBottom, frameTop}
	chosen := r.chosen()
	below := "concentration against time at " + count(len(chosen), "place", "places")
	switch n := len(r.curves); {
	case n == 0:
		below = "no place with a name is reached"
	case n > len(chosen):
		below = fmt.Sprintf("concentration against time at %d of %d places", len(chosen), n)
	}
	c.heading(oneLine(r.title()), below)
	c.axes(r.moments(x, 8), y.decades(), "mg/L")
	for i, course := range chosen {
		s := lineStroke(i)
		var line []drawing.Point
		for _, q := range r.points(course, r.intakeAt(course.place)) {
			line = append(line, drawing.Point{X: x.at(math.Max(0, math.Min(x.high, q.h))), Y: y.at(math.Max(low, math.Log10(q.c)))})
		}
		c.Line(line, s)
		c.entry(i, oneLine(nameOfPlace(course)), s)
	}
	return c.Picture
}

func nameOfPlace(c *course) string {
	return nameOf(&plume.Intake{Name: c.place.Name, River: c.place.River, RiverMile: c.place.Mile})
}

// chosen are the curves of the picture.
func (r *Report) chosen() []*course {
	n := min(len(r.curves), maxLines)
	var list []*course
	for i := range n {
		at := i
		if n > 1 {
			at = i * (len(r.curves) - 1) / (n - 1)
		}
		list = append(list, &r.curves[at])
	}
	return list
}

// lineStroke has four colours; the fifth line begins again, dashed.
func lineStroke(i int) drawing.Stroke {
	s := drawing.Stroke{Width: 2,
		Colour: []color.RGBA{{0x00, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0x00, 255}, {0x00, 0x9e, 0x73, 255}, ink}[i%4]}
	if i >= 4 {
		s.Dash = 6
	}
	return s
}

// mapPicture is river mile against time, one plot below the other for each river.
func (r *Report) mapPicture() *drawing.Picture {
	var shown []*field
	for i := range r.rivers {
		if f := &r.rivers[i]; f.peak > 0 && len(shown) < maxMaps {
			shown = append(shown, f)
		}
	}
	p := drawing.New(plotWidth, plotHeight*float64(max(1, len(shown))))
	for i, f := range shown {
		r.mapOf(chart{p, plotHeight * float64(i)}, f)
	}
	if len(shown) == 0 {
		chart{p, 0}.heading(oneLine(r.title()), "no concentration reaches the tolerance")
	}
	return p
}

// mapOf draws one river.
func (r *Report) mapOf(c chart, f *field) {
	low, high := logarithms(r.tolerance(), r.highest())
	x, last := r.hoursScale(frameLeft, frameRight)
	y := scale{f.miles[0], f.miles[f.bins()], c.top + frameTop, c.top + frameBottom}
	c.heading(oneLine(f.name+": "+r.title()), "river mile against time, downstream below")
	c.axes(r.moments(x, 8), y.ticks(8), "mile")
	c.Image(drawing.Point{X: frameLeft, Y: c.top + frameTop}, drawing.Point{X: x.at(last) - frameLeft, Y: frameBottom - frameTop}, f.heat(r.columns.n, low, high))
	for _, m := range r.marks(f, y, 16) {
		c.Line([]drawing.Point{{X: frameLeft, Y: m.at}, {X: frameRight, Y: m.at}}, drawing.Stroke{Colour: ink, Width: 0.8, Dash: 4})
		c.Text(drawing.Point{X: frameRight - 4, Y: m.at - 3}, oneLine(m.Text), drawing.Words{Colour: ink, Size: textSize, Anchor: drawing.End, Most: (frameRight - frameLeft) / 2})
	}
	s := r.series(f.name)
	lead, trail := lineStroke(3), lineStroke(5) // as on the page
	r.edge(c, s.LeadingEdgeMile, x, y, lead)
	r.edge(c, s.TrailingEdgeMile, x, y, trail)
	c.entry(0, "leading edge", lead)
	c.entry(1, "trailing edge", trail)
	const left, wide = frameLeft + 2*entryWidth, 110.0
	c.Text(drawing.Point{X: left, Y: c.top + 62}, label(math.Pow(10, low)), drawing.Words{Colour: ink, Size: textSize, Anchor: drawing.End})
	c.Image(drawing.Point{X: left + 6, Y: c.top + 52}, drawing.Point{X: wide, Y: 12}, ramp())
	c.Text(drawing.Point{X: left + wide + 12, Y: c.top + 62}, label(math.Pow(10, high))+" mg/L", drawing.Words{Colour: ink, Size: textSize})
}

// edge draws an edge, a line for each stretch without a gap.
func (r *Report) edge(c chart, miles []*float64, x, y scale, s drawing.Stroke) {
	var run []drawing.Point
	for i := 0; i < len(miles); i += r.columns.group {
		if miles[i] == nil {
			c.Line(run, s)
			run = nil
			continue
		}
		run = append(run, drawing.Point{X: x.at(r.since(r.columns.times[i])), Y: y.at(*miles[i])})
	}
	c.Line(run, s)
}
