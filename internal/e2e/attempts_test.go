//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// C68: a message whose workers die every time goes to the poison queue, and no
// engine is started once more for it.
func TestMessageThatKills(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		settings []string
		attempts int
		engine   string // that is killed with its worker; "" kills after the claim
		code     int
	}{
		{"in mid-engine", []string{"RSMS_WORKER_MAX_DEQUEUE_COUNT=2"}, 2, "bltm", 0},
		{"after claim, five times", nil, 5, "", 0},
		{"failure is told", []string{"RSMS_WORKER_MAX_DEQUEUE_COUNT=1", "RSMS_EXIT_ON_FAILURE=true"}, 1, "", 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.settings...)
			w.scenario("s1", nil)
			sent := w.send(order("s1"))
			for range c.attempts {
				w.comesBack()
				if c.engine == "" {
					w.killAt(point{name: "after claim", match: operation(faultproxy.QueueUpdate), behind: operation(faultproxy.QueueReceive)})
					continue
				}
				w.killInEngine(c.engine)
			}
			w.comesBack()
			// Where the record of the last one is believed longer than its
			// message, the scenario is busy and no attempt is spent.
			g, runner := newGate(t, "none")
			var k *worker
			pollEvery(t, slow, "the scenario is free", func() bool {
				k = w.run(longLease, runner)
				return k.wait() != 14
			})
			k.exits(c.code)
			if n := g.started(); n > 0 {
				t.Errorf("%d engines were started", n)
			}
			w.gaveUp(sent.ID, c.attempts)
		})
	}
}

// killInEngine kills a worker in the middle of an engine. As long as one that
// was killed before is believed to be alive, workers find the scenario busy.
func (w *world) killInEngine(engine string) {
	w.Helper()
	g, runner := newGate(w, engine)
	k := w.start(runner)
	poll(w, "the engine begins", func() bool {
		select {
		case <-k.ended:
			k.exits(14)
			k = w.start(runner)
		default:
		}
		return g.holds()
	})
	k.kill()
}

// gaveUp checks that the message of s1 is in the poison queue for its attempts.
func (w *world) gaveUp(id string, attempts int) {
	w.Helper()
	list := w.poisoned()
	if len(list) != 1 || w.length(w.queue) != 0 {
		w.Fatalf("%d poison messages, %d others", len(list), w.length(w.queue))
	}
	p := list[0]
	if p.Reason != reason.MaxAttempts || p.Original != order("s1") || p.MessageID != id || p.JobID != jobOf("s1") || p.DequeueCount <= int64(attempts) {
		w.Errorf("poison %+v", p)
	}
	if row := w.row("s1"); row["Status"] != string(runs.Failed) || row["Reason"] != string(reason.MaxAttempts) {
		w.Errorf("the scenario row: %v", row)
	}
	if r := w.record("s1"); r.State != runs.Failed || r.Reason != reason.MaxAttempts || len(r.Notices) > 0 {
		w.Errorf("the run record: %+v", r)
	}
	notices := w.notices()[jobOf("s1")]
	if len(notices) != 1 || notices[0].State != string(runs.Failed) || notices[0].Reason != reason.MaxAttempts {
		w.Errorf("done-notices %+v", notices)
	}
	if names, err := w.store.ListResults(w.Context(), basin, "s1"); err != nil || strings.Contains(strings.Join(names, " "), "result.json") {
		w.Errorf("blobs %v, error %v", names, err)
	}
}

// A second message for a scenario that somebody runs waits without spending
// attempts, is found done afterwards, and both jobs are told of.
func TestTwoMessagesOfOneScenario(t *testing.T) {
	t.Parallel()
	want := reference(t)
	w := newWorld(t, "RSMS_WORKER_MAX_DEQUEUE_COUNT=2")
	g, runner := newGate(t, "ctplt")
	k := w.one("s1", longLease, runner)
	g.reached()
	w.send(orderAs("s1", "job-2"))
	for range 6 {
		second := w.run(longLease)
		second.exits(14)
		if second.said("message handed back") == nil || !w.visible() {
			t.Fatalf("the message was not handed back: %s", second.stderr.Bytes())
		}
	}
	if n := w.length(w.poison); n > 0 {
		t.Fatalf("poison: %+v", w.poisoned())
	}
	g.open()
	k.exits(0)
	w.completed("s1", want)
	second := w.run(longLease)
	second.exits(0)
	if second.said("message deleted") == nil {
		t.Errorf("the second message was not deleted: %s", second.stderr.Bytes())
	}
	same(w, w.snapshot("s1"), want)
	w.isCompleted("s1", "job-2")
	w.settled()
	notices := w.notices()
	for _, job := range []string{jobOf("s1"), "job-2"} {
		if n := notices[job]; len(n) != 1 || n[0].State != string(runs.Completed) {
			t.Errorf("notices of %s: %+v", job, n)
		}
	}
}

// A message that found its scenario busy goes back where nobody can say how
// often it did: its deliveries alone are no reason to put it aside.
func TestSnoozedWithoutRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_WORKER_MAX_DEQUEUE_COUNT=2")
	w.scenario("s1", nil)
	w.send(order("s1"))
	now := time.Now().UTC()
	w.putRecord("s1", runs.Record{JobID: "other", State: runs.Running, Owner: "somebody", StartedAt: now, LeaseUntil: now.Add(time.Hour)})
	for range 3 {
		w.run(longLease).exits(14)
	}
	p := w.proxy()
	p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.EntityGet, Path: records(w)}, Action: away()})
	w.run(longLease, via(p)).exits(10)
	if w.length(w.queue) != 1 || w.length(w.poison) != 0 {
		t.Fatalf("%d messages, poison %+v", w.length(w.queue), w.poisoned())
	}
	w.editRecord("s1", func(r *runs.Record) { r.LeaseUntil = now })
	w.comesBack()
	w.run(longLease).exits(0)
	w.completed("s1", reference(t))
	w.settled()
	w.told("s1", "Completed", 1, 1)
}

// What stands in the place of a run record and is none is replaced.
func TestForeignRunRecord(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]string{"garbage": `,"Record":"{not json"`, "none": "", "of another kind": `,"Record":7`} {
		for _, delivered := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, delivery %d", name, delivered), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.scenario("s1", nil)
				w.send(order("s1"))
				client, err := aztables.NewServiceClientFromConnectionString("DefaultEndpointsProtocol=http;"+w.connection, nil)
				check(t, err)
				row := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":"s1"%s}`, basin, record)
				_, err = client.NewClient(w.names.Layout.Runs).AddEntity(t.Context(), []byte(row), nil)
				check(t, err)
				if delivered > 1 {
					w.deliver()
				}
				w.run(longLease).exits(0)
				w.completed("s1", reference(t))
				w.settled()
				w.told("s1", "Completed", 1, 1)
			})
		}
	}
}

// deliver takes the message and lets it come back.
func (w *world) deliver() {
	w.Helper()
	m, err := w.queue.Receive(w.Context(), time.Second)
	check(w, err)
	if m == nil {
		w.Fatal("no message")
	}
	w.comesBack()
}
