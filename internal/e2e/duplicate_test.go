//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/storage/faultproxy"
)

// Who asks for a result that is there already is told of it too, and the one
// who asked for it first only once. The job is found in row, record and log.
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
	w.send(orderAs("s1", "second"))
	k := w.run()
	k.exits(0)
	if k.said("engine done") != nil {
		t.Error("an engine has run for a result that is there")
	}
	list := w.notices()["second"]
	if len(list) != 1 || first == nil {
		t.Fatalf("%d done-notices of the second job", len(list))
	}
	want, r := *first, w.record("s1")
	want.JobID, want.StartedAt, want.FinishedAt = "second", r.StartedAt, *r.FinishedAt
	if d := cmp.Diff(&want, list[0]); d != "" {
		t.Errorf("the done-notice of the second job (-want +got):\n%s", d)
	}
	// Whoever looks for the job that came last finds it.
	w.promise("s1")
	w.isCompleted("s1", "second")
	if said := k.said("summary"); said["state"] != "Completed" || said["already_current"] != true || k.job() != "second" {
		t.Errorf("the summary of job %q is %v", k.job(), said)
	}
	w.settled()
}

// run --json prints one document for a message of the queue, the same as for
// one given by hand.
func TestAnswerOfQueueRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.scenario("s1", nil)
	document := func(args ...string) (d map[string]any) {
		t.Helper()
		k := w.command(append([]string{"run", "--json"}, args...)...)
		k.exits(0)
		dec := json.NewDecoder(bytes.NewReader(k.stdout.Bytes()))
		if err := dec.Decode(&d); err != nil || dec.More() {
			t.Fatalf("%v: standard output is not one document: %s", err, k.stdout.Bytes())
		}
		return d
	}
	w.send(order("s1"))
	first := document()
	result, _ := first["result"].(map[string]any)
	if first["already_current"] != false || result["job_id"] != jobOf("s1") || first["mass_balance"] == nil || first["intakes"] == nil {
		t.Errorf("the answer is %v", first)
	}
	w.send(orderAs("s1", "second"))
	second := document()
	if d := cmp.Diff(document("--message", orderAs("s1", "second")), second); d != "" || second["already_current"] != true {
		t.Errorf("by hand and by queue (-hand +queue):\n%s", d)
	}
	if d := cmp.Diff(first["result"], second["result"]); d != "" {
		t.Errorf("the result is another one (-first +second):\n%s", d)
	}
	w.settled()
}

// A job by force is done once: neither a worker that dies behind its end, nor
// another job that is asked for then, makes it run again.
func TestForcedOnce(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"", "other"} {
		t.Run("other job: "+other, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			w.command("enqueue", basin, "s1", "--job-id", jobOf("s1"), "--force").exits(0)
			w.killAt(point{name: "before delete", match: operation(faultproxy.QueueDelete)})
			jobs := []string{jobOf("s1")}
			if other != "" {
				w.command("enqueue", basin, "s1", "--job-id", other).exits(0)
				jobs = append(jobs, other)
			}
			w.comesBack()
			ended := map[string]int{}
			for _, k := range w.drain() {
				ended[k.job()]++
				if k.job() == jobOf("s1") && k.said("engine done") != nil {
					t.Errorf("the forced job ran again:\n%s", k.stderr.Bytes())
				}
			}
			w.promise("s1")
			w.settled()
			all := w.notices()
			for _, job := range jobs {
				if list := all[job]; ended[job] != 1 || len(list) != 1 || list[0].State != "Completed" {
					t.Errorf("job %s: %d workers, notices %+v", job, ended[job], list)
				}
			}
			if len(all) != len(jobs) || w.row("s1")["Status"] != "Completed" {
				t.Errorf("notices %+v, the row says %v", all, w.row("s1"))
			}
		})
	}
}
