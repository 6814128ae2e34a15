package daflow

import "math"

// piece is the water between two neighbouring discontinuities.
type piece struct {
	from, to           float64
	fromReach, toReach int
	first, firstPow    float64 // flow just below from, and to the power A2 there
	last, lastPow      float64 // flow just above to
	length             float64 // dispersion length at from
	conductance        float64 // volume that crosses from per difference of area, ft or m
	gain               float64 // area gained, ft2 or m2
	cut                bool    // from is no shock but a cut
}

// disperse spreads the flow field for a step of dt as waves disperse. It
// returns the larger of limit and the largest ratio of dispersion length to
// the way of a wave.
//
// The original pools the water within DL = sqrt(2*Dw*DT) of each shock, no
// further than half way to the next one. Where shocks stand closer than 2*DL,
// as behind any unsteady inflow, that spreads too little. So neighbouring
// pieces exchange the volume Dw*DT*(Au-Ad)/distance, with Au and Ad as they are
// at the end of the step: an implicit scheme, which gives a shock the variance
// 2*Dw*DT whatever stands near it. For a lone shock, of which pieces of
// length DL are cut off for it, both come to much the same.
func (b *branch) disperse(small, dt, limit float64) (ratio float64) {
	ratio = b.layOut(small, dt, limit)
	if len(b.pieces) < 2 {
		return ratio
	}
	for {
		b.exchange()
		if !b.closeCuts(small) && b.change() {
			break
		}
	}
	b.renew(small)
	return ratio
}

// layOut divides the water into pieces: those between the shocks, and where a
// long piece meets a shock, a dispersion length of it.
func (b *branch) layOut(small, dt, limit float64) (ratio float64) {
	ratio = limit
	b.pieces = b.pieces[:0]
	end := b.reaches[len(b.reaches)-1].end
	open := piece{first: b.head, firstPow: b.headPow}
	for i := range b.shocks {
		s := &b.shocks[i]
		length := 0.0
		// The halves of a smaller shock would be below small: it stays as it
		// is, so that their number is bounded and no plateau is disturbed.
		if math.Abs(s.up-s.down) >= 2*small {
			length = b.dispersion(s, dt, &ratio)
		}
		after := end
		if i < len(b.shocks)-1 {
			after = b.shocks[i+1].at
		}
		if length > 0 && s.at-open.from > 2*length {
			if c, ok := b.flowAbove(s, s.at-length); ok {
				open = b.end(open, &c)
				open.cut = true
			}
		}
		open = b.end(open, s)
		open.length = length
		if length > 0 && after-s.at > 2*length {
			c := b.flowBelow(s, s.at+length)
			open = b.end(open, &c)
			open.cut = true
		}
	}
	open.to, open.toReach = end, len(b.reaches)-1
	b.pieces = append(b.pieces, open)
	for i := 1; i < len(b.pieces); i++ {
		p := &b.pieces[i]
		if distance := (p.to - b.pieces[i-1].from) / 2; distance > 0 {
			p.conductance = p.length * p.length / 2 / distance
		}
	}
	return ratio
}

// dispersion returns sqrt(2*Dw*DT) at the mean flow of s, 0 where it is below
// one length unit.
func (b *branch) dispersion(s *shock, dt float64, ratio *float64) float64 {
	r := &b.reaches[s.reach]
	mean := (s.up + s.down) / 2
	length := math.Sqrt(r.spread * power(mean, 1-r.w2) * dt)
	if length < 1 {
		return 0
	}
	// For A2 up to 1.5 a wave at the mean flow is at most 6 % slower than the
	// shock; so most shocks need no exact ratio.
	if way := dt * r.speed(s); length > 0.9*(*ratio)*way {
		*ratio = max(*ratio, length*r.a1*r.a2/(power(mean, 1-r.a2)*dt))
	}
	return length
}

// end closes the piece open at s and returns the one that opens there.
func (b *branch) end(open piece, s *shock) piece {
	open.to, open.toReach, open.last, open.lastPow = s.at, s.reach, s.up, s.upPow
	b.pieces = append(b.pieces, open)
	return piece{from: s.at, fromReach: s.reach, first: s.down, firstPow: s.downPow}
}

// flowAbove returns a cut at the position at above s; ok is false where the
// flow there is not known from below because all of it was withdrawn.
func (b *branch) flowAbove(s *shock, at float64) (c shock, ok bool) {
	c = shock{at: at, reach: s.reach, up: s.up, upPow: s.upPow}
	for c.reach > 0 && b.reaches[c.reach].start > at {
		r, above := &b.reaches[c.reach], &b.reaches[c.reach-1]
		if r.lateral != 0 {
			if c.up <= 0 && r.lateral < 0 {
				return c, false
			}
			c.up = pass(c.up, -r.lateral)
		}
		if r.lateral != 0 || r.a2 != above.a2 {
			c.upPow = power(c.up, above.a2)
		}
		c.reach--
	}
	c.down, c.downPow = c.up, c.upPow
	return c, true
}

// flowBelow returns a cut at the position at below s.
func (b *branch) flowBelow(s *shock, at float64) (c shock) {
	c = shock{at: at, reach: s.reach, down: s.down, downPow: s.downPow}
	for c.reach < len(b.reaches)-1 && b.reaches[c.reach].end <= at {
		r, below := &b.reaches[c.reach], &b.reaches[c.reach+1]
		if below.lateral != 0 || r.a2 != below.a2 {
			c.down = pass(c.down, below.lateral)
			c.downPow = power(c.down, below.a2)
		}
		c.reach++
	}
	c.up, c.upPow = c.down, c.downPow
	return c
}

// exchange finds the area that each piece gains: the solution of a tridiagonal
// system that is diagonally dominant, by elimination from upstream.
func (b *branch) exchange() {
	ps := b.pieces
	b.upper = b.upper[:0]
	into, before := 0.0, 0.0 // at from: volume as the areas are now, and coefficient
	for i := range ps {
		p := &ps[i]
		next, out := 0.0, 0.0
		if i < len(ps)-1 {
			below := &ps[i+1]
			next = below.conductance
			out = next * b.reaches[below.fromReach].a1 * (p.lastPow - below.firstPow)
		}
		diagonal := p.to - p.from + p.conductance + next - p.conductance*before
		right := into - out
		if i > 0 {
			right += p.conductance * ps[i-1].gain
		}
		p.gain, before = 0, 0
		if diagonal > 0 {
			p.gain, before = right/diagonal, next/diagonal
		}
		b.upper = append(b.upper, before)
		into = out
	}
	for i := len(ps) - 2; i >= 0; i-- {
		ps[i].gain += b.upper[i] * ps[i+1].gain
	}
}

// closeCuts takes out the cut pieces whose flow would change by less than
// small and reports whether there were any.
func (b *branch) closeCuts(small float64) (closed bool) {
	ps := b.pieces
	for i := 1; i < len(ps); i++ {
		if !ps[i].cut {
			continue
		}
		above, below := &ps[i-1], &ps[i]
		if below.gain != 0 && i < len(ps)-1 && b.difference(below) < small {
			// The shock is the one below.
			ps[i+1].conductance, closed = 0, true
		}
		if above.gain != 0 && b.difference(above) < small {
			above.conductance, closed = 0, true
		}
	}
	return closed
}

// difference returns how much the flow changes at the upstream end of p.
func (b *branch) difference(p *piece) float64 {
	r := &b.reaches[p.fromReach]
	return math.Abs(power(max(0, p.firstPow+p.gain/r.a1), r.inverseA2) - p.first)
}

// change gives the pieces what they gain. Where that is impossible for one, as
// it can be next to laterals and where the channel changes, nothing is changed,
// the piece is closed and change returns false.
func (b *branch) change() bool {
	b.changed = b.changed[:0]
	for i := range b.pieces {
		p := b.pieces[i]
		if p.gain != 0 {
			var ok bool
			if p, ok = b.add(&p, p.gain*(p.to-p.from)); !ok {
				b.pieces[i].conductance = 0
				if i < len(b.pieces)-1 {
					b.pieces[i+1].conductance = 0
				}
				return false
			}
		}
		b.changed = append(b.changed, p)
	}
	b.pieces, b.changed = b.changed, b.pieces
	return true
}

// renew makes shocks of the pieces again. Neighbours that have come within
// small of each other become one, but only short ones: a plateau stays as it
// is.
func (b *branch) renew(small float64) {
	ps := b.pieces
	out := b.scratch[:0]
	above := ps[0]
	b.head, b.headPow = above.first, above.firstPow
	movable := true // the flow of above can still be changed: it starts at the head or at the last of out
	for i := 1; i < len(ps); i++ {
		p := &ps[i]
		if movable && above.gain != 0 && p.gain != 0 &&
			math.Abs(above.last-p.first) < small && p.to-above.from <= 4*p.length {
			if joined, ok := b.join(&above, p); ok {
				above = joined
				if len(out) == 0 {
					b.head, b.headPow = above.first, above.firstPow
				} else {
					s := &out[len(out)-1]
					s.down, s.downPow = above.first, above.firstPow
				}
				continue
			}
		}
		n := len(out)
		out = appendShock(out, shock{at: p.from, reach: p.fromReach, up: above.last, upPow: above.lastPow,
			down: p.first, downPow: p.firstPow})
		movable = len(out) > n
		above = *p
	}
	b.shocks, b.scratch = out, b.shocks
}
