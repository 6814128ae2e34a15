package bltm

const (
	// drawn is up to which part of the smaller of two neighbours is exchanged
	// at once in the published scheme.
	drawn = 0.4
	// doublings bounds the sub-steps of the published scheme to 2^doublings.
	doublings = 10
	// ratio is the volume ratio of neighbours beyond which they are merged.
	ratio = 25
)

// exchange is the dispersion of the published scheme (Jobson & Schoellhamer
// 1987): neighbours exchange max(DQQ*|Q|, DQV*A/2)*DT whatever their size, in
// 2^n explicit sub-steps.
func (t *transport) exchange(b *branch, first, last int, dt float64) {
	w := &b.water
	n := t.publishedVolumes(b, dt)
	first, last = max(w.lo, first-n), min(len(w.vol)-1, last+n)
	part := 1 / float64(n)
	for range n {
		for _, c := range w.conc {
			var came float64 // mass from the piece downstream
			for i := first; i < last; i++ {
				m := t.solve.exchange[i] * part * (c[i+1] - c[i])
				c[i] = max(0, c[i]+(m+came)/w.vol[i])
				came = -m
			}
			c[last] = max(0, c[last]+came/w.vol[last])
		}
	}
}

// publishedVolumes sets the exchange between all neighbours and returns into
// how many sub-steps it must be cut.
func (t *transport) publishedVolumes(b *branch, dt float64) int {
	w := &b.water
	var edge, most float64
	g, end := 0, b.content[0]
	for i := len(w.vol) - 2; i >= w.lo; i-- {
		edge += w.vol[i+1]
		for edge >= end*(1-slack) && g < len(b.content)-1 {
			g++
			end += b.content[g]
		}
		small := min(w.vol[i], w.vol[i+1])
		e := max(b.dqq*abs(b.q[g]), t.dqv*b.area[g]/2) * dt
		e = min(e, drawn*small*(1<<doublings))
		t.solve.exchange[i] = e
		if small > 0 {
			most = max(most, e/small)
		}
	}
	n := 1
	for most/float64(n) > drawn && n < 1<<doublings {
		n *= 2
	}
	return n
}

// merge joins pieces as published: below QI*DT, or beside one of more than 25
// times their volume.
func (t *transport) merge(b *branch) {
	w := &b.water
	to := len(w.vol) - 1
	if to <= w.lo {
		return
	}
	least := t.smallFlow * t.dt
	for i := to - 1; i >= w.lo; i-- {
		v, u := w.vol[i], w.vol[to]
		if small, large := min(v, u), max(v, u); small > least && large <= ratio*small {
			to--
			w.take(to, i)
			continue
		}
		w.join(to, i)
	}
	w.lo = to
}
