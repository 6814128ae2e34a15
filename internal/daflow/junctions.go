package daflow

import "rsmsjob/internal/river"

// downstreamOrder returns the branches (from 0) so that each stands behind all that
// end at its upstream junction, and, where loops make that impossible, those
// left over.
func downstreamOrder(net *river.Network) (order, left []int) {
	waiting := make([]int, net.InteriorJunctions+1) // branches still to end at a junction
	starts := make([][]int, net.InteriorJunctions+1)
	for i, b := range net.Branches {
		if net.Interior(b.Down) {
			waiting[b.Down]++
		}
		if net.Interior(b.Up) {
			starts[b.Up] = append(starts[b.Up], i)
		} else {
			order = append(order, i)
		}
	}
	done := make([]bool, len(net.Branches))
	for n := 0; n < len(order); n++ {
		done[order[n]] = true
		j := net.Branches[order[n]].Down
		if !net.Interior(j) {
			continue
		}
		if waiting[j]--; waiting[j] == 0 {
			order = append(order, starts[j]...)
		}
	}
	for i := range done {
		if !done[i] {
			left = append(left, i)
		}
	}
	return order, left
}

// feeders returns, per branch, the branches that end at its upstream junction
// when that is interior, and its share of what arrives there; the shares of a
// junction add up to 1.
func feeders(net *river.Network) (feeders [][]int, share []float64) {
	ends := make([][]int, net.InteriorJunctions+1)
	sum := make([]float64, net.InteriorJunctions+1)
	for i, b := range net.Branches {
		if net.Interior(b.Down) {
			ends[b.Down] = append(ends[b.Down], i)
		}
		if net.Interior(b.Up) {
			sum[b.Up] += b.Share
		}
	}
	feeders, share = make([][]int, len(net.Branches)), make([]float64, len(net.Branches))
	for i, b := range net.Branches {
		share[i] = 1
		if net.Interior(b.Up) {
			feeders[i], share[i] = ends[b.Up], b.Share/sum[b.Up]
		}
	}
	return feeders, share
}
