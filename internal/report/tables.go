package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/river"
)

// IntakesCSV writes the answer for each intake with all its digits; a blank is
// what intakes.json has as null.
func (r *Report) IntakesCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true // spreadsheets ask for it
	rows := [][]string{{"name", "river", "river_mile", "leading_edge", "peak_time", "peak_mg_l", "trailing_edge", "hours_above_threshold"}}
	if r.hasSpread() {
		rows[0] = append(rows[0], spreadColumns()...)
	}
	for i := range r.Intakes {
		in := &r.Intakes[i]
		above := ""
		if in.HoursAboveThreshold != nil {
			above = exact(*in.HoursAboveThreshold)
		}
		row := []string{cell(in.Name), cell(in.River), exact(in.RiverMile), stamp(in.LeadingEdge), stamp(in.PeakTime), exact(in.PeakMgL), stamp(in.TrailingEdge), above}
		if r.hasSpread() {
			row = append(row, r.spreadCells(in)...)
		}
		rows = append(rows, row)
	}
	return ofTable(out.WriteAll(rows))
}

// Curves writes the rows of every intake and every place with a name, as they are in
// the table, one after the other.
type Curves struct {
	out   *csv.Writer
	names map[spot]string
}

// NewCurves begins a table of the places of a result.
func NewCurves(w io.Writer, facts Facts) (*Curves, error) {
	c := &Curves{out: csv.NewWriter(w), names: map[spot]string{}}
	c.out.UseCRLF = true
	for _, p := range facts.prepared().Places {
		if p.Name != "" || p.Feature == river.Intake {
			c.names[spot{p.River, p.Mile, p.Branch}] = cell(p.Name)
		}
	}
	return c, ofTable(c.out.Write([]string{"name", "river", "river_mile", "branch", "time", "elapsed_hours", "concentration_mg_l"}))
}

// Row adds a row of PlumeByTime; one of another place is left out.
func (c *Curves) Row(row plume.Row) error {
	name, ok := c.names[spot{row.River, row.RiverMile, row.Branch}]
	if !ok { // the branches of a basin without an index are not known
		name, ok = c.names[spot{row.River, row.RiverMile, 0}]
	}
	if !ok {
		return nil
	}
	return ofTable(c.out.Write([]string{name, cell(row.River), exact(row.RiverMile), strconv.Itoa(row.Branch), stamp(&row.Time), exact(row.ElapsedHours), exact(row.ConcentrationMgL)}))
}

// Close ends the table.
func (c *Curves) Close() error {
	c.out.Flush()
	return ofTable(c.out.Error())
}

// cell keeps a name from being taken for a formula by a spreadsheet.
func cell(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + name
	}
	return name
}

func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func ofTable(err error) error {
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// Map writes the plume as GeoJSON, a point per row with its time, row by row.
type Map struct {
	w    io.Writer
	at   map[spot]river.Place
	some bool // whether there is a row already
	lost int  // rows without a position
}

// NewMap begins a map of places, some of which must have a position.
func NewMap(w io.Writer, places []river.Place) (*Map, error) {
	m := &Map{w: w, at: map[spot]river.Place{}}
	for _, p := range places {
		if p.HasPosition {
			m.at[spot{p.River, p.Mile, p.Branch}] = p
		}
	}
	if len(places) == 0 {
		return nil, reason.New(reason.InvalidBasin, "RiverMileIndex.csv is missing or cannot be read now; a map needs its columns latitude and longitude")
	}
	if len(m.at) == 0 {
		return nil, reason.New(reason.InvalidBasin, "RiverMileIndex.csv has no columns latitude and longitude; a map needs them")
	}
	_, err := io.WriteString(w, `{"type":"FeatureCollection","features":[`)
	return m, ofTable(err)
}

// feature is one point of the map.
type feature struct {
	Type     string `json:"type"`
	Geometry struct {
		Type        string     `json:"type"`
		Coordinates [2]float64 `json:"coordinates"` // longitude, latitude
	} `json:"geometry"`
	Properties properties `json:"properties"`
}

type properties struct {
	Time             time.Time `json:"time"`
	ElapsedHours     float64   `json:"elapsed_hours"`
	River            string    `json:"river"`
	RiverMile        float64   `json:"river_mile"`
	ConcentrationMgL float64   `json:"concentration_mg_l"`
}

// Row adds a row of PlumeByTime; one whose place has no position is left out.
func (m *Map) Row(row plume.Row) error {
	p, ok := m.at[spot{row.River, row.RiverMile, row.Branch}]
	if !ok {
		m.lost++
		return nil
	}
	f := feature{Type: "Feature", Properties: properties{row.Time.UTC(), row.ElapsedHours, row.River, row.RiverMile, row.ConcentrationMgL}}
	f.Geometry.Type, f.Geometry.Coordinates = "Point", [2]float64{p.Longitude, p.Latitude}
	text, err := json.Marshal(f)
	if err != nil {
		return ofTable(err)
	}
	if m.some {
		text = append([]byte(",\n"), text...)
	}
	m.some = true
	_, err = m.w.Write(text)
	return ofTable(err)
}

// Close ends the map and returns how many rows are not in it because their place has
// no position.
func (m *Map) Close() (lost int, err error) {
	_, err = io.WriteString(m.w, "]}\n")
	return m.lost, ofTable(err)
}
