//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/storage/faultproxy"
)

// told checks that the notices say, least to most times, how the job of a
// scenario ended, and nothing else, and takes them.
func (w *world) told(scenario, state string, least, most int) *message.Done {
	w.Helper()
	all := w.notices()
	list := all[jobOf(scenario)]
	if len(all) > 1 || len(list) < least || len(list) > most {
		w.Errorf("scenario %s: the done-notices are %+v, want %d to %d", scenario, all, least, most)
	}
	for _, d := range list {
		if d.State != state || d.Scenario != scenario || *d != *list[0] {
			w.Errorf("scenario %s: the done-notice is %+v, want %s", scenario, d, state)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// takePoison returns what the poison queue has, and empties it.
func (w *world) takePoison() []*message.Poison {
	w.Helper()
	var all []*message.Poison
	for {
		m, err := w.poison.Receive(w.Context(), time.Minute)
		check(w, err)
		if m == nil {
			return all
		}
		p, err := message.DecodePoison(m.Text)
		check(w, err)
		all = append(all, p)
		check(w, w.poison.Delete(w.Context(), m.ID, m.Receipt))
	}
}

// away is what a service answers that cannot. The short pause brings a worker
// to the end of its repetitions at once.
func away() faultproxy.Action {
	return faultproxy.Status(http.StatusServiceUnavailable, "ServerBusy", time.Millisecond)
}

// outage is what may happen to a request. The id is that of the scenario it
// happens to.
type outage struct {
	id, name string
	action   faultproxy.Action
	fits     func(call) bool
}

// outages are told apart by what the emulator has done and what the worker
// knows of that: a lost request and a lost answer are one to a call that only
// reads, and so are a lost answer and one that breaks off to a call that only
// wants to know whether it was done.
func outages() []outage {
	writes := func(c call) bool { return !c.Reads }
	return []outage{
		{"o1", "request lost", faultproxy.DropRequest(), writes},
		{"o2", "answer lost", faultproxy.DropResponse(), func(c call) bool { return !c.Reads || !c.Answered }},
		{"o3", "answer cut", faultproxy.CutResponse(), func(c call) bool {
			return c.Answered && (c.Reads && c.Nth == 0 || c.Operation == faultproxy.QueueReceive || c.Operation == faultproxy.TableTransaction)
		}},
	}
}

// Whatever call of a job meets a lost connection, the job ends well, or the
// worker ends with 10 and the next one ends it well: no message is lost, none is
// poison, and there is one result.
func TestOutageAtEveryCall(t *testing.T) {
	t.Parallel()
	want, connection := reference(t), os.Getenv(secondVariable)
	calls := recorded(t)
	if len(calls) < 30 {
		t.Errorf("only %d calls: %v", len(calls), calls)
	}
	for _, c := range calls {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorldIn(t, connection, "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=6")
			for _, o := range outages() {
				if !o.fits(c) {
					continue
				}
				c.story().begin(w, o.id)
				p := w.proxy()
				fault := p.Fail(faultproxy.Rule{Match: c.in(w, o.id), Skip: c.Nth, Times: 1, Action: o.action})
				w.finish([]int{0, 10, c.story().code}, via(p))
				if fault.Hits() == 0 {
					t.Errorf("%s: it did not happen", o.name)
				}
				c.story().end(w, o.id, c.notices(), want)
				w.settled()
				if t.Failed() {
					t.Fatalf("so it is with: %s", o.name)
				}
			}
		})
	}
}

// A burst of errors and throttles at every call is one that the job gets
// through: its calls are repeated, when the service says so.
func TestBurstAtEveryCall(t *testing.T) {
	t.Parallel()
	want := reference(t)
	broken := faultproxy.Status(http.StatusInternalServerError, "InternalError", time.Millisecond)
	for _, burst := range [][]faultproxy.Action{
		{broken, broken, faultproxy.Status(http.StatusTooManyRequests, "TooManyRequests", time.Millisecond)},
		{faultproxy.Status(http.StatusServiceUnavailable, "ServerBusy", time.Second)},
	} {
		t.Run(fmt.Sprintf("of %d", len(burst)), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=30", "RSMS_SHUTDOWN_GRACE_SEC=40")
			w.scenario("s1", nil)
			w.send(order("s1"))
			p := w.proxy()
			faults := map[kind]*faultproxy.Fault{}
			for _, c := range recorded(t) {
				if c.Story != "run" || faults[c.kind()] != nil {
					continue
				}
				for _, action := range burst { // the next one waits for the repetition
					faults[c.kind()] = p.Fail(faultproxy.Rule{Match: c.in(w, "s1"), Times: 1, Action: action})
				}
			}
			w.finish([]int{0, 10}, via(p))
			for k, fault := range faults {
				if fault.Hits() == 0 {
					t.Errorf("%v: it did not happen", k)
				}
			}
			w.completed("s1", want)
			w.settled()
			w.told("s1", "Completed", 1, 2)
		})
	}
}

// Whatever call of a job is refused as long as its worker lives, a message that
// goes leaves a scenario that says how its job ended, and one that stays is
// ended by the next worker, the first that nothing is refused to.
func TestAwayAtEveryCall(t *testing.T) {
	t.Parallel()
	connection := os.Getenv(secondVariable)
	for _, c := range recorded(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorldIn(t, connection, "RSMS_SHUTDOWN_GRACE_SEC=6", "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=8")
			c.story().begin(w, "s1")
			p := w.proxy()
			patience := "RSMS_START_DEADLINE_SEC=10"
			if c.Early {
				patience = "RSMS_START_DEADLINE_SEC=2"
			}
			fault := p.Fail(faultproxy.Rule{Match: c.in(w, "s1"), Skip: c.Nth, Action: away()})
			k := w.run(via(p), patience)
			code := k.wait()
			if fault.Hits() == 0 {
				t.Error("it did not happen")
			}
			if got := w.length(w.poison); got > 0 && c.Story != "poison" {
				t.Errorf("poison: %+v", w.poisoned())
			}
			w.honest("s1")
			w.tidy()
			fault.Remove()
			if w.length(w.queue) > 0 {
				// A record that cannot be written any more is lost in the end.
				lost := code == 13 && c.Path == "/{runs}"
				if c.Early && code != 16 || !c.Early && code != 10 && code != c.story().code && !lost {
					t.Errorf("exit code %d", code)
				}
				w.untilFree("s1")
				w.run(longLease).exits(c.story().code)
			} else if code != c.story().code {
				t.Errorf("exit code %d, and the message is gone", code)
			}
			if len(w.record("s1").Notices) > 0 { // the next message of the scenario sends them
				w.send(order("s1"))
				w.run(longLease).exits(0)
			}
			c.story().end(w, "s1", c.notices(), nil)
			w.settled()
		})
	}
}
