// Package azurite gives tests a real storage emulator. Invariant: every test
// has containers, tables and queues of its own, and no emulator outlives the
// tests that started it.
package azurite

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"rsmsjob/internal/config"
	"rsmsjob/internal/storage"
)

// Variable holds the connection string of an emulator that runs already.
const Variable = "RSMS_TEST_STORAGE"

// Main runs the tests of a package with an emulator, its own or the one that
// Variable names, and returns the exit code. Call it from TestMain.
func Main(m *testing.M) int {
	if os.Getenv(Variable) != "" {
		return m.Run()
	}
	connection, stop, err := Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	os.Setenv(Variable, connection)
	return m.Run()
}

// Start starts an emulator on free ports, with more arguments where there are
// any, and returns its connection string and what ends it.
func Start(arguments ...string) (connection string, stop func(), err error) {
	script := filepath.Join(root(), "scripts/azurite/node_modules/azurite/dist/src/azurite.js")
	if _, err := os.Stat(script); err != nil {
		return "", nil, fmt.Errorf("the storage emulator is not installed; make test installs it, or: npm ci --prefix scripts/azurite")
	}
	// It would close a connection that is idle for 5 s, maybe at the moment when a
	// test uses it for a call that must not be repeated.
	c := exec.Command("node", append([]string{script, "--silent", "--inMemoryPersistence", "--disableTelemetry",
		"--skipApiVersionCheck", "--blobPort", "0", "--queuePort", "0", "--tablePort", "0",
		"--blobKeepAliveTimeout", "600", "--queueKeepAliveTimeout", "600", "--tableKeepAliveTimeout", "600"}, arguments...)...)
	c.Stderr = os.Stderr
	endWithParent(c)
	stdout, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, fmt.Errorf("start the storage emulator: %w", err)
	}
	stop = func() {
		c.Process.Kill()
		c.Wait()
	}
	addresses := map[string]string{}
	listening := regexp.MustCompile(`Azurite (Blob|Queue|Table) service is successfully listening at (\S+)`)
	lines := bufio.NewScanner(stdout)
	for len(addresses) < 3 && lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			addresses[found[1]] = found[2]
		}
	}
	if len(addresses) < 3 {
		stop()
		return "", nil, fmt.Errorf("the storage emulator did not start")
	}
	go io.Copy(io.Discard, stdout)
	known, err := config.ParseConnection("UseDevelopmentStorage=true")
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "AccountName=%s;AccountKey=%s", known.Account, known.Key.Reveal())
	for _, service := range []string{"Blob", "Queue", "Table"} {
		fmt.Fprintf(&b, ";%sEndpoint=%s/%s", service, addresses[service], known.Account)
	}
	return b.String(), stop, nil
}

// root is the folder of the module.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../..")
}

// Connection is the connection string of the emulator.
func Connection(tb testing.TB) string {
	tb.Helper()
	connection := os.Getenv(Variable)
	if connection == "" {
		tb.Fatal("no emulator: TestMain of this package must call azurite.Main")
	}
	return connection
}

// Names are the names of one test in the shared account.
type Names struct {
	Layout              storage.Layout
	Queue, Poison, Done string
}

// NewNames returns names that no other test has.
func NewNames() Names {
	id := strings.ToLower(rand.Text()[:12])
	return Names{Layout: storage.Layout{Basins: "b" + id, Results: "r" + id, Cache: "c" + id, Scenarios: "S" + id, Runs: "R" + id,
		PlumeByTime: "T" + id, PlumeByMile: "M" + id, PublishConcurrency: 16},
		Queue: "q" + id, Poison: "q" + id + "-poison", Done: "d" + id}
}

// Environment is the same as variables of contract section 3.
func (n Names) Environment(connection string) []string {
	return []string{"AZURE_STORAGE_CONNECTION_STRING=" + connection,
		"RSMS_WORKER_QUEUE_NAME=" + n.Queue, "RSMS_DONE_QUEUE_NAME=" + n.Done,
		"RSMS_RIVERBASIN_BLOB_CONTAINER=" + n.Layout.Basins, "RSMS_RESULTS_BLOB_CONTAINER=" + n.Layout.Results,
		"RSMS_CACHE_BLOB_CONTAINER=" + n.Layout.Cache,
		"RSMS_SCENARIOS_TABLE=" + n.Layout.Scenarios, "RSMS_RUNS_TABLE=" + n.Layout.Runs,
		"RSMS_PLUME_BY_TIME_TABLE=" + n.Layout.PlumeByTime, "RSMS_PLUME_BY_MILE_TABLE=" + n.Layout.PlumeByMile}
}

// Open opens the store of a connection string under the names and closes it
// at the end of the test; nothing is created.
func Open(tb testing.TB, connection string, layout storage.Layout) *storage.Azure {
	tb.Helper()
	c, err := config.ParseConnection(connection)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := storage.OpenConnection(c, layout)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { a.Close() })
	return a
}
