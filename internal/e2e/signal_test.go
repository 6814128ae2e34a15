//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// shortGrace is the grace of Windows; grace is that and a second for a busy
// machine.
const (
	shortGrace = "RSMS_SHUTDOWN_GRACE_SEC=4"
	grace      = 5 * time.Second
)

// C12, C62: a worker that is told to stop hands its message back, at every
// point of a run, and the next one does the job.
func TestToldToStop(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for _, c := range []struct {
		point
		state runs.State // that the scenario row shows then
	}{
		{point{name: "after claim", match: operation(faultproxy.BlobList), behind: operation(faultproxy.QueueReceive)}, ""},
		{point{name: "in the inputs", match: at(faultproxy.EntityGet, scenarioRows)}, ""},
		{point{name: "record taken", match: at(faultproxy.BlobGet, marker)}, runs.Queued},
		{point{name: "before rows", match: operation(faultproxy.TableTransaction)}, runs.Queued},
		{point{name: "in mid-rows", match: operation(faultproxy.TableTransaction), skip: 4}, runs.Queued},
		{point{name: "in mid-blobs", match: operation(faultproxy.BlobPut), skip: 4}, runs.Queued},
		{point{name: "before result.json", match: at(faultproxy.BlobPut, marker)}, runs.Queued},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shortGrace)
			proxy := w.proxy()
			hit := c.hold(w, proxy, nil) // for good
			k := w.one("s1", via(proxy), longLease)
			within(t, "the worker comes to: "+c.name, hit.Hit())
			k.stops(syscall.SIGTERM, 143)
			w.handedBack(k, c.state)
			w.goesOn(want)
		})
	}
}

// stops sends a signal, and sees the process end with the code in time.
func (k *worker) stops(s os.Signal, code int) {
	k.world.Helper()
	sent := time.Now()
	k.signal(s)
	k.exits(code)
	if took := time.Since(sent); took > grace {
		k.world.Errorf("it took %v to stop", took)
	}
}

// handedBack checks that the message waits again, and that the row says so.
func (w *world) handedBack(k *worker, state runs.State) {
	w.Helper()
	if !w.visible() {
		w.Errorf("the message is not visible at once")
	}
	if k.said("message handed back") == nil {
		w.Errorf("the log does not say that the message was handed back")
	}
	if got := w.row("s1")["Status"]; got != string(state) && (got != nil || state != "") {
		w.Errorf("the scenario row shows %v, want %q", got, state)
	}
	w.tidy()
}

// goesOn runs the next worker, which must end the job.
func (w *world) goesOn(want map[string]string) {
	w.Helper()
	next := w.run(longLease)
	next.exits(0)
	w.completed("s1", want)
	w.settled()
	if n := len(w.notices()[jobOf("s1")]); n != 1 {
		w.Errorf("%d done-notices, want 1", n)
	}
}

// handBack is the request that makes the message visible.
func handBack(w *world) point {
	return point{name: "hand-back", match: renewals, behind: operation(faultproxy.QueueReceive), when: func(r *http.Request) bool {
		return r.URL.Query().Get("visibilitytimeout") == "0"
	}}
}

// C12, C55: the message is handed back before the engines are asked to end,
// and none of them is left.
func TestToldToStopInMidEngine(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for _, c := range []struct {
		signal  syscall.Signal
		engine  string
		setting string
		code    int
	}{
		{syscall.SIGTERM, "daflow", "", 143},
		{syscall.SIGTERM, "bltm", "", 143},
		{syscall.SIGTERM, "cxplt", "RSMS_EXIT_ZERO=true", 0},
		{syscall.SIGINT, "ctplt", "", 130},
	} {
		t.Run(fmt.Sprint(c.signal, c.engine, c.setting), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shortGrace)
			proxy := w.proxy()
			g, runner := newGate(t, c.engine)
			early := make(chan bool, 1)
			proxy.Fail(handBack(w).rule(w, proxy,
				faultproxy.Sequence(faultproxy.Delay(200*time.Millisecond), faultproxy.Call(func() { early <- g.asked() }))))
			k := w.one("s1", via(proxy), longLease, runner, "RSMS_SHUTDOWN_GRACE_SEC=10", c.setting)
			g.reached()
			k.stops(c.signal, c.code)
			g.gone()
			w.handedBack(k, runs.Queued)
			if <-early || !g.asked() {
				t.Error("the engine was asked to end before the message was handed back, or never")
			}
			w.goesOn(want)
		})
	}
}

// A worker that is told to stop before it has a message takes none along: one
// that comes after that is given back.
func TestToldToStopBeforeClaim(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for name, p := range map[string]point{
		"request on its way": {match: operation(faultproxy.QueueReceive)},
		"answer on its way":  {match: operation(faultproxy.QueueReceive), executed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shortGrace)
			proxy := w.proxy()
			until := make(chan struct{})
			hit := p.hold(w, proxy, until)
			k := w.one("s1", via(proxy), longLease)
			within(t, "the worker asks for a message", hit.Hit())
			k.signal(syscall.SIGTERM)
			close(until)
			k.stops(syscall.SIGCONT, 143) // the signal does nothing
			if !w.visible() {
				t.Errorf("the message is not visible at once")
			}
			w.goesOn(want)
		})
	}
	t.Run("no answer", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, shortGrace)
		proxy := w.proxy()
		hit := proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueReceive}, Action: faultproxy.BlackHole()})
		k := w.one("s1", via(proxy), longLease)
		within(t, "the worker asks for a message", hit.Hit())
		k.stops(syscall.SIGTERM, 143)
		w.goesOn(want)
	})
}

// A worker that is told to stop when its result stands says that it does.
func TestToldToStopWhenDone(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for _, c := range []struct {
		point
		code int
	}{
		{point{name: "before the record says so", match: at(faultproxy.EntityReplace, records), behind: at(faultproxy.BlobPut, runLog)}, 143},
		{point{name: "before the notice", match: at(faultproxy.QueueSend, doneQueue)}, 143},
		{point{name: "before delete", match: operation(faultproxy.QueueDelete)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shortGrace)
			proxy := w.proxy()
			until := make(chan struct{})
			hit := c.hold(w, proxy, until)
			back := proxy.Fail(handBack(w).rule(w, proxy, faultproxy.Sequence()))
			k := w.one("s1", via(proxy), longLease)
			within(t, "the worker comes to: "+c.name, hit.Hit())
			k.signal(syscall.SIGTERM)
			if c.code != 0 {
				within(t, "the message is handed back", back.Hit())
			}
			close(until)
			k.stops(syscall.SIGCONT, c.code) // the signal does nothing
			w.completed("s1", want)
			if c.code != 0 {
				w.handedBack(k, runs.Completed)
				w.run(longLease).exits(0)
			}
			w.completed("s1", want)
			w.settled()
			if n := len(w.notices()[jobOf("s1")]); n != 1 {
				t.Errorf("%d done-notices, want 1", n)
			}
		})
	}
}

// The second signal ends the process at once, whatever it waits for.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	want := reference(t)
	w := newWorld(t, shortGrace)
	proxy := w.proxy()
	hit := handBack(w).hold(w, proxy, nil)
	g, runner := newGate(t, "bltm")
	k := w.one("s1", via(proxy), runner, "RSMS_SHUTDOWN_GRACE_SEC=60")
	g.reached()
	k.signal(syscall.SIGTERM)
	within(t, "the message is being handed back", hit.Hit())
	k.stops(syscall.SIGTERM, 143)
	g.gone()
	w.drain()
	w.completed("s1", want)
	w.settled()
}
