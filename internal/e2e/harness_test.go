//go:build unix

package e2e

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// binaryVariable holds the path of the program under test, secondVariable the
// connection string of another storage emulator than that of the package
// azurite: each has one thread, and half of the tests are enough for one.
const (
	binaryVariable = "RSMS_TEST_BINARY"
	secondVariable = "RSMS_TEST_SECOND_STORAGE"
)

// parallel is how many tests run at the same time: most of them wait for a
// lease to run out.
const parallel = 6

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds the program, without the race detector, as it will be shipped.
func run(m *testing.M) int {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "rsms-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "rsms-job")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "-ldflags", "-s -w -X main.version=1.2.3 -X main.commit="+testCommit, "../../job")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	os.Setenv(binaryVariable, binary)
	stop, err := startSecond()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	return azurite.Main(m)
}

// startSecond starts the second emulator, with a key that nobody else has.
func startSecond() (stop func(), err error) {
	const accounts = "AZURITE_ACCOUNTS"
	os.Setenv(accounts, "devstoreaccount1:"+secretKey())
	defer os.Unsetenv(accounts)
	known, stop, err := azurite.Start()
	if err != nil {
		return nil, err
	}
	before, rest, _ := strings.Cut(known, "AccountKey=")
	_, rest, _ = strings.Cut(rest, ";")
	os.Setenv(secondVariable, before+"AccountKey="+secretKey()+";"+rest)
	return stop, nil
}

// secretKey is the key of the account in the second emulator.
func secretKey() string {
	return base64.StdEncoding.EncodeToString([]byte("canary of an account key, 33 bytes"))
}

// testCommit is the commit that the program under test says it is of.
const testCommit = "c0ffee0000000000000000000000000000000000"

const (
	// lease is that of workers which will fall silent: long enough for a busy
	// machine, short enough to be waited for.
	lease = 5 * time.Second
	// longLease is for workers that must not lose it however busy the machine is.
	longLease = "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=60"
	// patience is how long a test waits for what must happen.
	patience = 60 * time.Second
	// slow is the pause between two questions that are dear to ask: many tests
	// wait at the same time, and the emulator has one thread for all of them.
	slow  = 500 * time.Millisecond
	basin = "tiny"
)

// poll asks until something is so, and ends the test when it never is.
func poll(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	pollEvery(tb, 10*time.Millisecond, what, so)
}

// pollEvery is poll for what is dear to ask, such as the emulator.
func pollEvery(tb testing.TB, pause time.Duration, what string, so func() bool) {
	tb.Helper()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !so(); <-tick.C {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// within waits for a channel to be closed.
func within[T any](tb testing.TB, what string, c <-chan T) {
	tb.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		tb.Fatalf("%s: not within %v", what, patience)
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// world is an account of one test with the basin tiny: containers, tables,
// queues, and the folder that workers have their run folders in.
type world struct {
	testing.TB
	connection          string
	names               azurite.Names
	store               *storage.Azure
	queue, poison, done *storage.Queue
	work                string // RSMS_WORK_DIR
	// settings are the environment of every worker; see start.
	settings []string
}

// newWorld makes one. More settings win over those of the harness.
func newWorld(tb testing.TB, settings ...string) *world {
	tb.Helper()
	return newWorldIn(tb, azurite.Connection(tb), settings...)
}

// newWorldIn is newWorld in the account of a connection string.
func newWorldIn(tb testing.TB, connection string, settings ...string) *world {
	tb.Helper()
	names := azurite.NewNames()
	w := &world{TB: tb, connection: connection, names: names, store: azurite.Open(tb, connection, names.Layout), work: tb.TempDir()}
	w.queue, w.poison, w.done = w.store.Queue(names.Queue), w.store.Queue(names.Poison), w.store.Queue(names.Done)
	w.settings = append(names.Environment(connection), "PATH="+os.Getenv("PATH"), "RSMS_WORK_DIR="+w.work,
		"RSMS_WORKER_VISIBILITY_TIMEOUT_SEC="+strconv.Itoa(int(lease.Seconds())), "RSMS_RETRY_DELAY_SEC=0",
		"RSMS_JOB_TIMEOUT_SEC=60", "RSMS_SHUTDOWN_GRACE_SEC=10", "RSMS_START_DEADLINE_SEC=10",
		"RSMS_STEP_CACHE=false") // engines are to run as often as a test says; see cache_test.go
	w.settings = append(w.settings, settings...)
	ctx := tb.Context()
	check(tb, w.store.Create(ctx))
	for _, q := range []*storage.Queue{w.queue, w.poison, w.done} {
		check(tb, q.Create(ctx))
	}
	folder := filepath.Join("..", "..", "job", "testdata", "store", "riverbasin", basin)
	for _, name := range []string{"FLOW.IN", "RiverMileIndex.csv", "basin.json", "NFQ.csv"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		check(tb, err)
		check(tb, w.store.PutBasin(ctx, basin, name, data))
	}
	return w
}

// scenario writes a scenario row: 3 hours, 100 kg, and what more sets.
func (w *world) scenario(id string, more map[string]any) {
	w.Helper()
	columns := map[string]any{"Name": "Spill above the junction", "SpillRiver": "Main", "SpillMile": 11.2,
		"SpillTime": time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), "SpillMassKg": 100.0, "SimulationHours": 3.0,
		"ThresholdMgL": 0.5, "note": "a column of somebody else"}
	for name, value := range more {
		columns[name] = value
	}
	check(w, w.store.PutScenario(w.Context(), basin, id, columns))
}

// jobOf is the id of the job that order asks for.
func jobOf(scenario string) string { return "job-" + scenario }

// order is the text of a message for a scenario.
func order(scenario string) string {
	return fmt.Sprintf(`{"riverbasin_id":%q,"scenario_id":%q,"job_id":%q}`, basin, scenario, jobOf(scenario))
}

// orderAs is order in the name of another job.
func orderAs(scenario, job string) string {
	return strings.Replace(order(scenario), jobOf(scenario), job, 1)
}

// send puts a text on the queue of the messages.
func (w *world) send(text string) *storage.QueueMessage {
	w.Helper()
	m, err := w.queue.Send(w.Context(), text, 0)
	check(w, err)
	return m
}

// length is how many messages a queue has, hidden ones too.
func (w *world) length(q *storage.Queue) int {
	w.Helper()
	n, err := q.Length(w.Context())
	check(w, err)
	return n
}

// visible reports whether a worker would find a message now.
func (w *world) visible() bool { return len(w.peek(w.queue)) > 0 }

// peek returns the visible messages of a queue, 32 at most.
func (w *world) peek(q *storage.Queue) []storage.QueueMessage {
	w.Helper()
	list, err := q.Peek(w.Context(), 32)
	check(w, err)
	return list
}

// poisoned returns what the poison queue has.
func (w *world) poisoned() []*message.Poison {
	w.Helper()
	var list []*message.Poison
	for _, m := range w.peek(w.poison) {
		p, err := message.DecodePoison(m.Text)
		check(w, err)
		list = append(list, p)
	}
	return list
}

// notices takes all done-notices from their queue, by job.
func (w *world) notices() map[string][]*message.Done {
	w.Helper()
	all := map[string][]*message.Done{}
	for {
		list, err := w.done.ReceiveBatch(w.Context(), 32, time.Minute)
		check(w, err)
		if len(list) == 0 {
			return all
		}
		for _, m := range list {
			d, err := message.DecodeDone(m.Text)
			check(w, err)
			all[d.JobID] = append(all[d.JobID], d)
			check(w, w.done.Delete(w.Context(), m.ID, m.Receipt))
		}
	}
}

// record is the run record of a scenario.
func (w *world) record(scenario string) *runs.Record {
	w.Helper()
	r, err := runs.Read(w.Context(), w.store, basin, scenario)
	check(w, err)
	return r
}

// row is the scenario row.
func (w *world) row(scenario string) map[string]any {
	w.Helper()
	columns, err := w.store.Scenario(w.Context(), basin, scenario)
	check(w, err)
	return columns
}

// blob is a blob of the result of a scenario.
func (w *world) blob(scenario, name string) []byte {
	w.Helper()
	r, err := w.store.ReadResult(w.Context(), basin, scenario, name)
	check(w, err)
	defer r.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(r)
	check(w, err)
	return b.Bytes()
}

// marker is result.json.
func (w *world) marker(scenario string) *publish.Marker {
	w.Helper()
	m, err := publish.ReadMarker(bytes.NewReader(w.blob(scenario, publish.MarkerName)))
	check(w, err)
	return m
}

// proxy is a fault proxy to the account; via is the setting for it.
func (w *world) proxy() *faultproxy.Proxy { return faultproxy.New(w, w.connection) }

func via(p *faultproxy.Proxy) string { return "AZURE_STORAGE_CONNECTION_STRING=" + p.Connection() }
