package bltm

import "math"

// perStep bounds the pieces that the head water of one step is cut into. It
// and all below divide bins.
const perStep = 4

// resolved is the exchange per volume and half step that pieces are made small
// enough for: a plume is then smooth over a few pieces from its first steps on.
const resolved = 0.3

// newTransport returns the state before the first water: set must fill the
// flows of step 0 before fill is called.
func newTransport(h *Header, order []int, o Options) *transport {
	t := &transport{dt: h.StepHours * 3600, smallFlow: h.SmallFlow, dqv: h.DQV, published: o.Published,
		junctions: make([]junction, h.InteriorJunctions),
		account:   make([]account, len(h.Constituents)),
		highest:   make([]float64, len(h.Constituents)),
	}
	for _, c := range h.Constituents {
		t.decay = append(t.decay, newDecay(c.DecayPerHour, h.StepHours))
	}
	for i := range h.Branches {
		t.branches = append(t.branches, newBranch(h, &h.Branches[i], o))
	}
	for _, i := range order {
		b := t.branches[i]
		t.order = append(t.order, b)
		if !b.empties {
			j := &t.junctions[h.Branches[i].Down-1]
			j.in = append(j.in, b)
			b.meets = j
		}
		if b.fed {
			j := &t.junctions[h.Branches[i].Up-1]
			j.out = append(j.out, b)
		}
	}
	return t
}

func newBranch(h *Header, from *Branch, o Options) *branch {
	n, nc := len(from.Grids), len(h.Constituents)
	b := &branch{dqq: from.DQQ, pieces: 1, fed: h.interior(from.Up), empties: !h.interior(from.Down)}
	b.spread = h.StepHours * 3600 * math.Sqrt(from.DQQ/2/finest)
	if !o.Published {
		b.pieces = pieces(from.DQQ)
	}
	b.q, b.area, b.lateral = make([]float64, n), make([]float64, n), make([]float64, n)
	b.passed, b.gained = make([]float64, n), make([]float64, n)
	b.length, b.content = make([]float64, n-1), make([]float64, n-1)
	b.head, b.side = make([]float64, nc), make([]float64, n*nc)
	b.fresh = make([]bool, n)
	b.in, b.out = make([]float64, bins*nc), make([]float64, bins*nc)
	b.last = make([]float64, nc)
	b.water = newParcels(nc)
	for g := range b.length {
		b.length[g] = (from.Grids[g+1].Distance - from.Grids[g].Distance) * h.Units.LengthPerDistance()
	}
	return b
}

// pieces is how many pieces the water of a step enters in: as many as make
// their exchange reach resolved, which grows with the square of the number.
func pieces(dqq float64) int {
	n := 1
	for n < perStep && dqq/2*float64(n*n) < resolved {
		n++
	}
	return n
}

// fill makes the initial water of branch b from the areas of step 0 and the
// concentrations at its grids. The default scheme cuts it to the size of the
// pieces that will enter behind it: a front that runs into larger ones would
// be smeared.
func (t *transport) fill(b *branch, from *Branch) {
	var whole []int // pieces per subreach
	for g := range b.content {
		v := b.area[g] * b.length[g]
		b.content[g] = v
		n := float64(from.ParcelsPerSubreach)
		if enters := b.q[g] * t.dt / float64(b.pieces); !t.published && enters > 0 {
			n = min(100, max(n, math.Ceil(v/enters)))
		}
		whole = append(whole, int(n))
	}
	w := &b.water
	for g := len(whole) - 1; g >= 0; g-- {
		if b.content[g] <= 0 {
			continue
		}
		v := b.content[g] / float64(whole[g])
		enters := b.q[g] * t.dt / float64(b.pieces)
		for range whole[g] {
			last := len(w.vol) - 1
			if !t.published && last >= 0 && w.vol[last]+v <= enters && w.holds(last, from.Grids[g].Initial) {
				w.vol[last] += v
				continue
			}
			at := w.push(v)
			for k, c := range from.Grids[g].Initial {
				w.conc[k][at] = c
				t.highest[k] = max(t.highest[k], c)
			}
		}
	}
	for k := range t.account {
		t.account[k].injected.add(w.mass(k))
	}
}
