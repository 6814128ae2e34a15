package river

import (
	"encoding/json"
	"math"
)

// column is one column of a scenario: what it holds and what it may hold. The
// parser and the schema both go by it.
type column struct {
	name    string
	kind    columnKind
	note    string   // for the schema: meaning and unit
	low     float64  // numbers: smallest value, excluded with above
	high    float64  // numbers: largest value
	above   bool     // low itself is not allowed
	words   []string // words: those allowed, the first is the default
	initial float64  // numbers: default, 0 for none
	needed  bool     // must be there
}

type columnKind int

const (
	textColumn columnKind = iota
	numberColumn
	timeColumn
	wordColumn
)

// Bounds of absurdity: nothing beyond them was meant.
const (
	maxMassKg          = 1e9
	maxVolumeL         = 4e9
	minDensity         = 0.3 // kg/L
	maxDensity         = 25
	maxSimulationHours = 8760
	minStepMinutes     = 0.1
	maxStepMinutes     = 1440
	maxSteps           = 200_000
)

// scenarioColumns returns the columns of the contract that a scenario gives.
func scenarioColumns() []column {
	return []column{
		{name: "Name", kind: textColumn, note: "name of the scenario"},
		{name: "SpillRiver", kind: textColumn, note: "river of the spill; optional where the basin has one river"},
		{name: "SpillMile", kind: numberColumn, needed: true, high: maxMile, note: "river mile of the spill: any mile inside the index"},
		{name: "SpillTime", kind: timeColumn, needed: true, note: "time of the spill, RFC 3339"},
		{name: "SpillMassKg", kind: numberColumn, above: true, high: maxMassKg, note: "mass, kg; or SpillVolumeL with DensityKgPerL"},
		{name: "SpillVolumeL", kind: numberColumn, above: true, high: maxVolumeL, note: "volume, litres; with DensityKgPerL"},
		{name: "DensityKgPerL", kind: numberColumn, low: minDensity, high: maxDensity, note: "density, kg per litre; with SpillVolumeL"},
		{name: "SpillDurationHours", kind: numberColumn, high: maxSimulationHours, note: "duration of the release, hours; 0 is within one time step"},
		{name: "ReleaseShape", kind: wordColumn, words: []string{string(ReleaseConstant), string(ReleaseLinear), string(ReleaseExponential)},
			note: "rate of the release over its duration: constant, falling linearly to 0, or falling exponentially to 1/100"},
		{name: "HalfLifeHours", kind: numberColumn, above: true, high: 1e9, note: "half-life of a first-order loss, hours; absent for none"},
		{name: "SimulationHours", kind: numberColumn, above: true, high: maxSimulationHours, initial: 48, note: "simulated time from the spill, hours"},
		{name: "TimeStepMinutes", kind: numberColumn, low: minStepMinutes, high: maxStepMinutes, initial: 15, note: "time step, minutes"},
		{name: "OutputIntervalMinutes", kind: numberColumn, low: minStepMinutes, high: maxSimulationHours * 60, initial: 60, note: "time between outputs, minutes: a multiple of the time step"},
		{name: "ConcentrationTolerance", kind: numberColumn, above: true, high: 1e6, note: "smallest concentration that counts, mg/L; absent for that of the worker"},
		{name: "ThresholdMgL", kind: numberColumn, above: true, high: 1e6, note: "level of concern at intakes, mg/L; absent for that of the basin"},
		{name: "FlowSource", kind: wordColumn, words: []string{string(FlowBasin), string(FlowNFQ)}, note: "flows as FLOW.IN has them, or from NFQ.csv"},
		{name: "FlowScale", kind: numberColumn, low: 1e-3, high: 1e3, initial: 1, note: "factor on every flow"},
	}
}

// wants says in fixed words what a number column wants.
func (c *column) wants() string {
	if c.above {
		return "must be a number above " + plain(c.low) + " and at most " + plain(c.high)
	}
	return "must be a number from " + plain(c.low) + " to " + plain(c.high)
}

// within reports whether a number is finite and within the bounds.
func (c *column) within(v float64) bool {
	return !math.IsNaN(v) && v <= c.high && (v > c.low || v == c.low && !c.above)
}

// schemaProperty is one property of the JSON Schema, in the order of writing.
type schemaProperty struct {
	Description      string   `json:"description"`
	Type             []string `json:"type"`
	Format           string   `json:"format,omitempty"`
	MaxLength        int      `json:"maxLength,omitempty"`
	Enum             []any    `json:"enum,omitempty"`
	Minimum          *float64 `json:"minimum,omitempty"`
	ExclusiveMinimum *float64 `json:"exclusiveMinimum,omitempty"`
	Maximum          *float64 `json:"maximum,omitempty"`
	Default          any      `json:"default,omitempty"`
}

// property describes a column. null stands for absent.
func (c *column) property() schemaProperty {
	p := schemaProperty{Description: c.note, Type: []string{"string", "null"}}
	switch c.kind {
	case textColumn:
		p.MaxLength = maxName
	case timeColumn:
		// RFC 3339 unless the basin names its zone, so no format is claimed.
	case wordColumn:
		for _, w := range c.words {
			p.Enum = append(p.Enum, w)
		}
		p.Enum = append(p.Enum, nil)
		p.Default = c.words[0]
	case numberColumn:
		p.Type[0] = "number"
		p.Maximum = &c.high
		p.Minimum = &c.low
		if c.above {
			p.Minimum, p.ExclusiveMinimum = nil, &c.low
		}
		if c.initial != 0 {
			p.Default = c.initial
		}
	}
	if c.needed {
		p.Type = p.Type[:1]
	}
	return p
}

// ScenarioSchema returns the JSON Schema (draft 2020-12) of a scenario. What
// columns ask of each other, but for the ways of giving the mass, is not in it.
func ScenarioSchema() []byte {
	type object map[string]any
	properties := make(map[string]schemaProperty)
	var needed []string
	for _, c := range scenarioColumns() {
		properties[c.name] = c.property()
		if c.needed {
			needed = append(needed, c.name)
		}
	}
	number, null := object{"type": "number"}, object{"type": "null"}
	schema := object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "rsms-job scenario",
		"description":          "One spill. Other columns are ignored; null is absent.",
		"type":                 "object",
		"properties":           properties,
		"required":             needed,
		"additionalProperties": true,
		"oneOf": []object{
			{"required": []string{"SpillMassKg"},
				"properties": object{"SpillMassKg": number, "SpillVolumeL": null, "DensityKgPerL": null}},
			{"required": []string{"SpillVolumeL", "DensityKgPerL"},
				"properties": object{"SpillMassKg": null, "SpillVolumeL": number, "DensityKgPerL": number}},
		},
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err) // a schema made of constants always marshals
	}
	return append(text, '\n')
}

// ScenarioColumns returns the names of the columns that a scenario gives; all
// others of the row are written by the job or belong to somebody else.
func ScenarioColumns() []string {
	var names []string
	for _, c := range scenarioColumns() {
		names = append(names, c.name)
	}
	return names
}
