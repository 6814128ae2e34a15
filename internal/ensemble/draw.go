// Package ensemble says how far an answer moves when what is not known well is
// varied: it draws the runs of an ensemble and turns what they found at the
// intakes into bands. Invariant: the same options draw the same runs on every
// machine, and the same answers, in whatever order they come, make the same
// document.
package ensemble

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"time"
)

// Options are what an ensemble is drawn from.
type Options struct {
	Runs int   `json:"runs"` // 0 is no ensemble, else 2 to 1000
	Seed int64 `json:"seed"`
	// Dispersion F varies every dispersion factor by 1/F to F, as likely to
	// halve as to double; at least 1.
	Dispersion float64 `json:"vary_dispersion"`
	// Flow P varies every flow by 1-P to 1+P; 0 to less than 1.
	Flow float64 `json:"vary_flow"`
	// Release is by how many hours the release may have been earlier or later.
	Release float64 `json:"vary_release_hours"`
}

// Draw is what one run is made with: factors on dispersion and flows, and hours
// by which the release is later than the scenario says.
type Draw struct {
	DispersionFactor  float64 `json:"dispersion_factor"`
	FlowFactor        float64 `json:"flow_factor"`
	ReleaseShiftHours float64 `json:"release_shift_hours"`
	// FlowLevel, from 1, is the same for runs with the same flows: the flow engine
	// need compute each only once.
	FlowLevel int `json:"flow_level"`
}

// String names a draw in a warning.
func (d Draw) String() string {
	return fmt.Sprintf("dispersion times %s, flow times %s, release %s h later", plain(d.DispersionFactor), plain(d.FlowFactor), plain(d.ReleaseShiftHours))
}

// Shift is by how much the release is later, in whole seconds, as results have
// their times.
func (d Draw) Shift() time.Duration {
	return time.Duration(d.ReleaseShiftHours * float64(time.Hour)).Round(time.Second)
}

func plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// pairs is, by the number of flow levels, the level of the release time that goes
// with each where flows have dates: from four levels on the two are not correlated.
var pairs = [...][]int{1: {0}, 2: {1, 0}, 3: {1, 2, 0}, 4: {1, 3, 0, 2}, 5: {1, 4, 2, 0, 3}}

// levels is how many flows are drawn.
func (o Options) levels(dated bool) int {
	if o.Flow == 0 && (!dated || o.Release == 0) {
		return 1
	}
	return min(len(pairs)-1, o.Runs)
}

// Draws draws the runs, as a Latin hypercube: each of N equal parts of the range
// of dispersion, and of that of the release time, has one run, and each of a few
// flow levels about as many runs as the others. dated says that flows have dates:
// then another release time meets other flows, so it is drawn by levels as well,
// each with a flow level of its own.
func (o Options) Draws(dated bool) []Draw {
	source := rand.NewPCG(uint64(o.Seed), 0)
	levels := o.levels(dated)
	dispersion, release := strata(source, o.Runs), strata(source, o.Runs)
	draws := make([]Draw, o.Runs)
	for i, part := range shuffled(source, o.Runs) {
		level := part * levels / o.Runs
		late := release[i]
		if dated {
			late = middle(pairs[levels][level], levels)
		}
		draws[i] = Draw{FlowLevel: level + 1,
			DispersionFactor:  rounded(math.Pow(o.Dispersion, 2*dispersion[i]-1)),
			FlowFactor:        rounded(1 + o.Flow*(2*middle(level, levels)-1)),
			ReleaseShiftHours: rounded(o.Release * (2*late - 1))}
	}
	return draws
}

// ranges are from where to where the draws vary: what is drawn by levels ends at the
// outermost ones.
func (o Options) ranges(dated bool, draws []Draw) Ranges {
	r := Ranges{[2]float64{rounded(1 / o.Dispersion), o.Dispersion}, [2]float64{1, 1}, [2]float64{rounded(-o.Release), o.Release}}
	if dated {
		r.ReleaseShiftHours = [2]float64{}
	}
	for _, d := range draws {
		r.FlowFactor = [2]float64{min(r.FlowFactor[0], d.FlowFactor), max(r.FlowFactor[1], d.FlowFactor)}
		if dated {
			r.ReleaseShiftHours = [2]float64{min(r.ReleaseShiftHours[0], d.ReleaseShiftHours), max(r.ReleaseShiftHours[1], d.ReleaseShiftHours)}
		}
	}
	return r
}

// middle is the middle of one of n equal parts of 0..1.
func middle(part, n int) float64 { return (float64(part) + 0.5) / float64(n) }

// strata draws a number from each of n equal parts of 0..1, in random order.
func strata(source *rand.PCG, n int) []float64 {
	numbers := make([]float64, n)
	for i, part := range shuffled(source, n) {
		numbers[i] = (float64(part) + float64(source.Uint64()>>11)/(1<<53)) / float64(n)
	}
	return numbers
}

// shuffled is 0 to n-1 in random order. It takes the generator as it is: what
// the standard library makes of one may differ between versions and machines.
func shuffled(source *rand.PCG, n int) []int {
	list := make([]int, n)
	for i := range list {
		j, _ := bits.Mul64(source.Uint64(), uint64(i+1))
		list[i] = list[j]
		list[j] = i
	}
	return list
}

// rounded keeps six digits: more would be noise, and machines differ in the last
// bit of a power. There is no -0.
func rounded(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil || r == 0 {
		return 0
	}
	return r
}
