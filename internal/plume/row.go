// Package plume turns the concentration field of a run into what people ask
// for: table rows, edges, intakes, mass balance. Invariant: it sees each
// concentration once, in stream order, and keeps no more of a run than one
// time or one place of it.
package plume

import (
	"fmt"
	"time"
)

// Row is one cell of the plume tables: the concentration at a place of the
// river-mile index at an output time, at or above the tolerance of the run.
type Row struct {
	River            string
	RiverMile        float64 // river mile as in the index
	Branch, Grid     int     // of the basin's FLOW.IN, 1-based
	Time             time.Time
	ElapsedHours     float64 // from the spill
	ConcentrationMgL float64
	JobID            string
}

// TimeKey is the form of a time in keys: 20260102T030000Z.
func TimeKey(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// MileKey is the form of a river mile in keys: zero-padded so that text order
// is mile order. Miles are 0..9999.9999.
func MileKey(mile float64) string {
	if mile == 0 {
		mile = 0 // -0 is the same place
	}
	return fmt.Sprintf("%09.4f", mile)
}

// BranchKey is the form of a branch in keys.
func BranchKey(branch int) string { return fmt.Sprintf("%03d", branch) }

// ByTimeKeys returns PartitionKey and RowKey of the row in PlumeByTime.
func (r *Row) ByTimeKeys(basin, scenario string) (partition, row string) {
	return basin + "|" + scenario + "|" + TimeKey(r.Time),
		r.River + "|" + MileKey(r.RiverMile) + "|" + BranchKey(r.Branch)
}

// ByMileKeys returns PartitionKey and RowKey of the row in PlumeByMile.
func (r *Row) ByMileKeys(basin, scenario string) (partition, row string) {
	return basin + "|" + scenario + "|" + r.River + "|" + MileKey(r.RiverMile),
		TimeKey(r.Time) + "|" + BranchKey(r.Branch)
}
