package bltm

import (
	"fmt"
	"io"
	"math"

	"rsmsjob/internal/fortran"
)

// Report is what BLTM.OUT says.
type Report struct {
	Steps    int // from the line END
	Ledgers  []StepLedger
	Masses   []BranchMass
	Parcels  []BranchParcels
	Warnings []string // as they stand
}

// StepLedger is the ledger of one constituent at the end of a printed step.
type StepLedger struct {
	Step        int
	Hour        float64 // hours from midnight of the first day
	Constituent int     // from 1
	Ledger              // without Name
}

// BranchMass is the mass of a constituent in a branch at the end of a step.
type BranchMass struct {
	Step, Branch, Constituent int // branch and constituent from 1
	Mass                      float64
}

// BranchParcels is how many pieces of water a branch held.
type BranchParcels struct{ Step, Branch, N int }

// ReadReport reads BLTM.OUT. The base name file goes into faults. A file
// without its last line, END and the number of steps, is one.
func ReadReport(r io.Reader, file string) (*Report, error) {
	lines, whole := fortran.NewWhole(r, file)
	rec := records{lines: lines, whole: whole}
	var p Report
	for rec.lines.Next() {
		rec.bad = false
		rec.list = rec.lines.List(1)
		label, err := rec.list.Word("label")
		if err != nil {
			return nil, err
		}
		p.line(&rec, label)
		if rec.bad {
			return nil, rec.err()
		}
		if label == "END" {
			if err := rec.nothingMore("more lines behind the end"); err != nil {
				return nil, err
			}
			return &p, p.check(&rec)
		}
	}
	rec.cut("the line END")
	return nil, rec.err()
}

// line reads the rest of a line with the given label.
func (p *Report) line(rec *records, label string) {
	step := func() int { return rec.int("step", 0, math.MaxInt32) }
	one := func(field string) int { return rec.int(field, 1, math.MaxInt32) }
	switch label {
	case "TITLE", "STEPS", "LIMITS", "CONST", "BRANCH", "CONC":
		return
	case "WARN":
		text := rec.lines.Bytes()
		p.Warnings = append(p.Warnings, string(text[min(10, len(text)):]))
		return
	case "LEDGER":
		l := StepLedger{Step: step(), Hour: rec.float("hour", 0), Constituent: one("constituent")}
		l.Injected, l.InRiver = rec.float("injected", 0), rec.float("in river", 0)
		l.Outflow, l.Decayed = rec.signed("outflow"), rec.signed("decayed")
		l.Withdrawn, l.Error = rec.signed("withdrawn"), rec.signed("error")
		if l.Injected > 0 {
			l.Relative = l.Error / l.Injected
		}
		p.Ledgers = append(p.Ledgers, l)
	case "MASS":
		p.Masses = append(p.Masses, BranchMass{step(), one("branch"), one("constituent"), rec.float("mass", 0)})
	case "PARCELS":
		p.Parcels = append(p.Parcels, BranchParcels{step(), one("branch"), rec.int("number", 0, math.MaxInt32)})
	case "END":
		p.Steps = step()
	default:
		rec.add(rec.lines.Fault(1, "label", "unknown label", label))
	}
	rec.end()
}

// signed reads a number of any sign.
func (r *records) signed(field string) float64 { return r.float(field, -math.MaxFloat64) }

// check looks whether the last step has its ledger.
func (p *Report) check(rec *records) error {
	if n := len(p.Ledgers); n == 0 || p.Ledgers[n-1].Step != p.Steps {
		return rec.lines.Fault(1, "", fmt.Sprintf("no ledger of the last step, %d", p.Steps), "")
	}
	return nil
}
