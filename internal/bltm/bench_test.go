package bltm

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"
)

// BenchmarkCore is one step of the transport without its files, per grid, with
// no plume, one over a tenth of the river and one over all of it.
func BenchmarkCore(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		for _, share := range []float64{0, 0.1, 1} {
			b.Run(fmt.Sprintf("%g/%d", share, n), func(b *testing.B) {
				t := benchTransport(n, share)
				c := make([]float64, n)
				b.ReportAllocs()
				for b.Loop() {
					t.begin()
					t.step()
					t.sample(t.branches[0], c)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/cell")
			})
		}
	}
}

// benchTransport is the uniform channel with n grids 500 m apart in steps of
// 900 s. Water with a decaying substance enters; the decay is such that it can
// be seen over a share of the river, in the long run.
func benchTransport(n int, share float64) *transport {
	length := float64(n-1) * 500
	h := channel(900, 1, length, 0)
	if share > 0 {
		// Over 40 e-foldings the concentration falls below faint.
		h.Constituents[0].DecayPerHour = 3600 * channelU * 40 / (share * length)
	}
	t := newTransport(h, []int{0}, Options{})
	b := t.branches[0]
	for g := range n {
		b.q[g], b.area[g] = channelQ, channelArea
	}
	t.fill(b, &h.Branches[0])
	if share == 0 {
		return t
	}
	b.head[0], t.highest[0] = 1, 1
	w := &b.water
	var x float64
	for i := len(w.vol) - 1; i >= 0; i-- {
		w.conc[0][i] = math.Exp(-40 * x / (share * length * channelArea))
		x += w.vol[i]
	}
	return t
}

// BenchmarkRun is whole runs with their files, per grid and step.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		steps := 400_000 / n
		h := channel(900, float64(steps)*0.25, float64(n-1)*500, 0)
		in := inputText(b, h, map[int][]Boundary{1: {{1, 1, []float64{10}}}})
		flows := steady(h, 0)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Run(bytes.NewReader(in), bytes.NewReader(flows), io.Discard, io.Discard, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n*(steps+1)), "ns/cell")
		})
	}
}

// BenchmarkPlots is CTPLT over 50 places and CXPLT over 10 times, per record
// of BLTM.CON.
func BenchmarkPlots(b *testing.B) {
	const n, steps = 1000, 100
	h := channel(900, steps*0.25, (n-1)*500, 0)
	in := inputText(b, h, map[int][]Boundary{1: {{1, 1, []float64{10}}}})
	var con, places, times bytes.Buffer
	if _, err := Run(bytes.NewReader(in), bytes.NewReader(steady(h, 0)), &con, io.Discard, Options{}); err != nil {
		b.Fatal(err)
	}
	for i := range 50 {
		fmt.Fprintln(&places, 1, 1+i*20)
	}
	for i := range 10 {
		fmt.Fprintln(&times, i*10)
	}
	b.Run("CTPLT", func(b *testing.B) {
		for b.Loop() {
			opened := 0
			if err := CTPLT(bytes.NewReader(places.Bytes()), bytes.NewReader(in), opener(con.Bytes(), &opened), io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*(steps+1)), "ns/record")
	})
	b.Run("CXPLT", func(b *testing.B) {
		for b.Loop() {
			if err := CXPLT(bytes.NewReader(times.Bytes()), bytes.NewReader(in), bytes.NewReader(con.Bytes()), io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*(steps+1)), "ns/record")
	})
}
