//go:build unix

package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"rsmsjob/internal/storage/faultproxy"
)

// signal sends a signal to the process.
func (k *worker) signal(s os.Signal) {
	k.world.Helper()
	check(k.world, k.cmd.Process.Signal(s))
}

// suspend stops the process, and waits until none of its threads goes on.
func (k *worker) suspend() {
	k.world.Helper()
	k.signal(syscall.SIGSTOP)
	poll(k.world, "the worker is suspended", func() bool { return strings.HasPrefix(state(k.cmd.Process.Pid), "T") })
}

// C65: a worker that sleeps past its lease wakes up as nobody's holder: it
// writes nothing more, whatever it was about to write.
func TestSuspendedPastItsLease(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for _, p := range []point{
		{name: "in mid-rows", match: operation(faultproxy.TableTransaction), skip: 1, executed: true},
		{name: "in mid-rows, request lost", match: operation(faultproxy.TableTransaction), skip: 4},
		{name: "before result.json", match: at(faultproxy.BlobPut, func(*world) string { return "/cxplt.stderr" }), executed: true},
		{name: "before result.json, request lost", match: at(faultproxy.BlobPut, marker)},
		{name: "after result.json", match: at(faultproxy.BlobPut, marker), executed: true},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			// No other request is just leaving when the process stops: what it had
			// seen to be allowed then would be sent later.
			w := newWorld(t, "RSMS_PUBLISH_CONCURRENCY=1")
			proxy := w.proxy()
			started := make(chan *worker, 1)
			hit := p.call(w, proxy, func() { (<-started).suspend() })
			k := w.one("s1", via(proxy))
			started <- k
			within(t, "the worker comes to: "+p.name, hit.Hit())
			w.takenOver(k, proxy, want)
		})
	}
	for _, engine := range []string{"daflow", "cxplt"} {
		t.Run("in mid-engine "+engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			proxy := w.proxy()
			g, runner := newGate(t, engine)
			k := w.one("s1", via(proxy), runner)
			g.reached()
			k.suspend()
			w.takenOver(k, proxy, want)
			g.gone()
		})
	}
}

// one makes a scenario and a message for it, and starts a worker.
func (w *world) one(scenario string, settings ...string) *worker {
	w.Helper()
	w.scenario(scenario, nil)
	w.send(order(scenario))
	return w.start(settings...)
}

// takenOver lets others end the job of a suspended worker and wakes it up.
func (w *world) takenOver(k *worker, proxy *faultproxy.Proxy, want map[string]string) {
	w.Helper()
	w.drain()
	w.completed("s1", want)
	before := len(proxy.Requests())
	k.signal(syscall.SIGCONT)
	k.exits(13)
	for _, r := range proxy.Requests()[before:] {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Errorf("the one that woke up wrote: %s %s", r.Operation, r.Path)
		}
	}
	w.completed("s1", want)
	w.settled()
	if n := len(w.notices()[jobOf("s1")]); n != 1 {
		w.Errorf("%d done-notices, want 1", n)
	}
}

// renewals are the requests that keep the message, and one before them that
// sees whether the worker may.
func renewals(w *world) faultproxy.Match {
	return faultproxy.Match{Operation: faultproxy.QueueUpdate, Path: "/" + w.names.Queue + "/"}
}

// C23, C57, C58, C65: work may take many leases: the message is delivered once,
// others find nothing, and the newest receipt deletes it.
func TestWorkOfManyLeases(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for _, leases := range []int{3, 10} {
		t.Run(fmt.Sprint(leases), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "RSMS_JOB_TIMEOUT_SEC=300")
			proxy := w.proxy()
			g, runner := newGate(t, "bltm")
			k := w.one("s1", via(proxy), runner)
			g.reached()
			began := time.Now()
			for round := range leases {
				poll(t, "the message is renewed", func() bool {
					return time.Since(began) > time.Duration(round+1)*lease && proxy.Count(renewals(w)) >= 2*round+2
				})
				other := w.run()
				other.exits(0)
				if other.said("the queue is empty") == nil {
					t.Errorf("another worker found a message: %s", other.stderr.Bytes())
				}
			}
			g.open()
			k.exits(0)
			if n := k.said("message claimed")["dequeue_count"]; n != 1.0 {
				t.Errorf("dequeue count %v", n)
			}
			if r := w.record("s1"); r.Attempt != 1 {
				t.Errorf("attempt %d", r.Attempt)
			}
			w.completed("s1", want)
			w.settled()
			if n := len(w.notices()[jobOf("s1")]); n != 1 {
				t.Errorf("%d done-notices, want 1", n)
			}
		})
	}
}

// C61: renewals leave the text as it is, byte for byte.
func TestRenewedTextIsTheSame(t *testing.T) {
	t.Parallel()
	want := reference(t)
	coded := base64.StdEncoding.EncodeToString([]byte(order("s1")))
	for name, text := range map[string]string{
		"odd spacing":     " \t{ \"scenario_id\" :\t\"s1\",\n\n  \"riverbasin_id\":\"tiny\" , \"job_id\":\"job-s1\",\"n\":1.50e1,\"s\":\"\\u00e4 <&>'\" }\n ",
		"line breaks":     coded[:20] + "\r\n" + coded[20:60] + "\n" + coded[60:] + "\r\n",
		"other languages": strings.Replace(order("s1"), "{", `{"note":"äöü 水 🌊 ]]>",`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			w.send(text)
			if got := w.peek(w.queue)[0].Text; got != text {
				t.Fatalf("the queue itself changes the text to %q", got)
			}
			proxy := w.proxy()
			g, runner := newGate(t, "daflow")
			k := w.start(via(proxy), runner)
			g.reached()
			poll(t, "the message is renewed", func() bool { return proxy.Count(renewals(w)) >= 6 })
			k.kill()
			w.comesBack()
			if m := w.peek(w.queue)[0]; m.Text != text || m.DequeueCount != 1 {
				t.Errorf("dequeue count %d, text %q\nwant %q", m.DequeueCount, m.Text, text)
			}
			w.drain()
			w.completed("s1", want)
			w.settled()
		})
	}
}
