package river

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"rsmsjob/internal/reason"
)

// Feature is what stands at a place of the index, "" where nothing is said.
type Feature string

// The features of the contract.
const (
	Intake     Feature = "intake"
	Gauge      Feature = "gauge"
	Dam        Feature = "dam"
	Confluence Feature = "confluence"
	Landmark   Feature = "landmark"
)

// Place is one row of the index: a grid of the network and its river mile.
type Place struct {
	Branch, Grid        int // 1-based, as in FLOW.IN
	River               string
	Mile                float64 // river mile, 0..9999.9999, whole ten-thousandths
	Latitude, Longitude float64 // degrees, only with HasPosition
	HasPosition         bool
	Name                string
	Feature             Feature
	Line                int // line of the index file

	branchColumn, gridColumn, mileColumn int // for faults, in characters
}

// Index is the river-mile index of a basin.
type Index struct {
	File   string  // base name, for errors
	Places []Place // sorted by branch, then grid

	downstream map[string]int // by river; set by Bind
}

// Spot is a point on the water.
type Spot struct {
	Branch   int
	Distance float64 // along the branch, in its distance units
	// Grid is the grid that stands exactly there, 0 where none does.
	Grid int
	// Upstream is the last grid at or above the spot: the subreach that
	// begins at it holds the spot. At the end of a branch it is the last grid.
	Upstream int
}

// Bounds of the index.
const (
	maxBranch = 999       // three digits in keys
	maxGrid   = 99999     // five digits in BLTM.FLW
	maxMile   = 9999.9999 // four digits and four decimals in keys
	maxRiver  = 64        // characters of a river name
	maxName   = 200       // characters of any other name
)

// ParseIndex reads RiverMileIndex.csv: a header and one row per place, with
// the columns branch, grid, river, river_mile and, where they are there,
// latitude, longitude, name, feature. The faults of the error name line and
// column. Whether the places exist and the miles make sense is for Bind.
func ParseIndex(r io.Reader, file string) (*Index, []Warning, error) {
	t, err := openTable(r, file, "branch", "grid", "river", "river_mile")
	if err != nil {
		return nil, nil, err
	}
	x := &Index{File: file}
	warn := &warnings{file: file}
	rivers := make(map[string]Place) // by name in lower case: the first place
	for t.next() {
		p, ok := x.place(t, warn)
		if !ok {
			continue
		}
		name := strings.ToLower(p.River)
		first, seen := rivers[name]
		if !seen {
			rivers[name] = p
		} else if first.River != p.River {
			t.faultIn("river", &reason.Fault{Problem: fmt.Sprintf("differs from the river of line %d in case only", first.Line), Text: p.River})
		}
		x.Places = append(x.Places, p)
	}
	if len(x.Places) == 0 && t.faults.Len() == 0 {
		t.faults.Add(&reason.Fault{File: file, Problem: "has no places"})
	}
	if err := t.faults.Err(); err != nil {
		return nil, warn.all(), err
	}
	x.sort(warn)
	return x, warn.all(), nil
}

// sort puts the places in the order of branch and grid.
func (x *Index) sort(warn *warnings) {
	for i := 1; i < len(x.Places); i++ {
		if placeOrder(x.Places[i-1], x.Places[i]) > 0 {
			warn.add(x.Places[i].Line, "the row is out of the order of branch and grid; the rows were sorted")
			slices.SortStableFunc(x.Places, placeOrder)
			return
		}
	}
}

func placeOrder(a, b Place) int {
	return cmp.Or(cmp.Compare(a.Branch, b.Branch), cmp.Compare(a.Grid, b.Grid))
}

// place reads the row at hand.
func (x *Index) place(t *table, warn *warnings) (Place, bool) {
	before := t.faults.Len()
	p := Place{Line: t.line(), River: t.text("river"), Name: t.text("name")}
	p.Branch, _ = t.integer("branch", 1, maxBranch)
	p.Grid, _ = t.integer("grid", 1, maxGrid)
	p.Mile, _ = t.number("river_mile", 0, maxMile)
	p.Mile = roundMile(p.Mile)
	p.branchColumn = t.column(t.columns["branch"])
	p.gridColumn = t.column(t.columns["grid"])
	p.mileColumn = t.column(t.columns["river_mile"])
	if problem := riverProblem(p.River); problem != "" {
		t.faultIn("river", outside(p.River, problem))
	}
	if problem := nameProblem(p.Name); problem != "" {
		t.faultIn("name", outside(p.Name, problem))
	}
	t.setPosition(&p)
	p.Feature = feature(t, warn)
	return p, t.faults.Len() == before
}

// setPosition reads latitude and longitude: both or neither.
func (t *table) setPosition(p *Place) {
	latitude, longitude := t.text("latitude"), t.text("longitude")
	switch {
	case latitude == "" && longitude == "":
		return
	case latitude == "":
		t.faultIn("latitude", &reason.Fault{Problem: "is blank where longitude is given"})
		return
	case longitude == "":
		t.faultIn("longitude", &reason.Fault{Problem: "is blank where latitude is given"})
		return
	}
	p.Latitude, _ = t.number("latitude", -90, 90)
	p.Longitude, _ = t.number("longitude", -180, 180)
	p.HasPosition = true
}

// feature reads what stands at a place. A word of another vocabulary is no
// reason to refuse an index, but an intake misspelt must not go unseen.
func feature(t *table, warn *warnings) Feature {
	text := t.text("feature")
	switch f := Feature(strings.ToLower(text)); f {
	case "", Intake, Gauge, Dam, Confluence, Landmark:
		return f
	}
	warn.add(t.line(), "feature %s is none of intake, gauge, dam, confluence, landmark and is left out", quoted(text))
	return ""
}

// roundMile rounds to what a key can hold, so that two miles are equal exactly
// when their keys are. It turns -0 into 0.
func roundMile(mile float64) float64 {
	if mile = math.Round(mile*1e4) / 1e4; mile == 0 {
		return 0
	}
	return mile
}

// riverProblem says what is wrong with a river name, which becomes a key.
func riverProblem(name string) string {
	for _, r := range name {
		if !(r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ._-", r))) {
			return "may hold only letters A-Z and a-z, digits, space, dot, underscore and hyphen: it becomes a key"
		}
	}
	if n := len(name); n < 1 || n > maxRiver {
		return fmt.Sprintf("must have 1 to %d characters", maxRiver)
	}
	return ""
}

// nameProblem says what is wrong with a name for people.
func nameProblem(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "holds a control character"
	}
	if utf8.RuneCountInString(name) > maxName {
		return fmt.Sprintf("has more than %d characters", maxName)
	}
	return ""
}

// Rivers returns the names of the rivers, sorted.
func (x *Index) Rivers() []string {
	var names []string
	for i := range x.Places {
		names = append(names, x.Places[i].River)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Downstream returns +1 where the miles of a river rise downstream, -1 where
// they fall, and 0 where the index has one place of it or is not bound yet.
func (x *Index) Downstream(river string) int { return x.downstream[river] }
