package daflow_test

import (
	"fmt"
	"math/rand/v2"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

// randomInput makes a network that flows together and apart again, with
// tributaries, withdrawals beyond the flow, dry beds and flows that change.
func randomInput(r *rand.Rand) *daflow.Input {
	in := &daflow.Input{Steps: 20 + r.IntN(60), PrintEvery: 1 + r.IntN(5), StartStep: r.IntN(96),
		StepHours: []float64{.25, .5, 1, 1. / 12}[r.IntN(4)], Peak: 500}
	in.Network.Title = fmt.Sprintf("random %d", r.IntN(1000))
	in.Network.Units = river.Units(r.IntN(2))
	n := r.IntN(4)
	in.Network.InteriorJunctions = n
	outer := n
	branch := func(up, down int, share float64) {
		if up == 0 {
			outer++
			up = outer
		}
		if down == 0 {
			outer++
			down = outer
		}
		in.Network.Branches = append(in.Network.Branches, randomBranch(r, up, down, share))
	}
	if n == 0 {
		branch(0, 0, 1)
	}
	for j := 1; j <= n; j++ {
		for range 1 + r.IntN(2) { // from outside
			branch(0, j, 1)
		}
		next := j + 1
		if j == n {
			next = 0
		}
		share := float64(r.IntN(101)) / 100
		switch r.IntN(3) {
		case 0:
			branch(j, next, 1)
		case 1: // one part leaves the network
			branch(j, next, share)
			branch(j, 0, 1-share)
		default: // both parts meet again
			branch(j, next, share)
			branch(j, next, 1-share)
		}
	}
	in.Boundaries = make([][]daflow.Change, in.Steps)
	for b, branch := range in.Network.Branches {
		for g := 1; g < len(branch.Grids); g++ {
			if g == 1 && in.Network.Interior(branch.Up) || g > 1 && r.IntN(4) > 0 {
				continue
			}
			for k := 1; k <= in.Steps; k += 1 + r.IntN(8) {
				q := 100 * r.Float64() * r.Float64()
				switch {
				case r.IntN(5) == 0:
					q = 0
				case r.IntN(10) == 0:
					q = .01 * r.Float64() // about QI
				case g > 1 && r.IntN(2) == 0:
					q = -q
				}
				at(in, k, b+1, g, q)
			}
		}
	}
	return in
}

func randomBranch(r *rand.Rand, up, down int, share float64) river.Branch {
	b := river.Branch{Share: share, Up: up, Down: down}
	n := 2 + r.IntN(12)
	like := randomGrid(r)
	dry := r.IntN(3) == 0
	for i := range n {
		if r.IntN(3) == 0 {
			like = randomGrid(r)
		}
		g := like
		if i > 0 {
			g.Distance = b.Grids[i-1].Distance + .01 + 2*r.Float64()*r.Float64()
		}
		if dry {
			g.Flow = 0
		}
		if i == n-1 {
			g = river.Grid{Distance: g.Distance}
		}
		g.Print = r.IntN(2) == 0
		b.Grids = append(b.Grids, g)
	}
	return b
}

func randomGrid(r *rand.Rand) river.Grid {
	return river.Grid{Flow: 50 * r.Float64(), A1: 1 + 5*r.Float64(), A2: []float64{.66, .5 + .3*r.Float64()}[r.IntN(2)],
		A0: []float64{0, 20 * r.Float64()}[r.IntN(2)], Slope: 1e-4 + 2e-3*r.Float64(), W1: 5 + 20*r.Float64(), W2: .5 * r.Float64()}
}
