package river

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rsmsjob/internal/reason"
)

// sameSpot is how near a grid a spot counts as being on it, in distance units:
// less than the digits of FLOW.IN tell apart.
const sameSpot = 1e-6

// Locate finds a river mile on the water: linear between the two places of the
// index around it, also across a junction. The index must be bound to n.
// river may be "" where the index has one river; its case does not matter.
//
// Where a river has arms, the mile may stand in several: the arm with the
// largest share is taken, then the lowest branch. A mile on a junction is the
// end of the branch above it, where the water of a spill goes with the
// junction. The fault names SpillMile or SpillRiver.
func (x *Index) Locate(n *Network, river string, mile float64) (Spot, error) {
	if x.downstream == nil {
		return Spot{}, errors.New("locate: the index is not bound to a network")
	}
	river, err := x.river(river)
	if err != nil {
		return Spot{}, err
	}
	mile = roundMile(mile)
	if spot, ok := x.atPlace(n, river, mile); ok {
		return spot, nil
	}
	reaches := x.reaches(n, river, func(*Place) bool { return true })
	if spot, ok := between(n, reaches, mile); ok {
		return spot, nil
	}
	return Spot{}, &reason.Fault{Field: "SpillMile", Problem: "is outside the river-mile index, which covers " + x.covered(river, reaches),
		Text: strconv.FormatFloat(mile, 'g', -1, 64)}
}

// river returns the name of a river as the index writes it.
func (x *Index) river(name string) (string, error) {
	rivers := x.Rivers()
	if name == "" && len(rivers) == 1 {
		return rivers[0], nil
	}
	if i := slices.IndexFunc(rivers, func(r string) bool { return strings.EqualFold(r, name) }); i >= 0 {
		return rivers[i], nil
	}
	const most = 10
	hint := "the rivers of the index are " + strings.Join(rivers[:min(len(rivers), most)], ", ")
	if more := len(rivers) - most; more > 0 {
		hint += fmt.Sprintf(" and %d more", more)
	}
	f := &reason.Fault{Field: "SpillRiver", Problem: "is not a river of the index", Text: name, Hint: hint}
	if name == "" {
		f.Problem = "is missing; the basin has more than one river"
	}
	return "", f
}

// atPlace returns the best place of the index that has exactly this mile.
func (x *Index) atPlace(n *Network, river string, mile float64) (Spot, bool) {
	var places []*Place
	for i := range x.Places {
		if p := &x.Places[i]; p.River == river && p.Mile == mile {
			places = append(places, p)
		}
	}
	if len(places) == 0 {
		return Spot{}, false
	}
	p := slices.MinFunc(places, func(a, b *Place) int {
		return cmp.Or(cmp.Compare(belowJunction(n, a), belowJunction(n, b)), byShare(n, a.Branch, b.Branch))
	})
	distance := n.Branches[p.Branch-1].Grids[p.Grid-1].Distance
	return Spot{Branch: p.Branch, Distance: distance, Grid: p.Grid, Upstream: p.Grid}, true
}

// belowJunction returns 1 for a place at the head of a branch that a junction
// feeds, else 0.
func belowJunction(n *Network, p *Place) int {
	if p.Grid == 1 && n.Interior(n.Branches[p.Branch-1].Up) {
		return 1
	}
	return 0
}

// byShare orders branches by falling share, then by number.
func byShare(n *Network, a, b int) int {
	return cmp.Or(cmp.Compare(n.Branches[b-1].Share, n.Branches[a-1].Share), cmp.Compare(a, b))
}

// between returns the spot in the best reach that holds a mile.
func between(n *Network, reaches []reach, mile float64) (Spot, bool) {
	var spots []Spot
	var lengths []int // in branches, of the reach of each spot
	for _, r := range reaches {
		if (r.from.Mile-mile)*(r.to.Mile-mile) < 0 {
			spots = append(spots, r.spot(n, (mile-r.from.Mile)/(r.to.Mile-r.from.Mile)))
			lengths = append(lengths, len(r.branches))
		}
	}
	if len(spots) == 0 {
		return Spot{}, false
	}
	best := 0
	for i := range spots {
		// A reach through branches the index does not name is the last resort.
		if cmp.Or(cmp.Compare(lengths[i], lengths[best]), byShare(n, spots[i].Branch, spots[best].Branch)) < 0 {
			best = i
		}
	}
	return spots[best], true
}

// spot returns the point at a fraction of the water of a reach.
func (r *reach) spot(n *Network, fraction float64) Spot {
	rest := fraction * r.length(n)
	last := len(r.branches) - 1
	for i, branch := range r.branches {
		start, end := r.stretch(n, i)
		if i == last || rest <= end-start {
			return spotAt(n, branch, min(start+rest, end))
		}
		rest -= end - start
	}
	panic("river: a reach without branches")
}

// spotAt returns the spot at a distance along a branch, on a grid where one is
// near enough.
func spotAt(n *Network, branch int, distance float64) Spot {
	s := Spot{Branch: branch, Distance: distance, Upstream: 1}
	for i, g := range n.Branches[branch-1].Grids {
		if math.Abs(g.Distance-distance) <= sameSpot {
			return Spot{Branch: branch, Distance: g.Distance, Grid: i + 1, Upstream: i + 1}
		}
		if g.Distance < distance {
			s.Upstream = i + 1
		}
	}
	return s
}

// covered names the ranges of miles that the index has of a river.
func (x *Index) covered(river string, reaches []reach) string {
	type span struct{ low, high float64 }
	var spans []span
	for i := range x.Places {
		if p := &x.Places[i]; p.River == river {
			spans = append(spans, span{p.Mile, p.Mile})
		}
	}
	for _, r := range reaches {
		spans = append(spans, span{min(r.from.Mile, r.to.Mile), max(r.from.Mile, r.to.Mile)})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	joined := spans[:1]
	for _, s := range spans[1:] {
		if end := &joined[len(joined)-1]; s.low <= end.high {
			end.high = max(end.high, s.high)
			continue
		}
		joined = append(joined, s)
	}
	var text []string
	for _, s := range joined {
		text = append(text, fmt.Sprintf("mile %s to %s", plain(s.low), plain(s.high)))
	}
	return strings.Join(text, ", ")
}
