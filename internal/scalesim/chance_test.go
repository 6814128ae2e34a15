package scalesim

import (
	"math"
	"testing"
	"time"
)

// Draws of neighbours are even and do not follow each other.
func TestDraws(t *testing.T) {
	const n = 50_000
	c := chance{seed: 7}
	for kind := drawStart; kind <= drawPart; kind++ {
		sum, product, before := 0.0, 0.0, 0.5
		for of := range n {
			u := c.draw(kind, of, 1)
			if u < 0 || u >= 1 {
				t.Fatalf("draw %v", u)
			}
			sum += u - 0.5
			product += (u - 0.5) * (before - 0.5)
			before = u
		}
		if math.Abs(sum/n) > 0.005 || math.Abs(product/n) > 0.002 {
			t.Errorf("kind %d: mean %.4f off, neighbours %.4f", kind, sum/n, product/n)
		}
	}
}

// Attempts end as often as asked, and a hopeless message never gets done.
func TestAttempts(t *testing.T) {
	const n = 20_000
	c := chance{seed: 8}
	l := Load{Run: time.Minute, Spread: 20 * time.Second, Crash: 0.1, Fail: 0.2}
	ends := map[fate]float64{}
	for m := range n {
		end, work := c.attempt(&l, m, 1+m%5)
		ends[end]++
		if work < 0 || work >= 80*time.Second || end == finishes && work < 40*time.Second {
			t.Fatalf("an attempt that ends %d after %v", end, work)
		}
	}
	for end, want := range map[fate]float64{crashes: 0.1, fails: 0.2, finishes: 0.7} {
		if got := ends[end] / n; math.Abs(got-want) > 0.01 {
			t.Errorf("%.3f of the attempts end %d, want %.1f", got, end, want)
		}
	}
	l.Hopeless, l.Crash, l.Fail = 1, 0, 0
	for attempt := range 6 {
		if end, _ := c.attempt(&l, 1, attempt+1); end != fails {
			t.Errorf("attempt %d of a hopeless message ends %d", attempt+1, end)
		}
	}
}
