//go:build unix

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// binaryVariable holds the path of the program under test.
const binaryVariable = "RSMS_TEST_BINARY"

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
	build := exec.Command("go", "build", "-o", binary, "-ldflags", "-X main.version=1.2.3 -X main.commit="+testCommit, "../../job")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	os.Setenv(binaryVariable, binary)
	return azurite.Main(m)
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
	// slow is the pause between two questions that are dear to ask.
	slow  = 100 * time.Millisecond
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
		"RSMS_JOB_TIMEOUT_SEC=60", "RSMS_SHUTDOWN_GRACE_SEC=10", "RSMS_START_DEADLINE_SEC=10")
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

// worker is one process of the program.
type worker struct {
	world          *world
	cmd            *exec.Cmd
	ended          chan struct{} // closed when it is over; then the rest may be read
	stdout, stderr bytes.Buffer
}

// start starts the program without arguments, which takes one message. It is
// killed at the end of the test if it still runs.
func (w *world) start(settings ...string) *worker {
	w.Helper()
	return w.startWith(nil, settings...)
}

func (w *world) startWith(args []string, settings ...string) *worker {
	w.Helper()
	k := &worker{world: w, cmd: exec.Command(os.Getenv(binaryVariable), args...), ended: make(chan struct{})}
	k.cmd.Env = append(append([]string{}, w.settings...), settings...)
	k.cmd.Dir = w.work
	k.cmd.Stdout, k.cmd.Stderr = &k.stdout, &k.stderr
	check(w, k.cmd.Start())
	go func() {
		defer close(k.ended)
		k.cmd.Wait() // how it ended is in ProcessState
	}()
	w.Cleanup(func() {
		k.cmd.Process.Kill()
		<-k.ended
		if w.Failed() {
			w.Logf("worker, exit code %d:\n%s%s", k.cmd.ProcessState.ExitCode(), k.stdout.Bytes(), k.stderr.Bytes())
		}
	})
	return k
}

// run runs the program to its end.
func (w *world) run(settings ...string) *worker {
	w.Helper()
	k := w.start(settings...)
	k.wait()
	return k
}

// wait waits for the end of the process and returns its exit code, -1 where a
// signal ended it.
func (k *worker) wait() int {
	k.world.Helper()
	within(k.world, "the end of a worker", k.ended)
	return k.cmd.ProcessState.ExitCode()
}

// exits waits for the end of the process, which must have the code.
func (k *worker) exits(code int) {
	k.world.Helper()
	if got := k.wait(); got != code {
		k.world.Fatalf("exit code %d, want %d", got, code)
	}
}

// kill ends the process as nothing can prevent, and waits for it.
func (k *worker) kill() {
	k.cmd.Process.Kill()
	<-k.ended
}

// log is what an ended worker logged.
func (k *worker) log() []map[string]any {
	k.world.Helper()
	var lines []map[string]any
	for line := range bytes.Lines(k.stderr.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			k.world.Fatalf("a line of the log is not JSON: %v: %s", err, line)
		}
		lines = append(lines, fields)
	}
	return lines
}

// said returns the last line of the log that begins like that, nil for none.
func (k *worker) said(msg string) map[string]any {
	k.world.Helper()
	var found map[string]any
	for _, line := range k.log() {
		if text, _ := line["msg"].(string); strings.HasPrefix(text, msg) {
			found = line
		}
	}
	return found
}

// drain runs workers with the long lease until the queue is empty, each when it
// finds a message, and returns them. A worker may find the scenario busy while the run record
// of a dead one is still believed.
func (w *world) drain(settings ...string) []*worker {
	w.Helper()
	var all []*worker
	for {
		left := 0
		pollEvery(w, slow, "a message is visible or the queue is empty", func() bool {
			left = w.length(w.queue)
			return left == 0 || w.visible()
		})
		if left == 0 {
			return all
		}
		k := w.run(append([]string{longLease}, settings...)...)
		all = append(all, k)
		if code := k.wait(); code != 0 && code != 14 {
			w.Fatalf("worker %d exits %d", len(all), code)
		}
	}
}

// last is the last of drain's workers that ran a message to its end.
func last(all []*worker) *worker {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].cmd.ProcessState.ExitCode() == 0 && all[i].said("message claimed") != nil {
			return all[i]
		}
	}
	return nil
}

// snapshot is all that a scenario has published: every row of the plume tables
// and every blob but the logs of runs, by name. result.json stands without its
// times and its attempt, and only after what it says of the blobs was found
// true. The ids are replaced, so that scenarios can be compared.
func (w *world) snapshot(scenario string) map[string]string {
	w.Helper()
	ctx := w.Context()
	all := map[string]string{}
	ids := strings.NewReplacer(jobOf(scenario), "JOB", `"`+scenario+`"`, `"SCENARIO"`, "|"+scenario+"|", "|SCENARIO|")
	for e, err := range w.store.ReadPlumeByTime(ctx, basin, scenario) {
		check(w, err)
		all["row by time "+ids.Replace(e.PartitionKey)+" "+e.RowKey] = ids.Replace(fmt.Sprintf("%+v", e.Row))
	}
	for e, err := range w.store.ReadPlumeByMile(ctx, basin, scenario) {
		check(w, err)
		all["row by mile "+ids.Replace(e.PartitionKey)+" "+e.RowKey] = ids.Replace(fmt.Sprintf("%+v", e.Row))
	}
	names, err := w.store.ListResults(ctx, basin, scenario)
	check(w, err)
	for _, name := range names {
		if strings.HasPrefix(filepath.Base(name), "run-") {
			continue
		}
		all["blob "+ids.Replace(name)] = ids.Replace(string(w.blob(scenario, name)))
	}
	all["blob "+publish.MarkerName] = ids.Replace(w.promise(scenario))
	return all
}

// promise is what result.json says that is the same in every run. It must be
// true.
func (w *world) promise(scenario string) string {
	w.Helper()
	m := w.marker(scenario)
	byTime, byMile, err := w.store.CountRows(w.Context(), basin, scenario)
	check(w, err)
	if m.Rows.ByTime != byTime || m.Rows.ByMile != byMile {
		w.Errorf("scenario %s has %d and %d rows, result.json says %+v", scenario, byTime, byMile, m.Rows)
	}
	for i, b := range m.Blobs {
		data := w.blob(scenario, b.Name)
		if int64(len(data)) != b.Size || sum(data) != b.SHA256 {
			w.Errorf("scenario %s: blob %s is not what result.json says", scenario, b.Name)
		}
		// Both depend on the length and the text of the ids; the blob itself is
		// compared with the ids replaced.
		m.Blobs[i].SHA256, m.Blobs[i].Size = "", 0
	}
	m.StartedAt, m.FinishedAt, m.Attempt = time.Time{}, time.Time{}, 0
	text, err := json.Marshal(m)
	check(w, err)
	return string(text)
}

// same fails the test where two snapshots differ.
func same(tb testing.TB, got, want map[string]string) {
	tb.Helper()
	for name, text := range want {
		if other, there := got[name]; !there {
			tb.Errorf("%s is missing", name)
		} else if other != text {
			tb.Errorf("%s differs:\n%s\nwant\n%s", name, other, text)
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			tb.Errorf("%s is too much", name)
		}
	}
}

// completed checks that a job of order has one complete result, that row and
// record say so, and that no row or blob differs from the reference.
func (w *world) completed(scenario string, reference map[string]string) {
	w.Helper()
	same(w, w.snapshot(scenario), reference)
	row := w.row(scenario)
	if row["Status"] != string(runs.Completed) || row["JobId"] != jobOf(scenario) || row["note"] == nil {
		w.Errorf("the row of scenario %s: %v", scenario, row)
	}
	r := w.record(scenario)
	if r.State != runs.Completed || r.JobID != jobOf(scenario) || len(r.Notices) > 0 || r.Progress != 100 {
		w.Errorf("the record of scenario %s: %+v", scenario, r)
	}
}

// settled checks that nothing is left of any message and no run folder.
func (w *world) settled() {
	w.Helper()
	if n := w.length(w.queue); n > 0 {
		w.Errorf("%d messages are left", n)
	}
	if n := w.length(w.poison); n > 0 {
		w.Errorf("the poison queue has %d messages: %+v", n, w.poisoned())
	}
	w.tidy()
}

// tidy checks that no run folder is left.
func (w *world) tidy() {
	w.Helper()
	left, err := filepath.Glob(filepath.Join(w.work, "rsms-*"))
	check(w, err)
	if len(left) > 0 {
		w.Errorf("left in the work folder: %v", left)
	}
}

// reference is the snapshot of an undisturbed run of the scenario that sets
// more.
func reference(tb testing.TB, more map[string]any) map[string]string {
	tb.Helper()
	w := newWorld(tb)
	w.scenario("s1", more)
	w.send(order("s1"))
	w.run().exits(0)
	all := w.snapshot("s1")
	w.completed("s1", all)
	w.settled()
	if n := len(w.notices()[jobOf("s1")]); n != 1 {
		tb.Fatalf("%d done-notices, want 1", n)
	}
	return all
}

// sum is the SHA-256 of data in hex.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// removeRunFolder removes what a job left under run/, which stays by design.
func (w *world) removeRunFolder(scenario, job string) error {
	names, err := w.store.ListResults(w.Context(), basin, scenario)
	for _, name := range names {
		if err == nil && strings.HasPrefix(name, "run/"+job+"/") {
			err = w.store.RemoveResult(w.Context(), basin, scenario, name)
		}
	}
	return err
}
