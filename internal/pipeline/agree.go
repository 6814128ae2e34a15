package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"slices"
	"time"

	"rsmsjob/internal/bltm"
	"rsmsjob/internal/engine"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// The outputs that hold the same concentrations.
const (
	concentrationFile = "BLTM.CON"
	timesFile         = "PLUME.TIM"
	profilesFile      = "PLUME.PLT"
)

// agreement holds the outputs of a run against each other and against what is
// possible, while they stream by: PLUME.PLT by time, then PLUME.TIM by place.
// Of each place it keeps a sum over the bits of its values, whatever the number
// of times, and which places have another sum in the second file. Those are read
// once more in settle, which tells another rounding from another number.
type agreement struct {
	plan  *engine.Plan
	every int     // steps between output times
	most  float64 // mg/L that any water of the run can hold
	sums  []uint64
	curve int   // curves seen
	doubt []int // places

	highest float64 // mg/L, in PLUME.PLT
	step    int     // where it is
	profile []float64
}

func newAgreement(plan *engine.Plan) *agreement {
	return &agreement{plan: plan, every: plan.Case.Scenario.OutputEvery(), most: mostConcentration(plan),
		sums: make([]uint64, len(plan.Places)), profile: make([]float64, len(plan.Places))}
}

// mostConcentration is the highest concentration that water of a run may have,
// mg/L: that of the whole spill in one step of the least water that may carry
// it. What flows and mixes behind it can only be thinner. A fixed bound, such as
// that of a pure substance, would refuse a spill into a dry bed, whose mass
// stands in next to no water.
func mostConcentration(plan *engine.Plan) float64 {
	s := plan.Case.Scenario
	litres := 2 * plan.Flow.SmallFlow() * plan.Flow.Network.Units.LitresPerVolume() * s.StepSeconds()
	return s.MassKg() * 1e6 / litres * (1 + singlePrecision)
}

// byTime takes the concentrations of one output time.
func (a *agreement) byTime(step int, c []float64) error {
	top := 0.0
	for i, v := range c {
		if v > a.most {
			return a.impossible(profilesFile, i, step, v)
		}
		a.sums[i] = mix(a.sums[i], v)
		top = max(top, v)
	}
	// Where there is no plume at all, the first time behind the spill counts.
	if top > a.highest || a.highest == 0 && step <= a.every {
		a.highest, a.step = top, step
		copy(a.profile, c)
	}
	return nil
}

// byPlace takes the curve of the next place.
func (a *agreement) byPlace(c *plume.Curve) error {
	i := a.curve
	a.curve++
	for step, v := range c.C {
		if v > a.most {
			return a.impossible(timesFile, i, step, v)
		}
	}
	var sum uint64
	for step := 0; step < len(c.C); step += a.every {
		sum = mix(sum, c.C[step])
	}
	if sum != a.sums[i] {
		a.doubt = append(a.doubt, i)
	}
	return nil
}

// mix adds a value, which is not negative, to a sum that depends on the order.
func mix(sum uint64, v float64) uint64 {
	return bits.RotateLeft64(sum^math.Float64bits(v), 27) * 0x9e3779b97f4a7c15
}

func (a *agreement) impossible(file string, place, step int, v float64) error {
	return &reason.Fault{File: file, Problem: fmt.Sprintf("%s: %.6g mg/L, and no water of this run can hold more than %.3g mg/L",
		a.cell(place, step), v, a.most)}
}

// cell names a place and a time as the files do, and by mile and clock.
func (a *agreement) cell(place, step int) string {
	p := &a.plan.Places[place]
	return fmt.Sprintf("branch %d grid %d (mile %g) at step %d (%s)", p.Branch, p.RunGrid, p.Mile, step, a.plan.Time(step).Format(time.RFC3339))
}

// settle ends the comparison once both files were read.
func (a *agreement) settle(ctx context.Context, dir string) error {
	if err := a.cells(ctx, dir); err != nil {
		return err
	}
	return a.origin(dir)
}

// Of what the plume files say of the time of the highest peak, BLTM.CON may say
// something else by so much, as a part of the value, besides the tolerance of the
// run: a program may print few digits, but a wrong unit or factor is more.
const originPart = 0.01

// origin holds the profile with the highest peak against BLTM.CON, from which the
// plume files were cut: what both of them say is wrong if it is not there. The
// last engine may have removed the file, which nobody else needs.
func (a *agreement) origin(dir string) error {
	err := openOutput(dir, concentrationFile, func(f io.Reader) error {
		con, err := bltm.ConcentrationsAt(f, a.plan.Header, a.step)
		if err != nil {
			return err
		}
		before := make([]int, len(a.plan.Header.Branches)) // grids
		for b := 1; b < len(before); b++ {
			before[b] = before[b-1] + len(a.plan.Header.Branches[b-1].Grids)
		}
		for i, v := range a.profile {
			p := &a.plan.Places[i]
			want := con[before[p.Branch-1]+p.RunGrid-1]
			if math.Abs(v-want) > originPart*max(v, want)+a.plan.Case.Scenario.ConcentrationTolerance {
				return a.differ(profilesFile, i, a.step, v, concentrationFile, want)
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (a *agreement) differ(file string, place, step int, v float64, other string, w float64) *reason.Fault {
	return &reason.Fault{File: file, Problem: fmt.Sprintf("%s: %.6g mg/L, but %s has %.6g mg/L there", a.cell(place, step), v, other, w),
		Hint: "both must hold the same concentrations, in mg/L"}
}

const (
	// singlePrecision is by which part of a value two programs may differ that
	// compute with 24 bits, or only one of them.
	singlePrecision = 1e-6
	// blockBytes bounds what is kept of PLUME.TIM to compare it cell by cell.
	blockBytes = 16 << 20
)

// written is a number and the unit of its last digit, both in mg/L.
type written struct{ value, unit float64 }

// same reports whether two numbers may be the same before they were rounded.
func (w written) same(x written) bool {
	slack := (w.unit+x.unit)/2*(1+1e-9) + singlePrecision*max(w.value, x.value)
	return math.Abs(w.value-x.value) <= slack
}

// cells compares the places in doubt cell by cell.
func (a *agreement) cells(ctx context.Context, dir string) error {
	times := len(a.plan.OutputSteps())
	for block := range slices.Chunk(a.doubt, max(1, blockBytes/16/times)) {
		curves, err := a.curves(ctx, dir, block)
		if err != nil {
			return err
		}
		if err := a.compare(ctx, dir, curves); err != nil {
			return err
		}
	}
	return nil
}

// curves reads from PLUME.TIM what some places have at the output times, by
// place.
func (a *agreement) curves(ctx context.Context, dir string, block []int) (map[int][]written, error) {
	curves := make(map[int][]written, len(block))
	for _, i := range block {
		curves[i] = make([]written, 0, len(a.plan.OutputSteps()))
	}
	err := openOutput(dir, timesFile, func(f io.Reader) error {
		r := bltm.NewTimesReader(f, timesFile, len(a.plan.Places), 1)
		for i := 0; r.NextPlace(); i++ {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			_, wanted := curves[i]
			for r.Next() {
				if p := r.Point(); wanted && p.Step%a.every == 0 {
					curves[i] = append(curves[i], written{p.C[0], r.Unit()})
				}
			}
		}
		return r.Err()
	})
	return curves, err
}

// compare reads PLUME.PLT and holds it against the curves of some places.
func (a *agreement) compare(ctx context.Context, dir string, curves map[int][]written) error {
	places := make(map[[2]int]int, len(curves))
	for i := range curves {
		places[[2]int{a.plan.Places[i].Branch, a.plan.Places[i].RunGrid}] = i
	}
	return openOutput(dir, profilesFile, func(f io.Reader) error {
		r := bltm.NewProfilesReader(f, profilesFile, len(a.plan.OutputSteps()), 1)
		for n := 0; r.NextTime(); n++ {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for r.Next() {
				cell := r.Cell()
				i, wanted := places[[2]int{cell.Branch, cell.Grid}]
				if !wanted {
					continue
				}
				if here, there := (written{cell.C[0], r.Unit()}), curves[i][n]; !here.same(there) {
					fault := a.differ(profilesFile, i, r.Time().Step, here.value, timesFile, there.value)
					fault.Line = r.Line()
					return fault
				}
			}
		}
		return r.Err()
	})
}

// openOutput reads an output of the engines and gives every fault found in it its
// reason.
func openOutput(dir, name string, read func(io.Reader) error) error {
	f, err := engine.OpenFile(dir, name)
	if err != nil {
		return &reason.Error{Code: reason.EngineOutputMissing, Err: err, Detail: name + " cannot be read"}
	}
	defer f.Close()
	err = read(f)
	if len(reason.Faults(err)) == 0 {
		return err
	}
	return reason.Wrap(reason.EngineOutputInvalid, err, name+" is not valid")
}
