package scalesim

import "time"

// message is one that was dequeued at least once. Those that nobody has touched
// are only a number, so that a million of them cost nothing.
type message struct {
	id       int // the order in which it came
	dequeues int
	receipt  int  // changes with each dequeue and update; an older one is void
	shown    bool // in queue.back and to be had
	deleted  bool
	done     bool // its work was done, whatever became of the message
}

type hidden struct {
	m       *message
	receipt int // void where the message was touched since
}

// queue is an Azure Storage queue. Messages that come back are handed out before
// those that nobody has touched; the service promises no order.
type queue struct {
	load    *Load
	taken   int // of the messages that came, how many were dequeued at least once
	kept    int // of these, how many are not deleted
	shown   int // of these, how many are visible
	back    []hidden
	waiting timeline[hidden]
}

// came is when the message was put on the queue.
func (q *queue) came(id int) time.Duration { return time.Duration(id) * q.load.Every }

// arrived is how many messages were put on the queue by now.
func (q *queue) arrived(now time.Duration) int {
	if q.load.Every == 0 {
		return q.load.Messages
	}
	return int(min(int64(q.load.Messages), int64(now/q.load.Every)+1))
}

// length counts as the service does: hidden messages too.
func (q *queue) length(now time.Duration) int { return q.arrived(now) - q.taken + q.kept }

// visible is how many messages could be dequeued now.
func (q *queue) visible(now time.Duration) int {
	q.surface(now)
	return q.arrived(now) - q.taken + q.shown
}

// drained says that nothing is in the queue and nothing will come.
func (q *queue) drained() bool { return q.taken == q.load.Messages && q.kept == 0 }

// surface makes visible what is hidden no longer. That changes no receipt: an
// expired one still works while nobody else took the message.
func (q *queue) surface(now time.Duration) {
	for q.waiting.due(now) {
		_, h := q.waiting.take()
		if h.receipt == h.m.receipt && !h.m.deleted {
			h.m.shown = true
			q.shown++
			q.back = append(q.back, h)
		}
	}
}

// dequeue takes a visible message, nil where there is none. It is hidden until
// its receipt is used in hide or remove.
func (q *queue) dequeue(now time.Duration) *message {
	m := q.next(now)
	if m != nil {
		m.dequeues++
		q.touch(m)
	}
	return m
}

func (q *queue) next(now time.Duration) *message {
	q.surface(now)
	for len(q.back) > 0 {
		h := q.back[0]
		q.back = q.back[1:]
		if h.m.shown && h.receipt == h.m.receipt {
			return h.m
		}
	}
	if q.taken == q.arrived(now) {
		return nil
	}
	q.taken++
	q.kept++
	return &message{id: q.taken - 1}
}

// touch voids the receipts given before.
func (q *queue) touch(m *message) {
	m.receipt++
	if m.shown {
		m.shown = false
		q.shown--
	}
}

// hide lets the message come back at a time, and says whether the receipt was
// good for it.
func (q *queue) hide(m *message, receipt int, until time.Duration) bool {
	if m.deleted || m.receipt != receipt {
		return false
	}
	q.touch(m)
	q.waiting.put(until, hidden{m, m.receipt})
	return true
}

// remove deletes the message, and says whether the receipt was good for it.
func (q *queue) remove(m *message, receipt int) bool {
	if m.deleted || m.receipt != receipt {
		return false
	}
	q.touch(m)
	m.deleted = true
	q.kept--
	return true
}
