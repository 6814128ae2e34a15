//go:build unix

package e2e

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"rsmsjob/internal/config"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// nobody is an address of this machine where nothing listens, but the test may.
func nobody(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(tb, err)
	defer l.Close()
	return l.Addr().String()
}

// elsewhere is the connection string of the emulator with other addresses.
func elsewhere(tb testing.TB, blob, queue, table string) string {
	tb.Helper()
	c, err := config.ParseConnection(azurite.Connection(tb))
	check(tb, err)
	return "AZURE_STORAGE_CONNECTION_STRING=AccountName=" + c.Account + ";AccountKey=" + c.Key.Reveal() +
		";BlobEndpoint=http://" + blob + "/" + c.Account + ";QueueEndpoint=http://" + queue + "/" + c.Account +
		";TableEndpoint=http://" + table + "/" + c.Account
}

// A storage that cannot be reached, or that takes a call and says nothing, is
// waited for until the deadline, and no message is touched.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	const deadline = 3 * time.Second
	for _, tt := range []struct {
		name string
		to   func(w *world) string
	}{
		{"connection refused", func(w *world) string { a := nobody(w); return elsewhere(w, a, a, a) }},
		{"accepts and hangs up", func(w *world) string {
			p := w.proxy()
			p.Fail(faultproxy.Rule{Action: faultproxy.DropRequest()})
			return via(p)
		}},
		{"accepts and never answers", func(w *world) string {
			p := w.proxy()
			p.Fail(faultproxy.Rule{Action: faultproxy.BlackHole()})
			return via(p)
		}},
		{"always busy", func(w *world) string {
			p := w.proxy()
			p.Fail(faultproxy.Rule{Action: faultproxy.Status(http.StatusServiceUnavailable, "ServerBusy", time.Second)})
			return via(p)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "RSMS_START_DEADLINE_SEC=3")
			w.scenario("s1", nil)
			w.send(order("s1"))
			begin := time.Now()
			k := w.run(tt.to(w))
			took := time.Since(begin)
			k.exits(16)
			if took < deadline || took > deadline+3*time.Second {
				t.Errorf("it took %v, the deadline is %v", took, deadline)
			}
			if said := k.said("no start"); said["reason"] != "storage_unavailable" {
				t.Errorf("the log says %v", said)
			}
			if !w.visible() || w.peek(w.queue)[0].DequeueCount != 0 {
				t.Error("the message was touched")
			}
		})
	}
}

// A slow storage is none that is away.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=10", "RSMS_SHUTDOWN_GRACE_SEC=20")
	w.scenario("s1", nil)
	w.send(order("s1"))
	p := w.proxy()
	p.Fail(faultproxy.Rule{Action: faultproxy.Delay(200 * time.Millisecond)})
	w.run(via(p)).exits(0)
	w.completed("s1", w.snapshot("s1"))
	w.settled()
}

// lateService listens for a service that nobody could reach before.
func lateService(tb testing.TB, address, target string) {
	tb.Helper()
	to, err := url.Parse(target)
	check(tb, err)
	l, err := net.Listen("tcp", address)
	check(tb, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer from.Close()
				server, err := net.Dial("tcp", to.Host)
				if err != nil {
					return
				}
				var up sync.WaitGroup
				up.Go(func() { io.Copy(server, from); server.Close() })
				io.Copy(from, server)
				from.Close()
				up.Wait()
			})
		}
	})
	tb.Cleanup(func() { l.Close(); all.Wait() })
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) has(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.text.String(), text)
}

// C49: there is no network at first, then there is.
func TestLateNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_START_DEADLINE_SEC=50")
	w.scenario("s1", nil)
	w.send(order("s1"))
	c, err := config.ParseConnection(azurite.Connection(t))
	check(t, err)
	blob, queue, table := nobody(t), nobody(t), nobody(t)
	log := &journal{}
	k := exec.CommandContext(t.Context(), os.Getenv(binaryVariable))
	k.Env, k.Stderr = append(w.settings, elsewhere(t, blob, queue, table)), log
	check(t, k.Start())
	poll(t, "the worker has tried", func() bool { return log.has("no answer from the storage yet") })
	lateService(t, blob, c.Blob)
	lateService(t, queue, c.Queue)
	lateService(t, table, c.Table)
	if err := k.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, log.text.String())
	}
	w.completed("s1", w.snapshot("s1"))
	w.settled()
}

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

// C90: a table or a container that is not there is named before the engines
// start, and the message goes back. After init the next start ends well.
func TestMissingTable(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"RSMS_RIVERBASIN_BLOB_CONTAINER", "RSMS_RESULTS_BLOB_CONTAINER", "RSMS_SCENARIOS_TABLE", "RSMS_RUNS_TABLE",
		"RSMS_PLUME_BY_TIME_TABLE", "RSMS_PLUME_BY_MILE_TABLE"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := azurite.NewNames().Layout
			name := map[string]string{"RSMS_RIVERBASIN_BLOB_CONTAINER": l.Basins, "RSMS_RESULTS_BLOB_CONTAINER": l.Results, "RSMS_SCENARIOS_TABLE": l.Scenarios,
				"RSMS_RUNS_TABLE": l.Runs, "RSMS_PLUME_BY_TIME_TABLE": l.PlumeByTime, "RSMS_PLUME_BY_MILE_TABLE": l.PlumeByMile}[variable]
			w.settings = append(w.settings, variable+"="+name)
			w.scenario("s1", nil)
			w.send(order("s1"))
			k := w.run()
			k.exits(10)
			lines := k.log()
			end := lines[len(lines)-1]
			if text := end["msg"].(string); end["reason"] != "storage_unavailable" || !strings.Contains(text, name) || !strings.Contains(text, "rsms-job init") {
				t.Errorf("the log ends with %v", end)
			}
			if k.said("engine done") != nil {
				t.Error("an engine has run")
			}
			if !w.visible() || w.length(w.poison) != 0 {
				t.Error("the message was not handed back")
			}
			w.startWith([]string{"init"}).exits(0)
			w.use(variable, name)
			w.finish([]int{0})
			w.completed("s1", w.snapshot("s1"))
			w.settled()
		})
	}
}

// use makes the store of the test that of a worker with another name for a
// table or a container, and loads what was in the one before.
func (w *world) use(variable, name string) {
	w.Helper()
	before := w.store
	l := &w.names.Layout
	*map[string]*string{"RSMS_RIVERBASIN_BLOB_CONTAINER": &l.Basins, "RSMS_RESULTS_BLOB_CONTAINER": &l.Results, "RSMS_SCENARIOS_TABLE": &l.Scenarios,
		"RSMS_RUNS_TABLE": &l.Runs, "RSMS_PLUME_BY_TIME_TABLE": &l.PlumeByTime, "RSMS_PLUME_BY_MILE_TABLE": &l.PlumeByMile}[variable] = name
	w.store = azurite.Open(w, azurite.Connection(w), *l)
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
