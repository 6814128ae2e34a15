package river

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	rising := []string{"1,1,Ohio,100", "1,3,Ohio,120", "3,1,Ohio,120", "3,3,Ohio,140", "2,1,Creek,8", "2,2,Creek,0"}
	sparse := []string{"1,2,Ohio,5", "3,2,Ohio,20"} // 5 units above the junction, 10 below
	long := network(2, []float64{3, 1, 0, 2}, []float64{1, 2, 10, 12}, []float64{2, 4, 0, 2})
	island := network(2, []float64{3, 1, 0, 10}, []float64{1, 2, 0, 4}, []float64{1, 2, 0, 8}, []float64{2, 4, 0, 10})
	island.Branches[1].Share, island.Branches[2].Share = 0.3, 0.7
	arms := []string{"1,1,Ohio,0", "1,2,Ohio,10", "2,1,Ohio,10", "2,2,Ohio,16", "3,1,Ohio,10", "3,2,Ohio,16", "4,1,Ohio,16", "4,2,Ohio,26"}
	oneArm := []string{"1,1,Ohio,0", "1,2,Ohio,10", "2,1,Ohio,10", "2,2,Ohio,16", "4,1,Ohio,16", "4,2,Ohio,26"}
	tests := []struct {
		name  string
		n     *Network
		rows  []string
		river string
		mile  float64
		want  Spot
	}{
		{"a place", fork(), rising, "Ohio", 100, Spot{1, 0, 1, 1}},
		{"between places, on a grid the index leaves out", fork(), rising, "Ohio", 110, Spot{1, 5, 2, 2}},
		{"between grids", fork(), rising, "Ohio", 119, Spot{1, 9.5, 0, 2}},
		{"a junction is the end of the branch above", fork(), rising, "Ohio", 120, Spot{1, 10, 3, 3}},
		{"the end of the index", fork(), rising, "Ohio", 140, Spot{3, 20, 3, 3}},
		{"falling miles", fork(), rising, "Creek", 6, Spot{2, 1, 0, 1}},
		{"case of the river", fork(), rising, "OHIO", 100, Spot{1, 0, 1, 1}},
		{"only one river", fork(), sparse, "", 5, Spot{1, 5, 2, 2}},
		{"across a junction, above it", fork(), sparse, "", 8, Spot{1, 8, 0, 2}},
		{"across a junction, on it", fork(), sparse, "", 10, Spot{1, 10, 3, 3}},
		{"across a junction, below it", fork(), sparse, "", 12, Spot{3, 2, 0, 1}},
		{"across a branch the index leaves out", long, []string{"1,1,Ohio,0", "3,2,Ohio,60"}, "", 30, Spot{2, 11, 0, 1}},
		{"behind a branch the index leaves out", long, []string{"1,1,Ohio,0", "3,2,Ohio,60"}, "", 50, Spot{3, 1, 0, 1}},
		{"rounding to a grid", network(0, []float64{1, 2, 0, 0.1, 0.3}), []string{"1,1,Ohio,0", "1,3,Ohio,0.3"}, "", 0.1, Spot{1, 0.1, 2, 2}},
		{"digits beyond those of the index", fork(), rising, "Ohio", 100.00001, Spot{1, 0, 1, 1}},
		{"the larger of two arms", island, arms, "", 13, Spot{3, 4, 0, 1}},
		{"arms end above their junction", island, arms, "", 16, Spot{3, 8, 2, 2}},
		{"the arm that the index names", island, oneArm, "", 13, Spot{2, 2, 0, 1}},
		{"a junction with two miles", fork(), []string{"1,1,Ohio,0", "1,3,Ohio,10", "3,1,Ohio,11", "3,3,Ohio,30"}, "", 10.5, Spot{1, 10, 3, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := index(t, tt.rows...)
			if _, err := x.Bind(tt.n); err != nil {
				t.Fatal(err)
			}
			got, err := x.Locate(tt.n, tt.river, tt.mile)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Distance-tt.want.Distance) > 1e-12 {
				t.Errorf("distance %v, want %v", got.Distance, tt.want.Distance)
			}
			got.Distance = tt.want.Distance
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestLocateFaults(t *testing.T) {
	many := network(0)
	var manyRows []string
	for i := range 12 {
		many.Branches = append(many.Branches, Branch{Up: 2*i + 1, Down: 2*i + 2, Grids: []Grid{{}, {Distance: 1}}})
		manyRows = append(manyRows, fmt.Sprintf("%d,1,R%02d,0", i+1, i))
	}
	apart := network(0, []float64{1, 2, 0, 1}, []float64{3, 4, 0, 1})
	tests := []struct {
		name  string
		n     *Network
		rows  []string
		river string
		mile  float64
		want  string
	}{
		{"outside", fork(), []string{"1,1,Ohio,0", "1,3,Ohio,10.5", "3,3,Ohio,981"}, "Ohio", 982,
			`SpillMile: is outside the river-mile index, which covers mile 0 to 981 (found "982")`},
		{"below 0", fork(), []string{"1,1,Ohio,0.5", "1,3,Ohio,10.5"}, "Ohio", -1e300,
			`SpillMile: is outside the river-mile index, which covers mile 0.5 to 10.5 (found "-1e+300")`},
		{"no number", fork(), []string{"1,1,Ohio,0", "1,3,Ohio,10.5"}, "Ohio", math.NaN(),
			`SpillMile: is outside the river-mile index, which covers mile 0 to 10.5 (found "NaN")`},
		{"between two waters", apart, []string{"1,1,Ohio,0", "1,2,Ohio,5", "2,1,Ohio,8", "2,2,Ohio,9"}, "", 6,
			`SpillMile: is outside the river-mile index, which covers mile 0 to 5, mile 8 to 9 (found "6")`},
		{"unknown river", fork(), []string{"1,1,Ohio,0", "2,1,Creek,5"}, "Nile", 0,
			`SpillRiver: is not a river of the index (found "Nile"); the rivers of the index are Creek, Ohio`},
		{"no river", fork(), []string{"1,1,Ohio,0", "2,1,Creek,5"}, "", 0,
			`SpillRiver: is missing; the basin has more than one river; the rivers of the index are Creek, Ohio`},
		{"many rivers", many, manyRows, "Nile", 0,
			`SpillRiver: is not a river of the index (found "Nile"); the rivers of the index are R00, R01, R02, R03, R04, R05, R06, R07, R08, R09 and 2 more`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := index(t, tt.rows...)
			if _, err := x.Bind(tt.n); err != nil {
				t.Fatal(err)
			}
			_, err := x.Locate(tt.n, tt.river, tt.mile)
			wantFaults(t, err, tt.want)
		})
	}
}

func TestLocateUnbound(t *testing.T) {
	if _, err := index(t, "1,1,Ohio,0").Locate(fork(), "", 0); err == nil || !strings.Contains(err.Error(), "not bound") {
		t.Errorf("got %v", err)
	}
}

// Over a chain of branches with grids and places at random, the located water
// distance from the head is linear in the mile between neighbouring places,
// never decreases downstream, and the spot lies in the subreach it names.
func TestLocateProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		branches := 1 + rng.IntN(4)
		n := &Network{InteriorJunctions: branches - 1}
		heads := make([]float64, branches) // water above each branch
		var rows []string
		var water float64
		direction := float64(1 - 2*rng.IntN(2))
		for b := range branches {
			branch := Branch{Share: 1, Up: b, Down: b + 1}
			if b == 0 {
				branch.Up = 100
			}
			if b == branches-1 {
				branch.Down = 101
			}
			start := rng.Float64() * 10
			heads[b] = water - start
			distance := start
			for g := range 2 + rng.IntN(6) {
				if g > 0 {
					distance += 0.01 + rng.Float64()
				}
				branch.Grids = append(branch.Grids, Grid{Distance: distance})
				if rng.IntN(2) == 0 {
					rows = append(rows, fmt.Sprintf("%d,%d,R,%.4f", b+1, g+1, 500+direction*(heads[b]+distance)))
				}
			}
			water = heads[b] + distance
			n.Branches = append(n.Branches, branch)
		}
		if len(rows) < 2 {
			continue
		}
		x := index(t, rows...)
		if _, err := x.Bind(n); err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(rows, "\n"))
		}
		first, last := x.Places[0].Mile, x.Places[len(x.Places)-1].Mile
		before := math.Inf(-1)
		for i := range 51 {
			mile := first + (last-first)*float64(i)/50
			s, err := x.Locate(n, "R", mile)
			if err != nil {
				t.Fatal(err)
			}
			// Miles were made from the water, so they give it back.
			at := heads[s.Branch-1] + s.Distance
			if want := direction * (mile - 500); math.Abs(at-want) > 3e-4 {
				t.Fatalf("mile %v is at %v, want %v", mile, at, want)
			}
			if at < before {
				t.Fatalf("mile %v is above the mile before", mile)
			}
			before = at
			grids := n.Branches[s.Branch-1].Grids
			if s.Grid > 0 && (grids[s.Grid-1].Distance != s.Distance || s.Upstream != s.Grid) ||
				s.Grid == 0 && !(grids[s.Upstream-1].Distance < s.Distance && s.Distance < grids[s.Upstream].Distance) {
				t.Fatalf("spot %+v is not where it says on %v", s, grids)
			}
		}
	}
}
