package bltm

import (
	"fmt"
	"io"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/reason"
)

// Options choose how Run works.
type Options struct {
	// Published takes the scheme as published instead of the default one.
	Published bool
	// Progress, when not nil, is told each step that is done, of so many.
	Progress func(step, of int)
}

// Run reads BLTM.IN from in and BLTM.FLW from flows and writes BLTM.CON to con
// and BLTM.OUT to out. It returns the ledger per constituent at the end. What
// is wrong with an input is a *reason.Fault.
func Run(in, flows io.Reader, con, out io.Writer, o Options) ([]Ledger, error) {
	input, err := NewInput(in)
	if err != nil {
		return nil, err
	}
	r := newRun(input, flows, con, out, o)
	if err := r.start(); err != nil {
		return nil, err
	}
	for step := 1; step <= input.header.Steps; step++ {
		if err := r.step(step); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(step, input.header.Steps)
		}
	}
	if input.Next() || input.Err() != nil {
		return nil, input.Err()
	}
	if r.flows.Next() || r.flows.Err() != nil {
		return nil, r.flows.Err()
	}
	return r.ledgers(), r.close()
}

// run is a simulation with its files.
type run struct {
	input *Input
	flows *daflow.FlowReader
	state *transport
	con   *conWriter
	out   *reportWriter
	dry   map[[2]int]bool // boundaries already warned of
	apart []bool          // branches already warned of
	at    []float64       // concentrations of one branch
}

func newRun(input *Input, flows io.Reader, con, out io.Writer, o Options) *run {
	h := &input.header
	each, _ := h.grids()
	most := 0
	for _, n := range each {
		most = max(most, n)
	}
	return &run{
		input: input,
		flows: daflow.NewFlowReader(flows, flowFile, each, h.Steps),
		state: newTransport(h, input.order, o),
		con:   newConWriter(con),
		out:   newReportWriter(out, h),
		dry:   map[[2]int]bool{},
		apart: make([]bool, len(h.Branches)),
		at:    make([]float64, most*len(h.Constituents)),
	}
}

func (r *run) start() error {
	if err := r.load(0); err != nil {
		return err
	}
	for i, b := range r.state.branches {
		r.state.fill(b, &r.input.header.Branches[i])
	}
	r.out.echo()
	return r.write(0)
}

func (r *run) step(step int) error {
	r.state.begin()
	if !r.input.Next() {
		return r.input.Err()
	}
	if err := r.load(step); err != nil {
		return err
	}
	for i := range r.input.bounds {
		r.set(&r.input.bounds[i])
	}
	r.warnDry(step)
	r.state.step()
	r.warnApart(step)
	return r.write(step)
}

// load reads the flows of a step into the branches.
func (r *run) load(step int) error {
	for _, b := range r.state.branches {
		last := len(b.q) - 1
		for g := range b.q {
			if !r.flows.Next() {
				return r.flows.Err()
			}
			f := r.flows.Flow()
			if max(f.Q, f.A, abs(f.Lateral)) > maxWater {
				return &reason.Fault{File: flowFile, Problem: fmt.Sprintf("flow or area beyond %g in step %d branch %d grid %d",
					maxWater, f.Step, f.Branch, f.Grid)}
			}
			b.q[g] = water(f.Q)
			if g < last {
				b.area[g], b.lateral[g] = water(f.A), water(f.Lateral)
			}
		}
	}
	return nil
}

// water is v, or 0 where it is too little for arithmetic.
func water(v float64) float64 {
	if abs(v) < leastWater {
		return 0
	}
	return v
}

// set takes over a boundary value.
func (r *run) set(bc *Boundary) {
	b := r.state.branches[bc.Branch-1]
	if bc.Grid == 1 {
		copy(b.head, bc.C)
	} else {
		copy(b.side[(bc.Grid-1)*len(bc.C):], bc.C)
		b.fresh[bc.Grid-1] = true
	}
	for k, c := range bc.C {
		r.state.highest[k] = max(r.state.highest[k], c)
	}
}

// warnDry warns of boundary values of this step that no water carries.
func (r *run) warnDry(step int) {
	for _, bc := range r.input.bounds {
		b := r.state.branches[bc.Branch-1]
		q := b.q[0]
		if bc.Grid > 1 {
			q = b.lateral[bc.Grid-1]
		}
		key := [2]int{bc.Branch, bc.Grid}
		if q > 0 || r.dry[key] {
			continue
		}
		for _, c := range bc.C {
			if c > 0 {
				r.dry[key] = true
				r.out.warn(step, bc.Branch, bc.Grid, "no water enters here that could carry the concentration")
				break
			}
		}
	}
}

// warnApart warns where the water that left a branch is far from what the flow
// file says: then its areas and flows do not belong together.
func (r *run) warnApart(step int) {
	for i, b := range r.state.branches {
		said := b.q[len(b.q)-1] * r.state.dt
		if r.apart[i] || abs(b.outflow-said) <= 0.1*max(b.outflow, said)+2*r.state.smallFlow*r.state.dt {
			continue
		}
		r.apart[i] = true
		r.out.warn(step, i+1, len(b.q), "the stored water leaves another outflow than the flow file says")
	}
}

// write writes the concentrations of a step and, where it is printed, its
// report.
func (r *run) write(step int) error {
	h := &r.input.header
	printed := step%h.PrintEvery == 0 || step == h.Steps
	if printed {
		r.out.ledgers(step, r.ledgers())
	}
	nc := len(h.Constituents)
	for i, b := range r.state.branches {
		at := r.at[:len(b.q)*nc]
		r.state.sample(b, at)
		if err := r.con.branch(step, i+1, nc, at); err != nil {
			return err
		}
		if printed {
			r.out.branch(step, i+1, b, at)
		}
	}
	return r.out.err
}

func (r *run) ledgers() []Ledger {
	h := &r.input.header
	all := make([]Ledger, len(h.Constituents))
	for k, c := range h.Constituents {
		all[k] = r.state.ledger(k, c.Name, h.kilograms())
	}
	return all
}

func (r *run) close() error {
	if err := r.con.out.Flush(); err != nil {
		return err
	}
	return r.out.close()
}
