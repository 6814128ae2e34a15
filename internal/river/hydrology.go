package river

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"rsmsjob/internal/reason"
)

// Hydrology is what drains to a river mile, and how much of it flows there over
// the years. It serves the plausibility band of a report and no engine.
type Hydrology struct {
	River       string
	Mile        float64 // river mile
	DrainageKm2 float64
	MeanFlow    float64 // m3/s
}

// Bounds of hydrology: no river of the earth is beyond them.
const (
	maxDrainageKm2 = 1e7
	maxMeanFlow    = 1e6 // m3/s
	maxHydrology   = 10_000
)

// HydrologyAt returns drainage and mean flow at a mile, linear between the given
// miles of the river. ok is false outside of them: a basin is not extrapolated.
func (b *Basin) HydrologyAt(river string, mile float64) (h Hydrology, ok bool) {
	given := b.hydrology[river]
	at, found := slices.BinarySearchFunc(given, mile, func(h Hydrology, mile float64) int { return cmp.Compare(h.Mile, mile) })
	switch {
	case found:
		return given[at], true
	case at == 0, at == len(given):
		return Hydrology{}, false
	}
	from, to := given[at-1], given[at]
	part := (mile - from.Mile) / (to.Mile - from.Mile)
	return Hydrology{River: river, Mile: mile, DrainageKm2: from.DrainageKm2 + part*(to.DrainageKm2-from.DrainageKm2),
		MeanFlow: from.MeanFlow + part*(to.MeanFlow-from.MeanFlow)}, true
}

// UnusedHydrology warns of rivers with hydrology that the index does not have: their
// names may be misspelt.
func (b *Basin) UnusedHydrology(x *Index) []Warning {
	warn := &warnings{file: b.File}
	for _, river := range slices.Sorted(maps.Keys(b.hydrology)) {
		if !slices.Contains(x.Rivers(), river) {
			warn.add(0, "hydrology names the river %s, which the index does not have; it is not used", quoted(river))
		}
	}
	return warn.all()
}

// hydrology reads the list of hydrology by river, each sorted by mile.
func (p *basinParser) hydrology(m member) map[string][]Hydrology {
	elements, err := p.doc.elements(m.value)
	if err != nil {
		p.fault(m, "must be a list of objects with river, river_mile, drainage_area_km2 and mean_flow_m3_s", "")
		return nil
	}
	if len(elements) > maxHydrology {
		p.fault(m, fmt.Sprintf("has more than %d entries", maxHydrology), "")
		return nil
	}
	byRiver := map[string][]Hydrology{}
	for _, e := range elements {
		before := p.faults.Len()
		h := p.oneHydrology(e)
		if p.faults.Len() > before {
			continue
		}
		given := byRiver[h.River]
		at, taken := slices.BinarySearchFunc(given, h.Mile, func(h Hydrology, mile float64) int { return cmp.Compare(h.Mile, mile) })
		if taken {
			p.faults.Add(p.doc.fault(e.offset, &reason.Fault{Field: m.name, Problem: "gives a river mile twice", Text: plain(h.Mile)}))
			continue
		}
		byRiver[h.River] = slices.Insert(given, at, h)
	}
	return byRiver
}

// oneHydrology reads one entry, all of whose members are needed.
func (p *basinParser) oneHydrology(v value) Hydrology {
	var h Hydrology
	missing := []string{"river", "river_mile", "drainage_area_km2", "mean_flow_m3_s"}
	p.object(v, func(m member) bool {
		switch m.name {
		case "river":
			text, ok := p.string(m)
			if problem := riverProblem(text); ok && problem != "" {
				p.fault(m, problem, text)
			}
			h.River = text
		case "river_mile":
			h.Mile = roundMile(p.number(m, column{high: maxMile}))
		case "drainage_area_km2":
			h.DrainageKm2 = p.number(m, column{above: true, high: maxDrainageKm2})
		case "mean_flow_m3_s":
			h.MeanFlow = p.number(m, column{above: true, high: maxMeanFlow})
		default:
			return false
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == m.name })
		return true
	})
	for _, name := range missing {
		if v.text[0] == '{' {
			p.faults.Add(p.doc.fault(v.offset, &reason.Fault{Field: "hydrology", Problem: name + " is missing"}))
		}
	}
	return h
}

// elements returns the elements of a list in their order.
func (d *document) elements(v value) ([]value, error) {
	var texts []json.RawMessage
	if err := json.Unmarshal(v.text, &texts); err != nil {
		return nil, fmt.Errorf("read %s: %w", d.file, err)
	}
	list := make([]value, 0, len(texts))
	at := 1 // behind the bracket
	for _, text := range texts {
		for v.text[at] == ',' || v.text[at] == ' ' || v.text[at] == '\t' || v.text[at] == '\r' || v.text[at] == '\n' {
			at++
		}
		list = append(list, value{text: text, offset: v.offset + at})
		at += len(text)
		for at < len(v.text) && (v.text[at] == ' ' || v.text[at] == '\t' || v.text[at] == '\r' || v.text[at] == '\n') {
			at++
		}
	}
	return list, nil
}

// HasHydrology reports whether the basin gives any.
func (b *Basin) HasHydrology() bool { return len(b.hydrology) > 0 }
