//go:build image && linux

package imagetest

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rsmsjob/internal/config"
	"rsmsjob/internal/storage/azurite"
)

// locked is how a careful host starts a container.
var locked = []string{"--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"}

// A message of the queue is run to its end, as whoever the host lets run it.
// C18: the first line of the log says what runs.
func TestQueueMessage(t *testing.T) {
	for _, c := range []struct {
		name, image string
		flags       []string
	}{
		{"plain", linuxVariable, nil},
		{"locked", linuxVariable, locked},
		{"another user", linuxVariable, append(slices.Clone(locked), "--user", "12345:23456")},
		{"wine", wineVariable, nil},
		{"wine locked", wineVariable, locked},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.send()
			k := start(t, image(t, c.image), w.settings, c.flags)
			k.exits(0)
			w.completed()
			labels := facts(t, image(t, c.image)).Config.Labels
			if first := k.log()[0]; first["msg"] != "start" || first["commit"] != labels["org.opencontainers.image.revision"] {
				t.Errorf("the log begins with %v", first)
			}
			set := "bundled "
			if c.image == wineVariable {
				set = "EXE_DIR "
			}
			if version, _ := w.row()["EngineVersion"].(string); !strings.HasPrefix(version, set) {
				t.Errorf("engines %q, want those of %s", version, set)
			}
			// An empty queue is no error.
			start(t, image(t, c.image), w.settings, c.flags).exits(0)
		})
	}
}

// Engines of a team under Wine give what the same engines give on Linux.
func TestWineSameResult(t *testing.T) {
	var results [2][]string
	for i, variable := range []string{linuxVariable, wineVariable} {
		w := newWorld(t)
		start(t, image(t, variable), append(w.settings, "RSMS_MESSAGE="+order()), nil).exits(0)
		for _, name := range []string{"intakes.json", "mass_balance.json", "edge_timeseries.json"} {
			results[i] = append(results[i], w.blob(name))
		}
	}
	if !slices.Equal(results[0], results[1]) {
		t.Errorf("on Linux\n%s\nunder Wine\n%s", strings.Join(results[0], "\n"), strings.Join(results[1], "\n"))
	}
}

// C32: a start by hand passes a payload; the queue is not touched.
func TestMessageByHand(t *testing.T) {
	w := newWorld(t)
	w.send()
	start(t, image(t, linuxVariable), append(w.settings, "RSMS_MESSAGE="+order()), locked).exits(0)
	if visible, all := w.waiting(w.queue); visible != 1 || all != 1 {
		t.Errorf("%d of %d messages wait, want the one", visible, all)
	}
	if row := w.row(); row["Status"] != "Completed" {
		t.Errorf("the scenario is %v", row["Status"])
	}
}

// C33: a container without its settings names what is missing, and takes nothing.
func TestWrongConfiguration(t *testing.T) {
	w := newWorld(t)
	w.send()
	for name, c := range map[string]struct {
		settings []string
		names    []string
	}{
		"nothing set":    {nil, []string{"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_NAME"}},
		"two bad values": {append(w.settings, "RSMS_JOB_TIMEOUT_SEC=soon", "LOG_LEVEL=loud"), []string{"RSMS_JOB_TIMEOUT_SEC", "LOG_LEVEL"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := start(t, image(t, linuxVariable), c.settings, nil)
			k.exits(2)
			for _, variable := range c.names {
				if !strings.Contains(k.stderr.String(), variable) {
					t.Errorf("%s is not named", variable)
				}
			}
			if visible, _ := w.waiting(w.queue); visible != 1 {
				t.Error("the message was taken")
			}
		})
	}
}

// A read-only root file system without a folder to write in is said to be that.
func TestNothingToWriteIn(t *testing.T) {
	w := newWorld(t)
	k := start(t, image(t, linuxVariable), append(w.settings, "RSMS_MESSAGE="+order()), []string{"--read-only"})
	k.exits(2)
	if text := k.stderr.String(); !strings.Contains(text, "RSMS_WORK_DIR") || !strings.Contains(text, "read-only") {
		t.Error("it is not said what to do")
	}
}

// C12: docker stop in the middle of an engine hands the message back and ends
// the container within the grace.
func TestStop(t *testing.T) {
	for _, c := range []struct{ name, image, runner string }{
		{"linux", linuxVariable, "RSMS_ENGINE_RUNNER=/gate/gate"},
		{"wine", wineVariable, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, g := newWorld(t), newGate(t)
			build := exec.Command("go", "build", "-o", filepath.Join(string(g), "gate"), "./testdata/gate")
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			w.send()
			settings := append(w.settings, "RSMS_SHUTDOWN_GRACE_SEC=8", "RSMS_RETRY_DELAY_SEC=0")
			if c.runner != "" {
				settings = append(settings, c.runner)
			}
			k := start(t, image(t, c.image), settings, append(locked, g.mount()...))
			g.reached(k)
			if visible, all := w.waiting(w.queue); visible != 0 || all != 1 {
				t.Errorf("%d of %d messages wait while it works", visible, all)
			}
			begin := time.Now()
			docker(t, "stop", "--time", "10", k.name)
			took := time.Since(begin)
			k.exits(143) // 137 is that of a container that had to be killed
			t.Logf("stopped in %.1f s", took.Seconds())
			if visible, all := w.waiting(w.queue); visible != 1 || all != 1 {
				t.Errorf("%d of %d messages wait, want the one", visible, all)
			}
			if row := w.row(); row["Status"] != "Queued" {
				t.Errorf("the scenario is %v", row["Status"])
			}
			if c.runner != "" && !g.has("asked") {
				t.Error("the engine was not asked to end")
			}
			start(t, image(t, c.image), w.settings, locked).exits(0)
			w.completed()
		})
	}
}

// The first line of the log is there at once, and an empty queue takes no time.
// The bound is that of a busy machine; the log of the test has the figures.
func TestColdStart(t *testing.T) {
	const bound = 10 * time.Second
	w := newWorld(t)
	var first, all []time.Duration
	for range 5 {
		begin := time.Now()
		k := start(t, image(t, linuxVariable), w.settings, locked)
		k.exits(0)
		all = append(all, time.Since(begin))
		said, err := time.Parse(time.RFC3339Nano, k.log()[0]["time"].(string))
		check(t, err)
		first = append(first, said.Sub(begin))
	}
	slices.Sort(first)
	slices.Sort(all)
	t.Logf("from docker run: first line %.2f s, end with an empty queue %.2f s (medians of %d)",
		first[2].Seconds(), all[2].Seconds(), len(first))
	if first[2] > bound {
		t.Errorf("the first line came after %v", first)
	}
}

// A server is talked to only when a root of the image vouches for it, and those
// are where the program looks for them.
func TestStrangeCertificate(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshakes that must fail
	server.StartTLS()
	defer server.Close()
	w := newWorld(t)
	c, err := config.ParseConnection(azurite.Connection(t))
	check(t, err)
	settings := append(w.settings, "RSMS_START_DEADLINE_SEC=3", fmt.Sprintf(
		"AZURE_STORAGE_CONNECTION_STRING=AccountName=%s;AccountKey=%s;BlobEndpoint=%[3]s/x;QueueEndpoint=%[3]s/x;TableEndpoint=%[3]s/x",
		c.Account, c.Key.Reveal(), server.URL))

	start(t, image(t, linuxVariable), settings, nil).exits(16)
	if asked.Load() != 0 {
		t.Error("a server that nobody vouches for was asked")
	}
	root := filepath.Join(t.TempDir(), "root")
	check(t, os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644))
	start(t, image(t, linuxVariable), settings, []string{"--volume", root + ":/etc/ssl/certs/ca-certificates.crt:ro"}).exits(16)
	if asked.Load() == 0 {
		t.Error("a server that a root vouches for was not asked")
	}
}
