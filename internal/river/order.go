package river

import "slices"

// Order returns the indices of all branches so that every branch stands behind
// those that flow into it. The rank of a branch is the longest way to it from
// a head of the river, in branches; branches stand in the order of rank, and
// those of equal rank in the order of their numbers. cycle holds the indices of
// branches that lie on or behind a loop and so have no place; it is nil in a
// sound network.
func (n *Network) Order() (order, cycle []int) {
	waiting := make([]int, len(n.Branches)) // upstream branches not yet placed
	leaving := map[int][]int{}              // junction -> branches that leave it
	for b, branch := range n.Branches {
		if n.Interior(branch.Up) {
			leaving[branch.Up] = append(leaving[branch.Up], b)
		}
	}
	for _, branch := range n.Branches {
		for _, next := range leaving[branch.Down] {
			waiting[next]++
		}
	}
	var ready []int
	for b := range n.Branches {
		if waiting[b] == 0 {
			ready = append(ready, b)
		}
	}
	for len(ready) > 0 {
		slices.Sort(ready)
		order = append(order, ready...)
		var freed []int // the next rank
		for _, b := range ready {
			for _, next := range leaving[n.Branches[b].Down] {
				if waiting[next]--; waiting[next] == 0 {
					freed = append(freed, next)
				}
			}
		}
		ready = freed
	}
	if len(order) == len(n.Branches) {
		return order, nil
	}
	for b := range n.Branches {
		if waiting[b] > 0 {
			cycle = append(cycle, b)
		}
	}
	return order, cycle
}
