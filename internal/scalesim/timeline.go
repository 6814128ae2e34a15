package scalesim

import "time"

// entry is something that happens at a time after the start.
type entry[T any] struct {
	at    time.Duration
	order int // among those of the same time
	what  T
}

// timeline gives back what was put into it in the order of time; of the same
// time, in the order in which it was put. It is a binary heap.
type timeline[T any] struct {
	entries []entry[T]
	puts    int
}

func (t *timeline[T]) before(i, j int) bool {
	a, b := &t.entries[i], &t.entries[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (t *timeline[T]) put(at time.Duration, what T) {
	t.puts++
	t.entries = append(t.entries, entry[T]{at, t.puts, what})
	for i := len(t.entries) - 1; i > 0; {
		up := (i - 1) / 2
		if !t.before(i, up) {
			return
		}
		t.entries[i], t.entries[up] = t.entries[up], t.entries[i]
		i = up
	}
}

// due says whether the next entry is at the time or before it.
func (t *timeline[T]) due(at time.Duration) bool {
	return len(t.entries) > 0 && t.entries[0].at <= at
}

// take removes the next entry. There must be one.
func (t *timeline[T]) take() (time.Duration, T) {
	first, last := t.entries[0], len(t.entries)-1
	t.entries[0] = t.entries[last]
	t.entries[last] = entry[T]{} // what it points to may go
	t.entries = t.entries[:last]
	for i := 0; ; {
		least := i
		for down := 2*i + 1; down <= 2*i+2 && down < last; down++ {
			if t.before(down, least) {
				least = down
			}
		}
		if least == i {
			return first.at, first.what
		}
		t.entries[i], t.entries[least] = t.entries[least], t.entries[i]
		i = least
	}
}
