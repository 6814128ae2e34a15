//go:build unix

package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"rsmsjob/internal/storage/faultproxy"
)

// point is a request of a worker at which something is done to it.
type point struct {
	name string
	// match gives the request; skip so many of its kind pass first.
	match func(w *world) faultproxy.Match
	when  func(r *http.Request) bool
	// behind, where it is set, must have been seen before the point counts.
	behind func(w *world) faultproxy.Match
	skip   int
	// executed lets the emulator have the request first.
	executed bool
}

// rule is what happens at the point, once.
func (p point) rule(w *world, proxy *faultproxy.Proxy, action faultproxy.Action) faultproxy.Rule {
	return faultproxy.Rule{Match: p.match(w), Skip: p.skip, Times: 1, Action: action,
		When: func(r *http.Request) bool {
			return (p.when == nil || p.when(r)) && (p.behind == nil || proxy.Count(p.behind(w)) > 0)
		}}
}

// call has f called at the point. What was not executed then never is.
func (p point) call(w *world, proxy *faultproxy.Proxy, f func()) *faultproxy.Fault {
	if p.executed {
		return proxy.Fail(p.rule(w, proxy, faultproxy.CallAfter(f)))
	}
	return proxy.Fail(p.rule(w, proxy, faultproxy.Sequence(faultproxy.Call(f), faultproxy.DropRequest())))
}

// hold holds the request at the point, or its answer, up until a channel is
// closed.
func (p point) hold(w *world, proxy *faultproxy.Proxy, until <-chan struct{}) *faultproxy.Fault {
	if p.executed {
		return proxy.Fail(p.rule(w, proxy, faultproxy.HoldResponse(until)))
	}
	return proxy.Fail(p.rule(w, proxy, faultproxy.Hold(until)))
}

// lasts does something at the point and at every request of its kind behind it.
func (p point) lasts(w *world, proxy *faultproxy.Proxy, action faultproxy.Action) *faultproxy.Fault {
	rule := p.rule(w, proxy, action)
	rule.Times = 0
	return proxy.Fail(rule)
}

func operation(op faultproxy.Operation) func(*world) faultproxy.Match {
	return func(*world) faultproxy.Match { return faultproxy.Match{Operation: op} }
}

func at(op faultproxy.Operation, path func(*world) string) func(*world) faultproxy.Match {
	return func(w *world) faultproxy.Match { return faultproxy.Match{Operation: op, Path: path(w)} }
}

func writes(r *http.Request) bool { return r.Method != http.MethodGet }

func runLog(*world) string         { return "/run-" }
func marker(*world) string         { return "/result.json" }
func records(w *world) string      { return "/" + w.names.Layout.Runs }
func scenarioRows(w *world) string { return "/" + w.names.Layout.Scenarios }
func doneQueue(w *world) string    { return "/" + w.names.Done + "/" }

// killed is a point of a run at which its worker is killed, and what must
// follow.
type killed struct {
	point
	attempt int  // that the record must show in the end
	notices int  // at most; 1 at least
	over    bool // nothing is left to be done
}

// killPoints are in the order of a run; all but one, in the middle of an
// engine, are requests.
func killPoints() []killed {
	return []killed{
		{point{name: "claim executed, answer not seen", match: operation(faultproxy.QueueReceive), executed: true}, 1, 1, false},
		{point{name: "after claim", match: operation(faultproxy.QueueUpdate), behind: operation(faultproxy.QueueReceive)}, 1, 1, false},
		{point{name: "record taken, answer not seen", match: at("", records), when: writes, executed: true}, 2, 1, false},
		{point{name: "after inputs", match: at(faultproxy.EntityMerge, scenarioRows), executed: true}, 2, 1, false},
		{point{name: "after engines", match: operation(faultproxy.BlobProperties)}, 2, 1, false},
		{point{name: "before rows", match: operation(faultproxy.TableTransaction)}, 2, 1, false},
		{point{name: "in mid-rows by time", match: operation(faultproxy.TableTransaction), skip: 1}, 2, 1, false},
		{point{name: "in mid-rows by mile", match: operation(faultproxy.TableTransaction), skip: 6}, 2, 1, false},
		{point{name: "after rows", match: operation(faultproxy.BlobPut)}, 2, 1, false},
		{point{name: "in mid-blobs", match: operation(faultproxy.BlobPut), skip: 5, executed: true}, 2, 1, false},
		{point{name: "after blobs", match: at(faultproxy.BlobPut, marker)}, 2, 1, false},
		{point{name: "after result.json", match: at(faultproxy.BlobPut, marker), executed: true}, 2, 1, false},
		{point{name: "row says Completed, record does not", match: at(faultproxy.EntityReplace, records), behind: at(faultproxy.BlobPut, runLog)}, 2, 1, false},
		{point{name: "record says Completed", match: at(faultproxy.EntityReplace, records), behind: at(faultproxy.BlobPut, runLog), executed: true}, 1, 1, false},
		{point{name: "before the notice", match: at(faultproxy.QueueSend, doneQueue)}, 1, 1, false},
		{point{name: "after the notice", match: at(faultproxy.QueueSend, doneQueue), executed: true}, 1, 2, false},
		{point{name: "before delete", match: operation(faultproxy.QueueDelete)}, 1, 1, false},
		{point{name: "after delete", match: operation(faultproxy.QueueDelete), executed: true}, 1, 1, true},
	}
}

// older is a scenario whose result has more rows than that of 100 kg, other
// ones too.
func older() map[string]any { return map[string]any{"SpillMassKg": 4000.0, "SimulationHours": 5.0} }

// C12, C60, C65, C68: whatever a worker does when it is killed, the next ones
// end the job as if nothing had been, over an older result as well.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	want, connection := reference(t), os.Getenv(secondVariable)
	for _, p := range killPoints() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			w := newWorldIn(t, connection)
			// Where there is none before, see TestKilledAnywhere.
			if p.attempt == 2 && !strings.HasPrefix(p.name, "after inputs") {
				w.olderResult("s1")
			}
			w.scenario("s1", nil)
			w.send(order("s1"))
			w.killAt(p.point).kill()
			w.recovers("s1", p, want)
		})
	}
}

func TestKilledInMidEngine(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for _, engine := range []string{"daflow", "bltm", "ctplt", "cxplt"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			w.send(order("s1"))
			g, runner := newGate(t, engine)
			k := w.start(runner)
			g.reached()
			k.kill()
			g.gone()
			w.recovers("s1", killed{attempt: 2, notices: 1}, want)
		})
	}
}

// olderResult gives the scenario the result of another job, and takes its
// notice.
func (w *world) olderResult(scenario string) {
	w.Helper()
	w.scenario(scenario, older())
	w.send(orderAs(scenario, "older"))
	w.run().exits(0)
	if n := len(w.notices()["older"]); n != 1 {
		w.Fatalf("%d notices of the older job", n)
	}
	check(w, w.removeRunFolder(scenario, "older"))
}

// killAt starts a worker and kills it at the point, which it must come to.
func (w *world) killAt(p point, settings ...string) *worker {
	w.Helper()
	k, hit := w.doomed(p, settings...)
	within(w, "the worker comes to: "+p.name, hit.Hit())
	<-k.ended
	return k
}

// doomed starts a worker that is killed at the point, should it come to it.
func (w *world) doomed(p point, settings ...string) (*worker, *faultproxy.Fault) {
	w.Helper()
	proxy := w.proxy()
	started := make(chan *worker, 1)
	hit := p.call(w, proxy, func() { (<-started).kill() })
	k := w.start(append(settings, via(proxy))...)
	started <- k
	return k, hit
}

// recovers runs workers until the queue is empty, after one was killed, and
// checks that the job of the scenario ended as it must.
func (w *world) recovers(scenario string, p killed, want map[string]string) {
	w.Helper()
	all := w.drain()
	w.completed(scenario, want)
	w.settled()
	if got := w.record(scenario).Attempt; got != p.attempt {
		w.Errorf("the record says attempt %d, want %d", got, p.attempt)
	}
	if got := len(w.notices()[jobOf(scenario)]); got < 1 || got > p.notices {
		w.Errorf("%d done-notices, want 1 to %d", got, p.notices)
	}
	if p.over {
		if len(all) > 0 {
			w.Errorf("%d workers found a message", len(all))
		}
		return
	}
	end := last(all)
	if end == nil {
		w.Fatal("no worker ended the job")
	}
	claimed := end.said("message claimed")
	if n := claimed["dequeue_count"]; n != float64(1+len(all)) {
		w.Errorf("dequeue count %v in worker %d after the first", n, len(all))
	}
	// Who found the scenario busy spent no attempt.
	if n := end.said("message deleted")["attempt"]; n != 2.0 {
		w.Errorf("the last worker counts attempt %v, want 2", n)
	}
}
