package report

import (
	"fmt"
	"strings"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// what says what was spilled, how much and how.
func (r *Report) what() string {
	s := r.Scenario
	text := number(s.MassKg()) + " kg"
	if s.SpillMassKg == 0 && s.SpillVolumeL > 0 {
		text = fmt.Sprintf("%s L at %s kg/L, that is %s kg", number(s.SpillVolumeL), number(s.DensityKgPerL), number(s.MassKg()))
	}
	switch {
	case s.SpillDurationHours == 0:
		text += ", at once"
	case s.ReleaseShape == river.ReleaseLinear || s.ReleaseShape == river.ReleaseExponential:
		text += fmt.Sprintf(", over %s h, declining (%s)", number(s.SpillDurationHours), s.ReleaseShape)
	default:
		text += fmt.Sprintf(", evenly over %s h", number(s.SpillDurationHours))
	}
	if s.HalfLifeHours > 0 {
		text += fmt.Sprintf("; half of it is lost in %s h", number(s.HalfLifeHours))
	}
	return text
}

// where says where that was.
func (r *Report) where() string {
	name := r.Scenario.SpillRiver
	if name == "" && len(r.Edges) > 0 {
		name = r.Edges[0].River
	}
	text := "mile " + mile(r.Scenario.SpillMile)
	if name != "" {
		text = name + ", " + text
	}
	if r.basin() != name {
		text += " (" + r.basin() + ")"
	}
	return text
}

// reached counts the intakes that the plume reaches.
func (r *Report) reached() int {
	n := 0
	for i := range r.Intakes {
		if r.Intakes[i].LeadingEdge != nil {
			n++
		}
	}
	return n
}

// outcome is the answer in one sentence.
func (r *Report) outcome() string {
	n := r.reached()
	switch {
	case len(r.Intakes) == 0:
		return "This basin has no intakes in its index."
	case n == 0:
		return fmt.Sprintf("The plume reaches none of the %s within %s h.", count(len(r.Intakes), "intake", "intakes"), number(r.Scenario.SimulationHours))
	}
	first := r.first()
	text := fmt.Sprintf("The plume reaches %d of %s. First: %s, from %s", n, count(len(r.Intakes), "intake", "intakes"), isolated(nameOf(first)), clock(early(*first.LeadingEdge)))
	if first.PeakTime != nil {
		text += fmt.Sprintf(", highest %s mg/L at %s", number(first.PeakMgL), clock(*first.PeakTime))
	}
	return text + "."
}

// first is the intake that the plume reaches first.
func (r *Report) first() *plume.Intake {
	var first *plume.Intake
	for i := range r.Intakes {
		in := &r.Intakes[i]
		if in.LeadingEdge != nil && (first == nil || in.LeadingEdge.Before(*first.LeadingEdge)) {
			first = in
		}
	}
	return first
}

func nameOf(in *plume.Intake) string {
	if in.Name == "" {
		return in.River + " mile " + mile(in.RiverMile)
	}
	return in.Name
}

// cautions are the warnings that a reader must see: those of the run, those of the
// band, and that an engine without dead zones lets go too early.
func (r *Report) cautions() []string {
	var list []string
	if r.reached() > 0 {
		list = append(list, "Reopen later than the end given here: water held in dead zones of the bed keeps the tail of a real plume longer. "+
			"Beside tracer studies such an engine puts the 10 % leading edge about 3 % of the travel time too early and the 10 % trailing edge about 4.5 %.")
	}
	for i := range r.Intakes {
		in := &r.Intakes[i]
		if in.LeadingEdge != nil && in.TrailingEdge == nil {
			list = append(list, isolated(nameOf(in))+": the plume is still there when the simulation ends; its end is not known. Run it again with more SimulationHours.")
		}
		if b := r.bandAt(in.River, in.RiverMile); b != nil {
			if text := r.outside(in, b); text != "" {
				list = append(list, isolated(nameOf(in))+": "+text+".")
			}
		}
	}
	for _, w := range folded(r.Warnings) {
		list = append(list, sentence(w))
	}
	return list
}

// folded are warnings with those of the lines of one file in one, where there are
// more than few: they would bury the others.
func folded(warnings []string) []string {
	const few = 3
	all := map[string]int{}
	for _, w := range warnings {
		if file, n := ofLine(w); file != "" {
			all[file] += n
		}
	}
	var list []string
	told := map[string]bool{}
	for _, w := range warnings {
		file, _ := ofLine(w)
		switch {
		case file == "" || all[file] <= few:
			list = append(list, w)
		case !told[file]:
			told[file] = true
			list = append(list, fmt.Sprintf("%s: %d warnings, first: %s", file, all[file], strings.TrimPrefix(w, file+" ")))
		}
	}
	return list
}

// ofLine is the file of a warning about one of its lines, and how many warnings it
// stands for: a list that was cut ends with how many more there are.
func ofLine(warning string) (file string, n int) {
	file, rest, _ := strings.Cut(warning, " ")
	if cut, isCut := strings.CutSuffix(file, ":"); isCut {
		if _, err := fmt.Sscanf(rest, "and %d more warnings", &n); err == nil {
			return cut, n
		}
	}
	var line int
	if _, err := fmt.Sscanf(rest, "line %d:", &line); err != nil {
		return "", 0
	}
	return file, 1
}

// sentence ends a warning with a full stop.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") || text == "" {
		return text
	}
	return text + "."
}
