package report

import (
	"math"
	"strconv"
	"time"
)

// scale maps values to lengths in a picture.
type scale struct {
	low, high float64 // values
	from, to  float64 // lengths of low and high
}

func (s scale) at(v float64) float64 {
	if s.low == s.high {
		return s.from
	}
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

// tick is a mark on an axis.
type tick struct {
	at   float64 // length
	Text string
}

// At is where the mark stands, as the page writes it.
func (t tick) At() string { return coordinate(t.at) }

// nice returns round values from low to high, about n of them, none where these are
// no numbers.
func nice(low, high float64, n int) []float64 {
	switch {
	case math.IsNaN(high-low) || math.IsInf(high-low, 0):
		return nil
	case !(high > low):
		return []float64{low}
	}
	raw := (high - low) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, m := range []float64{1, 2, 5} {
		if m*unit >= raw*0.999 {
			step = m * unit
			break
		}
	}
	var list []float64
	// Where steps are lost in the digits of low, k does not move; so it is counted.
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9 && len(list) <= 2*n; k++ {
		list = append(list, k*step)
	}
	return list
}

// ticks marks round values on a scale.
func (s scale) ticks(n int) []tick {
	low, high := math.Min(s.low, s.high), math.Max(s.low, s.high)
	var list []tick
	for _, v := range nice(low, high, n) {
		if math.Abs(v) < (high-low)*1e-9 {
			v = 0
		}
		list = append(list, tick{s.at(v), label(v)})
	}
	return list
}

// label is a round number without its rounding error.
func label(v float64) string {
	if size := math.Abs(v); size != 0 && (size < 1e-3 || size >= 1e6) {
		return strconv.FormatFloat(round(v), 'g', -1, 64)
	}
	return strconv.FormatFloat(round(v), 'f', -1, 64)
}

// round keeps ten digits.
func round(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 10, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// decades marks powers of ten on a scale of logarithms to base ten, ten at most.
func (s scale) decades() []tick {
	const most = 8
	if !(s.low >= -2*mostDecades && s.high <= 2*mostDecades) {
		return nil
	}
	every := math.Max(1, math.Ceil((s.high-s.low)/most))
	var list []tick
	for d := math.Ceil(s.low - 1e-9); d <= s.high+1e-9; d++ {
		if math.Mod(d, every) == 0 {
			list = append(list, tick{s.at(d), label(math.Pow(10, d))})
		}
	}
	return list
}

// mostDecades bounds what a picture shows: 10 to the power of it and of its negative.
const mostDecades = 30

// logarithms is the range of a picture whose concentrations run from the tolerance
// to the peak, whole decades, one at least.
func logarithms(tolerance, peak float64) (low, high float64) {
	within := func(c float64) float64 {
		return math.Max(math.Pow(10, -mostDecades), math.Min(math.Pow(10, mostDecades), c)) // NaN stays, and is no scale
	}
	low, high = math.Floor(math.Log10(within(tolerance))+1e-9), math.Ceil(math.Log10(within(peak))-1e-9)
	return low, math.Max(high, low+1)
}

// moments marks times on a scale of hours from the spill: hours in UTC, and the
// day where it begins.
func (r *Report) moments(s scale, n int) []tick {
	const century = 876_600 // hours; beyond it are the times of no spill
	span := s.high - s.low
	if !(span >= 0 && s.low > -century && s.high < century) {
		return nil
	}
	step := 24 * math.Ceil(span/24/float64(n))
	for _, m := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440} {
		if span*60/m <= float64(n) {
			step = m / 60
			break
		}
	}
	every := time.Duration(math.Round(step*60)) * time.Minute
	var list []tick
	day := ""
	for t := r.after(s.low).UTC().Truncate(every); r.since(t) <= s.high && len(list) <= n+1; t = t.Add(every) {
		if r.since(t) < s.low {
			continue
		}
		text := t.Format("15:04")
		if d := t.Format("2 Jan"); d != day {
			day, text = d, d
			if t.Hour() != 0 || t.Minute() != 0 {
				text += t.Format(" 15:04")
			}
		}
		list = append(list, tick{s.at(r.since(t)), text})
	}
	return list
}
