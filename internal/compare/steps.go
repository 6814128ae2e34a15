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
	riverMile float64
	grid      int
	elapsed   float64 // hours
	mgL       float64
}

// step is all rows of one output time, in the order of their spots.
type step struct {
	time  time.Time // whole seconds, as in the keys
	cells []cell
}

// steps gathers rows by output time. The two stores keep rows in different
// order, but both one output time behind the other: so a step is sorted here,
// and no more than one is in memory. What it yields is good until the next one.
func steps(label string, rows iter.Seq2[storage.PlumeEntity, error]) iter.Seq2[*step, error] {
	return func(yield func(*step, error) bool) {
		s := &step{}
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			at := row.Time.Truncate(time.Second)
			if len(s.cells) > 0 && !at.Equal(s.time) {
				if at.Before(s.time) {
					yield(nil, damaged(label, "the rows of PlumeByTime are not in the order of time at %s", moment(at)))
					return
				}
				if err := s.sort(label); !yield(s, err) || err != nil {
					return
				}
				s.cells = s.cells[:0]
			}
			s.time = at
			s.cells = append(s.cells, cell{spot{row.River, int64(math.Round(row.RiverMile * 1e4)), row.Branch}, row.RiverMile,
				row.Grid, row.ElapsedHours, row.ConcentrationMgL})
		}
		if len(s.cells) > 0 {
			yield(s, s.sort(label))
		}
	}
}

// sort brings the cells into the order of their spots; the error is that a
// spot is there twice.
func (s *step) sort(label string) error {
	order := func(a, b cell) int { return a.spot.compare(b.spot) }
	if !slices.IsSortedFunc(s.cells, order) {
		slices.SortFunc(s.cells, order)
	}
	for i := 1; i < len(s.cells); i++ {
		if s.cells[i].spot == s.cells[i-1].spot {
			return damaged(label, "PlumeByTime has two rows of %s mile %g at %s", s.cells[i].river, s.cells[i].riverMile, moment(s.time))
		}
	}
	return nil
}
