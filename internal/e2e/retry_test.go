//go:build unix

package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// failing is the setting for an engine that fails, as a shell script that is
// put before its command line.
func (w *world) failing(engine, script string) string {
	w.Helper()
	name := filepath.Join(w.TempDir(), "fail")
	check(w, os.WriteFile(name, []byte("#!/bin/sh\nfor name; do :; done\nif [ \"$name\" = "+engine+" ]; then\n"+script+"\nfi\nexec \"$@\"\n"), 0o755))
	return "RSMS_ENGINE_RUNNER=" + name
}

// visibility returns the visibility timeouts, in seconds, of the updates that
// a proxy saw; those of renewals are left out, and the one by which a worker
// sees whether it may renew, of a message that nobody has.
func visibility(t *testing.T, p *faultproxy.Proxy) []string {
	t.Helper()
	var list []string
	for _, r := range p.Requests() {
		if r.Operation != faultproxy.QueueUpdate || strings.Contains(r.Path, "/00000000-") {
			continue
		}
		q, err := url.ParseQuery(r.Query)
		check(t, err)
		if v := q.Get("visibilitytimeout"); v != "6" {
			list = append(list, v)
		}
	}
	return list
}

// C26, C66, C68: a job that may yet succeed is tried again after a while that
// doubles, says so in its row, and is put aside after its last attempt.
func TestRetriesUntilTheLast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		settings func(w *world) []string
		reason   reason.Code
		code     int        // of all attempts but the last
		last     int        // of the last
		state    runs.State // in the end
	}{
		{"engine fails", func(w *world) []string { return []string{w.failing("bltm", "echo canary gone bad >&2; exit 3")} },
			reason.EngineFailed, 10, 0, runs.Failed},
		{"engine is killed", func(w *world) []string { return []string{w.failing("ctplt", "kill -9 $$")} }, reason.EngineFailed, 10, 0, runs.Failed},
		{"engine takes too long", func(w *world) []string {
			return []string{w.failing("daflow", "sleep 100"), "RSMS_ENGINE_STEP_TIMEOUT_SEC=1"}
		}, reason.EngineTimeout, 10, 0, runs.Failed},
		{"job takes too long", func(w *world) []string { return []string{w.failing("daflow", "sleep 100"), "RSMS_JOB_TIMEOUT_SEC=3"} },
			reason.TimedOut, 15, 15, runs.TimedOut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=6", "RSMS_WORKER_MAX_DEQUEUE_COUNT=3", "RSMS_RETRY_DELAY_SEC=1")
			w.settings = append(w.settings, tt.settings(w)...)
			w.scenario("s1", nil)
			sent := w.send(order("s1"))
			p := w.proxy()
			for attempt := 1; attempt <= 3; attempt++ {
				w.comesBack()
				k := w.run(via(p))
				row, r := w.row("s1"), w.record("s1")
				if row["Reason"] != string(r.Reason) || row["Status"] != string(r.State) || r.Attempt != attempt || row["StatusDetail"] != r.Detail || r.Detail == "" {
					t.Errorf("attempt %d: the row says %v, the record %+v", attempt, row, r)
				}
				names, err := w.store.ListResults(t.Context(), basin, "s1")
				check(t, err)
				if logs := len(slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "run/"+jobOf("s1")+"/run-") })); logs < 1 {
					t.Errorf("attempt %d: no log of the run: %v", attempt, names)
				}
				if attempt < 3 {
					k.exits(tt.code)
					if r.State != runs.Queued || r.Reason != tt.reason || row["FinishedAt"] != nil || w.length(w.poison) != 0 {
						t.Errorf("attempt %d: the row says %v, the record %+v", attempt, row, r)
					}
					if all := w.notices(); len(all) > 0 {
						t.Errorf("attempt %d: done-notices %+v", attempt, all)
					}
					continue
				}
				k.exits(tt.last)
				if r.State != tt.state || r.Reason != reason.MaxAttempts || r.FinishedAt == nil || !strings.Contains(r.Detail, string(tt.reason)) {
					t.Errorf("the record says %+v", r)
				}
			}
			if list := w.poisoned(); len(list) != 1 || list[0].Reason != reason.MaxAttempts || list[0].MessageID != sent.ID || list[0].DequeueCount != 3 ||
				list[0].Original != order("s1") || list[0].JobID != jobOf("s1") || !strings.Contains(list[0].Detail, string(tt.reason)) {
				t.Errorf("poison %+v", list)
			}
			if got := visibility(t, p); !slices.Equal(got, []string{"1", "2"}) {
				t.Errorf("handed back for %v s, want 1 and 2", got)
			}
			if d := w.told("s1", string(tt.state), 1, 1); d != nil && (d.Reason != reason.MaxAttempts || d.Attempt != 3) {
				t.Errorf("the done-notice is %+v", d)
			}
			if n := w.length(w.queue); n != 0 {
				t.Errorf("%d messages are left", n)
			}
			w.tidy()
		})
	}
}

// An attempt that fails and a later one that does not leave what an undisturbed
// run leaves.
func TestRetrySucceeds(t *testing.T) {
	t.Parallel()
	want := reference(t)
	w := newWorld(t)
	w.scenario("s1", nil)
	w.send(order("s1"))
	w.run(w.failing("cxplt", "exit 3")).exits(10)
	if got := string(w.blob("s1", "run/"+jobOf("s1")+"/daflow.stdout")); got == "" {
		t.Error("what the engines said is not kept")
	}
	w.finish([]int{0})
	w.completed("s1", want)
	w.settled()
	w.told("s1", "Completed", 1, 1)
	if r := w.record("s1"); r.Attempt != 2 {
		t.Errorf("the record says %+v", r)
	}
}

// An engine that ends well and leaves nothing fails for good.
func TestNoOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.scenario("s1", nil)
	w.send(order("s1"))
	w.run(w.failing("bltm", "exit 0")).exits(0)
	if list := w.poisoned(); len(list) != 1 || list[0].Reason != reason.EngineOutputMissing || !strings.Contains(list[0].Detail, "bltm") {
		t.Errorf("poison %+v", list)
	}
	w.told("s1", "Failed", 1, 1)
}
