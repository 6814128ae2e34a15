package river

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rsmsjob/internal/reason"
)

// Flows is what NFQ.csv says: flow series that replace boundary flows.
type Flows struct {
	File   string   // base name, for errors
	Series []Series // sorted by branch, then grid; none is empty
}

// Series is the flow at one place. At grid 1 it is the inflow of the branch,
// at other grids lateral inflow (+) or withdrawal (-) just upstream of the
// grid, in the flow units of FLOW.IN.
type Series struct {
	Branch, Grid int
	Times        []time.Time // UTC, strictly rising
	Flows        []float64   // as many as Times

	lines []int // of the file, as many as Times; nil when made by hand
}

// MaxHold is how long a value counts when no other follows (contract,
// section 4).
const MaxHold = 6 * time.Hour

// line returns the line of a value in the file, 0 where it is not known.
func (s *Series) line(i int) int {
	if i < len(s.lines) {
		return s.lines[i]
	}
	return 0
}

// Validate checks that each series has its place in the network, and that none
// is the inflow of a branch that a junction feeds.
func (f *Flows) Validate(n *Network) error {
	var faults reason.List
	for i := range f.Series {
		s := &f.Series[i]
		fault := &reason.Fault{File: f.File, Line: s.line(0), Field: "grid"}
		switch {
		case s.Branch < 1 || s.Branch > len(n.Branches):
			fault.Field = "branch"
			fault.Problem = fmt.Sprintf("is %d; the network has the branches 1 to %d", s.Branch, len(n.Branches))
		case s.Grid < 1 || s.Grid > len(n.Branches[s.Branch-1].Grids):
			fault.Problem = fmt.Sprintf("is %d; branch %d has the grids 1 to %d", s.Grid, s.Branch, len(n.Branches[s.Branch-1].Grids))
		case s.Grid == 1 && n.Interior(n.Branches[s.Branch-1].Up):
			fault.Problem = fmt.Sprintf("grid 1 of branch %d takes its inflow from junction %d", s.Branch, n.Branches[s.Branch-1].Up)
			fault.Hint = "give a lateral inflow at another grid, or the inflow of a branch above"
		case s.Grid == len(n.Branches[s.Branch-1].Grids):
			fault.Problem = fmt.Sprintf("grid %d is the last of branch %d and takes no lateral flow", s.Grid, s.Branch)
			fault.Hint = "give it at the grid above, or to a branch below"
		default:
			continue
		}
		if faults.Add(fault); faults.Len() == maxFaults {
			break
		}
	}
	return faults.Err()
}

// Mean returns the mean flow at a place from one time to a later one, in the
// flow units of FLOW.IN. A value counts from its time until the next, but for
// MaxHold at most. The fault names the place and the time that has no flow.
func (f *Flows) Mean(branch, grid int, from, to time.Time) (float64, error) {
	i, ok := slices.BinarySearchFunc(f.Series, [2]int{branch, grid}, func(s Series, place [2]int) int {
		return cmp.Or(cmp.Compare(s.Branch, place[0]), cmp.Compare(s.Grid, place[1]))
	})
	if !ok {
		return 0, f.gap(branch, grid, 0, "the file has no flow of this place")
	}
	if !from.Before(to) {
		return 0, fmt.Errorf("mean flow from %s to %s: the time is empty", stamp(from), stamp(to))
	}
	s := &f.Series[i]
	at, found := slices.BinarySearchFunc(s.Times, from, time.Time.Compare)
	if !found {
		at--
	}
	if at < 0 {
		return 0, f.gap(branch, grid, s.line(0), fmt.Sprintf("no flow at %s, the first is of %s", stamp(from), stamp(s.Times[0])))
	}
	var sum float64 // flow times seconds
	for since := from; since.Before(to); at++ {
		until := to
		if at+1 < len(s.Times) && s.Times[at+1].Before(to) {
			until = s.Times[at+1]
		}
		if end := s.Times[at].Add(MaxHold); until.After(end) {
			return 0, f.gap(branch, grid, s.line(at), fmt.Sprintf("no flow after %s: a value is held for %s h at most",
				stamp(end), plain(MaxHold.Hours())))
		}
		sum += s.Flows[at] * until.Sub(since).Seconds()
		since = until
	}
	return sum / to.Sub(from).Seconds(), nil
}

func (f *Flows) gap(branch, grid, line int, problem string) *reason.Fault {
	return &reason.Fault{File: f.File, Line: line, Field: "flow", Problem: fmt.Sprintf("branch %d grid %d: %s", branch, grid, problem)}
}

// stamp is the form of a time in errors.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
