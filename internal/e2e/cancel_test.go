//go:build unix

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// wasCancelled checks that the job of scenario s1 ended as a user wanted.
func (w *world) wasCancelled(k *worker) {
	w.Helper()
	k.exits(12)
	lines := k.log()
	if end := lines[len(lines)-1]; end["reason"] != "cancelled" || end["exit"] != 12.0 {
		w.Errorf("the log ends with %v", end)
	}
	if row, r := w.row("s1"), w.record("s1"); row["Status"] != "Cancelled" || row["Reason"] != "cancelled" || r.State != runs.Cancelled || r.Reason != reason.Cancelled {
		w.Errorf("the row says %v, the record %+v", row, r)
	}
	names, err := w.store.ListResults(w.Context(), basin, "s1")
	check(w, err)
	log := false
	for _, name := range names {
		log = log || strings.HasPrefix(name, "run/"+jobOf("s1")+"/run-")
		if !strings.HasPrefix(name, "run/") {
			w.Errorf("published: %s", name)
		}
	}
	if !log {
		w.Errorf("the log of the run is not kept: %v", names)
	}
	byTime, byMile, err := w.store.CountRows(w.Context(), basin, "s1")
	check(w, err)
	if byTime != 0 || byMile != 0 {
		w.Errorf("%d and %d rows", byTime, byMile)
	}
	w.settled()
	w.told("s1", "Cancelled", 1, 1)
}

// A job that waits is ended when its message is taken, whoever put it there.
func TestCancelQueued(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ask  func(w *world)
	}{
		{"no record", func(w *world) {
			w.send(order("s1"))
			w.setStatus("s1", "Queued")
		}},
		{"record", func(w *world) { w.command("enqueue", basin, "s1", "--job-id", jobOf("s1")).exits(0) }},
		{"handed back", func(w *world) {
			w.send(order("s1"))
			w.run("RSMS_ENGINE_RUNNER=false").exits(10)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			tt.ask(w)
			w.command("cancel", basin, "s1").exits(0)
			k := w.run()
			if k.said("engine done") != nil {
				t.Error("an engine has run")
			}
			w.wasCancelled(k)
			// The next job is another one.
			w.command("enqueue", basin, "s1", "--job-id", jobOf("s1")).exits(0)
			w.run().exits(0)
			w.whole("s1")
		})
	}
}

// A job that runs stops within seconds, engines and all.
func TestCancelRunning(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"daflow", "cxplt"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			w.send(order("s1"))
			g, runner := newGate(t, engine)
			k := w.start(runner)
			g.reached()
			asked := time.Now()
			w.command("cancel", basin, "s1").exits(0)
			w.wasCancelled(k)
			if took := time.Since(asked); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			g.gone()
			if engine == "cxplt" && len(w.blob("s1", "run/"+jobOf("s1")+"/daflow.stdout")) == 0 {
				t.Error("what the engines said is not kept")
			}
		})
	}
}

// What has ended cannot be cancelled, and a later job is not.
func TestCancelTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.scenario("s1", nil)
	w.send(order("s1"))
	w.run().exits(0)
	k := w.command("cancel", basin, "s1")
	k.exits(0)
	if !strings.Contains(k.stdout.String(), "nothing to cancel") {
		t.Errorf("it says %s", k.stdout.String())
	}
	want := w.snapshot("s1")
	w.completed("s1", want)
	w.send(strings.Replace(order("s1"), "{", `{"force":true,`, 1))
	w.run().exits(0)
	w.completed("s1", want)
	w.settled()
}

// What a worker does when it is killed that ends a job as a user wanted changes
// nothing: the message does not run when it comes back, and is deleted.
func TestKilledWhenCancelled(t *testing.T) {
	t.Parallel()
	for _, p := range []killed{
		{point: point{name: "record says so", match: at(faultproxy.EntityReplace, records), behind: at(faultproxy.BlobPut, runLog), executed: true}, notices: 1},
		{point: point{name: "before the notice", match: at(faultproxy.QueueSend, doneQueue)}, notices: 1},
		{point: point{name: "after the notice", match: at(faultproxy.QueueSend, doneQueue), executed: true}, notices: 2},
		{point: point{name: "before delete", match: operation(faultproxy.QueueDelete)}, notices: 1},
	} {
		for _, running := range []bool{false, true} {
			t.Run(p.name+map[bool]string{false: ", it waited", true: ", it ran"}[running], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.scenario("s1", nil)
				w.send(order("s1"))
				g, runner := newGate(t, "bltm")
				if !running {
					w.setStatus("s1", "Queued")
					w.command("cancel", basin, "s1").exits(0)
				}
				k, hit := w.doomed(p.point, runner)
				if running {
					g.reached()
					w.command("cancel", basin, "s1").exits(0)
				}
				within(t, "the worker comes to: "+p.name, hit.Hit())
				<-k.ended
				w.comesBack()
				w.honest("s1")
				again := w.run(longLease)
				again.exits(12)
				if again.said("engine done") != nil {
					t.Error("an engine has run")
				}
				if end := again.log(); end[len(end)-1]["reason"] != "cancelled" {
					t.Errorf("the log ends with %v", end[len(end)-1])
				}
				w.is("s1", runs.Cancelled, reason.Cancelled)
				w.settled()
				w.told("s1", "Cancelled", 1, p.notices)
			})
		}
	}
}

// Who cancels a job that waits means that one, whatever other jobs of the
// scenario come before it or after it.
func TestCancelOneOfSeveral(t *testing.T) {
	t.Parallel()
	want := reference(t)
	ask := func(w *world, job string) { w.command("enqueue", basin, "s1", "--job-id", job).exits(0) }
	cancelled := func(w *world, k *worker) {
		w.Helper()
		k.exits(12)
		if job := k.job(); job != "b" || k.said("engine done") != nil {
			w.Errorf("job %q was cancelled: %s", job, k.stderr.Bytes())
		}
	}
	for _, tt := range []struct {
		name string
		jobs func(w *world) []string // all jobs but b
	}{
		{"behind one that is taken first", func(w *world) []string {
			ask(w, "a")
			ask(w, "b")
			w.command("cancel", basin, "s1").exits(0)
			w.run(longLease).exits(0)
			cancelled(w, w.run(longLease))
			return []string{"a"}
		}},
		{"while another runs", func(w *world) []string {
			ask(w, "a")
			ask(w, "b")
			w.command("cancel", basin, "s1").exits(0)
			g, runner := newGate(w, "ctplt")
			a := w.start(longLease, runner)
			g.reached()
			b := w.run(longLease)
			if !slices.Contains([]int{12, 14}, b.wait()) {
				w.Errorf("exit code %d", b.wait())
			}
			g.open()
			a.exits(0)
			if b.wait() == 14 {
				b = w.run(longLease)
			}
			cancelled(w, b)
			return []string{"a"}
		}},
		{"before one that is asked for later", func(w *world) []string {
			ask(w, "b")
			w.command("cancel", basin, "s1").exits(0)
			ask(w, "c")
			cancelled(w, w.run(longLease))
			w.run(longLease).exits(0)
			return []string{"c"}
		}},
		{"between two", func(w *world) []string {
			ask(w, "a")
			ask(w, "b")
			w.command("cancel", basin, "s1").exits(0)
			ask(w, "c")
			w.run(longLease).exits(0)
			cancelled(w, w.run(longLease))
			w.run(longLease).exits(0)
			return []string{"a", "c"}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			jobs := tt.jobs(w)
			w.settled()
			got := w.snapshot("s1")
			if len(jobs) > 1 || jobs[0] == "c" { // the last one
				w.isCompleted("s1", "c")
			}
			if len(got) != len(want) {
				t.Errorf("%d rows and blobs, want %d", len(got), len(want))
			}
			notices := w.notices()
			for job, state := range map[string]string{jobs[0]: "Completed", jobs[len(jobs)-1]: "Completed", "b": "Cancelled"} {
				if list := notices[job]; len(list) != 1 || list[0].State != state {
					t.Errorf("notices of job %s: %+v", job, list)
				}
			}
			if len(notices) != len(jobs)+1 {
				t.Errorf("notices %+v", notices)
			}
		})
	}
}
