//go:build unix

package e2e

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/storage/faultproxy"
)

// namesItsJob checks that every line that a worker logged once it knew its
// message says which message, job, attempt and run it is of.
func (k *worker) namesItsJob() {
	w := k.world
	w.Helper()
	lines := k.log()
	claimed := slices.IndexFunc(lines, func(l map[string]any) bool { return l["msg"] == "message claimed" })
	if claimed < 0 {
		w.Fatalf("no claim: %v", lines)
	}
	first := lines[claimed]
	for _, line := range lines[claimed+1:] {
		if line["message_id"] != first["message_id"] || line["run"] != first["run"] || line["run"] == nil || line["job_id"] != jobOf("s1") || line["attempt"] == nil {
			w.Errorf("a line does not name its job: %v", line)
		}
	}
}

// One line says what a run came to, and the log of the run in the store is what
// was logged up to it.
func TestSummary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.scenario("s1", nil)
	w.send(order("s1"))
	p := w.proxy()
	p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.BlobPut, Path: "/result.json"}, Times: 1,
		Action: faultproxy.Status(http.StatusServiceUnavailable, "ServerBusy", 0)})
	k := w.run(via(p))
	k.exits(0)
	n := 0
	for _, line := range k.log() {
		if line["msg"] == "summary" {
			n++
		}
	}
	said, m := k.said("summary"), w.marker("s1")
	if n != 1 {
		t.Fatalf("%d summaries", n)
	}
	for name, want := range map[string]any{"state": "Completed", "rows_by_time": float64(m.Rows.ByTime), "rows_by_mile": float64(m.Rows.ByMile),
		"retries": 1.0, "blobs": float64(len(m.Blobs)), "attempt": 1.0, "already_current": false} {
		if said[name] != want {
			t.Errorf("%s is %v, want %v", name, said[name], want)
		}
	}
	for _, name := range []string{"seconds", "queue_wait", "seconds_inputs", "seconds_daflow", "seconds_bltm", "seconds_ctplt", "seconds_cxplt",
		"seconds_check", "seconds_publish", "bytes", "requests"} {
		if v, ok := said[name].(float64); !ok || v < 0 || v == 0 && !strings.HasPrefix(name, "seconds_") {
			t.Errorf("%s is %v", name, said[name])
		}
	}
	w.sameLog(k, "summary")
}

// sameLog checks that the one log of a run in the store has the lines of the
// worker's log from the claim to the last with a message.
func (w *world) sameLog(k *worker, last string) {
	w.Helper()
	names, err := w.store.ListResults(w.Context(), basin, "s1")
	check(w, err)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "run/"+jobOf("s1")+"/run-") })
	if len(names) != 1 || !strings.HasSuffix(names[0], ".log") {
		w.Fatalf("logs of runs: %v", names)
	}
	text := k.stderr.Bytes()
	from := bytes.Index(text, []byte(`"msg":"message claimed"`))
	from = bytes.LastIndexByte(text[:from], '\n') + 1
	to := bytes.Index(text, []byte(`"msg":"`+last+`"`))
	to += bytes.IndexByte(text[to:], '\n') + 1
	// The same line is written twice, at two moments.
	times := func(text []byte) string {
		var b strings.Builder
		for line := range bytes.Lines(text) {
			_, rest, _ := bytes.Cut(line, []byte(`,"level"`))
			b.Write(rest)
		}
		return b.String()
	}
	if got, want := times(w.blob("s1", names[0])), times(text[from:to]); got != want {
		w.Errorf("the log in the store is\n%s\nwant\n%s", got, want)
	}
}

// The logs of a run that fails or is cancelled are kept as well.
func TestLogOfFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(w *world) *worker
		said string // by the engine
	}{
		{"engine fails", func(w *world) *worker { return w.run(w.failing("bltm", "echo last words >&2; exit 3")) }, "last words\n"},
		{"cancelled", func(w *world) *worker {
			g, runner := newGate(w, "bltm")
			k := w.start(runner)
			g.reached()
			w.command("cancel", basin, "s1").exits(0)
			k.wait()
			return k
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			w.send(order("s1"))
			k := tt.run(w)
			if got := string(w.blob("s1", "run/"+jobOf("s1")+"/bltm.stderr")); tt.said != "" && got != tt.said {
				t.Errorf("bltm.stderr is %q", got)
			}
			if got := w.blob("s1", "run/"+jobOf("s1")+"/daflow.stdout"); len(got) == 0 {
				t.Error("daflow.stdout is empty")
			}
			w.sameLog(k, "summary")
		})
	}
}

// C18, C19: the first line says what runs, and what the platform calls it.
func TestStartLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.run("CONTAINER_APP_JOB_NAME=rsms", "CONTAINER_APP_JOB_EXECUTION_NAME=rsms-7xk2", "CONTAINER_APP_REPLICA_NAME=rsms-7xk2-q1")
	k.exits(0)
	lines := k.log()
	for name, want := range map[string]any{"msg": "start", "version": "1.2.3", "commit": testCommit, "trigger": "queue",
		"CONTAINER_APP_JOB_NAME": "rsms", "CONTAINER_APP_JOB_EXECUTION_NAME": "rsms-7xk2", "CONTAINER_APP_REPLICA_NAME": "rsms-7xk2-q1",
		"RSMS_WORKER_QUEUE_NAME": w.names.Queue, "RSMS_RETRY_DELAY_SEC": 0.0, "AZURE_STORAGE_CONNECTION_STRING": "***"} {
		if lines[0][name] != want {
			t.Errorf("%s is %v, want %v", name, lines[0][name], want)
		}
	}
	if len(lines) != 2 {
		t.Errorf("an empty queue is worth one line: %v", lines[1:])
	}
}
