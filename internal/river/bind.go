package river

import (
	"fmt"
	"math"
	"slices"

	"rsmsjob/internal/reason"
)

// Bind checks the index against the network: every place exists and is named
// once, and the miles of each river rise, or fall, all the way downstream,
// also across junctions, where they may stay equal. It learns which way the
// miles run. A warning tells of miles that are fewer than the straight line
// between two positions, and of a junction that has two miles.
func (x *Index) Bind(n *Network) ([]Warning, error) {
	if err := x.checkPlaces(n); err != nil {
		return nil, err
	}
	downstream := make(map[string]int)
	var faults reason.List
	warn := &warnings{file: x.File}
	for _, river := range x.Rivers() {
		reaches := x.reaches(n, river, func(*Place) bool { return true })
		direction := majority(reaches)
		downstream[river] = direction
		for _, r := range reaches {
			if f := r.mileFault(direction); f != nil && faults.Len() < maxFaults {
				f.File = x.File
				faults.Add(f)
			}
			if r.length(n) == 0 && r.from.Mile != r.to.Mile {
				warn.add(r.to.Line, "miles %s and %s are the same point of the network (other mile in line %d)",
					plain(r.to.Mile), plain(r.from.Mile), r.from.Line)
			}
		}
		warnShortMiles(warn, x.reaches(n, river, func(p *Place) bool { return p.HasPosition }))
	}
	if err := faults.Err(); err != nil {
		return warn.all(), err
	}
	x.downstream = downstream
	return warn.all(), nil
}

// checkPlaces checks that each place is one of the network and named once.
func (x *Index) checkPlaces(n *Network) error {
	var faults reason.List
	add := func(p *Place, column int, field, problem string) {
		faults.Add(&reason.Fault{File: x.File, Line: p.Line, Column: column, Field: field, Problem: problem})
	}
	for i := range x.Places {
		if faults.Len() >= maxFaults {
			break
		}
		p := &x.Places[i]
		switch {
		case p.Branch < 1 || p.Branch > len(n.Branches):
			add(p, p.branchColumn, "branch", fmt.Sprintf("is %d; the network has the branches 1 to %d", p.Branch, len(n.Branches)))
		case p.Grid < 1 || p.Grid > len(n.Branches[p.Branch-1].Grids):
			add(p, p.gridColumn, "grid", fmt.Sprintf("is %d; branch %d has the grids 1 to %d", p.Grid, p.Branch, len(n.Branches[p.Branch-1].Grids)))
		case i > 0 && placeOrder(x.Places[i-1], *p) == 0:
			add(p, p.gridColumn, "grid", fmt.Sprintf("branch %d grid %d is in line %d already", p.Branch, p.Grid, x.Places[i-1].Line))
		case i > 0 && placeOrder(x.Places[i-1], *p) > 0:
			add(p, p.gridColumn, "grid", "stands out of the order of branch and grid")
		}
	}
	return faults.Err()
}

// reach is the water between two places of a river with no third between.
type reach struct {
	from, to *Place
	branches []int // along the water, 1-based: from.Branch first, to.Branch last
}

// reaches returns the reaches between those places of a river that keep
// accepts, by the branch of their upper place. Branches without such a place
// are passed through.
func (x *Index) reaches(n *Network, river string, keep func(*Place) bool) []reach {
	var found []reach
	places := make([][]*Place, len(n.Branches)+1) // by branch
	for i := range x.Places {
		p := &x.Places[i]
		if p.River != river || !keep(p) {
			continue
		}
		if above := places[p.Branch]; len(above) > 0 {
			found = append(found, reach{above[len(above)-1], p, []int{p.Branch}})
		}
		places[p.Branch] = append(places[p.Branch], p)
	}
	below := n.below()
	for branch := range places {
		if own := places[branch]; len(own) > 0 {
			found = appendReaches(found, own[len(own)-1], below, places)
		}
	}
	slices.SortStableFunc(found, func(a, b reach) int { return placeOrder(*a.from, *b.from) })
	return found
}

// appendReaches appends the reaches that begin at from, the last place of its
// branch, and end in branches further down.
func appendReaches(found []reach, from *Place, below [][]int, places [][]*Place) []reach {
	seen := map[int]bool{from.Branch: true}
	paths := [][]int{{from.Branch}}
	for len(paths) > 0 {
		path := paths[0]
		paths = paths[1:]
		for _, next := range below[path[len(path)-1]] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(path), next)
			if there := places[next]; len(there) > 0 {
				found = append(found, reach{from, there[0], longer})
				continue
			}
			paths = append(paths, longer)
		}
	}
	return found
}

// below returns, for each branch, the branches that its water enters; both
// 1-based.
func (n *Network) below() [][]int {
	leaving := make(map[int][]int) // by junction
	for i, b := range n.Branches {
		leaving[b.Up] = append(leaving[b.Up], i+1)
	}
	below := make([][]int, len(n.Branches)+1)
	for i, b := range n.Branches {
		if n.Interior(b.Down) {
			below[i+1] = leaving[b.Down]
		}
	}
	return below
}

// junction reports whether the reach crosses one.
func (r *reach) junction() bool { return len(r.branches) > 1 }

// length returns the water of a reach in distance units.
func (r *reach) length(n *Network) float64 {
	var length float64
	for i := range r.branches {
		start, end := r.stretch(n, i)
		length += end - start
	}
	return length
}

// stretch returns what part of its i-th branch a reach covers, as distances
// along that branch.
func (r *reach) stretch(n *Network, i int) (start, end float64) {
	grids := n.Branches[r.branches[i]-1].Grids
	start, end = grids[0].Distance, grids[len(grids)-1].Distance
	if i == 0 {
		start = grids[r.from.Grid-1].Distance
	}
	if i == len(r.branches)-1 {
		end = grids[r.to.Grid-1].Distance
	}
	return start, end
}

// majority returns which way the miles of most reaches run downstream: +1 or
// -1, 0 where there is no reach that tells. Going by most of them, a fault
// names the row that is wrong, not the rows around it.
func majority(reaches []reach) int {
	var sum, first int
	for _, r := range reaches {
		way := sign(r.to.Mile - r.from.Mile)
		sum += way
		if first == 0 {
			first = way
		}
	}
	if sum == 0 {
		return first
	}
	return sign(float64(sum))
}

func sign(v float64) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// mileFault returns what is wrong with the miles of a reach, nil for nothing.
func (r *reach) mileFault(direction int) *reason.Fault {
	way := sign(r.to.Mile - r.from.Mile)
	if way == direction && way != 0 || way == 0 && r.junction() {
		return nil
	}
	f := &reason.Fault{Line: r.to.Line, Column: r.to.mileColumn, Field: "river_mile"}
	switch {
	case way == 0:
		f.Problem = fmt.Sprintf("mile %s is that of line %d", plain(r.to.Mile), r.from.Line)
	case direction > 0:
		f.Problem = fmt.Sprintf("mile %s is below mile %s of line %d upstream, while the miles of this river rise downstream",
			plain(r.to.Mile), plain(r.from.Mile), r.from.Line)
	default:
		f.Problem = fmt.Sprintf("mile %s is above mile %s of line %d upstream, while the miles of this river fall downstream",
			plain(r.to.Mile), plain(r.from.Mile), r.from.Line)
	}
	return f
}

// earthRadius is the mean radius of the Earth, km (IUGG).
const earthRadius = 6371.0088

// Positions are given to about 4 decimals of a degree, 11 m at either end, and
// the sphere is off by some tenths of a percent.
const (
	straightSlack    = 0.02 // km
	straightFraction = 0.01
)

// warnShortMiles warns of reaches whose water is shorter than the straight
// line between the positions of its ends.
func warnShortMiles(warn *warnings, reaches []reach) {
	for _, r := range reaches {
		water := math.Abs(r.to.Mile-r.from.Mile) * KilometresPerMile
		straight := greatCircle(r.from, r.to)
		if straight > water*(1+straightFraction)+straightSlack {
			warn.add(r.to.Line, "miles %s and %s are %.2f km apart along the river but %.2f km in a straight line (other position in line %d)",
				plain(r.from.Mile), plain(r.to.Mile), water, straight, r.from.Line)
		}
	}
}

// greatCircle returns the distance of two positions in km (haversine).
func greatCircle(a, b *Place) float64 {
	const degree = math.Pi / 180
	south, east := math.Sin((b.Latitude-a.Latitude)*degree/2), math.Sin((b.Longitude-a.Longitude)*degree/2)
	h := south*south + math.Cos(a.Latitude*degree)*math.Cos(b.Latitude*degree)*east*east
	return 2 * earthRadius * math.Asin(math.Sqrt(min(h, 1)))
}
