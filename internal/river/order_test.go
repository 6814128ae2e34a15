package river

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOrder(t *testing.T) {
	tests := []struct {
		name         string
		interior     int
		branches     [][2]int // upstream and downstream junction
		order, cycle []int
	}{
		{"nothing", 0, nil, nil, nil},
		{"one branch", 0, [][2]int{{1, 2}}, []int{0}, nil},
		{"chain", 2, [][2]int{{3, 1}, {1, 2}, {2, 4}}, []int{0, 1, 2}, nil},
		{"chain, numbered from the mouth", 2, [][2]int{{2, 4}, {1, 2}, {3, 1}}, []int{2, 1, 0}, nil},
		{"two heads", 1, [][2]int{{1, 4}, {2, 1}, {3, 1}}, []int{1, 2, 0}, nil},
		{"diamond", 2, [][2]int{{3, 1}, {1, 2}, {1, 2}, {2, 4}}, []int{0, 1, 2, 3}, nil},
		{"diamond, other numbers", 2, [][2]int{{2, 4}, {1, 2}, {3, 1}, {1, 2}}, []int{2, 1, 3, 0}, nil},
		{"a short cut waits for the long way", 2, [][2]int{{3, 1}, {1, 2}, {2, 4}, {5, 2}}, []int{0, 3, 1, 2}, nil},
		{"equal rank by number, not by feeder", 2, [][2]int{{3, 1}, {4, 2}, {2, 5}, {1, 6}}, []int{0, 1, 2, 3}, nil},
		{"outer ends of one number are no junction", 1, [][2]int{{5, 1}, {1, 7}, {7, 5}}, []int{0, 2, 1}, nil},
		{"junction 0 and below are none", 1, [][2]int{{0, -1}, {-1, 0}}, []int{0, 1}, nil},
		{"only the highest interior number", 3, [][2]int{{4, 3}, {3, 5}}, []int{0, 1}, nil},
		{"loop", 2, [][2]int{{1, 2}, {2, 1}}, nil, []int{0, 1}},
		{"self-loop", 1, [][2]int{{1, 1}, {2, 3}}, []int{1}, []int{0}},
		{"before, on and behind a loop", 3, [][2]int{{4, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 5}, {6, 7}}, []int{0, 5}, []int{1, 2, 3, 4}},
	}
	for _, tt := range tests {
		n := &Network{InteriorJunctions: tt.interior}
		for _, b := range tt.branches {
			n.Branches = append(n.Branches, Branch{Up: b[0], Down: b[1]})
		}
		order, cycle := n.Order()
		if !slices.Equal(order, tt.order) || !slices.Equal(cycle, tt.cycle) || (cycle == nil) != (tt.cycle == nil) {
			t.Errorf("%s: order %v, cycle %v, want %v, %v", tt.name, order, cycle, tt.order, tt.cycle)
		}
	}
}

// However the branches of a river without loops are numbered, the order is that
// of their ranks and then their numbers.
func TestOrderPermutations(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range 500 {
		interior := random.IntN(6)
		n := &Network{InteriorJunctions: interior}
		for range 1 + random.IntN(12) {
			// Water runs to higher interior numbers, and from and to outer ends.
			up, down := random.IntN(interior+1), 0
			if down = up + 1 + random.IntN(interior+2); down > interior {
				down = interior + 1 + random.IntN(3)
			}
			if up == 0 {
				up = interior + 1 + random.IntN(3)
			}
			n.Branches = append(n.Branches, Branch{Up: up, Down: down})
		}
		random.Shuffle(len(n.Branches), func(i, j int) { n.Branches[i], n.Branches[j] = n.Branches[j], n.Branches[i] })
		want := make([]int, len(n.Branches))
		for b := range want {
			want[b] = b
		}
		slices.SortStableFunc(want, func(a, b int) int { return rank(n, a) - rank(n, b) })
		if order, cycle := n.Order(); !slices.Equal(order, want) || cycle != nil {
			t.Fatalf("%+v\norder %v, cycle %v, want %v", n, order, cycle, want)
		}
	}
}

// rank is the longest way from a head of the river, in branches.
func rank(n *Network, b int) int {
	most := 0
	for a, up := range n.Branches {
		if n.Interior(up.Down) && up.Down == n.Branches[b].Up {
			most = max(most, 1+rank(n, a))
		}
	}
	return most
}
