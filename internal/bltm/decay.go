package bltm

import "math"

// decay is first-order loss over one step. All masses are kept as of the end
// of the step: water that enters at the fraction s of the step is decayed by
// exp(-K*DT*(1-s)) when it enters, water that leaves at s gets the same back.
// So water that crosses several branches within a step decays one step in all.
type decay struct {
	kdt  float64 // K*DT
	full float64 // exp(-K*DT)
}

// maxDecay bounds K*DT: beyond it nothing is left within any precision, and
// the factor given back to leaving water must stay finite.
const maxDecay = 600

func newDecay(perHour, stepHours float64) decay {
	kdt := min(perHour*stepHours, maxDecay)
	return decay{kdt: kdt, full: math.Exp(-kdt)}
}

// kept is the mean of exp(-K*DT*(1-s)) for s in from..to: what is left at the
// end of the step of mass that entered evenly in that time.
func (d decay) kept(from, to float64) float64 {
	if d.kdt == 0 {
		return 1
	}
	return math.Exp(-d.kdt*(1-to)) * meanExp(-d.kdt*(to-from))
}

// credit is mass at the time it left, evenly in from..to of the step, per mass
// as of the end of the step: the inverse of kept, so that water which enters
// and leaves in the same time has lost nothing.
func (d decay) credit(from, to float64) float64 { return 1 / d.kept(from, to) }

// meanExp is the mean of exp over 0..x.
func meanExp(x float64) float64 {
	if abs(x) < 1e-9 {
		return 1 + x/2
	}
	return math.Expm1(x) / x
}

func abs(x float64) float64 { return math.Abs(x) }
