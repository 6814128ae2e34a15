package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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

// Picture writes one of Pictures.
func (r *Report) Picture(w io.Writer, name string) error {
	plots := r.curvePlot
	if strings.HasPrefix(name, "report-map") {
		plots = r.mapPlots
	}
	list, err := plots()
	if err != nil {
		return fmt.Errorf("draw %s: %w", name, err)
	}
	if err := paint(w, name[strings.LastIndexByte(name, '.')+1:], list); err != nil {
		return fmt.Errorf("draw %s: %w", name, err)
	}
	return nil
}

// paint writes plots below each other.
func paint(w io.Writer, format string, plots []*plot.Plot) error {
	const width, height = 22 * vg.Centimeter, 12 * vg.Centimeter
	canvas, err := draw.NewFormattedCanvas(width, height*vg.Length(len(plots)), format)
	if err != nil {
		return err
	}
	whole := draw.New(canvas)
	for i, p := range plots {
		bottom := height * vg.Length(len(plots)-1-i)
		part := draw.Crop(whole, 0, 0, bottom, 0)
		part.Max.Y = part.Min.Y + height
		p.Draw(draw.Crop(part, 4*vg.Millimeter, -6*vg.Millimeter, 3*vg.Millimeter, -4*vg.Millimeter))
	}
	_, err = canvas.WriteTo(w)
	return err
}

// maxLines is how many curves a picture may have and still be read.
const maxLines = 8

// curvePlot is the concentration at the places, evenly chosen where there are many.
func (r *Report) curvePlot() ([]*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = shortened(oneLine(r.title()), 70)
	p.X.Label.Text = "hours from " + clock(r.start())
	p.Y.Label.Text = "mg/L"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, marks{}
	p.Add(plotter.NewGrid())
	low, high := logarithms(r.tolerance(), r.highest())
	p.Y.Min, p.Y.Max = math.Pow(10, low), math.Pow(10, high)
	p.X.Min, p.X.Max = 0, math.Max(r.Scenario.SimulationHours, 1)
	chosen := r.chosen()
	for i, c := range chosen {
		var line plotter.XYs
		for _, q := range r.points(c, r.intakeAt(c.place)) {
			line = append(line, plotter.XY{X: q.h, Y: math.Max(q.c, p.Y.Min)})
		}
		l, err := plotter.NewLine(line)
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = lineColour(i), vg.Points(1.6)
		if i >= 4 {
			l.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(l)
		p.Legend.Add(shortened(oneLine(nameOfPlace(c)), 28), l)
	}
	p.Legend.Top = true
	if n := len(r.curves); n > len(chosen) {
		p.Title.Text += fmt.Sprintf("\n%d of %d places", len(chosen), n)
	}
	return []*plot.Plot{p}, nil
}

func nameOfPlace(c *course) string {
	if c.place.Name == "" {
		return c.place.River + " mile " + mile(c.place.Mile)
	}
	return c.place.Name
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

// lineColour has four colours; the fifth line begins again, dashed.
func lineColour(i int) color.Color {
	return []color.Color{color.RGBA{0x00, 0x72, 0xb2, 255}, color.RGBA{0xd5, 0x5e, 0x00, 255}, color.RGBA{0x00, 0x9e, 0x73, 255}, color.RGBA{0x11, 0x11, 0x11, 255}}[i%4]
}

// marks are those of a logarithmic axis, by powers of ten.
type marks struct{}

// Ticks is called by the plot with the ends of the axis.
func (marks) Ticks(low, high float64) []plot.Tick {
	s := scale{low: math.Log10(low), high: math.Log10(high), from: 0, to: 1}
	var list []plot.Tick
	for _, t := range s.decades() {
		var v float64
		if _, err := fmt.Sscan(t.Text, &v); err == nil {
			list = append(list, plot.Tick{Value: v, Label: t.Text})
		}
	}
	return list
}

// maxMaps is how many rivers the picture of the map has: the first that were reached.
const maxMaps = 4

// mapPlots is river mile against time, one below the other for each river.
func (r *Report) mapPlots() ([]*plot.Plot, error) {
	var list []*plot.Plot
	low, high := logarithms(r.tolerance(), r.highest())
	for i := range r.rivers {
		f := &r.rivers[i]
		if f.peak == 0 || len(list) == maxMaps {
			continue
		}
		p := plot.New()
		p.Title.Text = fmt.Sprintf("%s: %s\nlight to dark: %s to %s mg/L", f.name, shortened(oneLine(r.title()), 60), label(math.Pow(10, low)), label(math.Pow(10, high)))
		p.X.Label.Text, p.Y.Label.Text = "hours from "+clock(r.start()), "river mile, downstream below"
		x, last := r.hoursScale(0, 1)
		// The plot's axis rises; where miles rise downstream it is turned over.
		top, bottom := f.miles[0], f.miles[f.bins()]
		if f.sense > 0 {
			p.Y.Tick.Marker = turned{}
			top, bottom = -top, -bottom
		}
		p.Add(plotter.NewImage(f.heat(r.columns.n, low, high), x.low, bottom, last, top))
		for k, miles := range [][]*float64{r.series(f.name).LeadingEdgeMile, r.series(f.name).TrailingEdgeMile} {
			if err := r.addEdges(p, miles, float64(-f.sense), lineColour(3-2*k)); err != nil {
				return nil, err
			}
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		p := plot.New()
		p.Title.Text = shortened(oneLine(r.title()), 70) + "\nno concentration reaches the tolerance"
		list = append(list, p)
	}
	return list, nil
}

// addEdges draws an edge, a line for each stretch without a gap.
func (r *Report) addEdges(p *plot.Plot, miles []*float64, sense float64, c color.Color) error {
	var run plotter.XYs
	flush := func() error {
		if len(run) == 0 {
			return nil
		}
		l, err := plotter.NewLine(slices.Clone(run))
		if err != nil {
			return err
		}
		l.Color, l.Width = c, vg.Points(1.2)
		p.Add(l)
		run = run[:0]
		return nil
	}
	for i := 0; i < len(miles); i += r.columns.group {
		if miles[i] == nil {
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		run = append(run, plotter.XY{X: r.since(r.columns.times[i]), Y: sense * *miles[i]})
	}
	return flush()
}

// turned marks an axis whose values are negative miles.
type turned struct{}

// Ticks is called by the plot with the ends of the axis.
func (turned) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		ticks[i].Label = strings.TrimPrefix(ticks[i].Label, "-")
	}
	return ticks
}
