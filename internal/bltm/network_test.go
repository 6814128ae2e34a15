package bltm

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"rsmsjob/internal/river"
)

// scene is a random network with unsteady flows that fit together.
type scene struct {
	h       *Header
	flows   [][]flowState // step, branch
	changes map[int][]Boundary
}

// randomScene makes branches in a row of layers: each interior junction joins
// one to three branches and lets one or two go on. order numbers the branches.
func randomScene(r *rand.Rand, steps int) *scene {
	h := &Header{Title: "random", Steps: steps, PrintEvery: 1 + r.IntN(10), Units: river.Units(r.IntN(2)),
		StepHours: []float64{0.25, 0.5, 1}[r.IntN(3)], SmallFlow: []float64{0, 1e-4, 1e-2}[r.IntN(3)],
		DQV: []float64{0, 0.01}[r.IntN(2)], Constituents: []Constituent{{"A", []float64{0, 0.01, 3}[r.IntN(3)]}}}
	if r.IntN(2) == 0 {
		h.Constituents = append(h.Constituents, Constituent{"B", 0.5})
	}
	h.InteriorJunctions = r.IntN(4)
	outer := h.InteriorJunctions
	add := func(up, down int) {
		b := Branch{DQQ: []float64{0, 0.01, 0.2, 2}[r.IntN(4)], Up: up, Down: down, ParcelsPerSubreach: 1 + r.IntN(3)}
		for g := range 2 + r.IntN(8) {
			grid := Grid{Distance: float64(g) * (0.05 + r.Float64()), Print: r.IntN(5) == 0}
			if g > 0 && grid.Distance <= b.Grids[g-1].Distance {
				grid.Distance = b.Grids[g-1].Distance + 0.3
			}
			for range h.Constituents {
				grid.Initial = append(grid.Initial, float64(r.IntN(2))*r.Float64())
			}
			b.Grids = append(b.Grids, grid)
		}
		h.Branches = append(h.Branches, b)
	}
	fresh := func() int { outer++; return outer }
	if h.InteriorJunctions == 0 {
		add(fresh(), fresh())
	}
	for j := 1; j <= h.InteriorJunctions; j++ {
		for range r.IntN(2) + min(1, 2-min(j, 2)) {
			add(fresh(), j)
		}
		for range 1 + r.IntN(2) {
			if j < h.InteriorJunctions && r.IntN(3) > 0 {
				add(j, j+1)
			} else {
				add(j, fresh())
			}
		}
	}
	for j := 1; j <= h.InteriorJunctions; j++ { // none without inflow
		found := false
		for _, b := range h.Branches {
			found = found || b.Down == j
		}
		if !found {
			add(fresh(), j)
		}
	}
	s := &scene{h: h, changes: map[int][]Boundary{}}
	s.flow(r)
	s.boundaries(r)
	return s
}

// flow makes the flows: each subreach keeps a random part of its water.
func (s *scene) flow(r *rand.Rand) {
	h := s.h
	order, err := h.downstream(nil)
	if err != nil {
		panic(err)
	}
	held := make([][]float64, len(h.Branches))
	lateral := make([][]float64, len(h.Branches))
	dry := make([]bool, len(h.Branches))
	head := make([]float64, len(h.Branches))
	for b := range h.Branches {
		held[b] = make([]float64, len(h.Branches[b].Grids))
		lateral[b] = make([]float64, len(h.Branches[b].Grids))
		dry[b] = r.IntN(4) == 0
	}
	dt := h.StepHours * 3600
	wish := r.IntN(2) == 0
	for step := range h.Steps + 1 {
		states := make([]flowState, len(h.Branches))
		arrives := map[int]float64{}
		for _, b := range order {
			br := &h.Branches[b]
			n := len(br.Grids)
			f := flowState{make([]float64, n), make([]float64, n), make([]float64, n)}
			switch {
			case h.interior(br.Up):
				share := 0
				for _, o := range h.Branches {
					if o.Up == br.Up {
						share++
					}
				}
				f.q[0] = arrives[br.Up] / float64(share)
			case step == 0 || r.IntN(10) == 0:
				head[b] = float64(r.IntN(3)) * 20 * r.Float64()
				fallthrough
			default:
				f.q[0] = head[b]
			}
			for g := range n - 1 {
				if g > 0 && r.IntN(12) == 0 {
					lateral[b][g] = float64(r.IntN(4)-1) * 3 * r.Float64()
				}
				length := (br.Grids[g+1].Distance - br.Grids[g].Distance) * h.Units.LengthPerDistance()
				if step == 0 {
					if !dry[b] {
						held[b][g] = length * (1 + 30*r.Float64())
					}
					f.q[g+1] = f.q[g]
				} else {
					gain := math.Max(lateral[b][g], -f.q[g])
					f.lateral[g] = gain
					if wish {
						f.lateral[g] = lateral[b][g] // more than the river has
					}
					total := held[b][g] + (f.q[g]+gain)*dt
					keep := math.Min(total, held[b][g]*(0.8+0.4*r.Float64())+0.3*total*float64(r.IntN(2))*r.Float64())
					f.q[g+1] = (total - keep) / dt
					held[b][g] = keep
				}
				f.a[g] = held[b][g] / length
			}
			states[b] = f
			arrives[br.Down] += f.q[n-1]
		}
		s.flows = append(s.flows, states)
	}
}

// boundaries sets concentrations at heads and laterals now and then.
func (s *scene) boundaries(r *rand.Rand) {
	for step := 1; step <= s.h.Steps; step++ {
		for b, br := range s.h.Branches {
			for g := range len(br.Grids) - 1 {
				if g == 0 && s.h.interior(br.Up) || r.IntN(8) > 0 {
					continue
				}
				bc := Boundary{Branch: b + 1, Grid: g + 1}
				for range s.h.Constituents {
					bc.C = append(bc.C, float64(r.IntN(3))*r.Float64())
				}
				s.changes[step] = append(s.changes[step], bc)
			}
		}
	}
}

func (s *scene) text() []byte {
	return flowText(s.h.Steps, len(s.h.Branches), func(step, b int) flowState { return s.flows[step][b] })
}

// uniform sets every concentration to 1 and takes the decay away.
func (s *scene) uniform() {
	h := s.h
	for k := range h.Constituents {
		h.Constituents[k].DecayPerHour = 0
	}
	s.changes = map[int][]Boundary{}
	ones := make([]float64, len(h.Constituents))
	for k := range ones {
		ones[k] = 1
	}
	for b := range h.Branches {
		br := &h.Branches[b]
		for g := range br.Grids {
			br.Grids[g].Initial = ones
			if g < len(br.Grids)-1 && (g > 0 || !h.interior(br.Up)) {
				s.changes[1] = append(s.changes[1], Boundary{b + 1, g + 1, ones})
			}
		}
	}
}

// permuted gives branch b the number to[b].
func (s *scene) permuted(to []int) *scene {
	h := *s.h
	h.Branches = make([]Branch, len(to))
	p := &scene{h: &h, changes: map[int][]Boundary{}}
	for b, n := range to {
		h.Branches[n] = s.h.Branches[b]
	}
	for _, states := range s.flows {
		moved := make([]flowState, len(to))
		for b, n := range to {
			moved[n] = states[b]
		}
		p.flows = append(p.flows, moved)
	}
	for step, all := range s.changes {
		for _, bc := range all {
			bc.Branch = to[bc.Branch-1] + 1
			p.changes[step] = append(p.changes[step], bc)
		}
	}
	return p
}

func eachScene(t *testing.T, n, steps int, check func(*testing.T, *rand.Rand, *scene)) {
	for seed := range uint64(n) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			check(t, r, randomScene(r, steps))
		})
	}
}

func TestMassBalance(t *testing.T) {
	eachScene(t, 80, 50, func(t *testing.T, r *rand.Rand, s *scene) {
		for _, published := range []bool{false, true} {
			all, ledgers := simulate(t, inputText(t, s.h, s.changes), s.text(), Options{Published: published})
			for _, l := range ledgers {
				if abs(l.Relative) > 1e-9 || math.IsNaN(l.Injected+l.InRiver+l.Outflow+l.Decayed+l.Withdrawn) {
					t.Errorf("published %v: ledger %+v", published, l)
				}
				if l.InRiver < 0 || l.Outflow < 0 || l.Withdrawn < 0 || l.Decayed < -1e-9*l.Injected {
					t.Errorf("published %v: negative in ledger %+v", published, l)
				}
			}
			for step := range all {
				for b := range all[step] {
					for g, c := range all[step][b] {
						if !(c >= 0) || c > 2.000001 {
							t.Fatalf("published %v: step %d branch %d grid %d: %v", published, step, b+1, g+1, c)
						}
					}
				}
			}
		}
	})
}

func TestUniformStaysUniform(t *testing.T) {
	eachScene(t, 50, 50, func(t *testing.T, r *rand.Rand, s *scene) {
		s.uniform()
		for _, published := range []bool{false, true} {
			all, _ := simulate(t, inputText(t, s.h, s.changes), s.text(), Options{Published: published})
			for step := range all {
				for b := range all[step] {
					// At a grid that no water passes and that has none below it
					// there is no concentration to speak of.
					f := s.flows[step][b]
					for g, c := range all[step][b] {
						wet := f.q[g] > 0 && (g == len(f.a) || f.a[g] > 1)
						if (wet || c != 0) && abs(c-1) > 1e-9 {
							t.Fatalf("published %v: step %d branch %d grid %d: %v", published, step, b+1, g+1, c)
						}
					}
				}
			}
		}
	})
}

func TestPermutedBranches(t *testing.T) {
	eachScene(t, 50, 40, func(t *testing.T, r *rand.Rand, s *scene) {
		to := r.Perm(len(s.h.Branches))
		p := s.permuted(to)
		a, _ := simulate(t, inputText(t, s.h, s.changes), s.text(), Options{})
		b, _ := simulate(t, inputText(t, p.h, p.changes), p.text(), Options{})
		for step := range a {
			for i := range a[step] {
				for g, c := range a[step][i] {
					if d := b[step][to[i]][g]; abs(c-d) > 1e-8 {
						t.Fatalf("step %d branch %d grid %d: %v, renumbered %v", step, i+1, g+1, c, d)
					}
				}
			}
		}
	})
}

// TestWaterBalance: the list of pieces holds the water that the areas say, in
// every branch after every step, however much is withdrawn.
func TestWaterBalance(t *testing.T) {
	eachScene(t, 50, 50, func(t *testing.T, r *rand.Rand, s *scene) {
		input, err := NewInput(bytes.NewReader(inputText(t, s.h, s.changes)))
		if err != nil {
			t.Fatal(err)
		}
		run := newRun(input, bytes.NewReader(s.text()), io.Discard, io.Discard, Options{})
		if err := run.start(); err != nil {
			t.Fatal(err)
		}
		for step := 1; step <= s.h.Steps; step++ {
			if err := run.step(step); err != nil {
				t.Fatal(err)
			}
			for i, b := range run.state.branches {
				var listed, held float64
				for _, v := range b.water.vol[b.water.lo:] {
					listed += v
				}
				for _, v := range b.content {
					if v < 0 {
						t.Fatalf("step %d branch %d: content %v", step, i+1, b.content)
					}
					held += v
				}
				if abs(listed-held) > 1e-9*(held+b.outflow)+1e-6 {
					t.Fatalf("step %d branch %d: %v in the list, %v on the bed", step, i+1, listed, held)
				}
			}
		}
	})
}

// TestNoDrift: over 5,000 steps of flows rounded to five digits the water in
// the branches stays what the areas say.
func TestNoDrift(t *testing.T) {
	const steps = 5000
	h := channel(900, steps*0.25, 5000, 0)
	h.PrintEvery = steps
	n := len(h.Branches[0].Grids)
	states := make([]flowState, steps+1)
	for s := range states {
		f := flowState{make([]float64, n), make([]float64, n), make([]float64, n)}
		q := 123.456 + 40*math.Sin(float64(s)/97)
		for g := range n {
			f.a[g] = 100.123 + 30*math.Sin(float64(s)/97-float64(g)/50)
			f.q[g] = q
			if s > 0 && g > 0 {
				f.q[g] = f.q[g-1] - (f.a[g-1]-states[s-1].a[g-1])*500/900
			}
		}
		states[s] = f
	}
	one := map[int][]Boundary{1: {{1, 1, []float64{1}}}}
	in := inputText(t, h, one)
	input, err := NewInput(bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	flows := flowText(steps, 1, func(step, _ int) flowState { return states[step] })
	var con, out bytes.Buffer
	r := newRun(input, bytes.NewReader(flows), &con, &out, Options{})
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	b := r.state.branches[0]
	most := 0
	for step := 1; step <= steps; step++ {
		if err := r.step(step); err != nil {
			t.Fatal(err)
		}
		var water, said float64
		for i := b.water.lo; i < len(b.water.vol); i++ {
			water += b.water.vol[i]
		}
		for g, l := range b.length {
			said += b.area[g] * l
		}
		most = max(most, b.water.len())
		if abs(water/said-1) > 1e-10 {
			t.Fatalf("step %d: %v volumes in the list, %v in the flow file", step, water, said)
		}
	}
	if most > 40 {
		t.Errorf("%d pieces of water on 5 km", most)
	}
	if bytes.Contains(out.Bytes(), []byte("WARN")) {
		t.Errorf("warnings: %s", out.Bytes())
	}
}

// TestJunctionIsNoWall cuts the uniform channel into short branches: the plume
// must come through as in one.
func TestJunctionIsNoWall(t *testing.T) {
	for _, dt := range []float64{300, 900} {
		h := channel(dt, 12, 30000, 0)
		one, _ := simulate(t, inputText(t, h, release(dt, 1, channelQ)), steady(h, 0), Options{})
		cut := channel(dt, 12, 30000, 0)
		all := cut.Branches[0]
		cut.Branches = nil
		for g := 0; g < len(all.Grids)-1; g += 4 { // 2 km each
			b := all
			b.Grids = all.Grids[g : g+5]
			b.Up, b.Down = g/4, g/4+1
			cut.Branches = append(cut.Branches, b)
		}
		cut.InteriorJunctions = len(cut.Branches) - 1
		cut.Branches[0].Up = 100
		f := flowState{make([]float64, 5), make([]float64, 5), make([]float64, 5)}
		for g := range f.q {
			f.q[g], f.a[g] = channelQ, channelArea
		}
		flows := flowText(cut.Steps, len(cut.Branches), func(int, int) flowState { return f })
		many, ledgers := simulate(t, inputText(t, cut, release(dt, 1, channelQ)), flows, Options{})
		a, b := history(one, 1, 41), history(many, 11, 1)
		topA, whenA := peak(a)
		topB, whenB := peak(b)
		t.Logf("dt %g, 10 junctions: peak %+.2f %%, %+.0f s", dt, 100*(topB/topA-1), (whenB-whenA)*dt)
		if abs(topB/topA-1) > 0.02 || abs(whenB-whenA) > 0.25 {
			t.Errorf("dt %g: peak %v at step %v, in one branch %v at %v", dt, topB, whenB, topA, whenA)
		}
		if abs(ledgers[0].Relative) > 1e-12 {
			t.Errorf("ledger %+v", ledgers[0])
		}
	}
}
