package bltm

// bins is into how many equal parts of a step the arrivals at a junction are
// kept apart, so that the order of arrival is not lost. It is divisible by
// every number of pieces that a branch takes its head water in.
const bins = 12

// branch is one run of grids with the water on it.
type branch struct {
	dqq     float64
	spread  float64   // volume that disperses per flow, in half a step
	pieces  int       // pieces that the water of one step enters in
	length  []float64 // per subreach, ft or m
	fed     bool      // begins at an interior junction
	empties bool      // ends at an outer one
	meets   *junction // the interior one it ends at

	// Of the present step, per grid; area and lateral have no last one.
	q, area, lateral []float64
	head             []float64 // boundary concentration per constituent
	side             []float64 // lateral concentration, grid*constituents
	fresh            []bool    // per grid: side changed in this step

	water   parcels
	content []float64 // volume per subreach at the end of the step
	passed  []float64 // volume that passed just upstream of a grid
	gained  []float64 // lateral volume that really came, or went (-)

	// Volumes that enter and leave at the ends in this step, and their mass as
	// of its end, bin*constituents; in only when fed.
	inflow, outflow float64
	in, out         []float64
	last            []float64 // concentration of what left last
}

func (b *branch) grids() int { return len(b.q) }

// balance turns the flows of the step into volumes. The stored water rules:
// the volume past a grid is what the subreach above it cannot hold, so that
// flows of five digits cannot let the water drift over many steps.
func (b *branch) balance(dt float64) {
	p := b.inflow
	last := b.grids() - 1
	for g := range last {
		b.passed[g] = p
		gain := b.lateral[g] * dt
		if g == 0 {
			gain = 0
		}
		gain = max(gain, -p)
		b.gained[g] = gain
		held := b.area[g] * b.length[g]
		total := b.content[g] + p + gain
		if p = total - held; p < 0 {
			p, held = 0, total
		}
		b.content[g] = held
	}
	b.passed[last] = p
	b.outflow = p
}

// enter adds the head water of the step in pieces of equal volume, in order.
func (t *transport) enter(b *branch) {
	v := b.inflow
	if v <= 0 {
		return
	}
	n := float64(b.pieces)
	for i := range b.pieces {
		at := b.water.push(v / n)
		from, to := float64(i)/n, float64(i+1)/n
		for k := range t.decay {
			var m float64
			if b.fed {
				for j := i * bins / b.pieces; j < (i+1)*bins/b.pieces; j++ {
					m += b.in[j*len(t.decay)+k]
				}
			} else {
				raw := b.head[k] * v / n
				m = raw * t.decay[k].kept(from, to)
				t.account[k].enter(raw, m)
			}
			b.water.conc[k][at] = m * n / v
		}
	}
}

// age lets all water that is in the branch decay by one step.
func (t *transport) age(b *branch) {
	for k, d := range t.decay {
		if d.kdt == 0 {
			continue
		}
		c := b.water.conc[k]
		var lost float64
		for i := b.water.lo; i < len(c); i++ {
			if c[i] == 0 {
				continue
			}
			left := c[i] * d.full
			lost += (c[i] - left) * b.water.vol[i]
			c[i] = left
		}
		t.account[k].decayed.add(lost)
	}
}

// sweep gives the water that passed each grid its lateral inflow, or takes its
// withdrawal, in proportion to the volume of each piece that passed.
func (t *transport) sweep(b *branch) {
	i := len(b.water.vol) - 1
	edge := 0.0 // distance from the head, in volume, of the upstream edge of i
	grid := 0.0 // the same of the grid
	for g := 1; g < b.grids()-1; g++ {
		grid += b.content[g-1]
		fresh := b.fresh[g] && !t.published
		b.fresh[g] = false
		if b.gained[g] == 0 {
			continue
		}
		for i >= b.water.lo && edge+b.water.vol[i] <= grid {
			edge += b.water.vol[i]
			i--
		}
		if b.gained[g] > 0 && b.passed[g] < 1e-9*b.gained[g] {
			i = t.spring(b, g, i, grid-edge)
			edge = grid
			continue
		}
		if fresh {
			i, edge = b.water.cut(i, edge, grid+b.passed[g])
			i, edge = b.water.cut(i, edge, grid)
			for i >= b.water.lo && edge+b.water.vol[i] <= grid {
				edge += b.water.vol[i]
				i--
			}
		}
		t.pass(b, g, i, edge-grid)
	}
}

// spring adds the lateral water of grid g where nothing passed it to mix with,
// as a piece of its own, ahead volumes downstream of the upstream edge of i.
// It returns the index of the new piece.
func (t *transport) spring(b *branch, g, i int, ahead float64) int {
	w := &b.water
	v := b.gained[g]
	at := i + 1
	if i >= w.lo && ahead > 1e-9*w.vol[i] {
		w.split(i, w.vol[i]-ahead)
	}
	w.insert(at, v)
	for k, d := range t.decay {
		raw := b.side[g*len(t.decay)+k] * v
		m := raw * d.kept(0, 1)
		t.account[k].enter(raw, m)
		w.conc[k][at] = m / v
	}
	return at
}

// pass mixes the lateral water of grid g into the pieces that passed it. The
// upstream edge of piece i stands start volumes downstream of the grid (not
// above 0). What is farthest downstream passed first.
func (t *transport) pass(b *branch, g, i int, start float64) {
	w := &b.water
	total, gain := b.passed[g], b.gained[g]
	for ; i >= w.lo && start < total; i-- {
		v := w.vol[i]
		from, to := max(start, 0), min(start+v, total)
		start += v
		share := (to - from) / total
		if share <= 0 {
			continue
		}
		early, late := 1-to/total, 1-from/total
		dv := gain * share
		if gain < 0 {
			dv = max(dv, -v)
			w.vol[i] = v + dv
			for k, d := range t.decay {
				m := -dv * w.conc[k][i]
				t.account[k].withdraw(m, m*d.credit(early, late))
			}
			continue
		}
		w.vol[i] = v + dv
		for k, d := range t.decay {
			if dv <= 0 {
				break
			}
			raw := b.side[g*len(t.decay)+k] * dv
			m := raw * d.kept(early, late)
			t.account[k].enter(raw, m)
			w.conc[k][i] = blend(w.conc[k][i], v, m/dv, dv)
		}
	}
}

// leave takes the outflow of the step from the downstream end, the last piece
// in part, and keeps its order of leaving.
func (t *transport) leave(b *branch) {
	w := &b.water
	clear(b.out)
	total := b.outflow
	var gone float64
	for gone < total && w.lo < len(w.vol) {
		v := w.vol[w.lo]
		take := min(v, total-gone)
		from, to := gone/total, min((gone+take)/total, 1)
		for k, d := range t.decay {
			b.last[k] = w.conc[k][w.lo]
			m := w.conc[k][w.lo] * take
			if m == 0 {
				continue
			}
			if b.empties {
				t.account[k].leave(m, m*d.credit(from, to))
			} else {
				b.bin(k, len(t.decay), m, from, to)
			}
		}
		gone += take
		if take < v {
			w.vol[w.lo] = v - take
			break
		}
		w.lo++
	}
}

// endsInSource reports whether water that carries something enters right above
// the last grid in this step: then what stands there at the end of the step is
// what left last, as the sliver of water between is mixed with what comes next.
func (b *branch) endsInSource(constituents int) bool {
	g := b.grids() - 2
	if g < 1 || b.gained[g] <= 0 || b.content[g] > shortEnd*b.outflow {
		return false
	}
	for _, c := range b.side[g*constituents : (g+1)*constituents] {
		if c > 0 {
			return true
		}
	}
	return false
}

// shortEnd is the part of the outflow of a step that the last subreach may hold
// to count as a sliver.
const shortEnd = 0.1

// bin adds mass m of constituent k, which left evenly in from..to of the step.
func (b *branch) bin(k, constituents int, m, from, to float64) {
	first := min(int(from*bins), bins-1)
	last := min(int(to*bins), bins-1)
	if first == last {
		b.out[first*constituents+k] += m
		return
	}
	rest := m
	for j := first; j < last; j++ {
		part := m * (min(to, float64(j+1)/bins) - max(from, float64(j)/bins)) / (to - from)
		b.out[j*constituents+k] += part
		rest -= part
	}
	b.out[last*constituents+k] += max(0, rest)
}

// dry reports whether no water is at grid g: not more than little passed it in
// the step, and the subreach below holds not more than that. Water that stands
// above it has not come there yet, but for the end of the branch.
func (b *branch) dry(g int, little float64) bool {
	if last := b.grids() - 1; g == last {
		return b.passed[g] <= little && b.content[last-1] <= little
	}
	return b.passed[g] <= little && b.content[g] <= little
}
