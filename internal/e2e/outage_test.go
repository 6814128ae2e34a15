//go:build unix

package e2e

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/storage/faultproxy"
)

// finish runs workers until the queue is empty, each when it finds a message.
// Each must end with one of the codes.
func (w *world) finish(codes []int, settings ...string) []*worker {
	w.Helper()
	var all []*worker
	for {
		left := 0
		poll(w, "a message is visible or the queue is empty", func() bool {
			left = w.length(w.queue)
			return left == 0 || w.visible()
		})
		if left == 0 {
			return all
		}
		k := w.run(settings...)
		all = append(all, k)
		if code := k.wait(); !slices.Contains(codes, code) {
			w.Fatalf("worker %d exits %d, want one of %v", len(all), code, codes)
		}
	}
}

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

// outage is what may happen to a request. The id is that of the scenario it
// happens to.
type outage struct {
	id, name string
	actions  []faultproxy.Action // on the request, its first repetition and so on
}

func outages() []outage {
	broken := faultproxy.Status(http.StatusInternalServerError, "InternalError", 0)
	return []outage{
		{"o1", "refused", []faultproxy.Action{broken, broken, faultproxy.Status(http.StatusTooManyRequests, "TooManyRequests", time.Second),
			faultproxy.Status(http.StatusServiceUnavailable, "ServerBusy", time.Second)}},
		{"o2", "request lost", []faultproxy.Action{faultproxy.DropRequest()}},
		{"o3", "answer lost", []faultproxy.Action{faultproxy.DropResponse()}},
		{"o4", "answer cut", []faultproxy.Action{faultproxy.CutResponse()}},
	}
}

// Whatever call of a job meets a burst of errors, a throttle or a lost
// connection, the job ends well, or the worker ends with 10 and the next one
// ends it well: no message is lost, none is poison, and there is one result.
func TestOutageAtEveryCall(t *testing.T) {
	t.Parallel()
	want := reference(t, nil)
	calls := recorded(t)
	if len(calls) < 30 {
		t.Errorf("only %d calls: %v", len(calls), calls)
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=6", "RSMS_SHUTDOWN_GRACE_SEC=20") // a burst takes 3 s
			for _, o := range outages() {
				if o.name == "answer cut" && !c.answered || o.name == "request lost" && c.reads {
					continue // the same as an answer lost
				}
				c.story.begin(w, o.id)
				p := w.proxy()
				var first *faultproxy.Fault
				for _, action := range o.actions { // the next one waits for the repetition
					f := p.Fail(faultproxy.Rule{Match: c.in(w, o.id), Skip: c.nth, Times: 1, Action: action})
					if first == nil {
						first = f
					}
				}
				w.finish([]int{0, 10}, via(p))
				if first.Hits() == 0 {
					t.Errorf("%s: it did not happen", o.name)
				}
				c.story.end(w, o.id, want)
				w.settled()
				if t.Failed() {
					t.Fatalf("so it is with: %s", o.name)
				}
			}
		})
	}
}
