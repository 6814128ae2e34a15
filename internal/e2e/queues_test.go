//go:build unix

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// claimed reports whether the worker behind a proxy has asked for a message.
func claimed(p *faultproxy.Proxy) func(*http.Request) bool {
	return func(*http.Request) bool { return p.Count(faultproxy.Match{Operation: faultproxy.QueueReceive}) > 0 }
}

// A notice that cannot be sent brings the message back, not the work: once
// there is a queue the notice is sent, and the message deleted.
func TestDoneQueueAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		rule faultproxy.Rule
	}{
		{"not there", faultproxy.Rule{Action: faultproxy.Status(http.StatusNotFound, "QueueNotFound", 0)}},
		{"broken", faultproxy.Rule{Action: faultproxy.Status(http.StatusInternalServerError, "InternalError", 0)}},
		{"hangs up", faultproxy.Rule{Action: faultproxy.DropRequest()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "RSMS_RETRY_DELAY_SEC=1")
			w.scenario("s1", nil)
			w.send(order("s1"))
			p := w.proxy()
			tt.rule.Path, tt.rule.When = "/"+w.names.Done+"/", claimed(p)
			fault := p.Fail(tt.rule)
			k := w.run(via(p))
			k.exits(10)
			if r := w.record("s1"); r.State != "Completed" || len(r.Notices) != 1 {
				t.Errorf("the record says %+v", r)
			}
			if row := w.row("s1"); row["Status"] != "Completed" {
				t.Errorf("the row says %v", row)
			}
			want, before := w.snapshot("s1"), w.record("s1")
			w.comesBack()
			k = w.run(via(p))
			k.exits(10) // still away
			if k.said("engine done") != nil {
				t.Error("an engine ran for a notice")
			}
			fault.Remove()
			for _, k := range w.finish([]int{0}, via(p)) {
				if k.said("engine done") != nil {
					t.Error("an engine ran for a notice")
				}
			}
			w.completed("s1", want)
			w.settled()
			w.told("s1", "Completed", 1, 1)
			if r := w.record("s1"); !r.StartedAt.Equal(before.StartedAt) || r.Attempt != 1 {
				t.Errorf("the record says %+v, and before %+v", r, before)
			}
		})
	}
}

// A result whose notice cannot be sent is done after the last attempt, and at
// once where more of them would not help: the notice waits in the record, and
// the next job of the scenario sends it.
func TestDoneQueueNeverThere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, setting string
		action        faultproxy.Action
	}{
		{"not there", "RSMS_WORKER_MAX_DEQUEUE_COUNT=1", faultproxy.Status(http.StatusNotFound, "QueueNotFound", 0)},
		{"denied", "RSMS_WORKER_MAX_DEQUEUE_COUNT=5", denied()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			w.send(order("s1"))
			p := w.proxy()
			p.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: "/" + w.names.Done + "/"}, When: claimed(p), Action: tt.action})
			k := w.run(via(p), tt.setting)
			k.exits(0)
			w.toldLater(k)
		})
	}
}

// toldLater checks that a worker has ended the job of s1, and that who waits is
// told of it with the next one.
func (w *world) toldLater(k *worker) {
	w.Helper()
	if said := k.said("the done-notice could not be sent"); said == nil || !strings.Contains(said["error"].(string), w.names.Done) {
		w.Errorf("the log says %v", said)
	}
	w.settled()
	if r := w.record("s1"); r.State != "Completed" || len(r.Notices) != 1 || w.row("s1")["Status"] != "Completed" {
		w.Errorf("the record says %+v", r)
	}
	w.send(orderAs("s1", "second"))
	w.run().exits(0)
	all := w.notices()
	if len(all[jobOf("s1")]) != 1 || len(all["second"]) != 1 {
		w.Errorf("the done-notices are %+v", all)
	}
	w.promise("s1")
	w.isCompleted("s1", "second")
	w.settled()
}

// A poison queue that goes away, or takes nothing, keeps no message: it stays
// where it is until there is one.
func TestNoPoisonQueue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		match  faultproxy.Match
		action faultproxy.Action
		code   int
	}{
		{"denied", faultproxy.Match{Operation: faultproxy.QueueSend}, denied(), 10},
		{"not there", faultproxy.Match{}, faultproxy.Status(http.StatusNotFound, "QueueNotFound", 0), 10},
		{"broken", faultproxy.Match{}, faultproxy.Status(http.StatusInternalServerError, "InternalError", 0), 10},
		{"no answer", faultproxy.Match{}, faultproxy.BlackHole(), 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.send("nonsense")
			p := w.proxy()
			tt.match.Path = "/" + w.names.Poison + "/"
			fault := p.Fail(faultproxy.Rule{Match: tt.match, When: claimed(p), Action: tt.action})
			k := w.run(via(p))
			k.exits(tt.code)
			if said := k.said("the message was not moved to poison"); said == nil || !strings.Contains(said["error"].(string), "poison queue") {
				t.Errorf("the log says %v", said)
			}
			if w.length(w.queue) != 1 || w.length(w.poison) != 0 {
				t.Errorf("%d messages, %d poison", w.length(w.queue), w.length(w.poison))
			}
			fault.Remove()
			w.finish([]int{0}, via(p))
			if list := w.poisoned(); len(list) != 1 || list[0].Original != "nonsense" || list[0].Reason != "undecodable" {
				t.Errorf("poison %+v", list)
			}
		})
	}
}

// C47: who may receive a message and not renew it takes none; who loses that
// right afterwards ends the work before it is long. Both say which role is
// missing. The scenario says so too, or the message waits; in the end it is done
// all the same.
func TestDeniedRenewal(t *testing.T) {
	t.Parallel()
	t.Run("before the claim", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.scenario("s1", nil)
		w.send(order("s1"))
		p := w.proxy()
		p.Fail(faultproxy.Rule{Match: renewals(w), Action: denied()})
		k := w.run(via(p))
		k.exits(16)
		if said := k.said("no start"); said["reason"] != "storage_denied" || !strings.Contains(said["msg"].(string), "Storage Queue Data Contributor") {
			t.Errorf("the log says %v", said)
		}
		w.untouched()
	})
	for _, tt := range []struct {
		name   string
		denied []faultproxy.Operation
	}{
		{"update", []faultproxy.Operation{faultproxy.QueueUpdate}},
		{"update and poison", []faultproxy.Operation{faultproxy.QueueUpdate, faultproxy.QueueSend}},
		{"update and delete", []faultproxy.Operation{faultproxy.QueueUpdate, faultproxy.QueueDelete}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			text := "  " + order("s1") + "\n"
			w.send(text)
			p := w.proxy()
			var faults []*faultproxy.Fault
			for _, op := range tt.denied {
				match := faultproxy.Match{Operation: op, Path: "/" + w.names.Queue} // that of poison too
				faults = append(faults, p.Fail(faultproxy.Rule{Match: match, When: claimed(p), Action: denied()}))
			}
			g, runner := newGate(t, "daflow")
			k := w.run(via(p), runner) // nobody opens the gate
			k.wait()
			lines := k.log()
			end := lines[len(lines)-1]
			if end["level"] != "ERROR" || !strings.Contains(end["msg"].(string), "Storage Queue Data Contributor") ||
				!strings.Contains(k.stderr.String(), "cannot be renewed; the identity needs the role Storage Queue Data Contributor") {
				t.Errorf("the log ends with %v", end)
			}
			if g.started() > 0 {
				g.gone()
			}
			w.tidy()
			w.honest("s1")
			status := w.row("s1")["Status"]
			if list := w.poisoned(); len(list) > 0 && (len(list) != 1 || list[0].Original != text || list[0].Reason != reason.StorageDenied) {
				t.Errorf("poison %+v", list)
			} else if len(list) > 0 {
				w.is("s1", runs.Failed, reason.StorageDenied)
			}
			if status == string(runs.Running) || w.length(w.queue)+w.length(w.poison) == 0 {
				t.Errorf("%d messages, %d poison, the row says %v", w.length(w.queue), w.length(w.poison), status)
			}
			for _, f := range faults {
				f.Remove()
			}
			w.finish([]int{0, 14}, longLease)
			if w.length(w.poison) > 0 {
				w.failedAs(text, reason.StorageDenied)
				w.command("poison", "requeue", "--all").exits(0)
				w.finish([]int{0}, longLease)
			}
			w.whole("s1")
			w.settled()
			w.told("s1", "Completed", 1, 1)
		})
	}
}
