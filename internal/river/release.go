package river

import "math"

// MassKg returns the mass of the spill in kg.
func (s *Scenario) MassKg() float64 {
	if s.SpillMassKg > 0 {
		return s.SpillMassKg
	}
	return s.SpillVolumeL * s.DensityKgPerL
}

// Steps and intervals are counted in whole milliseconds, so that 0.1 minutes
// ten times is a minute.
func milliseconds(minutes float64) int64 { return int64(math.Round(minutes * 60000)) }

func (s *Scenario) stepMilliseconds() int64 { return milliseconds(s.TimeStepMinutes) }

// StepSeconds returns the time step in seconds.
func (s *Scenario) StepSeconds() float64 { return float64(s.stepMilliseconds()) / 1000 }

// Steps returns how many steps the simulation has; the last may reach beyond
// SimulationHours.
func (s *Scenario) Steps() int { return stepsIn(s.SimulationHours*60, s.stepMilliseconds()) }

// stepsIn returns how many steps cover a time, rounded up.
func stepsIn(minutes float64, step int64) int {
	return int((milliseconds(minutes) + step - 1) / step)
}

// OutputEvery returns the steps from one output to the next.
func (s *Scenario) OutputEvery() int {
	return int(milliseconds(s.OutputIntervalMinutes) / s.stepMilliseconds())
}

// ReleaseSteps returns how many steps the release lasts, 1 at least.
func (s *Scenario) ReleaseSteps() int {
	return max(1, stepsIn(s.SpillDurationHours*60, s.stepMilliseconds()))
}

// ReleaseFraction returns which part of the mass is released in a step, 0..1.
// Steps count from 1: step k runs from k-1 to k time steps after SpillTime.
// The parts of all steps add up to 1; the last takes what rounding left.
func (s *Scenario) ReleaseFraction(step int) float64 {
	if step < 1 || step > s.ReleaseSteps() {
		return 0
	}
	return s.releasedAfter(step) - s.releasedAfter(step-1)
}

// releasedAfter returns which part of the mass is out after a number of steps.
func (s *Scenario) releasedAfter(steps int) float64 {
	switch {
	case steps <= 0:
		return 0
	case steps >= s.ReleaseSteps():
		return 1
	}
	return s.ReleaseShape.released(float64(steps) * s.StepSeconds() / (s.SpillDurationHours * 3600))
}

// exponentialEnd is the rate at the end of an exponential release, as a part
// of that at its start.
const exponentialEnd = 0.01

// released returns which part of the mass is out after a part u of the
// duration, 0..1: the integral of the rate, scaled to 1 at the end. The rate
// is constant, falls as 1-u, or falls as exponentialEnd^u.
func (r ReleaseShape) released(u float64) float64 {
	switch r {
	case ReleaseLinear:
		return u * (2 - u)
	case ReleaseExponential:
		return math.Expm1(u*math.Log(exponentialEnd)) / (exponentialEnd - 1)
	}
	return u
}
