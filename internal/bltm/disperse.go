package bltm

const (
	// reach is how many pieces beyond the edge of a plume one implicit step
	// carries mass; what would go farther is below 1e-9 of the edge.
	reach = 40
	// same is the relative difference of neighbours taken as none; faint the
	// same against the highest concentration there ever was.
	same, faint = 1e-14, 1e-20
	// finest is up to which exchange per half step, over volume, pieces are
	// kept apart; above it they are merged without loss.
	finest = 1.0
)

// solver holds the scratch of the dispersion step, as long as the longest list.
type solver struct {
	exchange, weight []float64 // between pieces i and i+1
	ratio            []float64
	value            []float64
}

func (s *solver) grow(n int) {
	if len(s.exchange) < n {
		s.exchange = make([]float64, 2*n)
		s.weight = make([]float64, 2*n)
		s.ratio = make([]float64, 2*n)
		s.value = make([]float64, 2*n)
	}
}

// plume returns the first and last piece between which neighbours differ in
// any constituent, and false where the water is uniform.
func (t *transport) plume(w *parcels) (first, last int, found bool) {
	first, last = len(w.vol), -1
	for k, c := range w.conc {
		tiny := faint * t.highest[k]
		i, j := w.lo, len(c)-1
		for i < j && alike(c[i], c[i+1], tiny) {
			i++
		}
		if i >= j {
			continue
		}
		for alike(c[j], c[j-1], tiny) {
			j--
		}
		first, last = min(first, i), max(last, j)
	}
	return first, last, last >= 0
}

func alike(a, b, tiny float64) bool {
	return a == b || abs(a-b) <= same*(a+b)+tiny
}

// exchanges sets, for the pieces first..last, the volume that neighbours
// exchange in dt seconds: D*A/dx*dt with D = DQQ*U^2*DT, which in volumes is
// DQQ*(Q*DT)^2/v*dt/DT, v the mean of the two volumes; it does not depend on
// how long the pieces are. Across a dry stretch nothing is exchanged.
func (t *transport) exchanges(b *branch, first, last int, dt float64) {
	w := &b.water
	part := dt / t.dt
	edge := 0.0 // upstream edge of piece i, volume from the head
	for i := len(w.vol) - 1; i >= last; i-- {
		edge += w.vol[i]
	}
	g, end := 0, b.content[0]
	var dispersed, least, overDispersed, overLeast float64
	fresh := true
	for i := last - 1; i >= first; i-- {
		gap := false
		for edge >= end*(1-slack) && g < len(b.content)-1 {
			g++
			end += b.content[g]
			fresh = true
			gap = gap || b.q[g] == 0 && b.content[g] <= t.smallFlow*t.dt
		}
		if gap {
			t.solve.exchange[i], t.solve.weight[i] = 0, 0
			edge += w.vol[i]
			continue
		}
		if fresh {
			moved := b.q[g] * t.dt
			dispersed = b.dqq * moved * moved * part
			least = t.dqv * b.area[g] / 2 * dt
			overDispersed, overLeast = 1/dispersed, 1/least
			fresh = false
		}
		va, vb := w.vol[i], w.vol[i+1]
		mean := (va + vb) / 2
		e, over := dispersed/mean, mean*overDispersed
		if e < least {
			e, over = least, overLeast
		}
		// Crandall's weight of the new time level makes the fourth moment
		// right; more of it where a small piece would be overdrawn.
		th := max(0.5-mean*over/12, 1-0.49*min(va, vb)*over, 0)
		t.solve.exchange[i] = e
		t.solve.weight[i] = th
		edge += va
	}
}

// disperse exchanges water between the pieces of a branch for dt seconds. The
// water differs between the pieces first and last.
func (t *transport) disperse(b *branch, first, last int, dt float64) {
	w := &b.water
	first, last = max(w.lo, first-reach), min(len(w.vol)-1, last+reach)
	t.exchanges(b, first, last, dt)
	for _, c := range w.conc {
		t.solve.step(w.vol, c, first, last)
	}
}

// step solves one weighted step of the exchange, implicit as far as weight
// says. Every term is positive, so that the result is.
func (s *solver) step(vol, c []float64, first, last int) {
	var below, belowNew, before float64 // of the interface downstream of i
	var ratio, value float64
	rest := 1.0 // 1 - ratio, without the loss of digits of a difference
	for i := first; i <= last; i++ {
		var above, aboveNew, after float64
		if i < last {
			e, th := s.exchange[i], s.weight[i]
			aboveNew = e * th
			above = e - aboveNew
			after = c[i+1]
		}
		here := c[i]
		right := max(0, vol[i]-below-above)*here + below*before + above*after
		own := vol[i] + belowNew*rest
		diag := 1 / (own + aboveNew)
		value = (right + belowNew*value) * diag
		ratio, rest = aboveNew*diag, own*diag
		s.ratio[i], s.value[i] = ratio, value
		below, belowNew, before = above, aboveNew, here
	}
	next := s.value[last]
	c[last] = next
	for i := last - 1; i >= first; i-- {
		next = s.value[i] + s.ratio[i]*next
		c[i] = next
	}
}
