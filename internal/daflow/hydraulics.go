package daflow

import (
	"math"

	"rsmsjob/internal/river"
)

// Hydraulics gives the hydraulic relations of the subreach below a grid
// (Jobson 1989, WRI 89-4133), all for a flow q >= 0 in ft3/s or m3/s and in
// the length unit of the network.
type Hydraulics river.Grid

// Area returns A = A0 + A1*q^A2, ft2 or m2.
func (h Hydraulics) Area(q float64) float64 { return h.A0 + h.A1*power(q, h.A2) }

// Width returns W = W1*q^W2, ft or m.
func (h Hydraulics) Width(q float64) float64 { return h.W1 * power(q, h.W2) }

// Velocity returns U = q/A, ft/s or m/s; 0 at no flow.
func (h Hydraulics) Velocity(q float64) float64 {
	if q <= 0 {
		return 0
	}
	return q / h.Area(q)
}

// Celerity returns the speed of a small wave, dQ/dA = q^(1-A2)/(A1*A2), ft/s
// or m/s.
func (h Hydraulics) Celerity(q float64) float64 {
	return power(q, 1-h.A2) / (h.A1 * h.A2)
}

// WaveDispersion returns how a wave spreads, q/(2*S*W), ft2/s or m2/s; 0 at no
// flow.
func (h Hydraulics) WaveDispersion(q float64) float64 {
	if q <= 0 {
		return 0
	}
	return q / (2 * h.Slope * h.Width(q))
}

// power returns q^e for q >= 0. Two calls cost a third of math.Pow and are
// good to some units in the last place, which is far below what the flows are
// known to.
func power(q, e float64) float64 {
	if q <= 0 {
		return math.Pow(0, e)
	}
	return math.Exp(e * math.Log(q))
}
