package daflow

import "math"

// reach is the channel between two neighbouring grids with all that the scheme
// needs of it. Positions and lengths are in ft or m from the branch head.
type reach struct {
	start, length float64
	// end is where the flow field ends or the next reach begins. In the last
	// reach of a branch it may be beyond start+length.
	end               float64
	a1, a2, inverseA2 float64
	a0                float64
	w1, w2            float64
	// spread is 1/(S*W1): the squared dispersion length of a step is
	// 2*Dw*DT = spread*q^(1-W2)*DT.
	spread float64
	// lateral is the flow that joins or is withdrawn just above start, source
	// its index among the sources, -1 for none.
	lateral float64
	source  int
	// The power of the flow seen last, as most reaches see one flow for long.
	cachedFlow, cachedPower float64
}

// power returns q^A2, kept for the flow asked last.
func (r *reach) power(q float64) float64 {
	if q != r.cachedFlow {
		r.cachedFlow, r.cachedPower = q, power(q, r.a2)
	}
	return r.cachedPower
}

// pass returns the flow below a grid with a lateral flow from that above it.
func pass(q, lateral float64) float64 { return max(0, q+lateral) }

// shock is a discontinuity of the flow that moves downstream. A shock that
// stands exactly on a grid has passed it.
type shock struct {
	at             float64 // position
	reach          int
	up, down       float64 // flow on either side
	upPow, downPow float64 // both to the power A2 of the reach
}

// source is a grid with a lateral flow.
type source struct {
	reach       int     // the reach below the grid
	given       float64 // boundary value
	carried     float64 // volume given but not applied yet, less than QI*DT
	next        float64 // flow to apply in this step
	nextCarried float64
	drawn       float64 // volume withdrawn in this step
	owed        float64 // volume withdrawn but not written yet
}

// draw is a part of the volume withdrawn at a grid that a passing shock adds.
type draw struct {
	reach  int
	volume float64
}

// branch is one branch of the network with its flow field: the flow is head
// from the upstream end to the first shock, from there the down flow of that
// shock to the next, and so on, changed by the laterals on the way.
type branch struct {
	reaches []reach
	sources []source // in order of reach
	head    float64
	headPow float64 // head to the power A2 of the first reach
	shocks  []shock // in order of position
	carried float64 // inflow volume given but not applied yet

	content []float64 // volume above A0 in each reach of the flow field
	before  []float64 // the same at the end of the step before
	entered float64   // flow that entered the field in this step

	// Written values: flow and lateral flow per grid, volume above A0 per
	// reach. behind is the volume that has passed a grid but was not written.
	flow, lateral, volume, behind []float64

	// Kept between steps so that nothing is allocated in one.
	scratch, moved []shock
	groups         []group
	gone           float64
	draws          []draw
	parts          []part
	pieces         []piece
	changed        []piece
	upper          []float64
}

// measure sets content to the volume above A0 in each reach.
func (b *branch) measure() {
	q, p := b.head, b.headPow
	k := 0
	for i := range b.reaches {
		r := &b.reaches[i]
		if i > 0 && (r.lateral != 0 || r.a2 != b.reaches[i-1].a2) {
			q = pass(q, r.lateral)
			p = r.power(q)
		}
		if k == len(b.shocks) || b.shocks[k].reach != i {
			b.content[i] = r.a1 * p * r.length
			continue
		}
		v, from := 0.0, r.start
		for ; k < len(b.shocks) && b.shocks[k].reach == i; k++ {
			s := &b.shocks[k]
			if s.at >= r.start+r.length {
				break
			}
			v += p * (s.at - from)
			from, q, p = s.at, s.down, s.downPow
		}
		b.content[i] = r.a1 * (v + p*(r.start+r.length-from))
	}
}

// setInflow applies the inflow given for the next step. A difference below
// small is only counted, and applied once its volume is worth a shock.
func (b *branch) setInflow(given, small, dt float64) {
	difference := given - b.head
	if difference == 0 && b.carried == 0 {
		return
	}
	if math.Abs(difference) < small && math.Abs(b.carried+difference*dt) < small*dt {
		b.carried += difference * dt
		return
	}
	next := given + b.carried/dt
	if next < small {
		next = 0
	}
	b.carried += (given - next) * dt
	if next == b.head {
		return
	}
	s := shock{down: b.head, downPow: b.headPow}
	b.head, b.headPow = next, b.reaches[0].power(next)
	s.up, s.upPow = b.head, b.headPow
	b.shocks = append(b.shocks, shock{})
	copy(b.shocks[1:], b.shocks)
	b.shocks[0] = s
}

// decide finds the lateral flow to apply next by the rule of setInflow.
func (s *source) decide(applied, small, dt float64) {
	difference := s.given - applied
	s.next, s.nextCarried = applied, s.carried+difference*dt
	if math.Abs(difference) >= small || math.Abs(s.nextCarried) >= small*dt {
		s.next, s.nextCarried = s.given+s.carried/dt, 0
	}
}

// setLaterals applies the lateral flows given for the next step. Below a grid
// whose lateral changes the old flow goes on behind a new shock.
func (b *branch) setLaterals(small, dt float64) {
	changed := false
	for i := range b.sources {
		s := &b.sources[i]
		s.decide(b.reaches[s.reach].lateral, small, dt)
		s.carried = s.nextCarried
		changed = changed || s.next != b.reaches[s.reach].lateral
	}
	if !changed {
		return
	}
	out := b.scratch[:0]
	q, k := b.head, 0
	for i := range b.reaches {
		r := &b.reaches[i]
		above := q
		q = pass(q, r.lateral)
		if r.source >= 0 && b.sources[r.source].next != r.lateral {
			r.lateral = b.sources[r.source].next
			s := shock{at: r.start, reach: i, up: pass(above, r.lateral), down: q}
			if k < len(b.shocks) && b.shocks[k].reach == i && b.shocks[k].at == r.start {
				s.down = b.shocks[k].down
				q = s.down
				k++
			}
			s.upPow, s.downPow = power(s.up, r.a2), power(s.down, r.a2)
			out = appendShock(out, s)
		}
		for ; k < len(b.shocks) && b.shocks[k].reach == i; k++ {
			out = append(out, b.shocks[k])
			q = b.shocks[k].down
		}
	}
	b.shocks, b.scratch = out, b.shocks
}

// same reports whether two flows differ by no more than rounding.
func same(p, q float64) bool { return math.Abs(p-q) <= 1e-12*(p+q) }

// appendShock appends s unless it has nothing to tell.
func appendShock(out []shock, s shock) []shock {
	if same(s.up, s.down) {
		return out
	}
	return append(out, s)
}
