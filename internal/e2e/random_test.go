//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"rsmsjob/internal/storage/faultproxy"
)

const (
	seed       = 99
	killGroups = 10
	groupKills = 20
	groupJobs  = 4 // to begin with
	// runRequests is about how many requests one run sends.
	runRequests = 55
)

// brief are the columns of a scenario that is soon computed.
func brief() map[string]any { return map[string]any{"SimulationHours": 1.0} }

// briefly is the snapshot of an undisturbed run of brief.
func briefly(t *testing.T) map[string]string {
	t.Helper()
	w := newWorld(t)
	w.orders("b", 0, 1)
	w.run().exits(0)
	return w.snapshot("b00")
}

// C12, C22: 200 workers are killed, each at a request drawn by chance; every
// job of theirs ends as if nothing had been.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	want, connection := briefly(t), os.Getenv(secondVariable)
	for group := range killGroups {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d, %d", seed, group)
			chance := rand.New(rand.NewPCG(seed, uint64(group)))
			w := newWorldIn(t, connection, "RSMS_WORKER_MAX_DEQUEUE_COUNT=1000", "RSMS_RETRY_DELAY_SEC=1", fmt.Sprintf("RSMS_STEP_CACHE=%t", group%2 == 0))
			names := w.orders("k", 0, groupJobs)
			kills, twice := 0, 0
			for kills < groupKills {
				if w.length(w.queue) == 0 { // all came to their end by themselves
					names = append(names, w.orders("k", len(names), 1)...)
				}
				w.comesBack()
				p := point{name: "a request", match: operation(""), skip: chance.IntN(runRequests), executed: chance.IntN(2) == 0}
				proxy := w.proxy()
				if !w.killedAt(proxy, p) {
					continue
				}
				kills++
				if proxy.Count(faultproxy.Match{Operation: faultproxy.QueueSend, Path: doneQueue(w)}) > 0 {
					twice++
				}
			}
			w.drain()
			t.Logf("%d workers of %d jobs killed", kills, len(names))
			w.settled()
			w.allCompleted(names, want, twice)
		})
	}
}

// orders makes n scenarios of one hour, whose names have a number from first on,
// and a message for each.
func (w *world) orders(letter string, first, n int) (names []string) {
	w.Helper()
	for i := range n {
		name := fmt.Sprintf("%s%02d", letter, first+i)
		names = append(names, name)
		w.scenario(name, brief())
		w.send(order(name))
	}
	return names
}

// allCompleted checks every scenario, and that each job was told of, twice at
// most where a worker died behind a notice.
func (w *world) allCompleted(names []string, want map[string]string, twice int) {
	w.Helper()
	notices, total := w.notices(), 0
	for _, name := range names {
		w.completed(name, want)
		n := len(notices[jobOf(name)])
		if n < 1 {
			w.Errorf("nobody was told of %s", name)
		}
		total += n
	}
	if total > len(names)+twice {
		w.Errorf("%d notices of %d jobs, %d workers died near one", total, len(names), twice)
	}
}

// killedAt runs a worker that is killed at the point, and reports whether it
// came so far. A worker may end before, by itself.
func (w *world) killedAt(proxy *faultproxy.Proxy, p point) bool {
	w.Helper()
	started := make(chan *worker, 1)
	p.call(w, proxy, func() { (<-started).kill() })
	k := w.start(via(proxy))
	started <- k
	code := k.wait()
	switch code {
	case -1:
		return true
	case 0, 14:
		return false
	}
	w.Errorf("a worker exits %d", code)
	return false
}

// C22: 50 messages, 16 workers at once again and again, some of them killed: one
// complete result each, and who finds nothing ends well.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	want := briefly(t)
	const messages, workers, doomed = 50, 16, 4
	w := newWorld(t, "RSMS_WORKER_MAX_DEQUEUE_COUNT=1000", "RSMS_RETRY_DELAY_SEC=1")
	names := w.orders("m", 0, messages)
	chance := rand.New(rand.NewPCG(seed, messages))
	idle, kills, twice := 0, 0, 0
	for wave := 0; w.next(); wave++ {
		var all []*worker
		var proxies []*faultproxy.Proxy
		for i := range workers {
			if i >= doomed || wave > 3 {
				all = append(all, w.start(longLease))
				continue
			}
			proxy := w.proxy()
			proxies = append(proxies, proxy)
			started := make(chan *worker, 1)
			p := point{match: operation(""), skip: chance.IntN(runRequests), executed: chance.IntN(2) == 0}
			p.call(w, proxy, func() { (<-started).kill() })
			k := w.start(via(proxy), "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=8")
			started <- k
			all = append(all, k)
		}
		for i, k := range all {
			switch code := k.wait(); {
			case code == -1 && i < len(proxies):
				kills++
			case code != 0 && code != 14:
				w.Fatalf("a worker exits %d", code)
			case k.said("the queue is empty") != nil:
				idle++
			}
		}
		for _, proxy := range proxies {
			if proxy.Count(faultproxy.Match{Operation: faultproxy.QueueSend, Path: doneQueue(w)}) > 0 {
				twice++
			}
		}
	}
	if kills == 0 || idle == 0 {
		w.Errorf("%d workers were killed and %d found nothing: this shows little", kills, idle)
	}
	t.Logf("%d workers killed, %d found nothing", kills, idle)
	w.drain()
	// The folder of one that was killed goes with the next run on the machine.
	w.orders("last", 0, 1)
	w.run(longLease).exits(0)
	w.settled()
	w.allCompleted(append(names, "last00"), want, twice)
}

// C05, C23: a worker that finds no message it could have asks once, says so in
// one line, and ends.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		if i == 10 { // a message that is hidden is somebody else's
			w.send(order("s1"))
			if m, err := w.queue.Receive(t.Context(), patience); err != nil || m == nil {
				t.Fatalf("message %v, error %v", m, err)
			}
		}
		proxy := w.proxy()
		k := w.run(via(proxy))
		k.exits(0)
		if lines := k.log(); len(lines) != 2 || k.said("start") == nil || k.said("the queue is empty") == nil || k.stdout.Len() > 0 {
			t.Errorf("run %d said %s%s", i, k.stdout.Bytes(), k.stderr.Bytes())
		}
		if asked := proxy.Requests(); len(asked) != 1 || asked[0].Operation != faultproxy.QueuePeek {
			t.Errorf("the requests of run %d were %+v", i, asked)
		}
	}
	if n := w.length(w.queue); n != 1 {
		t.Errorf("%d messages, want the hidden one", n)
	}
	w.tidy()
}
