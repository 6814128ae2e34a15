package scalesim

import (
	"testing"
	"testing/quick"
)

// What the platform starts at one poll. visible are messages that wait, hidden
// those that a worker holds or that wait out a back-off.
func TestStarts(t *testing.T) {
	ours := Rule{QueueLength: 1, Max: 10}
	visibleOnly := Rule{QueueLength: 1, Max: 10, Strategy: VisibleOnly}
	visibleOnly100 := Rule{QueueLength: 1, Max: 100, Strategy: VisibleOnly}
	five := Rule{QueueLength: 5, Max: 10}
	for _, c := range []struct {
		name                     string
		rule                     Rule
		visible, hidden, running int
		want                     int
	}{
		{"5 counted, none runs", ours, 5, 0, 0, 5},
		{"6 counted, 5 run", ours, 1, 5, 5, 1},
		{"1 counted, 5 run", ours, 1, 0, 5, 0},
		{"1 hidden, none runs", ours, 0, 1, 0, 1},
		{"100 counted, 4 run", ours, 96, 4, 4, 6},
		{"C01: a 6th message, deleted late", ours, 1, 5, 5, 1},
		{"C01: a 6th message, the others deleted early", ours, 1, 0, 5, 0},
		{"C02: the same with another queue, late", ours, 1, 5, 5, 1},
		{"C02: early", ours, 1, 0, 5, 0},
		{"C03: 2 new beside 3, late", ours, 2, 3, 3, 2},
		{"C03: early: nothing until the 3 end", ours, 2, 0, 3, 0},
		{"C05: nothing in the queue", ours, 0, 0, 0, 0},
		{"C07: the default length starts nothing at the 5th", five, 4, 1, 1, 0},
		{"C07: only at the 6th", five, 5, 1, 1, 1},
		{"C22: the first still starts and counts as running", ours, 1, 0, 1, 0},
		{"C23: the message of a long run", ours, 0, 1, 1, 0},
		{"C24: 1 visible, 1 runs, late", ours, 1, 1, 1, 1},
		{"C24: early", ours, 1, 0, 1, 0},
		{"C25: visibleonly sees less than what runs", visibleOnly, 3, 4, 4, 0},
		{"C25: all", ours, 3, 4, 4, 3},
		{"C25: visibleonly below a full look", visibleOnly100, 31, 10, 10, 21},
		{"C25: visibleonly counts all where a look is full", visibleOnly100, 32, 10, 10, 32},
		{"C26: 3 wait out a back-off", ours, 0, 3, 0, 3},
		{"C27: one of 10 ended", ours, 91, 9, 9, 1},
		{"C27: at the limit", ours, 90, 10, 10, 0},
		{"C27: all ended at once", ours, 90, 0, 0, 10},
		{"more run than the limit", ours, 90, 12, 12, 0},
	} {
		if got := c.rule.Starts(c.rule.Counted(c.visible+c.hidden, c.visible), c.running); got != c.want {
			t.Errorf("%s: %d starts, want %d", c.name, got, c.want)
		}
	}
}

// A poll never goes above the limit, and more messages never start fewer.
func TestStartsProperties(t *testing.T) {
	holds := func(length, limit, counted, running uint8) bool {
		r := Rule{QueueLength: int(length) + 1, Max: int(limit) + 1}
		starts := r.Starts(int(counted), int(running))
		return starts >= 0 && (starts == 0 || starts+int(running) <= r.Max) &&
			r.Starts(int(counted)+1, int(running)) >= starts &&
			r.Starts(int(counted), int(running)+1) <= starts
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
}
