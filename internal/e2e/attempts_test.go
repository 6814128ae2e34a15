//go:build unix

package e2e

import (
	"strings"
	"testing"

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
				pollEvery(t, slow, "the message is visible", w.visible)
				if c.engine == "" {
					w.killAt(point{name: "after claim", match: operation(faultproxy.QueueUpdate)})
					continue
				}
				w.killInEngine(c.engine)
			}
			pollEvery(t, slow, "the message is visible", w.visible)
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
	want := reference(t, nil)
	w := newWorld(t, "RSMS_WORKER_MAX_DEQUEUE_COUNT=2")
	g, runner := newGate(t, "ctplt")
	k := w.one("s1", longLease, runner)
	g.reached()
	w.send(strings.Replace(order("s1"), jobOf("s1"), "job-2", 1))
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
	w.completed("s1", want)
	w.settled()
	notices := w.notices()
	for _, job := range []string{jobOf("s1"), "job-2"} {
		if n := notices[job]; len(n) != 1 || n[0].State != string(runs.Completed) {
			t.Errorf("notices of %s: %+v", job, n)
		}
	}
	if row := w.row("s1"); row["Status"] != string(runs.Completed) {
		t.Errorf("the scenario row: %v", row)
	}
}
