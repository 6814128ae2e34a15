// Package report turns a result into what people look at: one self-contained HTML
// page, pictures, a plain message, tables for a spreadsheet and for a map. It takes
// values and rows and knows no path, no clock and no network. Invariants: the same
// result gives the same bytes; a Builder keeps a bounded part of it, whatever the
// number of rows; and the numbers shown are those of the JSON documents, rounded.
package report

import (
	"time"

	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/plausible"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// Facts are what is known of a result besides its rows. Whatever is empty is left
// out: results of older versions know less.
type Facts struct {
	plume.IDs
	BasinName string
	Contact   string         // whom a reader may ask
	Zone      *time.Location // of the basin; nil: times are shown in UTC alone

	Scenario *river.Scenario
	Engine   string // version of the engine set
	// Inputs and Engines are what the numbers come from, by name: SHA-256 of files,
	// version of the program.
	Inputs, Engines map[string]string
	Warnings        []string // of the run

	Edges   []plume.EdgeSeries
	Balance plume.Balance
	Intakes []plume.Intake

	Places []river.Place // of the index
	// Downstream is +1 where the miles of a river rise downstream, -1 where they
	// fall; a river that is not in it is read from the movement of its plume.
	Downstream map[string]int
	Observed   []Observation
	Bands      []Band
	Unbanded   []plume.Intake     // those that would have a band, and whose hydrology is not known
	Ensemble   *ensemble.Document // nil without one
}

// Band is what rivers have shown at one intake, beside the engine.
type Band struct {
	River string
	Mile  float64 // river mile
	plausible.Band
}

// Report is a result with all that its forms show.
type Report struct {
	Facts
	columns columns
	rivers  []field  // those that the plume reached
	curves  []course // places with a name that it reached
	unheld  int      // places with a name that the bound of a report left out
	rows    int
}

// title names the spill for people.
func (r *Report) title() string {
	if r.Scenario != nil && r.Scenario.Name != "" {
		return r.Scenario.Name
	}
	return r.basin() + ", scenario " + r.IDs.Scenario
}

func (r *Report) basin() string {
	if r.BasinName != "" {
		return r.BasinName
	}
	return r.IDs.Basin
}

// start is when the spill began, from which hours count.
func (r *Report) start() time.Time { return r.Scenario.SpillTime }

// tolerance is the smallest concentration of the rows, mg/L.
func (r *Report) tolerance() float64 { return r.Scenario.ConcentrationTolerance }

// intakeAt is the answer for a place, nil where it is no intake.
func (r *Report) intakeAt(p river.Place) *plume.Intake {
	for i := range r.Intakes {
		if in := &r.Intakes[i]; in.River == p.River && in.RiverMile == p.Mile && in.Name == p.Name {
			return in
		}
	}
	return nil
}

// reaches reports whether a place is in the plume for all that is known.
func (r *Report) reaches(p river.Place) bool {
	in := r.intakeAt(p)
	return in != nil && in.LeadingEdge != nil
}

// bandAt is the band at a place, nil where there is none.
func (r *Report) bandAt(river string, mile float64) *Band {
	for i := range r.Bands {
		if b := &r.Bands[i]; b.River == river && b.Mile == mile {
			return b
		}
	}
	return nil
}

// observedAt is what was measured at a place, nil where nothing was.
func (r *Report) observedAt(name string) *Observation {
	for i := range r.Observed {
		if r.Observed[i].Name == name {
			return &r.Observed[i]
		}
	}
	return nil
}
