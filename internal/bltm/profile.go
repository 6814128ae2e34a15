package bltm

import "math"

// extremum bounds how much steeper the curvature of a reconstruction may be
// than that of the means around it (Colella & Sekora 2008).
const extremum = 1.25

// profile reconstructs the concentration inside the pieces lo..hi-1 from their
// means: a parabola per piece with edges of fourth order on pieces of unequal
// volume (Colella & Woodward 1984, eq. 1.6-1.8), limited so that a smooth peak
// keeps its height and a sharp front gets no new extremum (in the spirit of
// Colella & Sekora 2008). It is exact for a constant and never negative.
// Measured on the plume of engines.md its error is a third of that of linear
// interpolation and a thirtieth of that of the means themselves.
type profile struct {
	vol, c []float64
	lo, hi int
}

// at returns the concentration in piece i at x, 0 at its downstream and 1 at
// its upstream edge.
func (p *profile) at(i int, x float64) float64 {
	a := p.c[i]
	if (i == p.lo || p.c[i-1] == a) && (i == p.hi-1 || p.c[i+1] == a) {
		return a
	}
	var w window
	for j := range w.c {
		w.c[j], w.v[j] = p.mean(i-2+j), p.size(i-2+j)
	}
	return max(0, w.at(x))
}

// mean is the concentration of piece i. Beyond the ends of the list it goes on
// as steadily as it came, without a slope where it came with a front.
func (p *profile) mean(i int) float64 {
	switch {
	case i < p.lo:
		return p.beyond(p.lo, 1, float64(p.lo-i))
	case i >= p.hi:
		return p.beyond(p.hi-1, -1, float64(i-p.hi+1))
	}
	return p.c[i]
}

// beyond goes on for so many pieces from the end e of a list that goes in
// steps of in from there.
func (p *profile) beyond(e, in int, pieces float64) float64 {
	if p.hi-p.lo < 3 {
		return p.c[e]
	}
	d0, d1, d2 := p.vol[e], p.vol[e+in], p.vol[e+2*in]
	g := smaller((p.c[e]-p.c[e+in])/(d0+d1), (p.c[e+in]-p.c[e+2*in])/(d1+d2))
	return max(0, p.c[e]+2*g*d0*pieces)
}

// size is the volume of piece i, beyond the ends that of the last one.
func (p *profile) size(i int) float64 { return p.vol[max(p.lo, min(i, p.hi-1))] }

// window is a piece, at 2, with two neighbours on each side.
type window struct{ v, c [5]float64 }

// at returns the parabola of the piece in the middle at x. Where the means on
// both sides are not curved alike, it is kept between its edges, or within the
// height of a peak as curved as they are. Where it would fall below 0, a power of
// x with the same edges and the same mean takes its place, so that a clean piece
// beside a front stays clean.
func (w *window) at(x float64) float64 {
	var curve [3]float64
	for j := range curve {
		curve[j] = w.curve(j + 1)
	}
	s1, s2, s3 := w.slope(1), w.slope(2), w.slope(3)
	left := w.edge(1, s1, s2, smaller(curve[0], curve[1]))
	right := w.edge(2, s2, s3, smaller(curve[1], curve[2]))
	a := w.c[2]
	bend := 6 * (left - 2*a + right)
	bound := extremum * smaller(smaller(curve[0], curve[1]), curve[2]) * w.v[2] * w.v[2]
	v := left + x*(right-left-bend/2*(1-x))
	bound = smaller(bend, bound)
	if bound == bend {
		return v
	}
	if k, d := bend/2, right-left; k > abs(d) && 4*k*left < (k-d)*(k-d) && (right-a)*(a-left) > 0 {
		if d > 0 {
			return left + d*math.Pow(x, d/(a-left)-1)
		}
		return right - d*math.Pow(1-x, d/(right-a)-1)
	}
	top := a - bound/24
	return min(max(v, min(left, right, top)), max(left, right, top))
}

// slope is the mean slope of piece j times its volume (eq. 1.7, not limited).
func (w *window) slope(j int) float64 {
	d0, d1, d2 := w.v[j-1], w.v[j], w.v[j+1]
	return d1 / (d0 + d1 + d2) * ((2*d0+d1)/(d2+d1)*(w.c[j+1]-w.c[j]) +
		(d1+2*d2)/(d0+d1)*(w.c[j]-w.c[j-1]))
}

// edge is the value between pieces j and j+1 with the slopes s1 and s2 (eq.
// 1.6). It stays between their means, unless both are curved alike: then it
// may go as far beyond as curve says.
func (w *window) edge(j int, s1, s2, curve float64) float64 {
	a, b := w.c[j], w.c[j+1]
	d0, d1, d2, d3 := w.v[j-1], w.v[j], w.v[j+1], w.v[j+2]
	l, r := (d0+d1)/(2*d1+d2), (d3+d2)/(2*d2+d1)
	e := a + d1/(d1+d2)*(b-a) + (2*d2*d1/(d1+d2)*(l-r)*(b-a)-d1*l*s2+d2*r*s1)/(d0+d1+d2+d3)
	if (e-a)*(b-e) >= 0 {
		return e
	}
	mid := (a + b) / 2
	return mid - smaller(6*(mid-e), extremum*curve*d1*d2)/6
}

// curve is the second derivative at piece j, by volume.
func (w *window) curve(j int) float64 {
	d0, d1, d2 := w.v[j-1], w.v[j], w.v[j+1]
	return 8 * ((w.c[j+1]-w.c[j])/(d1+d2) - (w.c[j]-w.c[j-1])/(d0+d1)) / (d0 + 2*d1 + d2)
}

// smaller returns the value of less size when both have one sign, otherwise 0.
func smaller(v, w float64) float64 {
	switch {
	case v*w <= 0:
		return 0
	case abs(v) < abs(w):
		return v
	}
	return w
}
