//go:build unix

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage/faultproxy"
)

// A job that ends is told of once, with how it ended; one that goes back is not.
func TestDoneNotices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		job  func(w *world) // runs a job of scenario s1 to its end
		want message.Done
	}{
		{"completed", func(w *world) {
			w.send(order("s1"))
			w.run().exits(0)
		}, message.Done{State: "Completed", Attempt: 1}},
		{"completed at the second attempt", func(w *world) {
			w.send(order("s1"))
			w.run("RSMS_ENGINE_RUNNER=false").exits(10)
			if all := w.notices(); len(all) > 0 {
				w.Errorf("told of an attempt: %+v", all)
			}
			w.run().exits(0)
		}, message.Done{State: "Completed", Attempt: 2}},
		{"failed", func(w *world) {
			w.scenario("s1", map[string]any{"SpillMassKg": -1.0})
			w.send(order("s1"))
			w.run().exits(0)
		}, message.Done{State: "Failed", Reason: reason.InvalidScenario, Attempt: 1}},
		{"out of attempts", func(w *world) {
			w.send(order("s1"))
			w.run("RSMS_ENGINE_RUNNER=false", "RSMS_WORKER_MAX_DEQUEUE_COUNT=1").exits(0)
		}, message.Done{State: "Failed", Reason: reason.MaxAttempts, Attempt: 1}},
		{"cancelled", func(w *world) {
			w.send(order("s1"))
			w.setStatus("s1", "Queued")
			w.command("cancel", basin, "s1").exits(0)
			w.run().exits(12)
		}, message.Done{State: "Cancelled", Reason: reason.Cancelled, Attempt: 1}},
		{"timed out", func(w *world) {
			w.send(order("s1"))
			w.run(w.failing("daflow", "sleep 100"), "RSMS_JOB_TIMEOUT_SEC=1", "RSMS_WORKER_MAX_DEQUEUE_COUNT=1").exits(15)
		}, message.Done{State: "TimedOut", Reason: reason.MaxAttempts, Attempt: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			begin := time.Now().Truncate(time.Second)
			tt.job(w)
			got := w.told("s1", tt.want.State, 1, 1)
			if got == nil {
				return
			}
			r := w.record("s1")
			tt.want.Basin, tt.want.Scenario, tt.want.JobID, tt.want.RunKey = basin, "s1", jobOf("s1"), r.RunKey
			tt.want.Detail, tt.want.Commit, tt.want.StartedAt, tt.want.FinishedAt = r.Detail, testCommit, r.StartedAt, *r.FinishedAt
			if d := cmp.Diff(&tt.want, got, cmpopts.EquateApproxTime(0)); d != "" {
				t.Errorf("the done-notice (-want +got):\n%s", d)
			}
			if got.StartedAt.Before(begin) || got.FinishedAt.Before(got.StartedAt) {
				t.Errorf("from %v to %v", got.StartedAt, got.FinishedAt)
			}
			if tt.want.State != "Completed" && got.Detail == "" {
				t.Error("the done-notice does not say why")
			}
			if w.length(w.queue) != 0 {
				t.Error("the message is still there")
			}
		})
	}
}

// setStatus sets the status of a scenario row, as an API does.
func (w *world) setStatus(scenario, status string) {
	w.Helper()
	check(w, w.store.MergeScenario(w.Context(), basin, scenario, map[string]any{"Status": status}))
}

// Who asks for a result that is there already is told of it too, and the one
// who asked for it first only once.
func TestDoneNoticeOfDuplicate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.scenario("s1", nil)
	w.send(order("s1"))
	w.run().exits(0)
	first := w.told("s1", "Completed", 1, 1)
	w.send(order("s1"))
	w.run().exits(0)
	if all := w.notices(); len(all) > 0 {
		t.Errorf("told twice: %+v", all)
	}
	w.send(strings.Replace(order("s1"), jobOf("s1"), "second", 1))
	k := w.run()
	k.exits(0)
	if k.said("engine done") != nil {
		t.Error("an engine has run for a result that is there")
	}
	list := w.notices()["second"]
	if len(list) != 1 || first == nil {
		t.Fatalf("%d done-notices of the second job", len(list))
	}
	want := *first
	want.JobID = "second"
	if d := cmp.Diff(&want, list[0]); d != "" {
		t.Errorf("the done-notice of the second job (-want +got):\n%s", d)
	}
	w.completed("s1", w.snapshot("s1"))
	w.settled()
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
			tt.rule.Path = "/" + w.names.Done + "/"
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
			poll(t, "the message comes back", w.visible)
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

// A result without a done queue is done after the last attempt: the notice waits
// in the record, and the next job of the scenario sends it.
func TestDoneQueueNeverThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_WORKER_MAX_DEQUEUE_COUNT=1")
	w.scenario("s1", nil)
	w.send(order("s1"))
	k := w.run("RSMS_DONE_QUEUE_NAME=nothing-here")
	k.exits(0)
	if said := k.said("the done-notice could not be sent"); said == nil || !strings.Contains(said["error"].(string), "nothing-here") {
		t.Errorf("the log says %v", said)
	}
	w.settled()
	w.send(strings.Replace(order("s1"), jobOf("s1"), "second", 1))
	w.run().exits(0)
	all := w.notices()
	if len(all[jobOf("s1")]) != 1 || len(all["second"]) != 1 {
		t.Errorf("the done-notices are %+v", all)
	}
	w.completed("s1", w.snapshot("s1"))
	w.settled()
}
