package bltm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestProfileBounds: constant for constants, never negative, no new extremum
// at a front, whatever the volumes.
func TestProfileBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		n := 1 + r.IntN(12)
		p := profile{vol: make([]float64, n), c: make([]float64, n), hi: n}
		front := r.IntN(n + 1)
		for i := range n {
			p.vol[i] = 1
			if r.IntN(2) == 0 {
				p.vol[i] = math.Exp(4 * (r.Float64() - 0.5))
			}
			if i >= front {
				p.c[i] = 3
			}
		}
		for i := range n {
			for x := 0.0; x <= 1; x += 0.25 {
				if v := p.at(i, x); v < 0 || v > 3 || (front == 0 || front == n) && v != p.c[0] {
					t.Fatalf("front before %d of %d: %v in piece %d at %v", front, n, v, i, x)
				}
			}
		}
		for i := range n {
			p.c[i] = r.Float64() * float64(r.IntN(2))
		}
		for i := range n {
			for x := 0.0; x <= 1; x += 0.25 {
				if v := p.at(i, x); !(v >= 0) {
					t.Fatalf("%v in piece %d of %v", v, i, p.c)
				}
			}
		}
	}
}

// TestCleanPieceBesideFront: a large, nearly clean piece beside a small, loaded
// one is not taken for loaded near their edge.
func TestCleanPieceBesideFront(t *testing.T) {
	for _, turned := range []bool{false, true} {
		p := profile{vol: []float64{6, 6, 6, 3100, 3100, 3100}, c: []float64{12260, 12250, 12210, 28.7, 15, 4}, hi: 6}
		piece := 3
		if turned {
			slices.Reverse(p.vol)
			slices.Reverse(p.c)
			piece = 2
		}
		const n = 10000
		var sum float64
		for k := range n {
			x := (float64(k) + 0.5) / n
			v := p.at(piece, x)
			beside := x < 0.03
			if turned {
				beside = x > 0.97
			}
			if v < 0 || v > 100 && !beside {
				t.Fatalf("turned %v: %g mg/L at %g of a piece with a mean of %g", turned, v, x, p.c[piece])
			}
			sum += v / n
		}
		if math.Abs(sum/p.c[piece]-1) > 0.01 {
			t.Errorf("turned %v: the mean is %g, not %g", turned, sum, p.c[piece])
		}
	}
}

// TestProfileOrder: a plume of two pieces of unequal volume in a standard
// deviation is met to 1 % of its peak, one of four pieces four times better.
func TestProfileOrder(t *testing.T) {
	worst := func(n int) float64 {
		p := profile{vol: make([]float64, n), c: make([]float64, n), hi: n}
		width := func(i int) float64 { return (1 + 0.3*math.Sin(6*float64(i)/float64(n)*math.Pi)) * 40 / float64(n) }
		x := -20.0
		for i := range n {
			p.vol[i] = width(i)
			p.c[i] = math.Sqrt(math.Pi) / 2 * (math.Erf((x+p.vol[i])/3) - math.Erf(x/3)) * 3 / p.vol[i]
			x += p.vol[i]
		}
		var e float64
		x = -20
		for i := range n {
			for f := 0.0; f <= 1; f += 0.1 {
				y := (x + f*p.vol[i]) / 3
				e = math.Max(e, abs(p.at(i, f)-math.Exp(-y*y)))
			}
			x += p.vol[i]
		}
		return e
	}
	a, b := worst(40), worst(80)
	t.Logf("worst error %.2e on 40 pieces, %.2e on 80", a, b)
	if a > 0.01 || b > a/4 {
		t.Errorf("worst error %v on 40 pieces, %v on 80", a, b)
	}
}
