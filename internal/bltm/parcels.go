package bltm

// parcels is the water of one branch as a contiguous list of well-mixed
// pieces, straddling grids. Index lo is the piece at the downstream end, the
// last index the piece at the head: water enters by append and leaves by
// moving lo, so that a step costs no shift of the list.
type parcels struct {
	lo   int
	vol  []float64   // volume, ft3 or m3
	conc [][]float64 // per constituent, mg/L
}

func newParcels(constituents int) parcels {
	return parcels{conc: make([][]float64, constituents)}
}

func (p *parcels) len() int { return len(p.vol) - p.lo }

// reclaim moves the list to the front of its slice once more than half of that
// is free. It is called between steps only: indices do not survive it.
func (p *parcels) reclaim() {
	if p.lo <= len(p.vol)/2 {
		return
	}
	p.vol = p.vol[:copy(p.vol, p.vol[p.lo:])]
	for k, c := range p.conc {
		p.conc[k] = c[:copy(c, c[p.lo:])]
	}
	p.lo = 0
}

// push adds a piece at the head, with no mass yet, and returns its index.
func (p *parcels) push(v float64) int {
	p.vol = append(p.vol, v)
	for k := range p.conc {
		p.conc[k] = append(p.conc[k], 0)
	}
	return len(p.vol) - 1
}

// insert puts a piece with no mass at index i; those from i on, towards the
// head, move up by one.
func (p *parcels) insert(i int, v float64) {
	p.push(0)
	copy(p.vol[i+1:], p.vol[i:])
	p.vol[i] = v
	for _, c := range p.conc {
		copy(c[i+1:], c[i:])
		c[i] = 0
	}
}

// split cuts piece i so that its downstream part keeps volume v and index i;
// its upstream part becomes i+1.
func (p *parcels) split(i int, v float64) {
	p.insert(i+1, p.vol[i]-v)
	p.vol[i] = v
	for _, c := range p.conc {
		c[i+1] = c[i]
	}
}

// cut makes an edge at the distance at from the head, so that what begins or
// ends to enter there is sharp. The smaller part of the piece that stands over
// it goes to its neighbour where that is alike; where not, the piece is parted,
// unless a part would be so small that it would upset the dispersion. Piece i
// has its upstream edge at the distance edge, not beyond at; the piece and edge
// to go on from are returned.
func (p *parcels) cut(i int, edge, at float64) (int, float64) {
	j, from := i, edge
	for j >= p.lo && from+p.vol[j] <= at {
		from += p.vol[j]
		j--
	}
	if j < p.lo {
		return i, edge
	}
	v := p.vol[j]
	up := at - from
	down := v - up
	switch {
	case min(up, down) < 1e-9*v:
	case down <= up && j > p.lo && p.alike(j, j-1):
		p.give(j, j-1, down)
	case up < down && j+1 < len(p.vol) && p.alike(j, j+1):
		if j == i {
			i, edge = i+1, edge-p.vol[j+1]
		}
		p.give(j, j+1, up)
	case min(up, down) >= v/3:
		p.split(j, down)
		i++
	}
	return i, edge
}

// alike reports whether two pieces may be mixed without harm.
func (p *parcels) alike(i, j int) bool {
	for _, c := range p.conc {
		if abs(c[i]-c[j]) > 1e-9*(c[i]+c[j]) {
			return false
		}
	}
	return true
}

// give moves volume v from piece i to piece to.
func (p *parcels) give(i, to int, v float64) {
	p.vol[i] -= v
	p.mix(i, to, v)
}

// mix adds volume v of the water of piece i to piece to.
func (p *parcels) mix(i, to int, v float64) {
	for _, c := range p.conc {
		c[to] = blend(c[to], p.vol[to], c[i], v)
	}
	p.vol[to] += v
}

// blend is the concentration of v with c and w with d together. Equal ones stay
// as they are to the last digit, and the mass of a drop in a lake is not lost.
func blend(c, v, d, w float64) float64 {
	switch {
	case v+w == 0:
		return c
	case v < w:
		return d + (c-d)*(v/(v+w))
	}
	return c + (d-c)*(w/(v+w))
}

// holds reports whether piece i has the concentrations c.
func (p *parcels) holds(i int, c []float64) bool {
	for k, v := range c {
		if p.conc[k][i] != v {
			return false
		}
	}
	return true
}

// take copies piece i over piece to.
func (p *parcels) take(to, i int) {
	if to == i {
		return
	}
	p.vol[to] = p.vol[i]
	for _, c := range p.conc {
		c[to] = c[i]
	}
}

// join mixes all of piece i into piece to.
func (p *parcels) join(to, i int) { p.mix(i, to, p.vol[i]) }

// mass returns the mass of constituent k in all pieces, mg/L times volume.
func (p *parcels) mass(k int) float64 {
	var s sum
	c := p.conc[k]
	for i := p.lo; i < len(p.vol); i++ {
		s.add(c[i] * p.vol[i])
	}
	return s.value()
}

// sum adds with the rounding errors carried along (Neumaier 1974), so that a
// ledger over many steps closes to the last digits.
type sum struct{ s, rest float64 }

func (s *sum) add(v float64) {
	t := s.s + v
	if abs(s.s) >= abs(v) {
		s.rest += (s.s - t) + v
	} else {
		s.rest += (v - t) + s.s
	}
	s.s = t
}

func (s *sum) value() float64 { return s.s + s.rest }
