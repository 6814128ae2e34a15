package daflow

import (
	"io"
	"math"
	"slices"

	"rsmsjob/internal/river"
)

// Outputs is where a run writes. A nil writer or function is left out.
type Outputs struct {
	Flow     io.Writer // BLTM.FLW
	Report   io.Writer // FLOW.OUT
	Progress func(step int)
}

// Balance is the water of a run, in ft3 or m3, taken from the flows as they
// are written but before they are rounded to their columns.
type Balance struct {
	In        float64 // through the upstream ends of the network
	Out       float64 // through its downstream ends
	Lateral   float64 // joined on the way
	Withdrawn float64 // taken on the way, what was really there
	Stored0   float64 // in the channels at the start, above A0
	Stored    float64 // at the end
	// Error is In + Lateral + Stored0 - Out - Withdrawn - Stored, Relative the
	// same as a part of In + Lateral + Stored0.
	Error, Relative float64
	Warnings        []string
}

// maxSpread is the ratio of dispersion length to the way of a wave in a step
// above which the step is too short for the reach (Jobson 1989).
const maxSpread = 1.15

// outletLengths is how far beyond an interior junction the flow field of a
// branch goes on, in dispersion lengths at the peak discharge. A wave does not
// stop to disperse at a junction; so a river divided into branches carries it
// as an undivided one does. The original stops there.
const outletLengths = 2

// model is the network while it runs.
type model struct {
	in       *Input
	small    float64 // QI
	dt       float64 // s
	branches []branch
	order    []int   // branches from upstream to downstream
	feeders  [][]int // per branch those that end at its upstream junction
	share    []float64
	inflow   []float64 // boundary inflow per branch
	leaves   []bool    // per branch: ends at an outer junction
	sum      []float64
	balance  Balance
	spread   float64
	high     bool
}

// Run simulates all steps of in, which must be valid, and writes the flows to
// out. The errors are those of Validate and of the writers.
func Run(in *Input, out Outputs) (Balance, error) {
	if err := in.Validate(); err != nil {
		return Balance{}, err
	}
	m := newModel(in)
	files := newFlowFiles(m, out)
	m.balance.Stored0 = m.stored()
	if err := files.step(0); err != nil {
		return m.balance, err
	}
	for k := 1; k <= in.Steps; k++ {
		m.step(k)
		if err := files.step(k); err != nil {
			return m.balance, err
		}
		if out.Progress != nil {
			out.Progress(k)
		}
	}
	m.close()
	return m.balance, files.close(m.balance)
}

func newModel(in *Input) *model {
	net := &in.Network
	m := &model{in: in, small: in.SmallFlow(), dt: in.StepSeconds(), spread: maxSpread}
	m.branches = make([]branch, len(net.Branches))
	m.inflow = make([]float64, len(net.Branches))
	m.leaves = make([]bool, len(net.Branches))
	m.order, _ = net.Order()
	m.feeders, m.share = feeders(net)
	lateral := make([]map[int]bool, len(net.Branches))
	for _, changes := range in.Boundaries {
		for _, c := range changes {
			if c.Grid > 1 {
				if lateral[c.Branch-1] == nil {
					lateral[c.Branch-1] = map[int]bool{}
				}
				lateral[c.Branch-1][c.Grid-1] = true
			}
		}
	}
	for i := range net.Branches {
		m.leaves[i] = !net.Interior(net.Branches[i].Down)
		outlet := in.Peak
		if m.leaves[i] {
			outlet = 0
		}
		m.branches[i].set(&net.Branches[i], net.Units, lateral[i], outlet, m.dt)
		m.inflow[i] = m.branches[i].head
		for _, g := range net.Branches[i].Grids {
			m.watch(0, i+1, g.Flow)
		}
	}
	return m
}

// set builds b with its initial flows; sources are the grids (from 0) that
// have a lateral flow at any time, outlet is the flow to reckon with beyond its
// end, 0 where the network ends.
func (b *branch) set(from *river.Branch, units river.Units, sources map[int]bool, outlet, dt float64) {
	grids := from.Grids
	n := len(grids) - 1
	unit := units.LengthPerDistance()
	b.reaches = make([]reach, n)
	b.flow, b.lateral = make([]float64, n+1), make([]float64, n+1)
	b.volume, b.behind = make([]float64, n), make([]float64, n+1)
	b.content, b.before = make([]float64, n), make([]float64, n)
	for i := range b.reaches {
		g := &grids[i]
		r := reach{start: (g.Distance - grids[0].Distance) * unit, end: (grids[i+1].Distance - grids[0].Distance) * unit,
			a1: g.A1, a2: g.A2, inverseA2: 1 / g.A2, a0: g.A0, w1: g.W1, w2: g.W2,
			spread: 1 / (g.Slope * g.W1), source: -1, cachedFlow: -1}
		r.length = r.end - r.start
		if sources[i] {
			r.source = len(b.sources)
			b.sources = append(b.sources, source{reach: i})
		}
		b.reaches[i] = r
		b.flow[i] = g.Flow
		if i == 0 {
			b.head, b.headPow = g.Flow, power(g.Flow, r.a2)
			continue
		}
		s := shock{at: r.start, reach: i, up: b.flow[i-1], down: g.Flow}
		s.upPow, s.downPow = power(s.up, r.a2), power(s.down, r.a2)
		b.shocks = appendShock(b.shocks, s)
	}
	if last := &b.reaches[n-1]; outlet > 0 {
		last.end += outletLengths * math.Sqrt(last.spread*power(outlet, 1-last.w2)*dt)
	}
	b.flow[n] = b.flow[n-1]
	b.measure()
	copy(b.volume, b.content)
	copy(b.before, b.content)
}

// step runs step k, counted from 1.
func (m *model) step(k int) {
	for _, c := range m.in.Boundaries[k-1] {
		m.watch(k, c.Branch, c.Flow)
		b := &m.branches[c.Branch-1]
		if c.Grid == 1 {
			m.inflow[c.Branch-1] = c.Flow
		} else {
			b.sources[b.reaches[c.Grid-1].source].given = c.Flow
		}
	}
	for _, i := range m.order {
		b := &m.branches[i]
		if len(m.feeders[i]) > 0 {
			m.inflow[i] = m.share[i] * m.arriving(i)
			m.watch(k, i+1, m.inflow[i])
		} else {
			m.balance.In += m.inflow[i] * m.dt
		}
		b.setLaterals(m.small, m.dt)
		b.setInflow(m.inflow[i], m.small, m.dt)
		b.entered = b.head
		b.move(m.dt)
		m.warnSpread(k, i+1, b.disperse(m.small, m.dt, m.spread))
		b.measure()
		b.write(m.inflow[i], m.small, m.dt)
		m.count(i)
	}
}

// arriving returns the flow that arrives at the upstream junction of branch i.
// It adds in order of size, so that the numbering of the branches does not
// matter.
func (m *model) arriving(i int) float64 {
	m.sum = m.sum[:0]
	for _, j := range m.feeders[i] {
		flow := m.branches[j].flow
		m.sum = append(m.sum, flow[len(flow)-1])
	}
	slices.Sort(m.sum)
	total := 0.0
	for _, q := range m.sum {
		total += q
	}
	return total
}

// write finds the flows to be written. What flows past a grid follows from the
// volume balance of the reaches above it. A flow below small, or one against
// the stream as dispersion can make it, is written as 0, and what that leaves
// out or adds is made good at this grid as soon as it is worth small. The
// volumes written are those of the flows written.
func (b *branch) write(inflow, small, dt float64) {
	b.flow[0] = inflow
	written, real := inflow, b.entered
	for i := range b.reaches {
		lateral := 0.0
		if i+1 < len(b.reaches) && b.reaches[i+1].source >= 0 {
			s := &b.sources[b.reaches[i+1].source]
			applied := b.reaches[i+1].lateral
			if applied < 0 {
				applied = -max(0, s.drawn) / dt
			}
			lateral = s.take(applied, b.volume[i]+written*dt, dt)
			real += applied
		}
		b.lateral[i+1] = lateral
		real -= (b.content[i] - b.before[i]) / dt
		there := written + lateral + b.volume[i]/dt
		out := min(real+b.behind[i+1]/dt, there)
		if out < small {
			out = 0
		}
		b.behind[i+1] += (real - out) * dt
		b.volume[i] = max(0, b.volume[i]+(written+lateral-out)*dt)
		b.flow[i+1], written = out, out
	}
	copy(b.before, b.content)
}

// take returns the lateral flow to be written when applied is the real one: a
// withdrawal as far as the volume written there covers it, the rest later.
func (s *source) take(applied, there, dt float64) float64 {
	if s.owed == 0 && (applied >= 0 || -applied*dt <= there) {
		return applied
	}
	want := s.owed - applied*dt
	taken := min(want, there)
	s.owed = want - taken
	return 0 - taken/dt
}

func (m *model) count(i int) {
	b := &m.branches[i]
	if m.leaves[i] {
		m.balance.Out += b.flow[len(b.flow)-1] * m.dt
	}
	for j := range b.sources {
		if l := b.lateral[b.sources[j].reach]; l > 0 {
			m.balance.Lateral += l * m.dt
		} else {
			m.balance.Withdrawn -= l * m.dt
		}
	}
}

// stored returns the volume above A0 in all channels.
func (m *model) stored() float64 {
	total := 0.0
	for i := range m.branches {
		for _, v := range m.branches[i].volume {
			total += v
		}
	}
	return total
}

func (m *model) close() {
	b := &m.balance
	b.Stored = m.stored()
	b.Error = b.In + b.Lateral + b.Stored0 - b.Out - b.Withdrawn - b.Stored
	if all := b.In + b.Lateral + b.Stored0; all > 0 {
		b.Relative = math.Abs(b.Error) / all
	}
}

func (m *model) warnSpread(step, branch int, spread float64) {
	if spread > m.spread {
		m.spread = math.Inf(1)
		m.balance.Warnings = append(m.balance.Warnings, sentence("step", step, "branch", branch,
			"a wave spreads further in a step than it moves; a longer time step is more accurate"))
	}
}

// watch warns once of a flow above the peak discharge.
func (m *model) watch(step, branch int, q float64) {
	if q > m.in.Peak && !m.high {
		m.high = true
		m.balance.Warnings = append(m.balance.Warnings, sentence("step", step, "branch", branch,
			"flow", q, "is above the peak discharge", m.in.Peak, "that sets the accuracy"))
	}
}
