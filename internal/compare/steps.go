package compare

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"rsmsjob/internal/storage"
)

// spot is a place of the plume as the keys of the tables have it.
type spot struct {
	river  string
	mile   int64 // in 1/10000 river mile
	branch int
}

func (s spot) compare(t spot) int {
	if n := strings.Compare(s.river, t.river); n != 0 {
		return n
	}
	if n := cmp.Compare(s.mile, t.mile); n != 0 {
		return n
	}
	return cmp.Compare(s.branch, t.branch)
}

// cell is one row.
type cell struct {
	spot
	at        time.Time // whole seconds, as in the keys
	riverMile float64
	grid      int
	elapsed   float64 // hours
	mgL       float64
}

func cellOf(row *storage.PlumeEntity) cell {
	return cell{spot{row.River, int64(math.Round(row.RiverMile * 1e4)), row.Branch}, row.Time.Truncate(time.Second), row.RiverMile,
		row.Grid, row.ElapsedHours, row.ConcentrationMgL}
}

// step is all rows of one output time, in the order of their spots.
type step struct {
	time  time.Time
	cells []cell
}

// steps gathers rows by output time. The two stores keep rows in different
// order, but both one output time behind the other: so a step is sorted here,
// and no more than one is in memory. What it yields is good until the next one.
func steps(who string, rows iter.Seq2[storage.PlumeEntity, error]) iter.Seq2[*step, error] {
	return func(yield func(*step, error) bool) {
		s := &step{}
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			one := cellOf(&row)
			if len(s.cells) > 0 && !one.at.Equal(s.time) {
				if one.at.Before(s.time) {
					yield(nil, damaged(who, "the rows of PlumeByTime are not in the order of time at %s", moment(one.at)))
					return
				}
				if err := s.sort(who); !yield(s, err) || err != nil {
					return
				}
				s.cells = s.cells[:0]
			}
			s.time = one.at
			s.cells = append(s.cells, one)
		}
		if len(s.cells) > 0 {
			yield(s, s.sort(who))
		}
	}
}

// sort brings the cells into the order of their spots; the error is that a
// spot is there twice.
func (s *step) sort(who string) error {
	return sortCells(s.cells, who, byTimeTable, func(a, b *cell) int { return a.spot.compare(b.spot) })
}

// sortCells brings cells into an order; the error is that two are the same in
// it.
func sortCells(cells []cell, who, table string, order func(a, b *cell) int) error {
	values := func(a, b cell) int { return order(&a, &b) }
	if !slices.IsSortedFunc(cells, values) {
		slices.SortFunc(cells, values)
	}
	for i := 1; i < len(cells); i++ {
		if c := &cells[i]; order(&cells[i-1], c) == 0 {
			return damaged(who, "%s has two rows of %s mile %g at %s", table, c.river, c.riverMile, moment(c.at))
		}
	}
	return nil
}

// pairs yields the cells of two lists that are sorted in that order: those that
// are the same in it together, and the others beside nil.
func pairs(lists [2][]cell, order func(a, b *cell) int) iter.Seq[[2]*cell] {
	return func(yield func([2]*cell) bool) {
		a, b := lists[0], lists[1]
		for len(a) > 0 || len(b) > 0 {
			n := 0
			switch {
			case len(b) == 0:
				n = -1
			case len(a) == 0:
				n = 1
			default:
				n = order(&a[0], &b[0])
			}
			var pair [2]*cell
			if n <= 0 {
				pair[0], a = &a[0], a[1:]
			}
			if n >= 0 {
				pair[1], b = &b[0], b[1:]
			}
			if !yield(pair) {
				return
			}
		}
	}
}
