//go:build unix

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// denied is what the service answers to an identity without a role.
func denied() faultproxy.Action {
	return faultproxy.Status(http.StatusForbidden, "AuthorizationPermissionMismatch", 0)
}

// lasting are the calls whose refusal does not end a job: the log of a run and a
// notice may be missing, a message that is not deleted is found done, and the
// rest has tests of its own.
func lasting() []kind {
	return []kind{{faultproxy.QueueReceive, "/{queue}/messages"}, {faultproxy.QueueUpdate, "/{queue}/messages"},
		{faultproxy.QueueDelete, "/{queue}/messages"}, {faultproxy.QueueSend, "/{done}/messages"}, {faultproxy.BlobPut, "/run-"}, {faultproxy.BlobAppend, "/run-"},
		{faultproxy.QueueProperties, "/{poison}"}, {faultproxy.QueueProperties, "/{done}"}}
}

// Each call that a worker is denied before it has a message ends it, and the
// message is left alone. Each that a job is denied ends that, in the poison
// queue and in its scenario, with the name of what was denied; where the
// scenario cannot be told, the message stays. Put back when the role is there,
// the same message ends well.
func TestDeniedAtEveryCall(t *testing.T) {
	t.Parallel()
	type once struct {
		kind
		early bool
	}
	done := map[once]bool{}
	for _, k := range lasting() {
		done[once{k, true}], done[once{k, false}] = true, true
	}
	for _, c := range recorded(t) {
		if k := (once{c.kind(), c.Early}); c.Story != "run" || done[k] {
			continue
		} else {
			done[k] = true
		}
		t.Run(strings.TrimPrefix(c.Name, "run: "), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.story().begin(w, "s1")
			p := w.proxy()
			fault := p.Fail(faultproxy.Rule{Match: c.in(w, "s1"), Skip: c.Nth, Action: denied()})
			k := w.run(via(p))
			w.honest("s1")
			w.tidy()
			switch {
			case c.Early:
				k.exits(16)
				w.untouched()
			case w.length(w.poison) > 0:
				k.exits(0)
				w.wasDenied(c)
			default:
				k.exits(11)
			}
			lines := k.log()
			end := lines[len(lines)-1]
			if text, _ := end["msg"].(string); !strings.Contains(text, w.thing(c)) || end["reason"] != "storage_denied" {
				t.Errorf("the log ends with %v", end)
			}
			fault.Remove()
			if w.length(w.queue) == 0 {
				w.notices()
				w.command("poison", "requeue", "--all").exits(0)
			}
			w.untilFree("s1")
			w.run(longLease).exits(0)
			w.stands("s1")
			w.settled()
			w.told("s1", "Completed", 1, c.notices())
		})
	}
}

// wasDenied checks what became of a job that was denied a call for good.
func (w *world) wasDenied(c call) {
	w.Helper()
	list := w.poisoned()
	if len(list) != 1 || w.length(w.queue) != 0 {
		w.Fatalf("%d messages are left, the poison queue has %+v", w.length(w.queue), list)
	}
	if got := list[0]; got.Reason != reason.StorageDenied || got.Original != order("s1") || got.JobID != jobOf("s1") ||
		!strings.Contains(got.Detail, w.thing(c)) || !strings.Contains(got.Detail, "AuthorizationPermissionMismatch") {
		w.Errorf("the poison message is %+v, want one about %s", got, w.thing(c))
	}
	switch c.Path {
	case "/{runs}":
		if row := w.row("s1"); row["Status"] != "Failed" || row["Reason"] != "storage_denied" || row["JobId"] != jobOf("s1") {
			w.Errorf("the row says %v", row)
		}
	case "/{scenarios}":
		if r := w.record("s1"); r.State != runs.Failed || r.Reason != reason.StorageDenied || r.JobID != jobOf("s1") {
			w.Errorf("the record says %+v", r)
		}
	default:
		w.is("s1", runs.Failed, reason.StorageDenied)
	}
	w.told("s1", "Failed", 1, c.notices())
}

// untouched checks that the message was never taken.
func (w *world) untouched() {
	w.Helper()
	if list := w.peek(w.queue); len(list) != 1 || list[0].DequeueCount != 0 {
		w.Errorf("the message was touched: %+v", list)
	}
}

// thing is the name of what a call asks, as errors have it.
func (w *world) thing(c call) string {
	l := w.names.Layout
	if c.Operation == faultproxy.TableTransaction {
		return "table " + l.PlumeByTime // the first that rows go to
	}
	return w.roles("s1", false).Replace(map[string]string{"{done}": w.names.Done, "{basins}": l.Basins, "{results}": l.Results,
		"{scenarios}": "table " + l.Scenarios, "{runs}": "table " + l.Runs, "{by time}": "table " + l.PlumeByTime,
		"{by mile}": "table " + l.PlumeByMile}[c.Path[1:strings.Index(c.Path, "}")+1]])
}

// command runs another command of the program to its end.
func (w *world) command(args ...string) *worker {
	w.Helper()
	k := w.startWith(args)
	k.wait()
	return k
}

// Who is denied something is told which role would help.
func TestDeniedNamesTheRole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		service, role string
	}{{faultproxy.Blob, "Storage Blob Data Contributor"}, {faultproxy.Table, "Storage Table Data Contributor"},
		{faultproxy.Queue, "Storage Queue Data Contributor"}} {
		t.Run(tt.service, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			w.send(order("s1"))
			p := w.proxy()
			p.Fail(faultproxy.Rule{Match: faultproxy.Match{Service: tt.service}, Action: denied()})
			k := w.run(via(p))
			lines := k.log()
			if end := lines[len(lines)-1]; end["reason"] != "storage_denied" || !strings.Contains(end["msg"].(string), tt.role) {
				t.Errorf("the last line of the log does not name the role %s: %v", tt.role, end)
			}
		})
	}
}

// A key that is refused does not become better by waiting.
func TestDeniedClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_START_DEADLINE_SEC=60")
	w.scenario("s1", nil)
	w.send(order("s1"))
	p := w.proxy()
	p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueReceive}, Action: denied()})
	begin := time.Now()
	k := w.run(via(p))
	k.exits(16)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if said := k.said("no start"); said["reason"] != "storage_denied" || !strings.Contains(said["msg"].(string), "queue "+w.names.Queue) {
		t.Errorf("the log says %v", said)
	}
	if n := p.Count(faultproxy.Match{Operation: faultproxy.QueueReceive}); n != 1 {
		t.Errorf("a message was asked for %d times", n)
	}
	w.untouched()
}

// A message that must not be deleted is found done when it comes back, and
// nothing is computed for it.
func TestDeniedDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_SHUTDOWN_GRACE_SEC=20")
	w.scenario("s1", nil)
	w.send(order("s1"))
	p := w.proxy()
	fault := p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueDelete}, Action: denied()})
	k := w.run(via(p))
	k.exits(0)
	said := k.said("message was not deleted")
	if said == nil {
		said = k.said("the message was not deleted")
	}
	if text, _ := said["error"].(string); said["level"] != "WARN" || !strings.Contains(text, "queue "+w.names.Queue) {
		t.Errorf("the log says %v", said)
	}
	fault.Remove()
	before := w.record("s1")
	all := w.finish([]int{0}, via(p))
	if len(all) != 1 || all[0].said("engine done") != nil || !w.record("s1").StartedAt.Equal(before.StartedAt) {
		t.Errorf("%d workers, an engine ran again", len(all))
	}
	w.whole("s1")
	w.settled()
	w.told("s1", "Completed", 1, 1)
}

// Who may send to a queue need not be allowed to look at it.
func TestDeniedLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.scenario("s1", nil)
	w.send(order("s1"))
	p := w.proxy()
	fault := p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueProperties}, Action: denied()})
	w.run(via(p)).exits(0)
	if n := fault.Hits(); n != 2 {
		t.Errorf("%d looks, want those at the poison and the done queue", n)
	}
	w.whole("s1")
	w.settled()
	w.told("s1", "Completed", 1, 1)
	p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueuePeek, Path: "/" + w.names.Poison + "/"}, Action: denied()})
	w.send("nonsense")
	w.run(via(p)).exits(0)
	if list := w.poisoned(); len(list) != 1 || list[0].Original != "nonsense" || w.length(w.queue) != 0 {
		t.Errorf("%d messages, poison %+v", w.length(w.queue), list)
	}
}

// A result stands without the log of its run.
func TestDeniedRunLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_SHUTDOWN_GRACE_SEC=20")
	w.scenario("s1", nil)
	w.send(order("s1"))
	p := w.proxy()
	p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.BlobPut, Path: "/run-"}, Action: denied()})
	k := w.run(via(p))
	k.exits(0)
	if k.said("the logs of the run were not kept") == nil {
		t.Error("the log does not say so")
	}
	w.whole("s1")
	w.settled()
}
