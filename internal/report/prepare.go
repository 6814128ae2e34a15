package report

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"rsmsjob/internal/ensemble"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// prepared are facts that every form can show without a look at what a document
// lacks: names that cannot turn the text around them, series as long as their
// times, intakes in the order of the water. What it changes is copied.
func (f Facts) prepared() Facts {
	f.BasinName, f.Contact = unturned(f.BasinName), unturned(f.Contact)
	if f.Scenario != nil {
		s := *f.Scenario
		s.Name = unturned(s.Name)
		f.Scenario = &s
	}
	f.Warnings = slices.Clone(f.Warnings)
	for i, w := range f.Warnings {
		f.Warnings[i] = unturned(w)
	}
	f.Edges = aligned(f.Edges, f.Balance.Time)
	f.Intakes = slices.Clone(f.Intakes)
	for i := range f.Intakes {
		f.Intakes[i].Name = unturned(f.Intakes[i].Name)
	}
	f.Observed = slices.Clone(f.Observed)
	for i := range f.Observed {
		f.Observed[i].Name = unturned(f.Observed[i].Name)
	}
	f.Places = slices.Clone(f.Places)
	for i := range f.Places {
		f.Places[i].Name = unturned(f.Places[i].Name)
	}
	f.Ensemble = unturnedNames(f.Ensemble)
	f.order()
	f.Places = f.places()
	return f
}

func unturnedNames(e *ensemble.Document) *ensemble.Document {
	if e == nil {
		return nil
	}
	d := *e
	d.Intakes = slices.Clone(d.Intakes)
	for i := range d.Intakes {
		d.Intakes[i].Name = unturned(d.Intakes[i].Name)
	}
	return &d
}

// places are those of the index; where it is gone, the intakes at least, on a
// branch that is not known.
func (f *Facts) places() []river.Place {
	if len(f.Places) > 0 {
		return f.Places
	}
	var list []river.Place
	for _, in := range f.Intakes {
		list = append(list, river.Place{River: in.River, Mile: in.RiverMile, Name: in.Name, Feature: river.Intake})
	}
	return list
}

// order sorts the intakes the way the water goes, river by river: that of the spill
// first, then as the rivers stand in the document.
func (f *Facts) order() {
	rank := map[string]int{}
	if f.Scenario != nil && f.Scenario.SpillRiver != "" {
		rank[f.Scenario.SpillRiver] = 0
	}
	for _, s := range f.Edges {
		if _, known := rank[s.River]; !known {
			rank[s.River] = len(rank)
		}
	}
	for _, in := range f.Intakes {
		if _, known := rank[in.River]; !known {
			rank[in.River] = len(rank)
		}
	}
	senses := map[string]float64{}
	for name := range rank {
		senses[name] = float64(f.sense(name))
	}
	down := func(in *plume.Intake) float64 { return senses[in.River] * in.RiverMile }
	slices.SortStableFunc(f.Intakes, func(a, b plume.Intake) int {
		return cmp.Or(cmp.Compare(rank[a.River], rank[b.River]), cmp.Compare(down(&a), down(&b)))
	})
}

// sense is +1 where the miles of a river rise downstream, else -1: as the index has
// it, or as its plume moved.
func (f *Facts) sense(name string) int {
	if s := f.Downstream[name]; s != 0 {
		return s
	}
	for i := range f.Edges {
		if f.Edges[i].River == name {
			return moved(&f.Edges[i])
		}
	}
	return 1
}

// moved is +1 where miles rise downstream, else -1, from where the plume was: its
// leading edge is ahead of the trailing one, and later ahead of where it was. A
// plume that stays at one place does not tell.
func moved(s *plume.EdgeSeries) int {
	var first, last *float64
	for i, lead := range s.LeadingEdgeMile {
		trail := s.TrailingEdgeMile[i]
		if lead == nil {
			continue
		}
		if *lead != *trail {
			return cmp.Compare(*lead, *trail)
		}
		if first == nil {
			first = lead
		}
		last = lead
	}
	if first != nil && *last < *first {
		return -1
	}
	return 1
}

// aligned are the edges with a value for each time, nil where a document has none;
// all rivers have the times of the first, or those of the ledger where it has none.
// Times that do not rise are none.
func aligned(edges []plume.EdgeSeries, ledger []time.Time) []plume.EdgeSeries {
	if len(edges) == 0 {
		return nil
	}
	times := edges[0].Time
	if len(times) == 0 {
		times = ledger
	}
	for i := 1; i < len(times); i++ {
		if !times[i].After(times[i-1]) {
			times = nil
			break
		}
	}
	list := slices.Clone(edges)
	for i := range list {
		s := &list[i]
		s.Time = slices.Clone(times)
		s.LeadingEdgeMile, s.TrailingEdgeMile = fitted(s.LeadingEdgeMile, times), fitted(s.TrailingEdgeMile, times)
		s.PeakMile, s.PeakMgL = fitted(s.PeakMile, times), fitted(s.PeakMgL, times)
		for k, lead := range s.LeadingEdgeMile { // one edge alone is no plume
			if lead == nil || s.TrailingEdgeMile[k] == nil {
				s.LeadingEdgeMile[k], s.TrailingEdgeMile[k] = nil, nil
			}
		}
	}
	return list
}

// fitted is a copy of a series with a value for each time.
func fitted(series []*float64, times []time.Time) []*float64 {
	list := make([]*float64, len(times))
	copy(list, series)
	return list
}

// unturned is a text without the characters that turn the letters behind them
// round, with which one name can be made to look like another.
func unturned(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return -1
		}
		return r
	}, text)
}

// isolated is a name in the middle of a sentence: one that is written to the left
// must not drag the words behind it along.
func isolated(name string) string {
	for _, r := range name {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko) {
			return "\u2068" + name + "\u2069"
		}
	}
	return name
}
