package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/storage/faultproxy"
)

// fill puts n messages without an envelope on the poison queue.
func (o *office) fill(n int) {
	o.Helper()
	q := o.store.Queue(o.names.Poison)
	for i := range n {
		if _, err := q.Send(o.Context(), fmt.Sprintf("stray %03d", i), 0); err != nil {
			o.Fatal(err)
		}
	}
}

// visible returns how many messages of the poison queue can be received now.
func (o *office) visible() int {
	o.Helper()
	n := 0
	for {
		list, err := o.store.Queue(o.names.Poison).ReceiveBatch(o.Context(), batch, time.Minute)
		if err != nil {
			o.Fatal(err)
		}
		if len(list) == 0 {
			return n
		}
		n += len(list)
	}
}

// More messages than the service gives at once, and it is slow: every one is
// listed once, at about the pace of the service, and can be taken by others
// behind that.
func TestPoisonManySlowly(t *testing.T) {
	o := newOffice(t)
	o.fill(100)
	for _, op := range []faultproxy.Operation{faultproxy.QueueReceive, faultproxy.QueueUpdate, faultproxy.QueueDelete} {
		o.proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: op}, Action: faultproxy.Delay(250 * time.Millisecond)})
	}
	began := time.Now()
	out, said := o.does(exitDone, "poison", "list", "--json")
	if n := strings.Count(out, `"poison_id"`); n != 100 {
		t.Errorf("%d messages are listed, want 100", n)
	}
	if strings.Contains(said, "WARN") {
		t.Errorf("it said %s", said)
	}
	// Four looks and one that finds the first again, each with its giving back.
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v: the messages are given back one by one", took)
	}
	o.does(exitUsage, "poison", "drop", "nobody")
	if n := o.visible(); n != 100 {
		t.Errorf("%d messages can be received, want 100", n)
	}
	// Now somebody else holds them all.
	out, said = o.does(exitDone, "poison", "list")
	if !strings.Contains(out, "has no message that can be seen now") || !strings.Contains(said, `"messages":100`) {
		t.Errorf("it said %s%s", out, said)
	}
	_, said = o.does(exitDone, "poison", "requeue", "--all")
	if !strings.Contains(said, "are still on the poison queue") {
		t.Errorf("it said %s", said)
	}
}

// What cannot be given back is hidden for a while, and that is said with the time
// when it ends.
func TestPoisonLeftHidden(t *testing.T) {
	o := newOffice(t)
	o.fill(40)
	o.fails(faultproxy.QueueUpdate, denied(), func() {
		out, said := o.does(exitDone, "poison", "list", "--json")
		if n := strings.Count(out, `"poison_id"`); n != 40 {
			t.Errorf("%d messages are listed, want 40", n)
		}
		hidden := regexp.MustCompile(`could not be given back.*"messages":(\d+),"until":"(.*?)"`).FindAllStringSubmatch(said, -1)
		if len(hidden) != 2 || hidden[0][1] != "32" || hidden[1][1] != "8" {
			t.Fatalf("it said %s", said)
		}
		until, err := time.Parse("2006-01-02 15:04:05Z", hidden[1][2])
		if left := time.Until(until); err != nil || left < away-10*time.Second || left > away {
			t.Errorf("hidden until %v, which is in %v: %v", until, left, err)
		}
	})
}

// An answer that is lost on the way hides what it gave.
func TestPoisonReceiveLost(t *testing.T) {
	o := newOffice(t)
	o.fill(40)
	o.fails(faultproxy.QueueReceive, faultproxy.DropResponse(), func() {
		_, said := o.does(exitRetry, "poison", "list")
		if !strings.Contains(said, "up to 32 messages of queue "+o.names.Poison+" may be hidden until 20") {
			t.Errorf("it said %s", said)
		}
	})
	if n := o.visible(); n != 8 {
		t.Errorf("%d messages can be seen, want 8", n)
	}
}

// A message that somebody else took before anything was done with it is left to
// them: no second copy is made.
func TestPoisonTakenMeanwhile(t *testing.T) {
	o := newOffice(t)
	o.fill(1)
	list, err := o.store.Queue(o.names.Poison).Peek(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"poison", "requeue", list[0].ID}, {"poison", "drop", list[0].ID}, {"poison", "requeue", "--all"}} {
		f := o.proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueUpdate}, Times: 1,
			Action: faultproxy.Status(404, "MessageNotFound", 0)})
		out, said := o.does(exitLeaseLost, args...)
		if f.Hits() != 1 || out != "" || !strings.Contains(said, "was taken by somebody else meanwhile; nothing was done with it") {
			t.Errorf("%q: it said %s%s", args, out, said)
		}
		o.stands(nil, o.names.Queue, 0, 0)
		o.stands(nil, o.names.Poison, 1, 1)
	}
}
