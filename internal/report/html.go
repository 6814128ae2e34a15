package report

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"rsmsjob/internal/plausible"
)

//go:embed page
var files embed.FS

// page is what the template of the page shows.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	Title, Outcome   string
	Facts            []fact
	Cautions         []string
	Intakes          []intakeRow
	Local, Banded    bool // whether times are shown in the basin's zone too, and whether there is a band
	ZoneName         string
	Concern          string
	Curves, More     []curveView
	LeftOut          string // how many curves the page has no room for, "" for none
	LeftRows         string // how many intakes, likewise
	LeftRivers       string // how many rivers, likewise
	Unbanded         string // for which intakes there is no band, "" for none
	Scripted         bool   // whether the page needs its script
	Rivers           []riverView
	Motion           *motions
	Ramp             template.URL
	RampLow          string
	RampHigh         string
	Mass             *massView
	Sources, Engines []fact
	Rows             int
	Tolerance        string
	Thinned          bool
	Spread           *spreadView // nil without an ensemble
	Measured         bool        // whether a curve shows measurements
	Contact          string
}

// fact is a line of the headline or of the end.
type fact struct{ Name, Text string }

// moment is a time in the forms that the page has it.
type moment struct{ ISO, Clock, Local string }

// intakeRow is a row of the table of intakes.
type intakeRow struct {
	Name, River, Mile, MileExact string
	Lead, Peak, Trail            *moment
	Reached                      bool
	PeakMgL, PeakExact           string
	Above, AboveExact            string
	Probable, Fastest            *passage
	ArriveHours, PeakHours       string // of the engine, "" where there is none
	Outside                      string
}

// passage is one case of the band: hours from the release, mg/L.
type passage struct{ Lead, Peak, Trail, PeakMgL string }

// motions is what the script moves.
type motions struct {
	Times  []string `json:"times"` // of the columns, as they are shown
	Top    float64  `json:"top"`   // lengths of the highest and the lowest level
	Bottom float64  `json:"bottom"`
	Left   float64  `json:"left"` // lengths of the two ends of a river
	Right  float64  `json:"right"`
	Start  int      `json:"start"` // column that is shown first
	Rivers []motion `json:"rivers"`
}

// Bounds of the page.
const (
	firstCurves   = 24        // that are seen before a reader asks for more
	maxPage       = 1_900_000 // bytes, which curves keep within
	maxIntakeRows = 800       // of a table
	maxRivers     = 24
)

// HTML writes the page: one file that needs no other and asks no network.
func (r *Report) HTML(w io.Writer) error {
	style, err := files.ReadFile("page/page.css")
	if err != nil {
		return fmt.Errorf("read the style of the page: %w", err)
	}
	script, err := files.ReadFile("page/page.js")
	if err != nil {
		return fmt.Errorf("read the script of the page: %w", err)
	}
	t, err := template.ParseFS(files, "page/page.gohtml")
	if err != nil {
		return fmt.Errorf("read the template of the page: %w", err)
	}
	p, err := r.page()
	if err != nil {
		return err
	}
	p.Style, p.Script = template.CSS(style), template.JS(script)
	// Only these very bytes may run; a name that got out of its place could not.
	p.Policy = fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script))
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func (r *Report) page() (*page, error) {
	ramp, err := dataURL(ramp())
	if err != nil {
		return nil, err
	}
	low, high := logarithms(r.tolerance(), r.highest())
	p := &page{Title: r.title(), Outcome: r.outcome(), Facts: r.facts(), Cautions: r.cautions(), Local: r.Zone != nil, Banded: len(r.Bands) > 0, Unbanded: r.unbanded(),
		Ramp: template.URL(ramp), RampLow: label(math.Pow(10, low)), RampHigh: label(math.Pow(10, high)), Mass: r.massView(), Rows: r.rows,
		Tolerance: number(r.tolerance()), Thinned: r.thin() > 1 || r.columns.group > 1, Contact: r.Contact,
		Spread: r.spreadView(), Sources: hashes(r.Inputs), Engines: hashes(r.Engines)}
	if r.Zone != nil {
		p.ZoneName = r.Zone.String()
	}
	if c := r.Scenario.ThresholdMgL; c > 0 {
		p.Concern = number(c)
	}
	for _, i := range r.shownIntakes() {
		p.Intakes = append(p.Intakes, r.intakeRow(i))
	}
	if left := len(r.Intakes) - len(p.Intakes); left > 0 {
		p.LeftRows = count(left, "intake", "intakes")
	}
	var moving []motion
	if p.Rivers, moving, err = r.riverViews(); err != nil {
		return nil, err
	}
	if left := r.wet() - len(p.Rivers); left > 0 {
		p.LeftRivers = count(left, "river", "rivers")
	}
	p.Curves = r.curveViews(r.room(p))
	if left := len(r.curves) - len(p.Curves) + r.unheld; left > 0 {
		p.LeftOut = count(left, "place", "places")
	}
	p.Measured = slices.ContainsFunc(p.Curves, func(c curveView) bool { return len(c.Observed) > 0 })
	if len(p.Curves) > firstCurves {
		p.Curves, p.More = p.Curves[:firstCurves], p.Curves[firstCurves:]
	}
	p.Scripted = len(moving)+len(p.More) > 0
	if len(moving) > 0 {
		p.Motion = &motions{Top: profileTop, Bottom: profileLo, Left: profileLeft, Right: profileRight, Rivers: moving, Start: r.firstColumn()}
		for c := range r.columns.n {
			t, _ := r.columns.span(c)
			p.Motion.Times = append(p.Motion.Times, r.both(t))
		}
	}
	return p, nil
}

// shownIntakes are those that the tables of the page have room for: those that are
// reached before others, in the order of the water.
func (r *Report) shownIntakes() []int {
	var reached, clean []int
	for i := range r.Intakes {
		if r.Intakes[i].LeadingEdge != nil {
			reached = append(reached, i)
		} else {
			clean = append(clean, i)
		}
	}
	reached = reached[:min(len(reached), maxIntakeRows)]
	list := append(reached, clean[:min(len(clean), maxIntakeRows-len(reached))]...)
	slices.Sort(list)
	return list
}

// room is how many bytes the curves may take in the page: what the rest leaves of
// maxPage.
func (r *Report) room(p *page) int {
	const frame, row, passing, label = 60_000, 900, 60, 200
	left := maxPage - frame - len(p.Cautions)*label
	rows := len(p.Intakes)
	if r.hasSpread() {
		rows += len(p.Intakes)
	}
	left -= rows * row
	for i := range p.Rivers {
		left -= r.columns.n * (passing + p.Rivers[i].bins*4/3)
		left -= len(p.Rivers[i].Heat) + len(p.Rivers[i].Highest) + len(p.Rivers[i].Lead) + len(p.Rivers[i].Trail)
	}
	return left
}

// firstColumn is the column of the highest concentration.
func (r *Report) firstColumn() int {
	best, most := 0, 0.0
	for i := range r.rivers {
		f := &r.rivers[i]
		for c := range r.columns.n {
			for bin := range f.bins() {
				if v := f.at(bin, c, r.columns.n); v > most {
					best, most = c, v
				}
			}
		}
	}
	return best
}

// facts is the headline.
func (r *Report) facts() []fact {
	s := r.Scenario
	list := []fact{
		{"Where", r.where()},
		{"What", r.what()},
		{"When", r.both(s.SpillTime)},
		{"State", "Completed: this is a whole result"},
		{"Basin, scenario, job", r.IDs.Basin + ", " + r.IDs.Scenario + ", " + r.JobID},
		{"Simulated", fmt.Sprintf("%s h in steps of %s min, shown every %s min", number(s.SimulationHours), number(s.TimeStepMinutes), number(s.OutputIntervalMinutes))},
		{"Tolerance", number(r.tolerance()) + " mg/L; arrival and end are where the concentration crosses it"},
		{"Level of concern", number(s.ThresholdMgL) + " mg/L"},
		{"Flows", r.flows()},
		{"Engine", strings.TrimSpace(r.Engine)},
	}
	return slices.DeleteFunc(list, func(f fact) bool {
		return f.Text == "" || f.Name == "Level of concern" && s.ThresholdMgL == 0
	})
}

func (r *Report) flows() string {
	text := "base flows of FLOW.IN"
	if r.Scenario.FlowSource == "nfq" {
		text = "records of NFQ.csv"
	}
	if f := r.Scenario.FlowScale; f != 0 && f != 1 {
		text += ", times " + number(f)
	}
	return text
}

// moment has the exact time and the one that is shown of it.
func (r *Report) moment(t *time.Time, shown func(time.Time) time.Time) *moment {
	if t == nil {
		return nil
	}
	return &moment{t.UTC().Format(time.RFC3339Nano), clock(shown(*t)), r.local(shown(*t))}
}

// nearest is a time that is shown as the nearest minute: of a peak.
func nearest(t time.Time) time.Time { return t.Round(time.Minute) }

func (r *Report) intakeRow(i int) intakeRow {
	in := &r.Intakes[i]
	row := intakeRow{Name: nameOf(in), River: in.River, Mile: mile(in.RiverMile), MileExact: exact(in.RiverMile), Lead: r.moment(in.LeadingEdge, early),
		Peak: r.moment(in.PeakTime, nearest), Trail: r.moment(in.TrailingEdge, late), Reached: in.LeadingEdge != nil, PeakMgL: number(in.PeakMgL), PeakExact: exact(in.PeakMgL)}
	if h := in.HoursAboveThreshold; h != nil {
		row.Above, row.AboveExact = hours(*h), exact(*h)
	}
	if b := r.bandAt(in.River, in.RiverMile); b != nil {
		row.Probable, row.Fastest, row.Outside = passageOf(b.Probable), passageOf(b.Fastest), r.outside(in, b)
		row.ArriveHours, row.PeakHours = r.hoursOf(in.LeadingEdge), r.hoursOf(in.PeakTime)
	}
	return row
}

// hoursOf is a time in hours from the spill, "" for none.
func (r *Report) hoursOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return hours(r.since(*t))
}

func passageOf(p plausible.Passage) *passage {
	return &passage{hours(p.LeadingEdge), hours(p.Peak), hours(p.TrailingEdge), number(p.PeakMgL)}
}

// hashes lists files and their hashes by name.
func hashes(of map[string]string) []fact {
	var list []fact
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fact{name, cmp.Or(of[name], "-")})
	}
	return list
}
