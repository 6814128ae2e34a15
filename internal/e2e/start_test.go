//go:build unix

package e2e

import (
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// Without its queue a worker cannot be set right.
func TestMissingQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.run("RSMS_WORKER_QUEUE_NAME=nothing-here")
	k.exits(2)
	if text := k.stderr.String(); !strings.Contains(text, "RSMS_WORKER_QUEUE_NAME") || !strings.Contains(text, "nothing-here") || !strings.Contains(text, "rsms-job init") {
		t.Errorf("standard error: %s", text)
	}
}

// C90: what is not there is named before a message is taken, so that no attempt
// is spent on a deployment that cannot do it. After init the next start ends
// well.
func TestMissing(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"RSMS_RIVERBASIN_BLOB_CONTAINER", "RSMS_RESULTS_BLOB_CONTAINER", "RSMS_SCENARIOS_TABLE", "RSMS_RUNS_TABLE",
		"RSMS_PLUME_BY_TIME_TABLE", "RSMS_PLUME_BY_MILE_TABLE", "RSMS_WORKER_POISON_QUEUE_NAME", "RSMS_DONE_QUEUE_NAME"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n := azurite.NewNames()
			l := n.Layout
			name := map[string]string{"RSMS_RIVERBASIN_BLOB_CONTAINER": l.Basins, "RSMS_RESULTS_BLOB_CONTAINER": l.Results, "RSMS_SCENARIOS_TABLE": l.Scenarios,
				"RSMS_RUNS_TABLE": l.Runs, "RSMS_PLUME_BY_TIME_TABLE": l.PlumeByTime, "RSMS_PLUME_BY_MILE_TABLE": l.PlumeByMile,
				"RSMS_WORKER_POISON_QUEUE_NAME": n.Poison, "RSMS_DONE_QUEUE_NAME": n.Done}[variable]
			w.settings = append(w.settings, variable+"="+name)
			w.scenario("s1", nil)
			w.send(order("s1"))
			begin := time.Now()
			k := w.run("RSMS_START_DEADLINE_SEC=15")
			k.exits(2)
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if text := k.stderr.String(); !strings.Contains(text, variable) || !strings.Contains(text, name) || !strings.Contains(text, "rsms-job init") {
				t.Errorf("standard error: %s", text)
			}
			w.untouched()
			w.startWith([]string{"init"}).exits(0)
			w.use(variable, name)
			w.run(longLease).exits(0)
			w.whole("s1")
			w.settled()
			w.told("s1", "Completed", 1, 1)
		})
	}
}

// An empty queue is worth one look and no more, whatever else is missing.
func TestMissingBesideEmptyQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.proxy()
	w.run(via(p), "RSMS_DONE_QUEUE_NAME=nothing-here", "RSMS_RUNS_TABLE=NothingHere").exits(0)
	if asked := p.Requests(); len(asked) != 1 || asked[0].Operation != faultproxy.QueuePeek {
		t.Errorf("the requests were %+v", asked)
	}
}

// use makes the store of the test that of a worker with another name for a
// table, a container or a queue, and loads what was in the one before.
func (w *world) use(variable, name string) {
	w.Helper()
	before := w.store
	l := &w.names.Layout
	*map[string]*string{"RSMS_WORKER_POISON_QUEUE_NAME": &w.names.Poison, "RSMS_DONE_QUEUE_NAME": &w.names.Done, "RSMS_RIVERBASIN_BLOB_CONTAINER": &l.Basins, "RSMS_RESULTS_BLOB_CONTAINER": &l.Results, "RSMS_SCENARIOS_TABLE": &l.Scenarios,
		"RSMS_RUNS_TABLE": &l.Runs, "RSMS_PLUME_BY_TIME_TABLE": &l.PlumeByTime, "RSMS_PLUME_BY_MILE_TABLE": &l.PlumeByMile}[variable] = name
	w.store = azurite.Open(w, w.connection, *l)
	w.poison, w.done = w.store.Queue(w.names.Poison), w.store.Queue(w.names.Done)
	w.load(before)
}

// load copies basin and scenario from another store.
func (w *world) load(from *storage.Azure) {
	w.Helper()
	for _, name := range []string{"FLOW.IN", "RiverMileIndex.csv", "basin.json"} {
		data, err := from.Basin(w.Context(), basin, name)
		check(w, err)
		check(w, w.store.PutBasin(w.Context(), basin, name, data))
	}
	w.scenario("s1", nil)
}
