package bltm

import "math"

// Ledger is where the mass of one constituent went, in kg when concentrations
// are in mg/L. Injected counts the initial content of the river too, and is
// InRiver + Outflow + Decayed + Withdrawn + Error.
type Ledger struct {
	Name                                           string
	Injected, InRiver, Outflow, Decayed, Withdrawn float64
	Error                                          float64
	Relative                                       float64 // Error over Injected
}

// account is the ledger of one constituent, in mg/L times volume.
type account struct {
	injected, outflow, decayed, withdrawn sum
}

// enter books mass that came in, of which kept is left at the end of the step.
func (a *account) enter(raw, kept float64) {
	a.injected.add(raw)
	a.decayed.add(raw - kept)
}

// leave books mass as of the end of the step that left when it was actual.
func (a *account) leave(m, actual float64) {
	a.outflow.add(actual)
	a.decayed.add(m - actual)
}

func (a *account) withdraw(m, actual float64) {
	a.withdrawn.add(actual)
	a.decayed.add(m - actual)
}

// ledger returns the account of constituent k with what is in the river now,
// kilograms per mg/L and unit of volume.
func (t *transport) ledger(k int, name string, kilograms float64) Ledger {
	a := &t.account[k]
	var river sum
	for _, b := range t.branches {
		river.add(b.water.mass(k))
	}
	rest := a.injected
	for _, s := range []*sum{&river, &a.outflow, &a.decayed, &a.withdrawn} {
		rest.add(-s.s)
		rest.add(-s.rest)
	}
	l := Ledger{
		Name:      name,
		Injected:  a.injected.value() * kilograms,
		InRiver:   river.value() * kilograms,
		Outflow:   a.outflow.value() * kilograms,
		Decayed:   a.decayed.value() * kilograms,
		Withdrawn: a.withdrawn.value() * kilograms,
		Error:     rest.value() * kilograms,
	}
	if scale := max(l.Injected, math.SmallestNonzeroFloat64); l.Error != 0 {
		l.Relative = l.Error / scale
	}
	return l
}
