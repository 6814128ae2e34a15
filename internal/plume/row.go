// Package plume turns the concentration field of a run into what people ask
// for: table rows, edges, intakes, mass balance. Invariant: it sees each
// concentration once, in stream order, and keeps no more of a run than one
// time or one place of it.
package plume

import (
	"fmt"
	"strconv"
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
func TimeKey(t time.Time) string { return string(AppendTimeKey(nil, t)) }

// AppendTimeKey adds the TimeKey of t to b.
func AppendTimeKey(b []byte, t time.Time) []byte { return t.UTC().AppendFormat(b, "20060102T150405Z") }

// MileKey is the form of a river mile in keys: zero-padded so that text order
// is mile order. Miles are 0..9999.9999.
func MileKey(mile float64) string { return string(AppendMileKey(nil, mile)) }

// AppendMileKey adds the MileKey of mile to b.
func AppendMileKey(b []byte, mile float64) []byte {
	if mile == 0 {
		mile = 0 // -0 is the same place
	}
	if !(mile >= 0 && mile < 1e9) { // no mile of a river
		return fmt.Appendf(b, "%09.4f", mile)
	}
	var scratch [16]byte
	digits := strconv.AppendFloat(scratch[:0], mile, 'f', 4, 64)
	const zeros = "000000000" // as long as a key
	return append(append(b, zeros[:max(0, len(zeros)-len(digits))]...), digits...)
}

// BranchKey is the form of a branch in keys.
func BranchKey(branch int) string { return string(AppendBranchKey(nil, branch)) }

// AppendBranchKey adds the BranchKey of branch to b.
func AppendBranchKey(b []byte, branch int) []byte {
	if branch < 0 || branch > 999 { // no branch of a basin
		return fmt.Appendf(b, "%03d", branch)
	}
	return append(b, '0'+byte(branch/100), '0'+byte(branch/10%10), '0'+byte(branch%10))
}

// ByTimeKeys returns PartitionKey and RowKey of the row in PlumeByTime.
func (r *Row) ByTimeKeys(basin, scenario string) (partition, row string) {
	return string(r.AppendByTimePartition(nil, basin, scenario)), string(r.AppendByTimeRow(nil))
}

// AppendByTimePartition adds the PartitionKey of the row in PlumeByTime to b.
func (r *Row) AppendByTimePartition(b []byte, basin, scenario string) []byte {
	return AppendTimeKey(appendScenario(b, basin, scenario), r.Time)
}

// AppendByTimeRow adds the RowKey of the row in PlumeByTime to b.
func (r *Row) AppendByTimeRow(b []byte) []byte {
	return AppendBranchKey(append(r.appendPlace(b), '|'), r.Branch)
}

// ByMileKeys returns PartitionKey and RowKey of the row in PlumeByMile.
func (r *Row) ByMileKeys(basin, scenario string) (partition, row string) {
	return string(r.AppendByMilePartition(nil, basin, scenario)), string(r.AppendByMileRow(nil))
}

// AppendByMilePartition adds the PartitionKey of the row in PlumeByMile to b.
func (r *Row) AppendByMilePartition(b []byte, basin, scenario string) []byte {
	return r.appendPlace(appendScenario(b, basin, scenario))
}

// AppendByMileRow adds the RowKey of the row in PlumeByMile to b.
func (r *Row) AppendByMileRow(b []byte) []byte {
	return AppendBranchKey(append(AppendTimeKey(b, r.Time), '|'), r.Branch)
}

func appendScenario(b []byte, basin, scenario string) []byte {
	b = append(append(b, basin...), '|')
	return append(append(b, scenario...), '|')
}

func (r *Row) appendPlace(b []byte) []byte {
	return AppendMileKey(append(append(b, r.River...), '|'), r.RiverMile)
}
