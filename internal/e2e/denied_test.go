//go:build unix

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// denied is what the service answers to an identity without a role.
func denied() faultproxy.Action {
	return faultproxy.Status(http.StatusForbidden, "AuthorizationPermissionMismatch", 0)
}

// lasting are the calls whose refusal does not end a job: the log of a run may
// be missing, a message that is not deleted is found done, and the rest has tests of
// its own.
func lasting() []kind {
	return []kind{{faultproxy.QueueReceive, "/{queue}/messages"}, {faultproxy.QueueUpdate, "/{queue}/messages"},
		{faultproxy.QueueDelete, "/{queue}/messages"}, {faultproxy.BlobPut, "/run-"}}
}

// Each call that a job is denied ends it at once, in the poison queue, with the
// name of what was denied. Put back when the role is there, the same message
// ends well.
func TestDeniedAtEveryCall(t *testing.T) {
	t.Parallel()
	want := reference(t, nil)
	done := map[kind]bool{}
	for _, k := range lasting() {
		done[k] = true
	}
	for _, c := range recorded(t) {
		if c.story.name != "run" || done[c.kind()] {
			continue
		}
		done[c.kind()] = true
		t.Run(strings.TrimPrefix(c.name, "run: "), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.story.begin(w, "s1")
			p := w.proxy()
			fault := p.Fail(faultproxy.Rule{Match: c.in(w, "s1"), Action: denied()})
			k := w.run(via(p))
			k.exits(0)
			list := w.poisoned()
			if len(list) != 1 || w.length(w.queue) != 0 {
				t.Fatalf("%d messages are left, the poison queue has %+v", w.length(w.queue), list)
			}
			if got := list[0]; got.Reason != "storage_denied" || got.Original != order("s1") || got.JobID != jobOf("s1") ||
				!strings.Contains(got.Detail, w.thing(c)) || !strings.Contains(got.Detail, "AuthorizationPermissionMismatch") {
				t.Errorf("the poison message is %+v, want one about %s", got, w.thing(c))
			}
			said := k.said("message moved to poison")
			if text, _ := said["msg"].(string); !strings.Contains(text, w.thing(c)) || said["reason"] != "storage_denied" {
				t.Errorf("the log says %v", said)
			}
			w.tidy()
			fault.Remove()
			w.command("poison", "requeue", "--all").exits(0)
			w.finish([]int{0, 14}, via(p)) // 14 where the end was not recorded
			w.completed("s1", want)
			w.settled()
		})
	}
}

// thing is the name of what a call asks, as errors have it.
func (w *world) thing(c call) string {
	l := w.names.Layout
	if c.operation == faultproxy.TableTransaction {
		return "table " + l.PlumeByTime // the first that rows go to
	}
	return w.roles("s1", false).Replace(map[string]string{"{done}": w.names.Done, "{basins}": l.Basins, "{results}": l.Results,
		"{scenarios}": "table " + l.Scenarios, "{runs}": "table " + l.Runs, "{by time}": "table " + l.PlumeByTime,
		"{by mile}": "table " + l.PlumeByMile}[c.path[1:strings.Index(c.path, "}")+1]])
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
	if n := len(p.Requests()); n != 1 || !w.visible() {
		t.Errorf("%d requests, message visible: %t", n, w.visible())
	}
}

// C47: who may receive a message and not renew it learns so before the work,
// and the message is put aside as it was.
func TestDeniedRenewal(t *testing.T) {
	t.Parallel()
	for _, poison := range []bool{true, false} {
		name := map[bool]string{true: "poison allowed", false: "poison denied"}[poison]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			text := "  " + order("s1") + "\n"
			w.send(text)
			p := w.proxy()
			faults := []*faultproxy.Fault{p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueUpdate}, Action: denied()})}
			if !poison {
				faults = append(faults, p.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: "/" + w.names.Poison + "/"}, Action: denied()}))
			}
			g, runner := newGate(t, "daflow")
			k := w.run(via(p), runner) // nobody opens the gate
			lines := k.log()
			end := lines[len(lines)-1]
			if end["reason"] != "storage_denied" || !strings.Contains(end["msg"].(string), "Storage Queue Data Contributor") {
				t.Errorf("the log ends with %v", end)
			}
			if g.started() > 0 {
				g.gone()
			}
			w.tidy()
			if poison {
				k.exits(0)
				if list := w.poisoned(); len(list) != 1 || list[0].Original != text || list[0].Reason != "storage_denied" || w.length(w.queue) != 0 {
					t.Errorf("%d messages, poison %+v", w.length(w.queue), list)
				}
				if row := w.row("s1"); row["Status"] == string(runs.Running) || row["Status"] == string(runs.Queued) {
					t.Errorf("the row says %v", row)
				}
				return
			}
			if code := k.wait(); code == 0 {
				t.Errorf("exit code 0")
			}
			if w.length(w.queue) != 1 || w.length(w.poison) != 0 {
				t.Errorf("%d messages, %d poison", w.length(w.queue), w.length(w.poison))
			}
			for _, f := range faults {
				f.Remove()
			}
			w.finish([]int{0, 14}, via(p))
			w.completed("s1", w.snapshot("s1"))
			w.settled()
		})
	}
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
	w.completed("s1", w.snapshot("s1"))
	w.settled()
	w.told("s1", "Completed", 1, 1)
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
	w.completed("s1", w.snapshot("s1"))
	w.settled()
}

// A poison queue that is denied or not there keeps no message: it stays where
// it is until there is one.
func TestNoPoisonQueue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		match  faultproxy.Match
		action faultproxy.Action
		code   int
	}{
		{"look denied", faultproxy.Match{Operation: faultproxy.QueuePeek}, denied(), 11},
		{"send denied", faultproxy.Match{Operation: faultproxy.QueueSend}, denied(), 11},
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
			fault := p.Fail(faultproxy.Rule{Match: tt.match, Action: tt.action})
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
