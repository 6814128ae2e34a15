package daflow

import "math"

// part is the part of a piece of flow that lies in one reach.
type part struct {
	a1, a2, length float64
	lateral        float64 // flow that joins at its upstream end, 0 for the first
}

// lay lists the parts of p in b.parts. It returns whether they are one channel
// with one A2 and without laterals, and the sum of A1*length.
func (b *branch) lay(p *piece) (uniform bool, capacity float64) {
	uniform = true
	b.parts = b.parts[:0]
	a2 := b.reaches[p.fromReach].a2
	for i := p.fromReach; i <= p.toReach; i++ {
		r := &b.reaches[i]
		x := part{a1: r.a1, a2: r.a2, length: min(p.to, r.end) - max(p.from, r.start)}
		if i > p.fromReach {
			x.lateral = r.lateral
		}
		uniform = uniform && x.lateral == 0 && x.a2 == a2
		capacity += x.a1 * x.length
		b.parts = append(b.parts, x)
	}
	return uniform, capacity
}

// add returns p with the volume v more in it; ok is false where no flow >= 0
// has that volume: there is less, or laterals inside bring more.
func (b *branch) add(p *piece, v float64) (changed piece, ok bool) {
	changed = *p
	uniform, capacity := b.lay(p)
	first := &b.reaches[p.fromReach]
	if uniform {
		if changed.firstPow = p.firstPow + v/capacity; changed.firstPow < 0 {
			return *p, false
		}
		changed.first = power(changed.firstPow, first.inverseA2)
		changed.last, changed.lastPow = changed.first, changed.firstPow
		return changed, true
	}
	volume, _ := volumeOf(b.parts, p.first)
	q, ok := flowOfVolume(b.parts, volume+v, p.first)
	if !ok {
		return *p, false
	}
	changed.first, changed.firstPow = q, power(q, first.a2)
	for _, x := range b.parts {
		q = pass(q, x.lateral)
	}
	changed.last, changed.lastPow = q, power(q, b.reaches[p.toReach].a2)
	return changed, true
}

// join returns p and next, which follows it, as one piece; ok is false where
// no flow >= 0 has their volume.
func (b *branch) join(p, next *piece) (joined piece, ok bool) {
	joined = *p
	joined.to, joined.toReach = next.to, next.toReach
	uniform, capacity := b.lay(next)
	more := capacity * next.firstPow
	if !uniform {
		more, _ = volumeOf(b.parts, next.first)
	}
	// What next would hold with the flow of p is in joined already.
	if uniform, capacity = b.lay(&joined); uniform {
		_, before := b.lay(p)
		return b.add(&joined, more-(capacity-before)*p.firstPow)
	}
	whole, _ := volumeOf(b.parts, p.first)
	b.lay(p)
	before, _ := volumeOf(b.parts, p.first)
	return b.add(&joined, more-(whole-before))
}

// flowOfVolume returns the flow at the upstream end of parts that gives them
// the volume, by Newton's method kept between bounds; ok is false where even
// no flow gives more.
func flowOfVolume(parts []part, volume, guess float64) (flow float64, ok bool) {
	least, _ := volumeOf(parts, 0)
	if least > volume*(1+1e-13) {
		return 0, false
	}
	low, high := 0.0, math.Inf(1)
	q := max(guess, 1e-30)
	last := math.Inf(1) // the step before
	for range 200 {
		v, slope := volumeOf(parts, q)
		if math.Abs(v-volume) <= 4e-16*volume {
			return q, true
		}
		if v > volume {
			high = q
		} else {
			low = q
		}
		next := q - (v-volume)/slope
		switch {
		case slope > 0 && next > low && next < high && math.Abs(next-q) < last/2:
		case math.IsInf(high, 1):
			next = 2*q + 1
		default: // next to a flow that dries up somewhere Newton crawls
			next = low + (high-low)/2
		}
		if next == q || next <= low || next >= high {
			return q, true
		}
		last = math.Abs(next - q)
		q = next
	}
	return q, true
}

// volumeOf returns the volume above A0 in parts for the flow q at their
// upstream end, and its derivative.
func volumeOf(parts []part, q float64) (volume, slope float64) {
	for i := range parts {
		p := &parts[i]
		q = pass(q, p.lateral)
		if q == 0 {
			continue
		}
		v := p.a1 * power(q, p.a2) * p.length
		volume += v
		slope += v * p.a2 / q
	}
	return volume, slope
}
