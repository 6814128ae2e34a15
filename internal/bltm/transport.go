package bltm

import "math"

// transport is the state of all branches and what happens to it in a step.
type transport struct {
	dt        float64 // seconds
	smallFlow float64
	dqv       float64
	published bool
	decay     []decay
	branches  []*branch
	order     []*branch // upstream before downstream
	junctions []junction
	account   []account
	highest   []float64 // concentration that ever entered, per constituent
	solve     solver
}

// slack is the relative distance at which an edge counts as on a grid: rounding
// must not decide which side it belongs to.
const slack = 1e-9

// junction is an interior one: what ends there and what begins there.
type junction struct {
	in, out []*branch
}

// step moves the water on by one step. The flows, areas and boundary values of
// the step stand in the branches, and half of its dispersion is done (before
// them, with the flows the water had).
func (t *transport) step() {
	for _, b := range t.order {
		t.advance(b)
	}
	if !t.published {
		t.spread(t.dt / 2)
	}
}

// begin does the dispersion that belongs before the inflow of a step: half of
// it, as the other half behind the inflow makes the pair of second order in
// time (Strang 1968); all of it in the published scheme.
func (t *transport) begin() {
	for _, b := range t.branches {
		b.water.reclaim()
	}
	if t.published {
		t.spread(t.dt)
	} else {
		t.spread(t.dt / 2)
	}
}

// spread lets the water of all branches disperse for dt seconds.
func (t *transport) spread(dt float64) {
	for _, b := range t.branches {
		first, last, found := t.plume(&b.water)
		if !found || b.dqq == 0 && t.dqv == 0 {
			continue
		}
		t.solve.grow(len(b.water.vol))
		if t.published {
			t.exchange(b, first, last, dt)
		} else {
			t.disperse(b, first, last, dt)
		}
	}
	if t.published {
		return
	}
	for i := range t.junctions {
		t.across(&t.junctions[i])
	}
}

// advance moves the water of one branch; those upstream have moved.
func (t *transport) advance(b *branch) {
	if !b.fed {
		b.inflow = max(0, b.q[0]*t.dt)
		for k, c := range b.head {
			t.highest[k] = max(t.highest[k], c)
		}
	}
	b.balance(t.dt)
	t.age(b)
	t.enter(b)
	t.sweep(b)
	t.leave(b)
	if t.published {
		t.merge(b)
	} else {
		t.condense(b)
	}
	if !b.empties {
		t.join(b)
	}
}

// sliver is what is too small beside the smallest useful piece to stand alone.
const sliver = 1e-6

// condense merges neighbours that are smaller than any use: less water than
// QI*DT, far less than the dispersion of half a step spreads, or a hundredth
// of their subreach.
func (t *transport) condense(b *branch) {
	w := &b.water
	g, end := 0, b.content[0]
	small := t.smallest(b, 0)
	to := len(w.vol) - 1
	if to <= w.lo {
		return
	}
	edge := w.vol[to]
	for i := to - 1; i >= w.lo; i-- {
		for edge >= end*(1-slack) && g < len(b.content)-1 {
			g++
			end += b.content[g]
			small = t.smallest(b, g)
		}
		v := w.vol[i]
		edge += v
		if u := w.vol[to]; v+u <= small || v <= sliver*small || u <= sliver*small {
			w.join(to, i)
			continue
		}
		to--
		w.take(to, i)
	}
	w.lo = to
}

func (t *transport) smallest(b *branch, g int) float64 {
	held := b.content[g]
	return max(t.smallFlow*t.dt, held/100, min(held/2, b.q[g]*b.spread))
}

// join hands what left branch b on to the branches of its junction, when the
// last branch that ends there has moved.
func (t *transport) join(b *branch) {
	j := b.meets
	if j.in[len(j.in)-1] != b {
		return
	}
	var volume float64
	for _, in := range j.in {
		volume += in.outflow
	}
	var flow float64
	for _, out := range j.out {
		flow += max(0, out.q[0])
	}
	for _, out := range j.out {
		share := 1 / float64(len(j.out))
		if flow > 0 {
			share = max(0, out.q[0]) / flow
		}
		out.inflow = volume * share
		clear(out.in)
		for _, in := range j.in {
			for i, m := range in.out {
				out.in[i] += m * share
			}
		}
	}
}

// across exchanges water over a junction where one branch goes on as another,
// for half a step, so that a change of name is no wall to dispersion. The exact
// relaxation of two well-mixed volumes is taken: it cannot overshoot. Where
// rivers meet or part nothing is exchanged: the mouth of a tributary keeps its
// own water, and no plume climbs into a branch that it does not flow through.
func (t *transport) across(j *junction) {
	if len(j.in) != 1 || len(j.out) != 1 {
		return
	}
	in, out := j.in[0], j.out[0]
	q := min(in.q[len(in.q)-1], out.q[0])
	if q <= 0 || in.water.len() == 0 || out.water.len() == 0 {
		return
	}
	ia, ib := in.water.lo, len(out.water.vol)-1
	va, vb := in.water.vol[ia], out.water.vol[ib]
	if va <= 0 || vb <= 0 {
		return
	}
	moved := q * t.dt
	e := math.Sqrt(in.dqq*out.dqq) * moved * moved / (va + vb)
	both := va * vb / (va + vb)
	e = both * -math.Expm1(-e/both)
	for k := range t.decay {
		a, b := in.water.conc[k][ia], out.water.conc[k][ib]
		if alike(a, b, faint*t.highest[k]) {
			continue
		}
		m := e * (a - b)
		in.water.conc[k][ia] = max(0, a-m/va)
		out.water.conc[k][ib] = max(0, b+m/vb)
	}
}

// sample sets dst, grid*constituents, to the concentrations at the grids of b
// at the end of the step; 0 at a grid without water.
func (t *transport) sample(b *branch, dst []float64) {
	n := len(t.decay)
	clear(dst)
	w := &b.water
	if w.len() == 0 {
		return
	}
	i := len(w.vol) - 1
	var edge, grid float64
	for g := range b.grids() {
		if g > 0 {
			grid += b.content[g-1]
		}
		for i > w.lo && edge+w.vol[i] < grid*(1-slack) {
			edge += w.vol[i]
			i--
		}
		if b.dry(g, t.smallFlow*t.dt) {
			continue
		}
		x := 1.0
		if w.vol[i] > 0 {
			x = 1 - min(1, max(0, (grid-edge)/w.vol[i]))
		}
		if t.published {
			for k, c := range w.conc {
				dst[g*n+k] = c[i]
			}
			continue
		}
		for k, c := range w.conc {
			p := profile{vol: w.vol, c: c, lo: w.lo, hi: len(w.vol)}
			dst[g*n+k] = min(p.at(i, x), t.highest[k])
		}
	}
	if end := b.grids() - 1; !t.published && b.endsInSource(n) {
		copy(dst[end*n:], b.last)
	}
}
