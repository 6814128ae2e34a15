package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Tolerance is how far two values may be apart: Abs, in the unit of the field,
// and Rel of the larger one, together.
type Tolerance struct {
	Abs float64 `json:"abs"`
	Rel float64 `json:"rel"`
}

// allows is the largest difference that counts as none. A difference that is a
// rounding error away from it is not beyond it.
func (t Tolerance) allows(a, b float64) float64 {
	const slack = 1 + 1e-9
	return (t.Abs + t.Rel*max(math.Abs(a), math.Abs(b))) * slack
}

func (t *Tolerance) String() string {
	switch {
	case t == nil:
		return "not judged"
	case t.Rel == 0:
		return fmt.Sprintf("%.6g", t.Abs)
	}
	return fmt.Sprintf("%.6g + %.6g %%", t.Abs, 100*t.Rel)
}

const (
	// concentrationRel is a tenth of a percent. Engines hand their numbers on in
	// text of fixed width, with four digits or more: two that compute the same
	// are closer than this, and no river is known as well.
	concentrationRel = 1e-3
	// timeMinutes is the accuracy of times that people act on.
	timeMinutes = 1
	// hours is a rounding error of a time in hours.
	hours = 1e-6
	// massRel is the part of the released mass that two ledgers may disagree by:
	// a tenth of what a run may lose without being refused.
	massRel = 1e-3
)

// Fields are the names of what is compared, with their units.
func Fields() map[string]string {
	return map[string]string{
		"ConcentrationMgL": "mg/L", "ElapsedHours": "h", "Grid": "",
		"leading_edge": "min", "peak_time": "min", "trailing_edge": "min", "peak_mg_l": "mg/L", "hours_above_threshold": "h",
		"leading_edge_mile": "mile", "trailing_edge_mile": "mile", "peak_mile": "mile", "mass_kg": "kg",
		"injected_kg": "kg", "in_river_kg": "kg", "outflow_kg": "kg", "decayed_kg": "kg", "withdrawn_kg": "kg", "error_kg": "kg",
	}
}

// Options are the tolerances that a user wants instead of the defaults, and
// what a comparison needs to be made.
type Options struct {
	Abs, Rel *float64             // of every concentration; Abs in mg/L
	Fields   map[string]Tolerance // by the names of Fields
	// Scratch opens a temporary file, which is needed where the results do not
	// have the same places in the same order. Its errors carry a reason.
	Scratch func() (Scratch, error)
}

// limits are the tolerances of a comparison by field. A field without one is
// reported and not judged.
type limits map[string]Tolerance

// limits are the defaults, and what the user wants instead.
//
// Concentrations may differ by what the results themselves hold for nothing,
// the tolerance of the coarser one. Miles of edges and peaks are not judged:
// they jump from one place to the next when a cell passes the tolerance by a
// hair, which the cells themselves tell better.
func (o *Options) limits(a, b *Result) limits {
	l := limits{"ElapsedHours": {Abs: hours}, "Grid": {}, "hours_above_threshold": {Abs: timeMinutes / 60.0}}
	concentration := Tolerance{Abs: max(a.toleranceMgL(), b.toleranceMgL()), Rel: concentrationRel}
	if o.Abs != nil {
		concentration.Abs = *o.Abs
	}
	if o.Rel != nil {
		concentration.Rel = *o.Rel
	}
	released := max(a.balance.Final.InjectedKg, b.balance.Final.InjectedKg)
	for name, unit := range Fields() {
		switch unit {
		case "mg/L":
			l[name] = concentration
		case "min":
			l[name] = Tolerance{Abs: timeMinutes}
		case "kg":
			l[name] = Tolerance{Abs: massRel * released}
		}
	}
	maps.Copy(l, o.Fields)
	return l
}

// of is the tolerance of a field, nil where it is not judged.
func (l limits) of(name string) *Tolerance {
	if t, ok := l[name]; ok {
		return &t
	}
	return nil
}

// ParseTolerance reads FIELD=ABS or FIELD=ABS:REL.
func ParseTolerance(text string) (field string, t Tolerance, err error) {
	field, numbers, ok := strings.Cut(text, "=")
	if !ok {
		return "", t, fmt.Errorf("%q is not FIELD=ABS or FIELD=ABS:REL", text)
	}
	if _, known := Fields()[field]; !known {
		return "", t, fmt.Errorf("there is no field %q; there are: %s", field, strings.Join(slices.Sorted(maps.Keys(Fields())), ", "))
	}
	abs, rel, both := strings.Cut(numbers, ":")
	if t.Abs, err = ParseBound(abs); err == nil && both {
		t.Rel, err = ParseBound(rel)
	}
	if err != nil {
		return "", t, fmt.Errorf("%s: %w", field, err)
	}
	return field, t, nil
}

// ParseBound reads one number of a tolerance.
func ParseBound(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is not a number from 0 on", text)
	}
	return x, nil
}
