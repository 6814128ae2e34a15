package compare

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"rsmsjob/internal/storage"
)

// curve is all rows of one spot, in the order of time.
type curve struct {
	spot
	cells []cell
}

// curves gathers rows by spot. Rows of one river mile stand together in both
// stores, those of its branches one behind the other in a folder and mixed in
// an account; so no more than one river mile is in memory. What it yields is
// good until the next one.
func curves(who string, rows iter.Seq2[storage.PlumeEntity, error]) iter.Seq2[*curve, error] {
	return func(yield func(*curve, error) bool) {
		var cells []cell
		seen := map[spot]bool{}
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			one := cellOf(&row)
			if len(cells) > 0 && (one.river != cells[0].river || one.mile != cells[0].mile) {
				if !branches(who, cells, seen, yield) {
					return
				}
				cells = cells[:0]
			}
			cells = append(cells, one)
		}
		branches(who, cells, seen, yield)
	}
}

// branches yields the rows of one river mile branch by branch, and reports
// whether there is more wanted.
func branches(who string, cells []cell, seen map[spot]bool, yield func(*curve, error) bool) bool {
	err := sortCells(cells, who, byMileTable, func(a, b *cell) int { return cmp.Or(cmp.Compare(a.branch, b.branch), a.at.Compare(b.at)) })
	if err != nil {
		yield(nil, err)
		return false
	}
	for len(cells) > 0 {
		first := &cells[0]
		n := slices.IndexFunc(cells, func(c cell) bool { return c.branch != first.branch })
		if n < 0 {
			n = len(cells)
		}
		if seen[first.spot] {
			yield(nil, damaged(who, "the rows of PlumeByMile of %s mile %g, branch %d, do not stand together", first.river, first.riverMile, first.branch))
			return false
		}
		seen[first.spot] = true
		if !yield(&curve{first.spot, cells[:n]}, nil) {
			return false
		}
		cells = cells[n:]
	}
	return true
}

// byMile compares the rows of PlumeByMile, place by place. The two stores need
// not have the places in the same order, and one may have a place that the
// other has not: what has no other yet is put on a shelf.
func (c *comparison) byMile(ctx context.Context, t *table) (err error) {
	next, stop := pull(c.sides, func(r *Result) iter.Seq2[*curve, error] { return curves(r.who(), r.rows(ctx, byMileTable)) })
	defer stop()
	shelf := &shelf{open: c.scratch}
	defer func() { err = cmp.Or(err, shelf.close()) }()
	for i := range next {
		if err := next[i].advance(); err != nil {
			return err
		}
	}
	for next[0].now != nil || next[1].now != nil {
		if a, b := next[0].now, next[1].now; a != nil && b != nil && a.spot == b.spot {
			c.curve(t, [2][]cell{a.cells, b.cells})
			if err := cmp.Or(next[0].advance(), next[1].advance()); err != nil {
				return err
			}
			continue
		}
		met, err := c.meet(t, shelf, &next)
		if err == nil && !met {
			err = c.pass(t, shelf, &next)
		}
		if err != nil {
			return err
		}
	}
	return c.left(t, shelf)
}

// meet compares one of the two curves at hand with its other on the shelf, if
// that is there. The second one stays at hand, so that both results are at the
// same place again behind one that only one of them has.
func (c *comparison) meet(t *table, shelf *shelf, next *[2]feed[curve]) (met bool, err error) {
	for i := range next {
		one := next[i].now
		if one == nil {
			continue
		}
		other, err := shelf.take(1-i, one.spot)
		if err != nil {
			return false, err
		}
		if other == nil {
			continue
		}
		var cells [2][]cell
		cells[i], cells[1-i] = one.cells, other
		c.curve(t, cells)
		return true, next[i].advance()
	}
	return false, nil
}

// pass puts the curves at hand on the shelf. Where one result has come to its
// end, the other has what nobody will ask for.
func (c *comparison) pass(t *table, shelf *shelf, next *[2]feed[curve]) error {
	over := next[0].now == nil || next[1].now == nil
	for i := range next {
		one := next[i].now
		if one == nil {
			continue
		}
		if over {
			var cells [2][]cell
			cells[i] = one.cells
			c.curve(t, cells)
		} else if err := shelf.put(i, one); err != nil {
			return err
		}
		if err := next[i].advance(); err != nil {
			return err
		}
	}
	return nil
}

// left judges what is on the shelf at the end: the other result has none of it.
func (c *comparison) left(t *table, shelf *shelf) error {
	for side := range 2 {
		for _, s := range shelf.spots(side) {
			var cells [2][]cell
			var err error
			if cells[side], err = shelf.take(side, s); err != nil {
				return err
			}
			c.curve(t, cells)
		}
	}
	return nil
}

// curve compares the rows of one spot.
func (c *comparison) curve(t *table, cells [2][]cell) {
	for pair := range pairs(cells, func(a, b *cell) int { return a.at.Compare(b.at) }) {
		c.cell(t, pair)
	}
}
