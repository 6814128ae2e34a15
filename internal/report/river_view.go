package report

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"strings"

	"rsmsjob/internal/plume"
)

// riverView is one river: its heat map and what moves along it.
type riverView struct {
	Name         string
	Heat         template.URL
	Width        string // of the heat map; its columns may reach beyond the last time
	Hours, Miles []tick
	Lead, Trail  string // points of the edges, several runs of them
	Marks        []tick // intakes by mile, in the heat map
	Summary      string
	Across       []tick // miles, in the profile
	Levels       []tick // concentrations, in the profile
	Highest      string // points of the highest along the river
	Crossings    []tick // intakes by mile, in the profile
	Concern      string // length of the level of concern, "" where it is not seen
	Downstream   string
	bins         int
}

// Lengths of the pictures of a river.
const (
	mapLeft, mapRight, mapTop, mapBottom             = 70.0, 880.0, 14.0, 366.0
	profileLeft, profileRight, profileTop, profileLo = 70.0, 880.0, 14.0, 246.0
	nameLen                                          = 36 // characters of a name in a picture
)

// motion is what the page moves along one river.
type motion struct {
	Name  string    `json:"name"`
	X     []float64 `json:"x"`     // bin -> length
	Cells string    `json:"cells"` // base64: column after column, a level 0..255 per bin
	// By column, as the rest of the page writes them; null where there is none.
	Lead  []*string `json:"lead"`
	Trail []*string `json:"trail"`
	Peak  []*string `json:"peak"`
	At    []*string `json:"at"`
}

// hoursScale is the axis of time: each column is as wide as its times.
func (r *Report) hoursScale(from, to float64) (s scale, last float64) {
	c := &r.columns
	step := 1.0
	if len(c.times) > 1 {
		step = c.times[1].Sub(c.times[0]).Hours()
	}
	low := r.since(c.times[0]) - step/2
	return scale{low, r.since(c.times[len(c.times)-1]) + step/2, from, to}, low + step*float64(c.n*c.group)
}

// series is the edges of a river.
func (r *Report) series(name string) *plume.EdgeSeries {
	for i := range r.Edges {
		if r.Edges[i].River == name {
			return &r.Edges[i]
		}
	}
	return &plume.EdgeSeries{}
}

// riverViews draws the rivers that the plume reached.
func (r *Report) riverViews() ([]riverView, []motion, error) {
	var views []riverView
	var motions []motion
	for i := range r.rivers {
		f := &r.rivers[i]
		if f.peak == 0 || len(views) == maxRivers {
			continue
		}
		v, err := r.riverView(f)
		if err != nil {
			return nil, nil, err
		}
		views = append(views, v)
		motions = append(motions, r.motion(f))
	}
	return views, motions, nil
}

// wet counts the rivers that the plume reached.
func (r *Report) wet() int {
	n := 0
	for i := range r.rivers {
		if r.rivers[i].peak > 0 {
			n++
		}
	}
	return n
}

func (r *Report) riverView(f *field) (riverView, error) {
	s := r.series(f.name)
	low, high := logarithms(r.tolerance(), r.highest())
	url, err := dataURL(f.heat(r.columns.n, low, high))
	if err != nil {
		return riverView{}, err
	}
	x, last := r.hoursScale(mapLeft, mapRight)
	y := scale{f.miles[0], f.miles[f.bins()], mapTop, mapBottom}
	across := scale{f.miles[0], f.miles[f.bins()], profileLeft, profileRight}
	up := scale{low, high, profileLo, profileTop}
	v := riverView{Name: f.name, bins: f.bins(), Heat: template.URL(url), Width: coordinate(x.at(last) - mapLeft),
		Hours: r.moments(x, 8), Miles: y.ticks(8), Across: across.ticks(10), Levels: up.decades(),
		Lead: r.runs(s.LeadingEdgeMile, x, y), Trail: r.runs(s.TrailingEdgeMile, x, y), Highest: f.highest(r.columns.n, across, up),
		Downstream: map[int]string{1: "rise", -1: "fall"}[f.sense], Summary: r.along(f, s)}
	v.Marks = r.marks(f, y, 16)
	v.Crossings = r.marks(f, across, 20)
	if c := r.Scenario.ThresholdMgL; c > 0 && math.Log10(c) > low && math.Log10(c) < high {
		v.Concern = coordinate(up.at(math.Log10(c)))
	}
	return v, nil
}

// highest is the peak of all rivers, mg/L, above the tolerance.
func (r *Report) highest() float64 {
	most := r.tolerance()
	for i := range r.rivers {
		most = math.Max(most, r.rivers[i].peak)
	}
	return most
}

// runs are the points of an edge, one run per stretch without a gap, as the data
// of a path. Where there are many times, an edge is drawn through every column.
func (r *Report) runs(miles []*float64, x, y scale) string {
	var b strings.Builder
	gap := true
	for i := 0; i < len(miles); i += r.columns.group {
		if miles[i] == nil {
			gap = true
			continue
		}
		word := "L"
		if gap {
			word, gap = "M", false
		}
		fmt.Fprintf(&b, "%s%s %s", word, coordinate(x.at(r.since(r.columns.times[i]))), coordinate(y.at(*miles[i])))
	}
	return b.String()
}

// highest is the curve of the highest along the river.
func (f *field) highest(columns int, x, y scale) string {
	var b strings.Builder
	for bin := range f.bins() {
		most := 0.0
		for c := range columns {
			most = math.Max(most, f.at(bin, c, columns))
		}
		at := y.from
		if most > 0 {
			at = y.at(math.Log10(most))
		}
		if f.bins() == 1 { // a point would not be seen
			return fmt.Sprintf("%s,%s %s,%s", coordinate(x.from), coordinate(at), coordinate(x.to), coordinate(at))
		}
		fmt.Fprintf(&b, "%s,%s ", coordinate(x.at((f.miles[bin]+f.miles[bin+1])/2)), coordinate(at))
	}
	return strings.TrimSpace(b.String())
}

// marks are the intakes of a river on a scale of miles, without those that would
// stand closer to the one before than apart.
func (r *Report) marks(f *field, s scale, apart float64) []tick {
	var list []tick
	last := math.Inf(-1)
	for _, in := range r.Intakes {
		if in.River != f.name || f.before(in.RiverMile, f.miles[0]) || f.before(f.miles[f.bins()], in.RiverMile) {
			continue
		}
		at := s.at(in.RiverMile)
		if math.Abs(at-last) < apart {
			continue
		}
		last = at
		list = append(list, tick{at, shortened(nameOf(&in), nameLen)})
	}
	return list
}

// along says in words what the pictures of a river show.
func (r *Report) along(f *field, s *plume.EdgeSeries) string {
	first, last := -1, -1
	for i, m := range s.LeadingEdgeMile {
		if m != nil {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return ""
	}
	return fmt.Sprintf("%s: the plume is in the river from %s to %s. At the first of these times it reaches from mile %s to mile %s, at the last from mile %s to mile %s. The highest concentration is %s mg/L.",
		f.name, clock(early(s.Time[first])), clock(late(s.Time[last])), mile(*s.TrailingEdgeMile[first]), mile(*s.LeadingEdgeMile[first]),
		mile(*s.TrailingEdgeMile[last]), mile(*s.LeadingEdgeMile[last]), number(f.peak))
}

// written is a value in a form, nil where there is none.
func written(form func(float64) string, value *float64) *string {
	if value == nil {
		return nil
	}
	text := form(*value)
	return &text
}

// motion is the river column by column.
func (r *Report) motion(f *field) motion {
	s := r.series(f.name)
	low, high := logarithms(r.tolerance(), r.highest())
	across := scale{f.miles[0], f.miles[f.bins()], profileLeft, profileRight}
	m := motion{Name: f.name}
	for bin := range f.bins() {
		middle := (f.miles[bin] + f.miles[bin+1]) / 2
		m.X = append(m.X, math.Round(across.at(middle)*10)/10)
	}
	cells := make([]byte, 0, len(f.cells))
	for c := range r.columns.n {
		for bin := range f.bins() {
			cells = append(cells, byte(level(f.at(bin, c, r.columns.n), low, high, 255)))
		}
		i := c * r.columns.group
		m.Lead, m.Trail = append(m.Lead, written(mile, s.LeadingEdgeMile[i])), append(m.Trail, written(mile, s.TrailingEdgeMile[i]))
		m.Peak, m.At = append(m.Peak, written(number, s.PeakMgL[i])), append(m.At, written(mile, s.PeakMile[i]))
	}
	m.Cells = base64.StdEncoding.EncodeToString(cells)
	return m
}
