package compare

import (
	"cmp"
	"context"
	"iter"
)

// byTime compares the rows of PlumeByTime, those of both results at the same
// time, step by step.
func (c *comparison) byTime(ctx context.Context, t *table) error {
	next, stop := pull(c.sides, func(r *Result) iter.Seq2[*step, error] { return steps(r.who(), r.rows(ctx, byTimeTable)) })
	defer stop()
	for i := range next {
		if err := next[i].advance(); err != nil {
			return err
		}
	}
	for next[0].now != nil || next[1].now != nil {
		pair := [2]*step{next[0].now, next[1].now}
		switch {
		case pair[0] == nil || pair[1] == nil:
		case pair[0].time.Before(pair[1].time):
			pair[1] = nil
		case pair[1].time.Before(pair[0].time):
			pair[0] = nil
		}
		c.step(t, pair)
		for i, s := range pair {
			if s == nil {
				continue
			}
			if err := next[i].advance(); err != nil {
				return err
			}
		}
	}
	return nil
}

// step compares the rows of one output time; nil is a result without any.
func (c *comparison) step(t *table, pair [2]*step) {
	var cells [2][]cell
	for i, s := range pair {
		if s != nil {
			cells[i] = s.cells
		}
	}
	for pair := range pairs(cells, func(a, b *cell) int { return a.spot.compare(b.spot) }) {
		d, beyond := c.cell(t, pair)
		c.place(cmp.Or(pair[0], pair[1])).add(pair, d, beyond)
	}
}

// feed is what a table yields, one at a time; now is nil behind the last one.
type feed[T any] struct {
	now  *T
	next func() (*T, error, bool)
}

func (f *feed[T]) advance() error {
	one, err, ok := f.next()
	if f.now = one; !ok {
		f.now = nil
	}
	return err
}

// pull reads both results at the same time; stop ends it.
func pull[T any](sides [2]*Result, of func(r *Result) iter.Seq2[*T, error]) (feeds [2]feed[T], stop func()) {
	var stops [2]func()
	for i, r := range sides {
		feeds[i].next, stops[i] = iter.Pull2(of(r))
	}
	return feeds, func() { stops[0](); stops[1]() }
}
