// Package bltm moves dissolved constituents through a river network: the
// transport engine and the programs that cut its result by place and by time.
// Invariant: mass is neither made nor lost, the ledger closes to rounding, and
// a concentration is never negative.
//
// The equation is dC/dt = d/dx(D dC/dx) + tributaries - K*C in a frame that
// moves with the water (Jobson & Schoellhamer 1987, WRI 87-4163; Jobson 1997,
// WRI 97-4050): each branch is a list of well-mixed pieces of water, the grids
// stand still, and the flows come from the flow engine. The default scheme
// differs from the published one where numbers show it better: dispersion that
// does not depend on the size of the pieces, right to the fourth moment, half
// of it before and half behind the inflow and across junctions; junctions that
// keep the order of arrival; concentrations at the grids by a parabola through
// the means.
package bltm
