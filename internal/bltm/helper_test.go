package bltm

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"rsmsjob/internal/fortran"
	"rsmsjob/internal/river"
)

// flowState is what the flow file says of one branch in one step: flows at all
// grids, areas and lateral flows at all but the last.
type flowState struct{ q, a, lateral []float64 }

// flowText writes BLTM.FLW from state(step, branch from 0) with the five digits
// of the public layout.
func flowText(steps, branches int, state func(step, branch int) flowState) []byte {
	var dst []byte
	for step := range steps + 1 {
		for b := range branches {
			f := state(step, b)
			for g, q := range f.q {
				for _, v := range []int{step, b + 1, g + 1} {
					dst = fortran.AppendInt(dst, v, 5)
				}
				dst = fortran.AppendE(dst, q, 18, 5)
				if g < len(f.q)-1 {
					for _, v := range []float64{f.a[g], 10, f.lateral[g]} {
						dst = fortran.AppendE(dst, v, 18, 5)
					}
				}
				dst = append(dst, '\n')
			}
		}
	}
	return dst
}

// inputText writes BLTM.IN.
func inputText(t testing.TB, h *Header, changes map[int][]Boundary) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteInput(&b, h, func(step int) []Boundary { return changes[step] }); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// simulate runs the engine over the two texts and returns the concentrations
// of constituent 1, [step][branch][grid], and the ledgers.
func simulate(t testing.TB, in, flows []byte, o Options) ([][][]float64, []Ledger) {
	t.Helper()
	var con, out bytes.Buffer
	ledgers, err := Run(bytes.NewReader(in), bytes.NewReader(flows), &con, &out, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadReport(&out, "BLTM.OUT"); err != nil {
		t.Fatal(err)
	}
	input, err := NewInput(bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	all := make([][][]float64, input.header.Steps+1)
	r := newConReader(&con, &input.header)
	for r.next() {
		if r.grid == 1 {
			all[r.step] = append(all[r.step], nil)
		}
		all[r.step][r.branch-1] = append(all[r.step][r.branch-1], r.c[0])
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	return all, ledgers
}

// Uniform channel of engines.md: 100 m2, 0.5 m/s, dispersion 50 m2/s.
const (
	channelArea, channelU, channelD = 100.0, 0.5, 50.0
	channelQ                        = channelArea * channelU
	releaseKg                       = 1000.0
)

// channel is one branch of the uniform channel with grids every 500 m.
func channel(dt, hours, length float64, decayPerHour float64) *Header {
	n := int(length/500) + 1
	h := &Header{Title: "uniform channel", Steps: int(math.Ceil(hours * 3600 / dt)), PrintEvery: 10, Units: river.Metric,
		StepHours: dt / 3600, SmallFlow: 1e-5, Constituents: []Constituent{{"TRACER", decayPerHour}}}
	h.Branches = []Branch{{DQQ: channelD / (channelU * channelU * dt), Up: 1, Down: 2, ParcelsPerSubreach: 1}}
	for g := range n {
		h.Branches[0].Grids = append(h.Branches[0].Grids, Grid{Distance: float64(g) * 0.5, Initial: []float64{0}})
	}
	return h
}

// steady is the flow of a channel; a grid above 1 gets a trickle to carry a
// release that leaves the flow as it is.
func steady(h *Header, trickle int) []byte {
	n := len(h.Branches[0].Grids)
	f := flowState{make([]float64, n), make([]float64, n), make([]float64, n)}
	for g := range n {
		f.q[g], f.a[g] = channelQ, channelArea
	}
	if trickle > 1 {
		f.lateral[trickle-1] = trickleFlow
	}
	return flowText(h.Steps, 1, func(int, int) flowState { return f })
}

const trickleFlow = 1e-4

func parts(s string) io.Reader { return strings.NewReader(s) }

// history is the concentration at one place over all steps.
func history(all [][][]float64, branch, grid int) []float64 {
	c := make([]float64, len(all))
	for s := range all {
		c[s] = all[s][branch-1][grid-1]
	}
	return c
}

// peak is the highest value of a history and its time in steps, by a parabola
// through the three highest.
func peak(c []float64) (value, step float64) {
	m := 1
	for i := 1; i < len(c)-1; i++ {
		if c[i] > c[m] {
			m = i
		}
	}
	a, b := c[m]-c[m-1], c[m]-c[m+1]
	return c[m] + (a-b)*(a-b)/(8*(a+b)), float64(m) + (a-b)/(2*(a+b))
}

// crossing is where a history first rises above, or last falls below, level.
func crossing(c []float64, level float64, last bool) float64 {
	if last {
		for i := len(c) - 2; i >= 0; i-- {
			if c[i] >= level {
				return float64(i) + (c[i]-level)/(c[i]-c[i+1])
			}
		}
	}
	for i := 1; i < len(c); i++ {
		if c[i] >= level {
			return float64(i-1) + (level-c[i-1])/(c[i]-c[i-1])
		}
	}
	return math.NaN()
}

// between interpolates a history at a time in steps, by a cubic.
func between(c []float64, at float64) float64 {
	m := int(at)
	var v float64
	for i := m - 1; i <= m+2; i++ {
		w := 1.0
		for j := m - 1; j <= m+2; j++ {
			if j != i {
				w *= (at - float64(j)) / float64(i-j)
			}
		}
		v += w * c[i]
	}
	return v
}

func parse(s string) (float64, error) { return fortran.ParseFloat([]byte(s)) }
