package daflow

import (
	"math"
	"math/rand/v2"
	"testing"

	"rsmsjob/internal/river"
)

// wild is one long dry branch of channels that differ from reach to reach, with
// inflow and laterals that change all the time and none that reaches the end.
func wild(r *rand.Rand, steps int) *Input {
	in := &Input{Steps: steps, PrintEvery: 1, StepHours: .25, Peak: 500, Boundaries: make([][]Change, steps)}
	b := river.Branch{Share: 1, Up: 1, Down: 2}
	x := 0.0
	for range 60 {
		b.Grids = append(b.Grids, river.Grid{Distance: x, A1: 1 + 5*r.Float64(), A2: .5 + .01*float64(r.IntN(30)),
			A0: 5 * r.Float64(), Slope: 1e-3 + 2e-3*r.Float64(), W1: 5 + 20*r.Float64(), W2: .3 * r.Float64()})
		x += .02 + r.Float64()
	}
	b.Grids = append(b.Grids, river.Grid{Distance: x + 500, A1: 3, A2: .66, Slope: 1e-3, W1: 10, W2: .3}, river.Grid{Distance: x + 2000})
	in.Network.Branches = []river.Branch{b}
	for k := range steps {
		if r.IntN(3) > 0 {
			in.Boundaries[k] = append(in.Boundaries[k], Change{Branch: 1, Grid: 1, Flow: max(0, 300*r.Float64()-50)})
		}
		for _, g := range []int{5, 6, 20, 40} {
			if r.IntN(6) == 0 {
				in.Boundaries[k] = append(in.Boundaries[k], Change{Branch: 1, Grid: g, Flow: 150*r.Float64() - 70})
			}
		}
	}
	return in
}

// The field by itself neither makes nor loses water, and stays in order. The
// flows written cannot show it: they are made to balance.
func TestFieldConservesVolume(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for range 60 {
		in := wild(random, 80)
		if err := in.Validate(); err != nil {
			t.Fatal(err)
		}
		m := newModel(in)
		b := &m.branches[0]
		entered := 0.0
		for k := 1; k <= in.Steps; k++ {
			before := b.carried
			m.step(k)
			entered += m.inflow[0]*m.dt - (b.carried - before)
			for _, s := range b.sources {
				entered += max(0, b.reaches[s.reach].lateral)*m.dt - s.drawn
			}
			stored := 0.0
			for _, v := range b.content {
				stored += v
			}
			if math.Abs(stored-entered) > 1e-9*entered+1e-6 {
				t.Fatalf("step %d: %v in the field, %v entered", k, stored, entered)
			}
			checkField(t, b)
		}
		if last := b.flow[len(b.flow)-1]; last != 0 {
			t.Errorf("%v flows out of the dry end", last)
		}
	}
}

// checkField checks the order of the shocks and that the flow above each is
// what comes down from the one before it.
func checkField(t *testing.T, b *branch) {
	t.Helper()
	q, from := b.head, 0
	at := 0.0
	for i := range b.shocks {
		s := &b.shocks[i]
		r := &b.reaches[s.reach]
		if s.at < at || s.reach < from || s.at < r.start || s.at > r.end {
			t.Fatalf("shock %d at %v in reach %d (%v to %v), the one before at %v in %d", i, s.at, s.reach, r.start, r.end, at, from)
		}
		for ; from < s.reach; from++ {
			q = pass(q, b.reaches[from+1].lateral)
		}
		if math.Abs(q-s.up) > 1e-9*(1+q) {
			t.Fatalf("shock %d: %v comes from above, %v stands there", i, q, s.up)
		}
		for _, side := range [][2]float64{{s.up, s.upPow}, {s.down, s.downPow}} {
			if want := power(side[0], r.a2); side[0] < 0 || math.Abs(side[1]-want) > 1e-9*want {
				t.Fatalf("shock %d: flow %v has the power %v, want %v", i, side[0], side[1], want)
			}
		}
		q, at = s.down, s.at
	}
}

// In steady flow a step allocates nothing, and neither does any other once the
// lists have grown.
func TestStepsAllocateNothing(t *testing.T) {
	in := wild(rand.New(rand.NewPCG(3, 2)), 400)
	m := newModel(in)
	k := 0
	for k < 200 {
		k++
		m.step(k)
	}
	allocs := testing.AllocsPerRun(150, func() {
		k++
		m.step(k)
	})
	if allocs > 0 {
		t.Errorf("%v allocations per step", allocs)
	}
}

// The flow of a volume is found whatever the laterals, or said not to be.
func TestFlowOfVolume(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 20000 {
		parts := make([]part, 1+random.IntN(5))
		for i := range parts {
			parts[i] = part{a1: 1 + random.Float64(), a2: .4 + random.Float64(), length: 100 * random.Float64()}
			if i > 0 {
				parts[i].lateral = 20*random.Float64() - 10
			}
		}
		want := 30 * random.Float64() * random.Float64()
		volume, slope := volumeOf(parts, want)
		got, ok := flowOfVolume(parts, volume, 30*random.Float64())
		again, _ := volumeOf(parts, got)
		if !ok || math.Abs(again-volume) > 1e-11*volume || slope > 0 && math.Abs(got-want) > 1e-6*(want+1) {
			t.Fatalf("%+v: flow %v, %v for %v (volume %v for %v)", parts, got, ok, want, again, volume)
		}
		if least, _ := volumeOf(parts, 0); least > 0 {
			if _, ok := flowOfVolume(parts, least/2, 1); ok {
				t.Fatalf("%+v: a flow for less than the least volume", parts)
			}
		}
	}
}
