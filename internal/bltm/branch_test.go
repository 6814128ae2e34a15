package bltm

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShortBranches: water that crosses several branches within a step decays
// one travel time in all, not one step in each.
func TestShortBranches(t *testing.T) {
	const dt, each = 900.0, 90.0 // 0.5 m/s: five branches in a step
	for _, kdt := range []float64{0.01, 0.3, 1} {
		h := channel(dt, 25, 1000, kdt/(dt/3600))
		h.Branches = nil
		for b := range 10 {
			h.Branches = append(h.Branches, Branch{Up: b, Down: b + 1, ParcelsPerSubreach: 1,
				Grids: []Grid{{Distance: 0, Initial: []float64{0}}, {Distance: each / 1000, Initial: []float64{0}}}})
		}
		h.InteriorJunctions = 9
		h.Branches[0].Up = 20
		f := flowState{[]float64{channelQ, channelQ}, []float64{channelArea, 0}, []float64{0, 0}}
		flows := flowText(h.Steps, 10, func(int, int) flowState { return f })
		in := inputText(t, h, map[int][]Boundary{1: {{1, 1, []float64{1}}}})
		all, ledgers := simulate(t, in, flows, Options{})
		for b := range 10 {
			// The grid is within half a piece of the water that stands there.
			want := math.Exp(-kdt * float64(b+1) * each / (channelU * dt))
			if got := all[h.Steps][b][1]; abs(got/want-1) > 0.01+0.15*kdt {
				t.Errorf("K*DT %g branch %d: %v, want %v", kdt, b+1, got, want)
			}
		}
		l := ledgers[0]
		whole := float64(h.Steps)*dt - 10*each/channelU // what had the time to leave
		want := channelQ * whole * math.Exp(-kdt*10*each/(channelU*dt)) / 1000
		if abs(l.Outflow/want-1) > 0.01+0.05*kdt || abs(l.Relative) > 1e-12 {
			t.Errorf("K*DT %g: ledger %+v, want outflow %v", kdt, l, want)
		}
	}
}

// TestLateral: inflow, withdrawal and a release on a bed that is dry above it.
func TestLateral(t *testing.T) {
	const dt, steps = 900.0, 80
	h := channel(dt, steps*dt/3600, 2000, 0) // 5 grids
	h.Branches[0].DQQ = 0
	run := func(q []float64, lateral [5]float64, changes []Boundary, initial float64) ([][][]float64, Ledger) {
		for g := range h.Branches[0].Grids {
			h.Branches[0].Grids[g].Initial = []float64{initial}
		}
		f := flowState{q, make([]float64, 5), lateral[:]}
		for g := range q[:4] {
			f.a[g] = q[g] / channelU
		}
		all, l := simulate(t, inputText(t, h, map[int][]Boundary{1: changes}),
			flowText(steps, 1, func(int, int) flowState { return f }), Options{})
		return all, l[0]
	}
	t.Run("inflow mixes", func(t *testing.T) {
		all, l := run([]float64{30, 30, 40, 40, 40}, [5]float64{0, 0, 10, 0, 0},
			[]Boundary{{1, 1, []float64{2}}, {1, 3, []float64{6}}}, 0)
		if c := all[steps][0]; abs(c[1]-2) > 1e-3 || abs(c[3]-3) > 1e-3 || abs(c[4]-3) > 1e-3 {
			t.Errorf("concentrations %v, want 2 and (2*30+6*10)/40 = 3", c)
		}
		if want := (2*30 + 6*10.0) * dt * steps / 1000; abs(l.Injected/want-1) > 1e-9 {
			t.Errorf("injected %v, want %v", l.Injected, want)
		}
	})
	t.Run("withdrawal leaves the concentration", func(t *testing.T) {
		all, l := run([]float64{40, 40, 30, 30, 30}, [5]float64{0, 0, -10, 0, 0}, []Boundary{{1, 1, []float64{2}}}, 2)
		for g, c := range all[steps][0] {
			if abs(c-2) > 1e-12 {
				t.Errorf("grid %d: %v", g+1, c)
			}
		}
		if want := 2 * 10 * dt * steps / 1000; abs(l.Withdrawn/want-1) > 1e-9 {
			t.Errorf("withdrawn %v, want %v", l.Withdrawn, want)
		}
	})
	t.Run("dry above", func(t *testing.T) {
		all, l := run([]float64{0, 0, 10, 10, 10}, [5]float64{0, 0, 10, 0, 0}, []Boundary{{1, 3, []float64{7}}}, 0)
		if c := all[steps][0]; abs(c[2]-7) > 1e-9 || abs(c[4]-7) > 1e-9 {
			t.Errorf("concentrations %v, want 7 from grid 3 on", c)
		}
		if want := 7 * 10 * dt * steps / 1000; abs(l.Injected/want-1) > 1e-9 {
			t.Errorf("injected %v, want %v", l.Injected, want)
		}
	})
	t.Run("order of entering", func(t *testing.T) {
		// From the lateral the water has a tenth of a step to the end.
		short := *h
		short.Constituents = []Constituent{{"A", 4}} // K*DT = 1
		b := short.Branches[0]
		b.Grids = []Grid{{Initial: []float64{0}}, {Distance: 0.5, Initial: []float64{0}}, {Distance: 0.545, Initial: []float64{0}}}
		short.Branches = []Branch{b}
		f := flowState{[]float64{25, 50, 50}, []float64{50, 100, 0}, []float64{0, 25, 0}}
		_, l := simulate(t, inputText(t, &short, map[int][]Boundary{1: {{1, 2, []float64{1}}}}),
			flowText(steps, 1, func(int, int) flowState { return f }), Options{})
		if got, want := l[0].Outflow/l[0].Injected, math.Exp(-0.1); abs(got-want) > 0.03 {
			t.Errorf("%v of the lateral left the branch, want %v", got, want)
		}
	})
	t.Run("more withdrawn than there is", func(t *testing.T) {
		_, l := run([]float64{10, 10, 0, 0, 0}, [5]float64{0, 0, -50, 0, 0}, []Boundary{{1, 1, []float64{2}}}, 0)
		if l.Outflow != 0 || l.Withdrawn <= 0 || l.Withdrawn > l.Injected || abs(l.Relative) > 1e-12 {
			t.Errorf("ledger %+v", l)
		}
	})
}

// TestSplit: a junction shares mass and water by the flows that leave.
func TestSplit(t *testing.T) {
	const steps = 100
	h := channel(900, steps*0.25, 1000, 0)
	one := h.Branches[0]
	h.InteriorJunctions = 1
	h.Branches = []Branch{one, one, one}
	h.Branches[0].Up, h.Branches[0].Down = 2, 1
	h.Branches[1].Up, h.Branches[1].Down = 1, 3
	h.Branches[2].Up, h.Branches[2].Down = 1, 4
	flows := flowText(steps, 3, func(_, b int) flowState {
		q := []float64{50, 37.5, 12.5}[b]
		return flowState{[]float64{q, q, q}, []float64{2 * q, 2 * q, 0}, []float64{0, 0, 0}}
	})
	in := inputText(t, h, release(900, 1, 50))
	var out bytes.Buffer
	if _, err := Run(bytes.NewReader(in), bytes.NewReader(flows), io.Discard, &out, Options{}); err != nil {
		t.Fatal(err)
	}
	report, err := ReadReport(&out, "BLTM.OUT")
	if err != nil {
		t.Fatal(err)
	}
	kg := map[[2]int]float64{}
	for _, m := range report.Masses {
		kg[[2]int{m.Step, m.Branch}] = m.Mass
	}
	seen := false
	for step := 0; step <= steps; step += 10 {
		if b, c := kg[[2]int{step, 2}], kg[[2]int{step, 3}]; b > 1e-9 {
			seen = true
			if abs(b/c-3) > 1e-9 {
				t.Errorf("step %d: branches hold %v and %v kg, want 3 to 1", step, b, c)
			}
		}
	}
	if !seen {
		t.Error("nothing came through")
	}
}

// TestParcels: whatever is done to the list, water and mass stay.
func TestParcels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	w := newParcels(2)
	var water float64
	mass := [2]float64{}
	totals := func(what string) {
		t.Helper()
		var v float64
		for i := w.lo; i < len(w.vol); i++ {
			if w.vol[i] < 0 {
				t.Fatalf("%s: piece %d has volume %v", what, i, w.vol[i])
			}
			v += w.vol[i]
		}
		if abs(v-water) > 1e-9*water || abs(w.mass(0)-mass[0]) > 1e-9*mass[0] || abs(w.mass(1)-mass[1]) > 1e-9*mass[1] {
			t.Fatalf("%s: %v %v %v, want %v %v", what, v, w.mass(0), w.mass(1), water, mass)
		}
	}
	for range 20000 {
		n := w.len()
		what := fmt.Sprint("pieces ", n)
		switch k := r.IntN(7); {
		case k < 3 || n < 3:
			v := r.Float64()
			i := len(w.vol)
			if k == 0 && n > 0 {
				i = w.lo + r.IntN(n)
				w.insert(i, v)
			} else {
				w.push(v)
			}
			w.conc[0][i], w.conc[1][i] = float64(r.IntN(2)), 5
			water += v
			mass[0] += v * w.conc[0][i]
			mass[1] += v * 5
			what += " add"
		case k == 3:
			i := w.lo + r.IntN(n)
			w.split(i, w.vol[i]*r.Float64())
			what += " split"
		case k == 4:
			i, edge, at := len(w.vol)-1, 0.0, water*r.Float64()
			for w.lo < i && r.IntN(3) > 0 && edge+w.vol[i] <= at {
				edge += w.vol[i]
				i--
			}
			i, edge = w.cut(i, edge, at)
			var before float64
			for j := i + 1; j < len(w.vol); j++ {
				before += w.vol[j]
			}
			if abs(before-edge) > 1e-9*water || edge > at+1e-9*water {
				t.Fatalf("cut at %v gives piece %d at %v, which stands at %v", at, i, edge, before)
			}
			what += " cut"
		case k == 5:
			w.join(w.lo+1, w.lo)
			w.lo++
			what += " join"
		default:
			water -= w.vol[w.lo]
			mass[0] -= w.vol[w.lo] * w.conc[0][w.lo]
			mass[1] -= w.vol[w.lo] * w.conc[1][w.lo]
			w.lo++
			w.reclaim()
			what += " leave"
		}
		totals(what)
	}
}

// TestCondense: slivers do not stay, and what is large enough is left alone.
func TestCondense(t *testing.T) {
	tr := &transport{dt: 900, smallFlow: 1}
	b := &branch{q: []float64{1, 1}, content: []float64{1e5}, water: newParcels(1)}
	var mass float64
	for i, v := range []float64{2000, 1e-9, 2000, 300, 300, 2000, 0, 2000} {
		at := b.water.push(v)
		b.water.conc[0][at] = float64(i)
		mass += v * float64(i)
	}
	tr.condense(b)
	got := b.water.vol[b.water.lo:]
	if want := []float64{2000, 2000, 600, 2000, 2000}; !slices.EqualFunc(got, want, func(a, b float64) bool { return abs(a-b) < 1e-6 }) {
		t.Errorf("pieces %v, want %v", got, want)
	}
	if abs(b.water.mass(0)-mass) > 1e-9*mass {
		t.Errorf("mass %v, was %v", b.water.mass(0), mass)
	}
}

// TestNoAllocation: in steady flow a step of the transport allocates nothing,
// nor do the readers per record.
func TestNoAllocation(t *testing.T) {
	tr := benchTransport(200, 0.5)
	at := make([]float64, 500)
	step := func() {
		tr.begin()
		tr.step()
		tr.sample(tr.branches[0], at)
	}
	for range 1500 {
		step()
	}
	if n := testing.AllocsPerRun(200, step); n != 0 {
		t.Errorf("%v allocations per step", n)
	}

	h, _ := example()
	_, con, _ := exampleFiles(t)
	c := newConReader(bytes.NewReader(con), h)
	times := NewTimesReader(bytes.NewReader(exampleTimes(t)), "PLUME.TIM", 3, 2)
	times.NextPlace()
	profiles := NewProfilesReader(bytes.NewReader(exampleProfiles(t)), "PLUME.PLT", 3, 2)
	profiles.NextTime()
	for name, next := range map[string]func() bool{"BLTM.CON": c.next, "PLUME.TIM": times.Next, "PLUME.PLT": profiles.Next} {
		if n := testing.AllocsPerRun(5, func() {
			if !next() {
				t.Fatal(name, "ended")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per record", name, n)
		}
	}
}
