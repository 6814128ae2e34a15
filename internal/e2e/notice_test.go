//go:build unix

package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
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
