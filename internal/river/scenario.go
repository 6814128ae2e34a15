package river

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rsmsjob/internal/reason"
)

// ReleaseShape is how the rate of a release goes over its duration.
type ReleaseShape string

// The shapes of the contract.
const (
	ReleaseConstant    ReleaseShape = "constant"
	ReleaseLinear      ReleaseShape = "linear"      // falls linearly to 0
	ReleaseExponential ReleaseShape = "exponential" // falls to 1/100 of the start
)

// FlowSource is where the flows of a run come from.
type FlowSource string

// The sources of the contract.
const (
	FlowBasin FlowSource = "basin" // FLOW.IN as it is
	FlowNFQ   FlowSource = "nfq"   // NFQ.csv replaces the boundary flows
)

// Scenario is one spill, checked. Fields are named and measured as the columns
// of the contract; optional quantities are 0 where they were not given.
type Scenario struct {
	Name                   string
	SpillRiver             string  // "" where the basin has one river
	SpillMile              float64 // river mile
	SpillTime              time.Time
	SpillMassKg            float64 // 0 where the volume is given
	SpillVolumeL           float64 // 0 where the mass is given
	DensityKgPerL          float64 // with SpillVolumeL
	SpillDurationHours     float64 // 0: within one time step
	ReleaseShape           ReleaseShape
	HalfLifeHours          float64 // 0: no loss
	SimulationHours        float64
	TimeStepMinutes        float64
	OutputIntervalMinutes  float64
	ConcentrationTolerance float64 // mg/L
	ThresholdMgL           float64 // 0: none
	FlowSource             FlowSource
	FlowScale              float64 // factor on every flow
}

// ScenarioDefaults is what counts where a scenario says nothing.
type ScenarioDefaults struct {
	ConcentrationTolerance float64        // mg/L, above 0
	ThresholdMgL           float64        // 0: none
	Zone                   *time.Location // for times without zone; nil: such a time is a fault
}

// ParseScenario checks the columns of a scenario. Values are those of decoded
// JSON or of a table: strings, bools, json.Number or Go numbers, time.Time;
// nil is absent. Unknown columns are ignored. The error holds a *reason.Fault
// for every rule that is broken, with the name of the column.
func ParseScenario(columns map[string]any, defaults ScenarioDefaults) (*Scenario, error) {
	p := &scenarioParser{columns: columns, known: make(map[string]column), zone: defaults.Zone}
	for _, c := range scenarioColumns() {
		p.known[c.name] = c
	}
	s := &Scenario{
		Name:                   p.text("Name"),
		SpillRiver:             p.text("SpillRiver"),
		SpillMile:              p.number("SpillMile"),
		SpillTime:              p.time("SpillTime"),
		SpillMassKg:            p.number("SpillMassKg"),
		SpillVolumeL:           p.number("SpillVolumeL"),
		DensityKgPerL:          p.number("DensityKgPerL"),
		SpillDurationHours:     p.number("SpillDurationHours"),
		ReleaseShape:           ReleaseShape(p.word("ReleaseShape")),
		HalfLifeHours:          p.number("HalfLifeHours"),
		SimulationHours:        p.number("SimulationHours"),
		TimeStepMinutes:        p.number("TimeStepMinutes"),
		OutputIntervalMinutes:  p.number("OutputIntervalMinutes"),
		ConcentrationTolerance: p.number("ConcentrationTolerance"),
		ThresholdMgL:           p.number("ThresholdMgL"),
		FlowSource:             FlowSource(p.word("FlowSource")),
		FlowScale:              p.number("FlowScale"),
	}
	if !p.given("ConcentrationTolerance") {
		s.ConcentrationTolerance = defaults.ConcentrationTolerance
	}
	if !p.given("ThresholdMgL") {
		s.ThresholdMgL = defaults.ThresholdMgL
	}
	p.mass(s)
	p.times(s)
	if err := p.faults.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// scenarioParser reads columns one by one and keeps what is wrong.
type scenarioParser struct {
	columns map[string]any
	known   map[string]column
	zone    *time.Location
	faults  reason.List
	bad     []string // columns with a fault: rules between columns skip them
}

func (p *scenarioParser) fault(f *reason.Fault) {
	p.faults.Add(f)
	p.bad = append(p.bad, f.Field)
}

// given reports whether a column is there and not null.
func (p *scenarioParser) given(name string) bool { return p.columns[name] != nil }

// sound reports whether none of the columns has a fault of its own.
func (p *scenarioParser) sound(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.bad, name) })
}

func (p *scenarioParser) text(name string) string {
	if !p.given(name) {
		return ""
	}
	text, ok := p.columns[name].(string)
	if !ok {
		p.fault(&reason.Fault{Field: name, Problem: "must be a string"})
		return ""
	}
	text = strings.TrimSpace(text)
	if problem := nameProblem(text); problem != "" {
		p.fault(&reason.Fault{Field: name, Problem: problem, Text: text})
	}
	return text
}

func (p *scenarioParser) word(name string) string {
	words := p.known[name].words
	if !p.given(name) {
		return words[0]
	}
	text, ok := p.columns[name].(string)
	if !ok {
		p.fault(&reason.Fault{Field: name, Problem: "must be a string"})
	} else if !slices.Contains(words, text) {
		p.fault(&reason.Fault{Field: name, Problem: "must be one of " + strings.Join(words, ", "), Text: text})
	}
	return text
}

// number reads a number column, with its default where it is absent.
func (p *scenarioParser) number(name string) float64 {
	c := p.known[name]
	if !p.given(name) {
		if c.needed {
			p.fault(&reason.Fault{Field: name, Problem: "is missing"})
		}
		return c.initial
	}
	v, ok := numberOf(p.columns[name])
	if !ok {
		p.fault(&reason.Fault{Field: name, Problem: "must be a number, not " + kindOf(p.columns[name])})
		return 0
	}
	if !c.within(v) {
		p.fault(&reason.Fault{Field: name, Problem: c.wants(), Text: strconv.FormatFloat(v, 'g', -1, 64)})
		return 0
	}
	return v
}

func (p *scenarioParser) time(name string) time.Time {
	switch v := p.columns[name].(type) {
	case nil:
		p.fault(&reason.Fault{Field: name, Problem: "is missing"})
	case time.Time:
		t := v.UTC().Truncate(time.Second)
		if y := t.Year(); y < minYear || y > maxYear {
			p.fault(&reason.Fault{Field: name, Problem: fmt.Sprintf("must lie in the years %d to %d", minYear, maxYear)})
		}
		return t
	case string:
		t, problem := parseTime(strings.TrimSpace(v), p.zone)
		if problem != nil {
			p.fault(&reason.Fault{Field: name, Problem: problem.problem, Text: v, Hint: problem.hint})
		}
		return t
	default:
		p.fault(&reason.Fault{Field: name, Problem: "must be a string with a time, not " + kindOf(v)})
	}
	return time.Time{}
}

// mass checks that the mass is given in exactly one way.
func (p *scenarioParser) mass(s *Scenario) {
	mass, volume, density := p.given("SpillMassKg"), p.given("SpillVolumeL"), p.given("DensityKgPerL")
	const ways = "give SpillMassKg, or SpillVolumeL with DensityKgPerL"
	switch {
	case mass && (volume || density):
		p.fault(&reason.Fault{Field: "SpillMassKg", Problem: "the mass is given in two ways", Hint: ways})
	case !mass && !volume && !density:
		p.fault(&reason.Fault{Field: "SpillMassKg", Problem: "is missing", Hint: ways})
	case !mass && !density:
		p.fault(&reason.Fault{Field: "DensityKgPerL", Problem: "is missing", Hint: ways})
	case !mass && !volume:
		p.fault(&reason.Fault{Field: "SpillVolumeL", Problem: "is missing", Hint: ways})
	case !mass && p.sound("SpillVolumeL", "DensityKgPerL") && !(s.MassKg() > 0 && s.MassKg() <= maxMassKg):
		p.fault(&reason.Fault{Field: "SpillVolumeL", Problem: "makes a mass beyond " + plain(maxMassKg) + " kg"})
	}
}

// times checks step, output interval, simulation and release against each
// other.
func (p *scenarioParser) times(s *Scenario) {
	const simulation, step, output, release = "SimulationHours", "TimeStepMinutes", "OutputIntervalMinutes", "SpillDurationHours"
	if p.sound(simulation, release) && s.SpillDurationHours > s.SimulationHours {
		p.fault(&reason.Fault{Field: release, Problem: "the release is longer than the simulation"})
	}
	if p.sound(simulation, step) && s.Steps() > maxSteps {
		p.fault(&reason.Fault{Field: step, Problem: fmt.Sprintf("makes %d steps; %d at most", s.Steps(), maxSteps), Hint: "take a longer step or a shorter simulation"})
	}
	if !p.sound(output) {
		return
	}
	interval := milliseconds(s.OutputIntervalMinutes)
	if interval%1000 != 0 {
		p.fault(&reason.Fault{Field: output, Problem: "must be whole seconds: outputs are named by them"})
	}
	if p.sound(step) && interval%s.stepMilliseconds() != 0 {
		p.fault(&reason.Fault{Field: output, Problem: "must be a multiple of TimeStepMinutes"})
	}
	if p.sound(simulation) && interval > milliseconds(s.SimulationHours*60) {
		p.fault(&reason.Fault{Field: output, Problem: "is longer than the simulation"})
	}
}

// numberOf returns the number that a decoded value is.
func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		// Out of range: the bounds of the column refuse it by its size.
		return f, err == nil || errors.Is(err, strconv.ErrRange)
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// kindOf names the kind of a decoded value in words of JSON, with its article.
func kindOf(v any) string {
	switch v.(type) {
	case string, time.Time:
		return "a string"
	case bool:
		return "a bool"
	case json.Number, float64, int, int32, int64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a value of another kind"
}
