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
	case !finite(row.RiverMile) || row.RiverMile < 0 || len(plume.MileKey(row.RiverMile)) > len(plume.MileKey(0)):
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

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
