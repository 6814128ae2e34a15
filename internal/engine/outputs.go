package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"rsmsjob/internal/bltm"
	"rsmsjob/internal/daflow"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// constituents is how many substances a run carries: the spill.
const constituents = 1

// Time is the end of a step, step 0 the spill, in whole seconds.
func (p *Plan) Time(step int) time.Time {
	seconds := float64(step) * p.Case.Scenario.StepSeconds()
	return p.Case.Scenario.SpillTime.Add(time.Duration(seconds * float64(time.Second))).Round(time.Second).UTC()
}

// Hours is the time of the end of a step after the spill.
func (p *Plan) Hours(step int) float64 {
	return float64(step) * p.Case.Scenario.StepSeconds() / 3600
}

// Lengths returns how much of its branch each of Places stands for: half way to
// its neighbours among the grids, in the branch's distance units.
func (p *Plan) Lengths() []float64 {
	lengths := make([]float64, len(p.Places))
	for i, place := range p.Places {
		grids := p.Case.Input.Network.Branches[place.Branch-1].Grids
		from, to := max(place.Grid-2, 0), min(place.Grid, len(grids)-1)
		lengths[i] = (grids[to].Distance - grids[from].Distance) / 2
	}
	return lengths
}

// Profiles reads PLUME.PLT: for each output step, c holds the concentration in
// mg/L at each of Places; it is valid until each returns. Errors carry
// engine_output_invalid and name file and line.
func (p *Plan) Profiles(ctx context.Context, dir string, each func(step int, c []float64) error) error {
	number := p.placeNumbers()
	grids := 0
	for _, b := range p.Header.Branches {
		grids += len(b.Grids)
	}
	steps := p.OutputSteps()
	c := make([]float64, len(p.Places))
	return read(ctx, dir, profilesFile, func(f io.Reader) error {
		r := bltm.NewProfilesReader(f, profilesFile, len(steps), constituents)
		for i := 0; r.NextTime(); i++ {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			t := r.Time()
			if t.Step != steps[i] || t.N != grids {
				return unexpected(profilesFile, fmt.Sprintf("time block %d is step %d with %d lines, expected step %d with %d lines", i+1, t.Step, t.N, steps[i], grids))
			}
			seen := 0
			for r.Next() {
				cell := r.Cell()
				if at, ok := number[place{cell.Branch, cell.Grid}]; ok {
					c[at] = cell.C[0]
					seen++
				}
			}
			if r.Err() == nil && seen != len(c) {
				return unexpected(profilesFile, fmt.Sprintf("step %d has %d of the %d places of the index", t.Step, seen, len(c)))
			}
			if r.Err() != nil {
				break
			}
			if err := each(t.Step, c); err != nil {
				return err
			}
		}
		return r.Err()
	})
}

// placeNumbers maps a grid of the run's network to its index in Places.
func (p *Plan) placeNumbers() map[place]int {
	number := make(map[place]int, len(p.Places))
	for i, at := range p.Places {
		number[place{at.Branch, at.RunGrid}] = i
	}
	return number
}

// Curves reads PLUME.TIM: for each of Places, in their order, the curve over
// all steps from 0; it is valid until each returns. Errors as in Profiles.
func (p *Plan) Curves(ctx context.Context, dir string, each func(at Place, c *plume.Curve) error) error {
	var curve plume.Curve
	return read(ctx, dir, timesFile, func(f io.Reader) error {
		r := bltm.NewTimesReader(f, timesFile, len(p.Places), constituents)
		for i := 0; r.NextPlace(); i++ {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			got, want := r.Place(), p.Places[i]
			if got.Branch != want.Branch || got.Grid != want.RunGrid || got.N != p.Flow.Steps+1 {
				return unexpected(timesFile, fmt.Sprintf("place %d is branch %d grid %d with %d lines, expected branch %d grid %d with %d lines",
					i+1, got.Branch, got.Grid, got.N, want.Branch, want.RunGrid, p.Flow.Steps+1))
			}
			curve.Reset()
			for r.Next() {
				curve.Add(p.Hours(r.Point().Step), r.Point().C[0])
			}
			if r.Err() != nil {
				break
			}
			if err := each(want, &curve); err != nil {
				return err
			}
		}
		return r.Err()
	})
}

// Ledgers reads BLTM.OUT: for each printed step the ledger and the mass in each
// branch, in kg; the slice may be kept. It returns what the engine warns of.
// Errors as in Profiles.
func (p *Plan) Ledgers(ctx context.Context, dir string, each func(step int, l plume.Ledger, branchKg []float64) error) (warnings []string, err error) {
	err = read(ctx, dir, ledgerFile, func(f io.Reader) error {
		report, err := bltm.ReadReport(f, ledgerFile)
		if err != nil {
			return err
		}
		if report.Steps != p.Flow.Steps {
			return unexpected(ledgerFile, fmt.Sprintf("ends at step %d, expected %d", report.Steps, p.Flow.Steps))
		}
		masses := map[int][]float64{}
		for _, m := range report.Masses {
			if m.Branch > len(p.Header.Branches) {
				return unexpected(ledgerFile, fmt.Sprintf("names branch %d, there are %d", m.Branch, len(p.Header.Branches)))
			}
			if masses[m.Step] == nil {
				masses[m.Step] = make([]float64, len(p.Header.Branches))
			}
			masses[m.Step][m.Branch-1] = m.Mass
		}
		ledgers := map[int]bool{}
		for _, l := range report.Ledgers {
			if masses[l.Step] == nil {
				return unexpected(ledgerFile, fmt.Sprintf("step %d has no mass per branch", l.Step))
			}
			ledgers[l.Step] = true
			err := each(l.Step, plume.Ledger{InjectedKg: l.Injected, InRiverKg: l.InRiver, OutflowKg: l.Outflow,
				DecayedKg: l.Decayed, WithdrawnKg: l.Withdrawn}, masses[l.Step])
			if err != nil {
				return err
			}
		}
		for _, step := range p.OutputSteps() {
			if !ledgers[step] {
				return unexpected(ledgerFile, fmt.Sprintf("output step %d has no ledger", step))
			}
		}
		for _, w := range report.Warnings {
			warnings = append(warnings, ledgerFile+": "+w)
		}
		return nil
	})
	return warnings, err
}

// Check reads an output of a foreign set where a later step will read it, so
// that a short or garbled file is laid to the engine that left it. Errors as in
// Profiles.
func (p *Plan) Check(ctx context.Context, dir, name string) error {
	switch name {
	case flowFile:
		return read(ctx, dir, flowFile, func(f io.Reader) error {
			r := daflow.NewFlowReader(f, flowFile, p.Flow.GridCounts(), p.Flow.Steps)
			for r.Next() {
			}
			return r.Err()
		})
	case concentrationFile:
		return read(ctx, dir, concentrationFile, func(f io.Reader) error { return bltm.CheckConcentrations(f, p.Header) })
	}
	return nil
}

func unexpected(file, problem string) error {
	return &reason.Fault{File: file, Problem: problem}
}

// read opens an output in dir, and no link that leads out of it, and gives every
// fault found in it its reason. When ctx ends the error is its cause.
func read(ctx context.Context, dir, name string, parse func(io.Reader) error) error {
	f, err := OpenFile(dir, name)
	if err != nil {
		return &reason.Error{Code: reason.EngineOutputMissing, Err: err, Detail: name + " cannot be read"}
	}
	defer f.Close()
	err = parse(bufio.NewReaderSize(whileWanted{ctx, f}, 1<<18))
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(reason.Faults(err)) == 0 {
		return err
	}
	return reason.Wrap(reason.EngineOutputInvalid, err, name+" is not valid")
}

// whileWanted reads until a context ends: an output may have some gigabytes.
type whileWanted struct {
	ctx context.Context
	r   io.Reader
}

func (w whileWanted) Read(b []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.r.Read(b)
}
