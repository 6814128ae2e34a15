// Package river holds what a basin and a spill are before any engine sees
// them: network, river-mile index, scenario, flow series. It parses and
// validates; it knows no path, no clock and no engine. Invariant: a value that
// passed its validation can be run.
package river

// Units of a network, as FLOW.IN gives them.
type Units int

const (
	// Metric: metres, m3/s, distances along a branch in kilometres.
	Metric Units = 0
	// English: feet, ft3/s, distances along a branch in miles of 5280 ft.
	English Units = 1
)

// CubicMetresPerCubicFoot converts ft3 to m3 (international foot, exact).
const CubicMetresPerCubicFoot = 0.3048 * 0.3048 * 0.3048

// KilometresPerMile converts miles to km (international mile, exact).
const KilometresPerMile = 1.609344

// LengthPerDistance is how many length units (ft or m) one distance unit (mile
// or km) has.
func (u Units) LengthPerDistance() float64 {
	if u == English {
		return 5280
	}
	return 1000
}

// MetresPerLength is the length unit (ft or m) in metres.
func (u Units) MetresPerLength() float64 {
	if u == English {
		return 0.3048
	}
	return 1
}

// LitresPerVolume is the volume unit (ft3 or m3) in litres.
func (u Units) LitresPerVolume() float64 {
	if u == English {
		return CubicMetresPerCubicFoot * 1000
	}
	return 1000
}

// Network is the river as FLOW.IN describes it: branches between junctions.
// Branch b (1-based in files and errors) is Branches[b-1].
type Network struct {
	Title             string
	Units             Units
	InteriorJunctions int
	Branches          []Branch
}

// Branch is a run of grids without a junction between them. Grid g (1-based)
// is Grids[g-1]; grids are numbered downstream.
type Branch struct {
	// Share is the part of the inflow of the upstream junction that this
	// branch takes, 0..1 (PF in the original).
	Share float64
	// Up and Down are junction numbers. Interior junctions are 1..n; higher
	// numbers are the outer ends of the network.
	Up, Down int
	Grids    []Grid
	Line     int // line of the branch head in FLOW.IN, 0 when made by hand
}

// Grid is a point on a branch with the properties of the subreach downstream
// of it: area A = A0 + A1*Q^A2, width W = W1*Q^W2. The last grid of a branch
// has no subreach and only Distance and Print.
type Grid struct {
	Distance float64 // along the branch, miles or km, rising downstream
	Print    bool    // printed in FLOW.OUT
	Flow     float64 // initial flow, ft3/s or m3/s
	A1, A2   float64
	A0       float64 // area at no flow, ft2 or m2
	Slope    float64 // dimensionless
	W1, W2   float64
	Line     int // line in FLOW.IN, 0 when made by hand
}

// Interior reports whether junction j is interior.
func (n *Network) Interior(j int) bool { return j >= 1 && j <= n.InteriorJunctions }
