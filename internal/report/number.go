package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// number has four significant digits, which is more than a model knows; without
// an exponent where that is readable.
func number(x float64) string {
	text := strconv.FormatFloat(x, 'g', 4, 64)
	if size := math.Abs(x); size < 1e-4 || size >= 1e7 || !strings.Contains(text, "e") {
		return text
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// exact is a number as the JSON documents have it, as near as a float64.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// mile has two decimals.
func mile(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// hours have two decimals.
func hours(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// coordinate is a length in a picture; what is no number stands at its edge.
func coordinate(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "0"
	}
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

const minute = "2006-01-02 15:04"

// clock is a time in UTC, rounded to the minute.
func clock(t time.Time) string { return t.UTC().Round(time.Minute).Format(minute) + "Z" }

// early is a time that is shown as a minute that is not behind it: of an arrival.
func early(t time.Time) time.Time { return t.UTC().Truncate(time.Minute) }

// late is a time that is shown as a minute that is not before it: of an end.
func late(t time.Time) time.Time {
	if whole := early(t); whole.Before(t) {
		return whole.Add(time.Minute)
	}
	return t
}

// local is a time in the zone of the basin, "" where it has none.
func (r *Report) local(t time.Time) string {
	if r.Zone == nil {
		return ""
	}
	return t.Round(time.Minute).In(r.Zone).Format(minute + " MST")
}

// both is a time in UTC and in the zone of the basin.
func (r *Report) both(t time.Time) string {
	if local := r.local(t); local != "" {
		return clock(t) + " (" + local + ")"
	}
	return clock(t)
}

// after is a time by the hours since the spill, to the second, which hours as a
// float64 still know.
func (r *Report) after(hours float64) time.Time {
	return r.start().Add(time.Duration(math.Round(hours*3600)) * time.Second)
}

// since is the hours from the spill to a time.
func (r *Report) since(t time.Time) float64 { return t.Sub(r.start()).Hours() }

// count is a number of things, with its word.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// shortened cuts a name to n characters, in the middle: names of one operator
// often differ at their ends.
func shortened(name string, n int) string {
	if runes := []rune(name); len(runes) > n {
		return string(runes[:n/2]) + "…" + string(runes[len(runes)-(n-1-n/2):])
	}
	return name
}
