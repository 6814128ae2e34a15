package plume

import (
	"math"
	"time"
)

// Ledger is where the released mass is at one time, in kg.
type Ledger struct {
	InjectedKg, InRiverKg, OutflowKg, DecayedKg, WithdrawnKg float64
}

// ErrorKg is what the parts lack of the injected mass.
func (l Ledger) ErrorKg() float64 {
	return l.InjectedKg - l.InRiverKg - l.OutflowKg - l.DecayedKg - l.WithdrawnKg
}

// Balance is the series of ledgers of mass_balance.json; all slices have the
// length of Time.
type Balance struct {
	Time        []time.Time  `json:"time"`
	InjectedKg  []float64    `json:"injected_kg"`
	InRiverKg   []float64    `json:"in_river_kg"`
	OutflowKg   []float64    `json:"outflow_kg"`
	DecayedKg   []float64    `json:"decayed_kg"`
	WithdrawnKg []float64    `json:"withdrawn_kg"`
	ErrorKg     []float64    `json:"error_kg"`
	Final       FinalBalance `json:"final"`
}

// FinalBalance is the ledger at the end of the simulation with its error
// relative to the injected mass.
type FinalBalance struct {
	InjectedKg    float64 `json:"injected_kg"`
	InRiverKg     float64 `json:"in_river_kg"`
	OutflowKg     float64 `json:"outflow_kg"`
	DecayedKg     float64 `json:"decayed_kg"`
	WithdrawnKg   float64 `json:"withdrawn_kg"`
	ErrorKg       float64 `json:"error_kg"`
	RelativeError float64 `json:"relative_error"`
}

// Add appends the ledger at an output time.
func (b *Balance) Add(t time.Time, l Ledger) {
	b.Time = append(b.Time, t.UTC())
	b.InjectedKg = append(b.InjectedKg, l.InjectedKg)
	b.InRiverKg = append(b.InRiverKg, l.InRiverKg)
	b.OutflowKg = append(b.OutflowKg, l.OutflowKg)
	b.DecayedKg = append(b.DecayedKg, l.DecayedKg)
	b.WithdrawnKg = append(b.WithdrawnKg, l.WithdrawnKg)
	b.ErrorKg = append(b.ErrorKg, l.ErrorKg())
}

// Finish sets the ledger at the end of the simulation.
func (b *Balance) Finish(l Ledger) {
	b.Final = FinalBalance{l.InjectedKg, l.InRiverKg, l.OutflowKg, l.DecayedKg, l.WithdrawnKg, l.ErrorKg(), 0}
	if l.InjectedKg > 0 {
		b.Final.RelativeError = math.Abs(b.Final.ErrorKg) / l.InjectedKg
	}
}
