package scalesim

import (
	"testing"
	"time"
)

func TestReceipts(t *testing.T) {
	q := queue{load: &Load{Messages: 1}}
	m := q.dequeue(0)
	first := m.receipt
	if q.visible(0) != 0 || q.length(0) != 1 || q.dequeue(0) != nil {
		t.Fatal("a dequeued message is counted and cannot be had")
	}
	q.hide(m, first, time.Minute)
	if q.hide(m, first, 0) || q.remove(m, first) {
		t.Error("an update voids the receipt before it")
	}
	second := m.receipt
	if q.visible(time.Minute-1) != 0 || q.visible(time.Minute) != 1 {
		t.Error("the message comes back when its time is over, not before")
	}
	again := q.dequeue(time.Minute)
	if again != m || m.dequeues != 2 || q.remove(m, second) {
		t.Error("the next dequeue counts and voids the receipt before it")
	}
	if !q.remove(m, m.receipt) || q.length(time.Hour) != 0 || !q.drained() {
		t.Error("the newest receipt deletes")
	}
	if q.hide(m, m.receipt, 0) {
		t.Error("a deleted message comes back")
	}
}

// A receipt whose time is over works while nobody else took the message.
func TestExpiredReceipt(t *testing.T) {
	q := queue{load: &Load{Messages: 1}}
	m := q.dequeue(0)
	q.hide(m, m.receipt, time.Minute)
	if q.visible(time.Hour) != 1 {
		t.Fatal("the message did not come back")
	}
	if !q.remove(m, m.receipt) || q.visible(time.Hour) != 0 || q.dequeue(time.Hour) != nil {
		t.Error("the message was not deleted while it was visible")
	}
}

// An update moves the time at which a message comes back.
func TestHiddenAgain(t *testing.T) {
	q := queue{load: &Load{Messages: 1}}
	m := q.dequeue(0)
	q.hide(m, m.receipt, time.Minute)
	q.hide(m, m.receipt, time.Hour)
	if q.visible(time.Hour-1) != 0 || q.visible(time.Hour) != 1 {
		t.Error("the message came back at its earlier time, or not at the later one")
	}
}

func TestArrivals(t *testing.T) {
	q := queue{load: &Load{Messages: 3, Every: time.Minute}}
	for at, want := range map[time.Duration]int{0: 1, time.Minute - 1: 1, time.Minute: 2, time.Hour: 3} {
		if got := q.length(at); got != want {
			t.Errorf("%d messages at %v, want %d", got, at, want)
		}
	}
	if q.dequeue(0) == nil || q.dequeue(0) != nil || q.drained() {
		t.Error("only what has come can be had")
	}
}
