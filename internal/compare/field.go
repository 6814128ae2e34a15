package compare

import "math"

// Field sums up how one field of one document differs.
type Field struct {
	Document string `json:"document"`
	Name     string `json:"field"`
	Unit     string `json:"unit"`
	// Tolerance is nil where the field is reported and not judged.
	Tolerance *Tolerance `json:"tolerance"`
	Compared  int        `json:"compared"`
	Different int        `json:"different"` // not equal
	Beyond    int        `json:"beyond"`    // the tolerance
	OnlyOne   int        `json:"only_one"`  // has a value in one result
	// Largest is the largest difference and At where it is; 0 and "" for none.
	Largest float64 `json:"largest"`
	At      string  `json:"largest_at"`
}

// field is the summary of a field, made when it is first asked for.
func (c *comparison) field(document, name string) *Field {
	key := document + " " + name
	f := c.fields[key]
	if f == nil {
		f = &Field{Document: document, Name: name, Unit: Fields()[name], Tolerance: c.limits.of(name)}
		c.fields[key] = f
		c.report.Fields = append(c.report.Fields, f)
	}
	return f
}

// add counts a pair of values; where says where it is. It reports whether the
// pair is beyond the tolerance.
func (f *Field) add(a, b float64, where func() string) bool {
	return f.addDistance(distance(a, b), a, b, where)
}

// addDistance is add where the distance of the values is known otherwise.
func (f *Field) addDistance(d, a, b float64, where func() string) bool {
	f.Compared++
	if d == 0 {
		return false
	}
	f.Different++
	if d > f.Largest {
		f.Largest, f.At = d, where()
	}
	if f.Tolerance == nil || d <= f.Tolerance.allows(a, b) {
		return false
	}
	f.Beyond++
	return true
}

// alone counts a value that one result has and the other cannot have.
func (f *Field) alone(beyond bool) {
	f.OnlyOne++
	if beyond && f.Tolerance != nil {
		f.Beyond++
	}
}

// distance is |a-b|, and a number even where that is too large for one.
func distance(a, b float64) float64 { return min(math.Abs(a-b), math.MaxFloat64) }
