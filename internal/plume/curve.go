package plume

// Curve is the concentration at one place over time: Hours from the spill,
// rising, and C in mg/L, both of the same length.
type Curve struct {
	Hours []float64
	C     []float64
}

// Reset empties the curve and keeps its memory for the next place.
func (c *Curve) Reset() { c.Hours, c.C = c.Hours[:0], c.C[:0] }

// Add appends one sample; hours must be later than the last one.
func (c *Curve) Add(hours, concentration float64) {
	c.Hours = append(c.Hours, hours)
	c.C = append(c.C, concentration)
}

// Peak returns the highest sample and its time, the first one where several
// are equal; 0, 0 for an empty curve.
func (c *Curve) Peak() (hours, concentration float64) {
	for i, v := range c.C {
		if i == 0 || v > concentration {
			hours, concentration = c.Hours[i], v
		}
	}
	return hours, concentration
}

// FirstAt returns when the curve first reaches level, interpolated linearly
// between samples. ok is false when it never does.
func (c *Curve) FirstAt(level float64) (hours float64, ok bool) {
	for i, v := range c.C {
		if v < level {
			continue
		}
		if i == 0 {
			return c.Hours[0], true
		}
		return crossing(c.Hours[i-1], c.C[i-1], c.Hours[i], v, level), true
	}
	return 0, false
}

// LastAt returns when the curve falls below level for the last time. ok is
// false when it never reaches level or is still there at its end.
func (c *Curve) LastAt(level float64) (hours float64, ok bool) {
	for i := len(c.C) - 1; i >= 0; i-- {
		if c.C[i] < level {
			continue
		}
		if i == len(c.C)-1 {
			return 0, false
		}
		return crossing(c.Hours[i], c.C[i], c.Hours[i+1], c.C[i+1], level), true
	}
	return 0, false
}

// HoursAbove returns how long the curve is above level, linear between samples.
func (c *Curve) HoursAbove(level float64) float64 {
	var sum float64
	for i := 1; i < len(c.C); i++ {
		h0, h1, v0, v1 := c.Hours[i-1], c.Hours[i], c.C[i-1], c.C[i]
		switch {
		case v0 >= level && v1 >= level:
			if v0 > level || v1 > level {
				sum += h1 - h0
			}
		case v0 > level:
			sum += crossing(h0, v0, h1, v1, level) - h0
		case v1 > level:
			sum += h1 - crossing(h0, v0, h1, v1, level)
		}
	}
	return sum
}

// crossing is where the line from (h0, v0) to (h1, v1) meets level, which lies
// between v0 and v1; they differ.
func crossing(h0, v0, h1, v1, level float64) float64 {
	return h0 + (h1-h0)*(level-v0)/(v1-v0)
}
