package river

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	_ "time/tzdata" // neither small containers nor Windows have a zone database

	"rsmsjob/internal/reason"
)

// DispersionKind says how a basin gives the dispersion of a branch.
type DispersionKind int

// The kinds.
const (
	DispersionNone        DispersionKind = iota // not given: to be estimated
	DispersionDQQ                               // factor DQQ = D/(U^2*DT)
	DispersionCoefficient                       // D, m2/s
)

// Dispersion is the longitudinal dispersion of a branch as its basin gives it.
type Dispersion struct {
	Kind  DispersionKind
	Value float64 // DQQ, dimensionless, or D in m2/s
	// StepMinutes is the DT for which a DQQ was given. At another step the
	// same D needs DQQ*StepMinutes/step.
	StepMinutes float64
}

// Basin is what basin.json says. The zero value is a basin that says nothing.
type Basin struct {
	File         string
	Name         string
	Zone         *time.Location // of times without zone; nil: none given
	ThresholdMgL float64        // level of concern at intakes; 0: none
	Contact      string         // whom a reader of a report may ask; "": nobody

	dispersion map[int]branchDispersion // by branch; 0 is the basin's own
	hydrology  map[string][]Hydrology   // by river, sorted by mile
}

type branchDispersion struct {
	Dispersion
	line, column int
}

// Bounds of basin.json.
const (
	maxDQQ            = 100
	maxCoefficient    = 1e5 // m2/s
	defaultDQQMinutes = 15
)

// ParseBasin reads basin.json:
//
//	{"name": …, "time_zone": "America/New_York", "intakes_threshold_mg_l": x,
//	 "dispersion": {"dqq": x | "coefficient_m2_s": x, "dqq_step_minutes": 15,
//	                "branches": {"3": {"dqq": x | "coefficient_m2_s": x}}},
//	 "contact": "duty desk, +1 555 0100",
//	 "hydrology": [{"river": …, "river_mile": x, "drainage_area_km2": x, "mean_flow_m3_s": x}]}
//
// All of it is optional; null is absent. Unknown names give a warning, so that
// a misspelt one is seen. The faults of the error name line and column. Where
// the file is missing, the zero Basin stands for it.
func ParseBasin(data []byte, file string) (*Basin, []Warning, error) {
	doc, err := openDocument(data, file)
	if err != nil {
		return nil, nil, err
	}
	p := &basinParser{doc: doc, warn: warnings{file: file}}
	b := &Basin{File: file, dispersion: make(map[int]branchDispersion)}
	p.object(doc.root, func(m member) bool {
		switch m.name {
		case "name":
			b.Name = p.name(m)
		case "time_zone":
			b.Zone = p.zone(m)
		case "intakes_threshold_mg_l":
			b.ThresholdMgL = p.number(m, column{above: true, high: 1e6})
		case "dispersion":
			p.dispersion(m.value, b.dispersion)
		case "contact":
			b.Contact = p.name(m)
		case "hydrology":
			b.hydrology = p.hydrology(m)
		default:
			return false
		}
		return true
	})
	if err := p.faults.Err(); err != nil {
		return nil, p.warn.all(), err
	}
	return b, p.warn.all(), nil
}

// Validate checks that the branches that the basin names are in the network.
func (b *Basin) Validate(n *Network) error {
	var faults reason.List
	for _, branch := range slices.Sorted(maps.Keys(b.dispersion)) {
		if branch > len(n.Branches) && faults.Len() < maxFaults {
			d := b.dispersion[branch]
			faults.Add(&reason.Fault{File: b.File, Line: d.line, Column: d.column, Field: "branches",
				Problem: fmt.Sprintf("branch %d is not in the network, which has the branches 1 to %d", branch, len(n.Branches))})
		}
	}
	return faults.Err()
}

// Dispersion returns what the basin says of a branch (1-based): its own value,
// else that of the whole basin, else DispersionNone.
func (b *Basin) Dispersion(branch int) Dispersion {
	if d, ok := b.dispersion[branch]; ok {
		return d.Dispersion
	}
	return b.dispersion[0].Dispersion
}

// basinParser reads values of basin.json and keeps what is wrong.
type basinParser struct {
	doc    *document
	warn   warnings
	faults reason.List
}

// object hands each member of an object that is not null to read, which
// returns false for a name it does not know.
func (p *basinParser) object(v value, read func(member) bool) {
	members, err := p.doc.members(v)
	p.faults.Merge(err)
	for _, m := range members {
		if string(m.value.text) == "null" || p.faults.Len() >= maxFaults {
			continue
		}
		if !read(m) {
			line, _ := p.doc.position(m.offset)
			p.warn.add(line, "the name %s is not known and is left out", quoted(m.name))
		}
	}
}

func (p *basinParser) fault(m member, problem, text string) {
	p.faults.Add(p.doc.fault(m.value.offset, &reason.Fault{Field: m.name, Problem: problem, Text: text}))
}

// string returns a value that must be one.
func (p *basinParser) string(m member) (string, bool) {
	text, ok := m.value.decode().(string)
	if !ok {
		p.fault(m, "must be a string", string(m.value.text))
	}
	return text, ok
}

func (p *basinParser) name(m member) string {
	text, _ := p.string(m)
	if problem := nameProblem(text); problem != "" {
		p.fault(m, problem, text)
	}
	return text
}

// zone returns a time zone of the IANA database.
func (p *basinParser) zone(m member) *time.Location {
	text, ok := p.string(m)
	if !ok {
		return nil
	}
	zone, err := time.LoadLocation(text)
	// "" and Local would be the zone of the machine or UTC by accident.
	if err != nil || text == "" || text == "Local" {
		p.fault(m, "must be a time zone of the IANA database like America/New_York", text)
		return nil
	}
	return zone
}

// number returns a value that must be a number within the bounds of c.
func (p *basinParser) number(m member, c column) float64 {
	n, ok := m.value.decode().(json.Number)
	v, _ := numberOf(n)
	if !ok || !c.within(v) {
		p.fault(m, c.wants(), string(m.value.text))
		return 0
	}
	return v
}

// dispersion reads the dispersion of the basin and of its branches into to.
func (p *basinParser) dispersion(v value, to map[int]branchDispersion) {
	minutes := float64(defaultDQQMinutes)
	d := p.oneDispersion(v, func(m member) bool {
		switch m.name {
		case "dqq_step_minutes":
			minutes = p.number(m, column{low: minStepMinutes, high: maxStepMinutes})
		case "branches":
			p.object(m.value, func(m member) bool { return p.branch(m, to) })
		default:
			return false
		}
		return true
	})
	to[0] = d
	for branch, d := range to {
		if d.Kind == DispersionDQQ {
			d.StepMinutes = minutes
			to[branch] = d
		}
	}
}

// branch reads the dispersion of one branch, whose name is its number.
func (p *basinParser) branch(m member, to map[int]branchDispersion) bool {
	branch, err := strconv.Atoi(m.name)
	if err != nil || branch < 1 || branch > maxBranch || strconv.Itoa(branch) != m.name {
		p.faults.Add(p.doc.fault(m.offset, &reason.Fault{Field: "branches",
			Problem: fmt.Sprintf("must be named by branch numbers from 1 to %d", maxBranch), Text: m.name}))
		return true
	}
	d := p.oneDispersion(m.value, func(member) bool { return false })
	d.line, d.column = p.doc.position(m.offset)
	if d.Kind != DispersionNone {
		to[branch] = d
	}
	return true
}

// oneDispersion reads dqq or coefficient_m2_s, at most one of the two, and
// hands every other member to read.
func (p *basinParser) oneDispersion(v value, read func(member) bool) branchDispersion {
	var d branchDispersion
	p.object(v, func(m member) bool {
		kind, bounds := DispersionDQQ, column{high: maxDQQ}
		switch m.name {
		case "dqq":
		case "coefficient_m2_s":
			kind, bounds.high = DispersionCoefficient, maxCoefficient
		default:
			return read(m)
		}
		if d.Kind != DispersionNone {
			p.fault(m, "dqq and coefficient_m2_s are both given", "")
		}
		d.Kind, d.Value = kind, p.number(m, bounds)
		return true
	})
	return d
}
