package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// section is one table of a report that people read, as text or as a page.
type section struct {
	Title string
	Note  string
	Head  []string
	Rows  [][]string
}

// mostPlaces is how many places people are shown; the document has all.
const mostPlaces = 10

// verdict is the answer in one line.
func (r *Report) verdict() string {
	if r.Same {
		return "the same within the tolerances"
	}
	var parts []string
	for _, f := range r.Fields {
		if f.Beyond > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s (%d)", f.Name, f.Document, f.Beyond))
		}
	}
	if n := len(r.Unmatched); n > 0 {
		parts = append(parts, fmt.Sprintf("what only one of them has (%d)", n))
	}
	return "different: " + strings.Join(parts, ", ")
}

// sections are the tables of the report; empty ones are left out.
func (r *Report) sections() []section {
	all := []section{r.sidesSection(), r.inputsSection(),
		{Title: "in one of them only", Head: []string{"what"}, Rows: column(r.Unmatched)},
		r.rowsSection(), r.fieldsSection(), r.worstSection(), r.intakesSection(), r.placesSection()}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.Rows) == 0 && s.Note == "" })
}

func column(list []string) [][]string {
	var rows [][]string
	for _, text := range list {
		rows = append(rows, []string{text})
	}
	return rows
}

func (r *Report) sidesSection() section {
	s := section{Title: "results", Head: []string{"of", "A", "B"}}
	add := func(name, a, b string) { s.Rows = append(s.Rows, []string{name, a, b}) }
	a, b := &r.A, &r.B
	add("result", a.Label, b.Label)
	add("scenario", a.Basin+"/"+a.Scenario, b.Basin+"/"+b.Scenario)
	add("job", a.JobID, b.JobID)
	add("engine", a.Engine, b.Engine)
	add("commit", a.Commit, b.Commit)
	add("run key", shortHash(a.RunKey), shortHash(b.RunKey))
	add("finished", moment(a.FinishedAt), moment(b.FinishedAt))
	add("tolerance mg/L", number(a.ToleranceMgL), number(b.ToleranceMgL))
	add("rows", fmt.Sprint(a.Rows), fmt.Sprint(b.Rows))
	return s
}

// short is a text of n characters at most.
func short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// hashDigits are enough to tell hashes apart.
const hashDigits = 12

func shortHash(hash string) string { return hash[:min(len(hash), hashDigits)] }

func (r *Report) inputsSection() section {
	s := section{Title: "inputs"}
	switch {
	case !r.Inputs.Known:
		s.Note = "it is not known whether the inputs are the same: a params.json is gone"
	case r.Inputs.Same():
		s.Note = "the same"
	default:
		s.Note = "not the same: " + strings.Join(r.Inputs.Differ, ", ")
	}
	return s
}

func (r *Report) rowsSection() section {
	s := section{Title: "rows", Head: []string{"table", "in", "rows", "beyond the tolerance"}}
	for _, of := range []struct {
		table string
		rows  *Rows
	}{{byTimeTable, &r.Rows}, {byMileTable, &r.ByMile}} {
		c := of.rows
		s.Rows = append(s.Rows, []string{of.table, "both", fmt.Sprint(c.Both), fmt.Sprint(c.BothBeyond)},
			[]string{of.table, "A only", fmt.Sprint(c.OnlyA), fmt.Sprint(c.OnlyABeyond)},
			[]string{of.table, "B only", fmt.Sprint(c.OnlyB), fmt.Sprint(c.OnlyBBeyond)})
	}
	return s
}

func (r *Report) fieldsSection() section {
	s := section{Title: "fields", Head: []string{"document", "field", "unit", "compared", "different", "one only", "beyond", "largest", "tolerance", "where"}}
	for _, f := range r.Fields {
		s.Rows = append(s.Rows, []string{f.Document, f.Name, f.Unit, fmt.Sprint(f.Compared), fmt.Sprint(f.Different), fmt.Sprint(f.OnlyOne),
			fmt.Sprint(f.Beyond), number(f.Largest), f.Tolerance.String(), f.At})
	}
	return s
}

func (r *Report) worstSection() section {
	s := section{Title: "worst cells", Head: []string{"river", "mile", "branch", "time", "A mg/L", "B mg/L", "difference", "allowed", "table"}}
	for _, c := range r.Worst {
		s.Rows = append(s.Rows, []string{c.River, mile(c.RiverMile), fmt.Sprint(c.Branch), moment(c.Time), optional(c.A), optional(c.B),
			number(c.Difference), number(c.Allowed), tableNames(c.Tables)})
	}
	return s
}

func (r *Report) intakesSection() section {
	s := section{Title: "intakes, B after A in minutes", Head: []string{"intake", "mile", "leading edge", "peak", "trailing edge", "peak A mg/L", "peak B mg/L", "beyond"}}
	for _, in := range r.Intakes {
		beyond := ""
		if in.Beyond {
			beyond = "yes"
		}
		s.Rows = append(s.Rows, []string{in.Name, mile(in.RiverMile), minutes(in.Leading), minutes(in.PeakShift), minutes(in.Trailing),
			number(in.PeakA), number(in.PeakB), beyond})
	}
	return s
}

func (r *Report) placesSection() section {
	s := section{Title: "places that differ most, B after A in minutes", Head: []string{"river", "mile", "branch", "rows both", "A only", "B only", "beyond",
		"largest mg/L", "first", "peak", "last", "peak A mg/L", "peak B mg/L"}}
	list := slices.DeleteFunc(slices.Clone(r.Places), func(p *Place) bool { return p.Largest == 0 && p.OnlyA == 0 && p.OnlyB == 0 })
	slices.SortStableFunc(list, func(p, q *Place) int {
		return cmp.Or(cmp.Compare(q.Beyond, p.Beyond), cmp.Compare(q.Largest, p.Largest))
	})
	if left := len(list) - mostPlaces; left > 0 {
		list = list[:mostPlaces]
		s.Note = fmt.Sprintf("and %d more; --json has all", left)
	}
	for _, p := range list {
		s.Rows = append(s.Rows, []string{p.River, mile(p.RiverMile), fmt.Sprint(p.Branch), fmt.Sprint(p.Both), fmt.Sprint(p.OnlyA), fmt.Sprint(p.OnlyB),
			fmt.Sprint(p.Beyond), number(p.Largest), minutes(p.FirstShift), minutes(p.PeakShift), minutes(p.LastShift), number(p.PeakA), number(p.PeakB)})
	}
	return s
}

// tableNames says in which tables a cell differs.
func tableNames(tables []string) string {
	if len(tables) > 1 {
		return "both"
	}
	return strings.Join(tables, "")
}

// number has six significant digits: enough to see what a tolerance sees.
func number(x float64) string {
	text := strconv.FormatFloat(x, 'g', 6, 64)
	if size := math.Abs(x); size >= 1e-4 && size < 1e9 && strings.Contains(text, "e") {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return text
}

func optional(x *float64) string {
	if x == nil {
		return "-"
	}
	return number(*x)
}

func mile(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// minutes has a sign, so that late and early are not mixed up.
func minutes(x *float64) string {
	switch {
	case x == nil:
		return "-"
	case *x == 0:
		return "0"
	}
	return fmt.Sprintf("%+.4g", *x)
}
