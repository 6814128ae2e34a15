//go:build unix

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/azurite"
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
			w.completed("s1", w.snapshot("s1"))
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

// A message that expires under the work is replaced by one that does not: the
// result is whole, nothing is lost, not even with the worker.
func TestMessageExpires(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		t.Run(map[bool]string{false: "worked on", true: "worker dies"}[kill], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			expires := w.sendFor(order("s1"), 4*time.Second)
			g, runner := newGate(t, "bltm")
			k := w.start(runner)
			g.reached()
			poll(t, "the message would have expired", func() bool { return time.Now().After(expires.Add(time.Second)) })
			if n := w.length(w.queue); n != 1 {
				t.Errorf("%d messages while it is worked on", n)
			}
			if kill {
				k.kill()
				w.drain()
			} else {
				g.open()
				k.exits(0)
			}
			w.completed("s1", w.snapshot("s1"))
			w.settled()
			w.told("s1", "Completed", 1, 1)
		})
	}
}

// sendFor sends a message that expires, and returns when.
func (w *world) sendFor(text string, life time.Duration) time.Time {
	w.Helper()
	client, err := azqueue.NewServiceClientFromConnectionString("DefaultEndpointsProtocol=http;"+azurite.Connection(w), nil)
	check(w, err)
	sent, err := client.NewQueueClient(w.names.Queue).EnqueueMessage(w.Context(), text,
		&azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(int32(life.Seconds()))})
	check(w, err)
	return *sent.Messages[0].ExpirationTime
}
