package storage

import (
	"math"
	"strings"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// checkRow returns a fault when no plume table can hold the row: its river is
// not [A-Za-z0-9 ._-]+, its numbers do not fit the keys or are not finite.
func checkRow(row *plume.Row) error {
	fault := func(field, problem, text string) error {
		return &reason.Fault{Field: field, Problem: problem, Text: text}
	}
	switch {
	case row.River == "" || len(row.River) > maxNameLength || !only(row.River, " ._-"):
		return &reason.Fault{Field: "River", Problem: "not a river name of the plume tables", Text: row.River,
			Hint: "letters A to Z, digits, blanks, dots, hyphens and underscores"}
	case strings.TrimSpace(row.River) != row.River:
		return fault("River", "blank at the begin or end of a river name", row.River)
	case !finite(row.RiverMile) || row.RiverMile < 0 || row.RiverMile > 9999 && len(plume.MileKey(row.RiverMile)) > len(plume.MileKey(0)):
		return fault("RiverMile", "river mile is not from 0 to 9999.9999", "")
	case row.Branch < 1 || row.Branch > 999:
		return fault("Branch", "branch is not from 1 to 999", "")
	case row.Grid < 1 || row.Grid > math.MaxInt32:
		return fault("Grid", "grid is not from 1 to 2147483647", "")
	case row.Time.UTC().Year() < 1601 || row.Time.UTC().Year() > 9999: // range of Edm.DateTime
		return fault("TimeUtc", "year is not from 1601 to 9999", "")
	case !finite(row.ElapsedHours):
		return fault("ElapsedHours", "not a finite number", "")
	case !finite(row.ConcentrationMgL) || row.ConcentrationMgL < 0:
		return fault("ConcentrationMgL", "concentration is negative or not finite", "")
	}
	return checkJobID(row.JobID)
}

// plumeKeys makes the keys of a row in one of the plume tables; both functions
// add to b.
type plumeKeys struct {
	partition func(row *plume.Row, b []byte, basin, scenario string) []byte
	row       func(row *plume.Row, b []byte) []byte
}

func byTimeKeys() plumeKeys {
	return plumeKeys{(*plume.Row).AppendByTimePartition, (*plume.Row).AppendByTimeRow}
}

func byMileKeys() plumeKeys {
	return plumeKeys{(*plume.Row).AppendByMilePartition, (*plume.Row).AppendByMileRow}
}

// openPartition is the partition that is being written, with the keys of its
// rows. It holds no more than that: a partition that is opened again later
// begins without keys.
type openPartition struct {
	name string
	rows map[string]struct{}
}

func (p *openPartition) is(name []byte) bool { return p.rows != nil && p.name == string(name) }

// open begins a partition.
func (p *openPartition) open(name []byte) {
	p.name = string(name)
	if p.rows == nil {
		p.rows = map[string]struct{}{}
	}
	clear(p.rows)
}

// add keeps the key of one more row. It returns a fault when the partition has
// the key already: a table would hold one row of the two.
func (p *openPartition) add(key []byte) error {
	if _, taken := p.rows[string(key)]; taken {
		return &reason.Fault{Field: "RowKey", Problem: "second row with the same keys", Text: p.name + ", " + string(key),
			Hint: "a branch has one place at a river mile and one row at a second"}
	}
	p.rows[string(key)] = struct{}{}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
