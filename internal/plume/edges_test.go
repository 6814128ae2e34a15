package plume_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/river"
)

// basin is an index bound to its network. Branches are written as up, down and
// number of grids, places as branch,grid,river,mile.
func basin(t testing.TB, interior int, branches [][3]int, places ...string) *river.Index {
	t.Helper()
	n := &river.Network{InteriorJunctions: interior, Units: river.English}
	for _, b := range branches {
		branch := river.Branch{Up: b[0], Down: b[1]}
		for g := range b[2] {
			branch.Grids = append(branch.Grids, river.Grid{Distance: float64(g)})
		}
		n.Branches = append(n.Branches, branch)
	}
	x, _, err := river.ParseIndex(strings.NewReader("branch,grid,river,river_mile\n"+strings.Join(places, "\n")), "R.csv")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Bind(n); err != nil {
		t.Fatal(err)
	}
	return x
}

// one is a single branch of four grids with a place at each.
var one = [][3]int{{1, 2, 4}}

// loop is a head, two arms side by side and a tail: 1, then 2 and 3, then 4.
var loop = [][3]int{{3, 1, 2}, {1, 2, 3}, {1, 2, 3}, {2, 4, 2}}

func TestEdges(t *testing.T) {
	rising := []string{"1,1,Ohio,0", "1,2,Ohio,1", "1,3,Ohio,2", "1,4,Ohio,3"}
	falling := []string{"1,1,Delaware,3", "1,2,Delaware,2", "1,3,Delaware,1", "1,4,Delaware,0"}
	arms := []string{"1,1,Ohio,0", "2,2,Ohio,2", "3,2,Ohio,2", "4,2,Ohio,4"}
	tests := []struct {
		name     string
		index    *river.Index
		branches int
		length   []float64 // nil = all 1
		c, kg    []float64
		want     []string // per river: leading > trailing, peak, mass
	}{
		{"miles rise downstream", basin(t, 0, one, rising...), 1, nil, []float64{0, 2, 5, 3}, []float64{10},
			[]string{"Ohio 3 > 1, 5 at 2, 10 kg"}},
		{"miles fall downstream", basin(t, 0, one, falling...), 1, nil, []float64{0, 2, 5, 3}, []float64{10},
			[]string{"Delaware 0 > 2, 5 at 1, 10 kg"}},
		{"no plume", basin(t, 0, one, rising...), 1, nil, []float64{0, 0.9, 0.5, 0}, []float64{0.25},
			[]string{"Ohio none, 0.25 kg"}},
		{"just at the tolerance", basin(t, 0, one, rising...), 1, nil, []float64{0.9, 1, 0.5, 0}, []float64{1},
			[]string{"Ohio 1 > 1, 1 at 1, 1 kg"}},
		{"in two parts", basin(t, 0, one, rising...), 1, nil, []float64{2, 0, 0, 3}, []float64{1},
			[]string{"Ohio 3 > 0, 3 at 3, 1 kg"}},
		{"equal peaks, rising", basin(t, 0, one, rising...), 1, nil, []float64{0, 4, 4, 4}, []float64{1},
			[]string{"Ohio 3 > 1, 4 at 1, 1 kg"}},
		{"equal peaks, falling", basin(t, 0, one, falling...), 1, nil, []float64{0, 4, 4, 4}, []float64{1},
			[]string{"Delaware 0 > 2, 4 at 2, 1 kg"}},
		{"one place", basin(t, 0, one, "1,2,Ohio,7"), 1, nil, []float64{2}, []float64{10},
			[]string{"Ohio 7 > 7, 2 at 7, 10 kg"}},
		{"two rivers, one rises and one falls", basin(t, 1, [][3]int{{2, 1, 2}, {1, 3, 2}}, "1,1,Creek,5", "1,2,Creek,3", "2,1,Ohio,10", "2,2,Ohio,11"),
			2, nil, []float64{1, 2, 3, 4}, []float64{6, 7}, []string{"Creek 3 > 5, 2 at 3, 6 kg", "Ohio 11 > 10, 4 at 11, 7 kg"}},
		{"one of two rivers is clean", basin(t, 1, [][3]int{{2, 1, 2}, {1, 3, 2}}, "1,1,Creek,5", "1,2,Creek,3", "2,1,Ohio,10", "2,2,Ohio,11"),
			2, nil, []float64{0, 0, 3, 4}, []float64{0, 7}, []string{"Creek none, 0 kg", "Ohio 11 > 10, 4 at 11, 7 kg"}},
		{"a branch with two names shares by load", basin(t, 0, one, "1,1,Creek,5", "1,2,Creek,3", "1,3,Ohio,10", "1,4,Ohio,11"),
			1, []float64{1, 2, 2, 1}, []float64{3, 1, 2, 1}, []float64{10}, // loads 5 and 5
			[]string{"Creek 3 > 5, 3 at 5, 5 kg", "Ohio 11 > 10, 2 at 10, 5 kg"}},
		{"a clean branch shares by length", basin(t, 0, one, "1,1,Creek,5", "1,2,Creek,3", "1,3,Ohio,10", "1,4,Ohio,11"),
			1, []float64{1, 2, 3, 4}, []float64{0, 0, 0, 0}, []float64{10}, []string{"Creek none, 3 kg", "Ohio none, 7 kg"}},
		{"no length either", basin(t, 0, one, "1,1,Creek,5", "1,3,Ohio,10"),
			1, []float64{0, 0}, []float64{0, 0}, []float64{10}, []string{"Creek none, 5 kg", "Ohio none, 5 kg"}},
		{"arms side by side at equal miles", basin(t, 2, loop, arms...), 4, nil,
			[]float64{0, 2, 3, 0}, []float64{0, 6, 7, 0}, []string{"Ohio 2 > 2, 3 at 2, 13 kg"}},
		{"a branch without a place counts for no river", basin(t, 2, loop, arms[:3]...), 4, nil,
			[]float64{1, 0, 0}, []float64{1, 0, 0, 9}, []string{"Ohio 0 > 0, 1 at 0, 1 kg"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			length := tt.length
			if length == nil {
				length = slices.Repeat([]float64{1}, len(tt.c))
			}
			e := plume.NewEdges(tt.index, tt.index.Places, tt.branches, length, 1)
			e.Profile(spill, tt.c, tt.kg)
			var got []string
			for _, s := range e.Series() {
				got = append(got, describe(&s, 0))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// describe is one time of a series in words.
func describe(s *plume.EdgeSeries, i int) string {
	mass := fmt.Sprintf("%.9g kg", s.MassKg[i])
	set := 0
	for _, p := range []*float64{s.LeadingEdgeMile[i], s.TrailingEdgeMile[i], s.PeakMile[i], s.PeakMgL[i]} {
		if p != nil {
			set++
		}
	}
	switch set {
	case 0:
		return s.River + " none, " + mass
	case 4:
		return fmt.Sprintf("%s %g > %g, %g at %g, %s", s.River, *s.LeadingEdgeMile[i], *s.TrailingEdgeMile[i], *s.PeakMgL[i], *s.PeakMile[i], mass)
	}
	return s.River + " is said in part only"
}

// Each time keeps its own values, also of the caller's buffer, which is used
// again for the next one.
func TestEdgesOverTime(t *testing.T) {
	x := basin(t, 0, one, "1,1,Ohio,0", "1,2,Ohio,1", "1,3,Ohio,2", "1,4,Ohio,3")
	e := plume.NewEdges(x, x.Places, 1, []float64{1, 1, 1, 1}, 1)
	c := make([]float64, 4)
	profiles := [][]float64{{0, 0, 0, 0}, {4, 0, 0, 0}, {1, 3, 1, 0}, {0, 1, 2, 1}, {0, 0, 0, 0}}
	for i, p := range profiles {
		copy(c, p)
		e.Profile(spill.Add(time.Duration(i)*time.Hour).In(time.FixedZone("", 3600)), c, []float64{float64(i)})
	}
	want := []string{"Ohio none, 0 kg", "Ohio 0 > 0, 4 at 0, 1 kg", "Ohio 2 > 0, 3 at 1, 2 kg", "Ohio 3 > 1, 2 at 2, 3 kg", "Ohio none, 4 kg"}
	s := e.Series()[0]
	for i := range want {
		if got := describe(&s, i); got != want[i] {
			t.Errorf("time %d: %s, want %s", i, got, want[i])
		}
		if at := spill.Add(time.Duration(i) * time.Hour); s.Time[i] != at {
			t.Errorf("time %d: %v, want %v", i, s.Time[i], at)
		}
	}
	if len(s.Time) != len(want) {
		t.Errorf("%d times", len(s.Time))
	}
}

// The answer does not depend on the order of the places, and the rivers share
// all the mass of the branches.
func TestEdgesInAnyOrder(t *testing.T) {
	x := basin(t, 2, loop, "1,1,Creek,9", "1,2,Creek,8", "2,1,Creek,7", "2,2,Ohio,1", "2,3,Ohio,2", "3,1,Ohio,0", "3,2,Ohio,1", "3,3,Ohio,2", "4,1,Ohio,2", "4,2,Ohio,3")
	random := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		c, kg, length := make([]float64, len(x.Places)), make([]float64, 4), make([]float64, len(x.Places))
		for i := range c {
			c[i], length[i] = float64(random.IntN(4)), float64(random.IntN(3))
		}
		total := 0.0
		for b := range kg {
			kg[b] = float64(random.IntN(3)) * random.Float64()
			total += kg[b]
		}
		e := plume.NewEdges(x, x.Places, 4, length, 2)
		e.Profile(spill, c, kg)

		places := slices.Clone(x.Places)
		random.Shuffle(len(places), func(i, j int) {
			places[i], places[j] = places[j], places[i]
			c[i], c[j] = c[j], c[i]
			length[i], length[j] = length[j], length[i]
		})
		shuffled := plume.NewEdges(x, places, 4, length, 2)
		shuffled.Profile(spill, c, kg)
		mass := 0.0
		for r := range e.Series() {
			want, got := e.Series()[r], shuffled.Series()[r]
			if describe(&want, 0) != describe(&got, 0) {
				t.Fatalf("%s, and in another order %s", describe(&want, 0), describe(&got, 0))
			}
			mass += got.MassKg[0]
		}
		if math.Abs(mass-total) > 1e-12 {
			t.Fatalf("the rivers hold %v kg, the branches %v", mass, total)
		}
	}
}

func BenchmarkProfile(b *testing.B) {
	var rows []string
	for g := range 2000 {
		rows = append(rows, fmt.Sprintf("1,%d,Ohio,%d", g+1, g))
	}
	x := basin(b, 0, [][3]int{{1, 2, 2000}}, rows...)
	c, length := make([]float64, 2000), slices.Repeat([]float64{1}, 2000)
	for i := range c {
		c[i] = math.Exp(-math.Pow(float64(i-700)/90, 2))
	}
	kg := []float64{1000}
	b.ReportAllocs()
	e := plume.NewEdges(x, x.Places, 1, length, 0.001)
	for b.Loop() {
		e.Profile(spill, c, kg)
	}
}
