//go:build unix

package e2e

import (
	"strings"
	"testing"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// endings are the two writes that a run ends with; its log goes before them.
func endings() []point {
	return []point{
		{name: "row not told", match: at(faultproxy.EntityMerge, scenarioRows), behind: at(faultproxy.BlobPut, runLog)},
		{name: "record not written", match: at("", records), when: writes, behind: at(faultproxy.BlobPut, runLog)},
	}
}

// unsettled runs a worker whose storage fails at the point for good. Its message
// stays, nobody is told anything, and nothing that is untrue.
func (w *world) unsettled(p point, settings ...string) {
	w.Helper()
	proxy := w.proxy()
	fault := p.lasts(w, proxy, away())
	k := w.run(append(settings, via(proxy))...)
	k.exits(10)
	lines := k.log()
	if end := lines[len(lines)-1]; fault.Hits() == 0 || end["reason"] != "storage_unavailable" {
		w.Errorf("%d faults, the log ends with %v", fault.Hits(), end)
	}
	if w.length(w.queue) != 1 || w.length(w.poison) != 0 || w.length(w.done) != 0 {
		w.Errorf("%d messages, %d poison, %d notices", w.length(w.queue), w.length(w.poison), w.length(w.done))
	}
	w.honest("s1")
	w.tidy()
	w.untilFree("s1")
}

// A message whose end cannot be recorded comes back, and the next delivery ends
// it.
func TestEndNotRecorded(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for _, p := range endings() {
		for name, script := range map[string]string{"completed": "", "engine fails": "exit 3"} {
			t.Run(p.name+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.scenario("s1", nil)
				w.send(order("s1"))
				w.unsettled(p, w.failing("cxplt", script))
				w.run(longLease).exits(0)
				w.completed("s1", want)
				w.settled()
				w.told("s1", "Completed", 1, 1)
			})
		}
	}
}

// A job that failed for good goes to poison when its scenario can be told so,
// not before.
func TestFailureNotRecorded(t *testing.T) {
	t.Parallel()
	refused := append(endings(),
		point{name: "row not read", match: at(faultproxy.EntityGet, scenarioRows)},
		point{name: "row never told", match: at(faultproxy.EntityMerge, scenarioRows)},
		point{name: "record not taken", match: at("", records), when: writes})
	for _, tt := range []struct {
		name     string
		settings func(w *world) []string
		points   []point
		reason   reason.Code
	}{
		{"last attempt", func(w *world) []string {
			return []string{w.failing("bltm", "exit 3"), "RSMS_WORKER_MAX_DEQUEUE_COUNT=1"}
		}, endings(), reason.MaxAttempts},
		{"bad scenario", func(w *world) []string {
			w.scenario("s1", map[string]any{"SpillMassKg": -1.0})
			return nil
		}, endings(), reason.InvalidScenario},
		{"no engine", func(*world) []string { return []string{"EXE_DIR=nowhere"} }, refused, reason.EngineMissing},
	} {
		for _, p := range tt.points {
			t.Run(tt.name+", "+p.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.scenario("s1", nil)
				w.send(order("s1"))
				settings := tt.settings(w)
				w.unsettled(p, settings...)
				w.run(append(settings, longLease)...).exits(0)
				w.failed(tt.reason)
			})
		}
	}
}

// failed checks that the message of s1 is poison, and that the scenario and who
// waits know why.
func (w *world) failed(why reason.Code) { w.Helper(); w.failedAs(order("s1"), why) }

// failedAs is failed for another text of the message.
func (w *world) failedAs(text string, why reason.Code) {
	w.Helper()
	if list := w.poisoned(); len(list) != 1 || list[0].Reason != why || list[0].Original != text || w.length(w.queue) != 0 {
		w.Errorf("%d messages, poison %+v", w.length(w.queue), list)
	}
	w.is("s1", runs.Failed, why)
	if d := w.told("s1", "Failed", 1, 1); d != nil && (d.Reason != why || d.Detail != w.record("s1").Detail) {
		w.Errorf("the notice says %+v", d)
	}
	w.tidy()
}

// A job that fails before its run begins has a scenario that says why, between
// its attempts and after the last one.
func TestFailsBeforeTheRun(t *testing.T) {
	t.Parallel()
	t.Run("basin does not answer", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "RSMS_WORKER_MAX_DEQUEUE_COUNT=2")
		w.scenario("s1", nil)
		w.send(order("s1"))
		p := w.proxy()
		p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.BlobGet, Path: "/FLOW.IN"}, Action: away()})
		w.run(via(p)).exits(10)
		w.is("s1", runs.Queued, reason.StorageUnavailable)
		if w.length(w.queue) != 1 || w.length(w.poison) != 0 || w.length(w.done) != 0 {
			t.Errorf("%d messages, %d poison, %d notices", w.length(w.queue), w.length(w.poison), w.length(w.done))
		}
		w.comesBack()
		w.run(via(p)).exits(0)
		w.failed(reason.MaxAttempts)
		if detail := w.record("s1").Detail; !strings.Contains(detail, string(reason.StorageUnavailable)) || !strings.Contains(detail, "FLOW.IN") {
			t.Errorf("the record does not say why: %s", detail)
		}
	})
	t.Run("no engine", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.scenario("s1", nil)
		w.send(order("s1"))
		w.run("EXE_DIR=nowhere").exits(0)
		w.failed(reason.EngineMissing)
	})
}
