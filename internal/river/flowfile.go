package river

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"rsmsjob/internal/reason"
)

const (
	maxFlow = 1e7 // ft3/s or m3/s; the Amazon has 7e6 ft3/s
	maxJump = 5   // between neighbours in time, beyond which one looks again
)

// record is one row of NFQ.csv that has a flow.
type record struct {
	branch, grid int
	time         time.Time
	flow         float64
	line         int
}

// samePlace orders records by their place alone.
func samePlace(a, b record) int {
	return cmp.Or(cmp.Compare(a.branch, b.branch), cmp.Compare(a.grid, b.grid))
}

// ParseFlows reads NFQ.csv: a header and one row per value, with the columns
// time, branch, grid, flow. zone is that of times without one; nil makes them
// faults. The faults of the error name line and column.
//
// A blank, a text and the usual numbers for "missing" are missing values: the
// row counts as not there. Of several rows for one time and place the last
// counts. Warnings tell of missing values, duplicates, rows out of order and
// flows beyond five times their neighbour in time.
func ParseFlows(r io.Reader, file string, zone *time.Location) (*Flows, []Warning, error) {
	t, err := openTable(r, file, "time", "branch", "grid", "flow")
	if err != nil {
		return nil, nil, err
	}
	p := &flowParser{table: t, zone: zone, warn: warnings{file: file}}
	var records []record
	for t.next() {
		if rec, ok := p.record(); ok {
			records = append(records, rec)
		}
	}
	if len(records) == 0 && t.faults.Len() == 0 {
		t.faults.Add(&reason.Fault{File: file, Problem: "has no flows"})
	}
	if p.missing > 0 {
		p.warn.add(0, "missing values: %d", p.missing)
	}
	if err := t.faults.Err(); err != nil {
		return nil, p.warn.all(), err
	}
	p.sort(records)
	f := &Flows{File: file, Series: p.series(records)}
	for i := range f.Series {
		p.warnJumps(&f.Series[i])
	}
	return f, p.warn.all(), nil
}

// flowParser turns the rows of NFQ.csv into series.
type flowParser struct {
	table   *table
	zone    *time.Location
	warn    warnings
	missing int // values that are blank or stand for missing
}

// record reads the row at hand; false where it has no flow.
func (p *flowParser) record() (record, bool) {
	t := p.table
	before := t.faults.Len()
	rec := record{line: t.line()}
	at, problem := parseTime(t.text("time"), p.zone)
	if problem != nil {
		f := outside(t.text("time"), problem.problem)
		f.Hint = problem.hint
		t.faultIn("time", f)
	}
	rec.time = at
	rec.branch, _ = t.integer("branch", 1, maxBranch)
	rec.grid, _ = t.integer("grid", 1, maxGrid)
	text := t.text("flow")
	if text != "" && strings.Trim(text, "*") == "" { // H10: a number that did not fit is no missing one
		t.faultIn("flow", &reason.Fault{Problem: "is stars: the number did not fit its field", Hint: "write it with more columns"})
		return rec, false
	}
	if missingFlow(text) {
		p.missing++
		return rec, false
	}
	if !numberLike(text) {
		p.warn.add(rec.line, "flow %s is not a number and counts as missing", quoted(text))
		return rec, false
	}
	rec.flow, _ = t.number("flow", -maxFlow, maxFlow)
	if rec.flow < 0 && rec.grid == 1 {
		t.faultIn("flow", &reason.Fault{Problem: "is negative at the head of a branch: the engines know one direction of flow", Text: text})
	}
	return rec, t.faults.Len() == before
}

// missingFlow reports whether a flow is blank or one of the numbers that stand
// for a missing value: -999, -9999 and so on, with or without decimals of
// nines or zeros. It goes by the digits, before anything is computed.
func missingFlow(text string) bool {
	if text == "" {
		return true
	}
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	return negative && len(whole) >= 3 && strings.Trim(whole, "9") == "" &&
		(strings.Trim(fraction, "9") == "" || strings.Trim(fraction, "0") == "")
}

// numberLike reports whether a text was meant as a number, so that what is
// wrong with it is a fault and not a remark of the gauge: it has a digit and
// only characters of numbers.
func numberLike(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.Trim(text, "0123456789+-.,eEdDxX_ ") == ""
}

// sort puts records in the order of place and time, those of one time in the
// order of the file.
func (p *flowParser) sort(records []record) {
	latest := make(map[[2]int]time.Time)
	for _, rec := range records {
		place := [2]int{rec.branch, rec.grid}
		if rec.time.Before(latest[place]) {
			p.warn.add(rec.line, "the time is before that of an earlier row; the rows were sorted")
			break
		}
		latest[place] = rec.time
	}
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Or(samePlace(a, b), a.time.Compare(b.time)) })
}

// series splits sorted records by place. Of several with one time the last
// stays.
func (p *flowParser) series(records []record) []Series {
	var all []Series
	for i, rec := range records {
		if i == 0 || samePlace(records[i-1], rec) != 0 {
			all = append(all, Series{Branch: rec.branch, Grid: rec.grid})
		}
		s := &all[len(all)-1]
		if last := len(s.Times) - 1; last >= 0 && s.Times[last].Equal(rec.time) {
			p.warn.add(rec.line, "branch %d grid %d has this time in line %d already; the last row counts", rec.branch, rec.grid, s.lines[last])
			s.Flows[last], s.lines[last] = rec.flow, rec.line
			continue
		}
		s.Times = append(s.Times, rec.time)
		s.Flows = append(s.Flows, rec.flow)
		s.lines = append(s.lines, rec.line)
	}
	return all
}

// warnJumps warns of neighbours in time of which one is beyond maxJump times
// the other: often a change of units. Between dry and wet, or inflow and
// withdrawal, nothing is a jump.
func (p *flowParser) warnJumps(s *Series) {
	for i := 1; i < len(s.Flows); i++ {
		before, after := s.Flows[i-1], s.Flows[i]
		low, high := min(math.Abs(before), math.Abs(after)), max(math.Abs(before), math.Abs(after))
		if (before < 0) == (after < 0) && low > 0 && high > maxJump*low {
			p.warn.add(s.lines[i], "the flow of branch %d grid %d jumps from %s to %s (line %d)",
				s.Branch, s.Grid, plain(before), plain(after), s.lines[i-1])
		}
	}
}
