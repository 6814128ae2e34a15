//go:build linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// secretValue is a value of the messages that a run record keeps and nobody
// else.
const secretValue = "canary-of-metadata"

// private is order with metadata.
func private(scenario string) string {
	return strings.Replace(order(scenario), "{", `{"triggeredBy":"`+secretValue+`",`, 1)
}

// search fails the test where a text has a secret.
func search(tb testing.TB, where string, text []byte, secrets ...string) {
	tb.Helper()
	for _, secret := range secrets {
		if i := bytes.Index(text, []byte(secret)); i >= 0 {
			tb.Errorf("%s has a secret: …%s…", where, text[max(0, i-200):min(len(text), i+100)])
		}
	}
}

// searchAll looks for the secrets in all that workers and the store say.
func (w *world) searchAll(key string, workers ...*worker) {
	w.Helper()
	for _, k := range workers {
		search(w, "standard error", k.stderr.Bytes(), key, secretValue)
		search(w, "standard output", k.stdout.Bytes(), key, secretValue)
	}
	names, err := w.store.ListResults(w.Context(), basin, "s1")
	check(w, err)
	for _, name := range names {
		search(w, name, w.blob("s1", name), key, secretValue)
	}
	search(w, "the scenario row", fmt.Append(nil, w.row("s1")), key, secretValue)
	if r, err := runs.Read(w.Context(), w.store, basin, "s1"); err == nil {
		r.Metadata = "" // where it belongs
		data, err := json.Marshal(r)
		check(w, err)
		search(w, "the run record", data, key, secretValue)
	}
	for _, p := range w.poisoned() {
		search(w, "the poison detail", []byte(p.Detail), key, secretValue)
		search(w, "the poison message", []byte(p.Original), key)
	}
	for _, m := range w.peek(w.done) {
		data, err := base64.StdEncoding.DecodeString(m.Text)
		check(w, err)
		search(w, "the done-notice", data, key, secretValue)
	}
	for _, args := range [][]string{{"status", basin, "s1", "--json"}, {"check", "--json"}, {"poison", "list", "--json"}} {
		k := w.startWith(args)
		k.wait()
		search(w, strings.Join(args, " "), append(k.stdout.Bytes(), k.stderr.Bytes()...), key)
		if args[0] != "poison" {
			search(w, strings.Join(args, " "), append(k.stdout.Bytes(), k.stderr.Bytes()...), secretValue)
		}
	}
}

// The key of the account and the metadata of a message are told by no way that
// a job may go, however much is logged.
func TestSecrets(t *testing.T) {
	t.Parallel()
	key, connection := secretKey(), os.Getenv(secondVariable)
	start := func(t *testing.T) *world {
		t.Parallel()
		w := newWorldIn(t, connection, "LOG_LEVEL=debug", "RSMS_START_DEADLINE_SEC=2")
		w.scenario("s1", nil)
		w.send(private("s1"))
		return w
	}
	fault := func(action faultproxy.Action, match faultproxy.Match) func(t *testing.T, w *world) []*worker {
		return func(t *testing.T, w *world) []*worker {
			p := faultproxy.New(t, connection)
			p.Fail(faultproxy.Rule{Match: match, Action: action})
			return []*worker{w.run(via(p))}
		}
	}
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, w *world) []*worker
	}{
		{"done and duplicate", func(t *testing.T, w *world) []*worker {
			first := w.run()
			first.exits(0)
			w.send(private("s1"))
			return []*worker{first, w.run()}
		}},
		{"engine that tells its environment", func(t *testing.T, w *world) []*worker {
			return []*worker{w.run(w.failing("bltm", "env; env >&2; exit 3"), "RSMS_WORKER_MAX_DEQUEUE_COUNT=1")}
		}},
		{"bad scenario", func(t *testing.T, w *world) []*worker {
			w.scenario("s1", map[string]any{"SpillMile": -1.0, "Name": "x"})
			return []*worker{w.run()}
		}},
		{"bad message", func(t *testing.T, w *world) []*worker {
			first := w.run()
			w.send(strings.Replace(private("s1"), `"tiny"`, `"`+secretValue+`/"`, 1))
			w.send(private("s1") + private("s1"))
			return []*worker{first, w.run(), w.run()}
		}},
		{"wrong key", func(t *testing.T, w *world) []*worker {
			k := w.run("AZURE_STORAGE_CONNECTION_STRING=" + strings.Replace(connection, key, base64.StdEncoding.EncodeToString([]byte(secretValue)), 1))
			k.exits(16)
			search(t, "standard error", k.stderr.Bytes(), base64.StdEncoding.EncodeToString([]byte(secretValue)))
			return []*worker{k}
		}},
		{"bad connection string", func(t *testing.T, w *world) []*worker {
			k := w.run("AZURE_STORAGE_CONNECTION_STRING=AccountName=x;AccountKey=" + key + "!;BlobEndpoint=" + secretValue)
			k.exits(2)
			return []*worker{k}
		}},
		{"nobody answers a signature", func(t *testing.T, w *world) []*worker {
			address := "http://" + nobody(t).address + "/devstoreaccount1"
			k := w.run("AZURE_STORAGE_CONNECTION_STRING=AccountName=devstoreaccount1;SharedAccessSignature=sv=2024-01-01&sig=" + secretValue +
				";BlobEndpoint=" + address + ";QueueEndpoint=" + address + ";TableEndpoint=" + address)
			k.exits(16)
			return []*worker{k}
		}},
		{"wrong signature", func(t *testing.T, w *world) []*worker {
			_, services, _ := strings.Cut(connection, key)
			k := w.run("AZURE_STORAGE_CONNECTION_STRING=AccountName=devstoreaccount1;SharedAccessSignature=sv=2024-01-01&sig=" + secretValue + services)
			k.exits(16)
			return []*worker{k}
		}},
		{"denied", fault(denied(), faultproxy.Match{Service: faultproxy.Table})},
		{"refused", fault(faultproxy.Status(400, "InvalidInput", 0), faultproxy.Match{Operation: faultproxy.EntityInsert})},
		{"hung up", fault(faultproxy.DropRequest(), faultproxy.Match{Operation: faultproxy.QueueSend})},
		{"cut", fault(faultproxy.CutResponse(), faultproxy.Match{Operation: faultproxy.QueueReceive})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t)
			w.searchAll(key, tt.run(t, w)...)
		})
	}
	t.Run("processes", func(t *testing.T) {
		w := start(t)
		g, runner := newGate(t, "bltm")
		k := w.start(runner)
		g.reached()
		pids, err := os.ReadFile(filepath.Join(g.dir, "pids"))
		check(t, err)
		lines := strings.Split(strings.TrimSpace(string(pids)), "\n")
		for _, pid := range strings.Fields(lines[len(lines)-1]) { // the engine and its supervisor
			for _, file := range []string{"environ", "cmdline"} {
				data, err := os.ReadFile("/proc/" + pid + "/" + file)
				check(t, err)
				if len(data) == 0 {
					t.Errorf("/proc/%s/%s is empty", pid, file)
				}
				search(t, file+" of process "+pid, data, key, secretValue, "AZURE", "AccountKey")
			}
		}
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", k.cmd.Process.Pid))
		check(t, err)
		search(t, "the command line of the worker", data, key, secretValue)
		g.open()
		k.exits(0)
		w.searchAll(key, k)
	})
}
