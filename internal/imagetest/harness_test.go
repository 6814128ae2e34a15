//go:build image && linux

package imagetest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/message"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// The images under test, by the variables that scripts/image_test.sh sets.
const (
	linuxVariable = "RSMS_TEST_IMAGE"
	wineVariable  = "RSMS_TEST_WINE_IMAGE"
)

// patience is how long a test waits for what must happen, on a busy machine.
const patience = 2 * time.Minute

const basin, scenario = "tiny", "s1"

func image(tb testing.TB, variable string) string {
	tb.Helper()
	name := os.Getenv(variable)
	if name == "" {
		tb.Fatalf("%s names no image: scripts/image_test.sh runs these tests", variable)
	}
	return name
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// docker runs a command of the client and returns what it prints.
func docker(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := exec.Command("docker", args...).Output()
	if err != nil {
		tb.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, stderrOf(err))
	}
	return strings.TrimSpace(string(out))
}

func stderrOf(err error) []byte {
	if e, ok := err.(*exec.ExitError); ok {
		return e.Stderr
	}
	return nil
}

// world is an account of one test with the basin tiny and one scenario.
type world struct {
	testing.TB
	store         *storage.Azure
	queue, poison *storage.Queue
	settings      []string // of every container
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	connection, names, ctx := azurite.Connection(tb), azurite.NewNames(), tb.Context()
	w := &world{TB: tb, store: azurite.Open(tb, connection, names.Layout), settings: names.Environment(connection)}
	w.queue, w.poison = w.store.Queue(names.Queue), w.store.Queue(names.Poison)
	check(tb, w.store.Create(ctx))
	for _, q := range []*storage.Queue{w.queue, w.poison, w.store.Queue(names.Done)} {
		check(tb, q.Create(ctx))
	}
	folder := filepath.Join("..", "..", "job", "testdata", "store", "riverbasin", basin)
	for _, name := range []string{"FLOW.IN", "RiverMileIndex.csv", "basin.json", "NFQ.csv"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		check(tb, err)
		check(tb, w.store.PutBasin(ctx, basin, name, data))
	}
	check(tb, w.store.PutScenario(ctx, basin, scenario, map[string]any{"Name": "Spill above the junction", "SpillRiver": "Main",
		"SpillMile": 11.2, "SpillTime": time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), "SpillMassKg": 100.0, "SimulationHours": 3.0}))
	return w
}

// order is the text of a message for the scenario.
func order() string {
	return fmt.Sprintf(`{"riverbasin_id":%q,"scenario_id":%q,"job_id":"job-1"}`, basin, scenario)
}

func (w *world) send() {
	w.Helper()
	_, err := w.queue.Send(w.Context(), order(), 0)
	check(w, err)
}

// waiting is how many messages of a queue a worker would find, and how many
// there are.
func (w *world) waiting(q *storage.Queue) (visible, all int) {
	w.Helper()
	list, err := q.Peek(w.Context(), 32)
	check(w, err)
	all, err = q.Length(w.Context())
	check(w, err)
	return len(list), all
}

// row is the scenario row.
func (w *world) row() map[string]any {
	w.Helper()
	columns, err := w.store.Scenario(w.Context(), basin, scenario)
	check(w, err)
	return columns
}

// completed checks that the scenario has its result, and that no message is left.
func (w *world) completed() {
	w.Helper()
	if row := w.row(); row["Status"] != "Completed" {
		w.Errorf("the scenario is %v: %v", row["Status"], row["StatusDetail"])
	}
	w.blob("result.json")
	if _, all := w.waiting(w.queue); all != 0 {
		w.Errorf("%d messages are left", all)
	}
	w.notPoison()
}

func (w *world) notPoison() {
	w.Helper()
	list, err := w.poison.Peek(w.Context(), 1)
	check(w, err)
	for _, m := range list {
		p, err := message.DecodePoison(m.Text)
		check(w, err)
		w.Errorf("poison: %s, %s", p.Reason, p.Detail)
	}
}

// blob is a file of the result.
func (w *world) blob(name string) string {
	w.Helper()
	r, err := w.store.ReadResult(w.Context(), basin, scenario, name)
	check(w, err)
	defer r.Close()
	data, err := io.ReadAll(r)
	check(w, err)
	return string(data)
}

// container is one docker run.
type container struct {
	testing.TB
	name           string
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{} // closed when the client has ended
}

// start runs an image with settings of contract section 3. flags go to docker
// run, command to the program.
func start(tb testing.TB, image string, settings, flags []string, command ...string) *container {
	tb.Helper()
	c := &container{TB: tb, name: "rsms-" + strings.ToLower(rand.Text()[:12]), ended: make(chan struct{})}
	args := []string{"run", "--rm", "--network", "host", "--name", c.name}
	for _, s := range settings {
		args = append(args, "--env", s)
	}
	args = append(append(append(args, flags...), image), command...)
	c.cmd = exec.Command("docker", args...)
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	check(tb, c.cmd.Start())
	go func() {
		defer close(c.ended)
		c.cmd.Wait()
	}()
	tb.Cleanup(func() {
		// It has ended, unless the test failed.
		exec.Command("docker", "rm", "--force", c.name).Run()
		<-c.ended
		if tb.Failed() {
			tb.Logf("%s\n%s", &c.stdout, &c.stderr)
		}
	})
	return c
}

// exits waits for the end of the container, which must have the code.
func (c *container) exits(code int) {
	c.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.Fatalf("the container did not end within %v", patience)
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.Fatalf("exit code %d, want %d", got, code)
	}
}

// log is what an ended container logged.
func (c *container) log() []map[string]any {
	c.Helper()
	var lines []map[string]any
	for line := range bytes.Lines(c.stderr.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			c.Fatalf("a line of the log is not JSON: %v: %s", err, line)
		}
		lines = append(lines, fields)
	}
	return lines
}

// gate is a folder that containers mount as /gate, open to their user, and what
// is done in it.
type gate string

func newGate(tb testing.TB) gate {
	tb.Helper()
	dir := tb.TempDir()
	check(tb, os.Chmod(dir, 0o777))
	return gate(dir)
}

func (g gate) mount() []string { return []string{"--volume", string(g) + ":/gate"} }

func (g gate) has(name string) bool {
	_, err := os.Stat(filepath.Join(string(g), name))
	return err == nil
}

// reached waits until an engine of the container is at the gate.
func (g gate) reached(c *container) {
	c.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !g.has("reached"); {
		select {
		case <-tick.C:
		case <-c.ended:
			c.Fatalf("the container ended with %d before its engine began", c.cmd.ProcessState.ExitCode())
		}
		if time.Now().After(deadline) {
			c.Fatalf("no engine began within %v", patience)
		}
	}
}
