package daflow

import "rsmsjob/internal/river"

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
