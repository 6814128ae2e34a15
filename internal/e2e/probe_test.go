//go:build unix

package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/faultproxy"
)

// A probe finds out from inside of a deployment what check would say, and leaves
// that in a run record.
func TestProbe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, setting, detail string
		state                 runs.State
	}{
		{"all is well", "RSMS_RETRY_DELAY_SEC=0", "", runs.Completed},
		{"no engines", "EXE_DIR=nowhere", "EXE_DIR", runs.Failed},
		{"may not write", "RSMS_RETRY_DELAY_SEC=0", "AuthorizationPermissionMismatch", runs.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.send(`{"type":"worker.probe","job_id":"probe-1"}`)
			p := w.proxy()
			if tt.name == "may not write" {
				p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.BlobPut}, Action: denied()})
			}
			w.run(tt.setting, via(p)).exits(0)
			r, err := runs.Read(t.Context(), w.store, "worker.probe", "current")
			check(t, err)
			if r.State != tt.state || r.Commit != testCommit || r.JobID != "probe-1" || r.FinishedAt == nil || !strings.Contains(r.Detail, tt.detail) {
				t.Errorf("the record says %+v", r)
			}
			w.settled()
			if all := w.notices(); len(all) > 0 {
				t.Errorf("done-notices %+v", all)
			}
		})
	}
}

// A probe whose workers die is put aside like any message.
func TestProbeThatKills(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_WORKER_MAX_DEQUEUE_COUNT=1")
	text := `{"type":"worker.probe","job_id":"probe-1"}`
	w.send(text)
	w.deliver()
	w.run().exits(0)
	if list := w.poisoned(); len(list) != 1 || list[0].Reason != reason.MaxAttempts || list[0].Original != text || list[0].JobID != "probe-1" {
		t.Errorf("poison %+v", list)
	}
	if r, err := runs.Read(t.Context(), w.store, "worker.probe", "current"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the record says %+v, error %v", r, err)
	}
	if w.length(w.queue) != 0 || w.length(w.done) != 0 {
		t.Errorf("%d messages, %d notices", w.length(w.queue), w.length(w.done))
	}
}

// A probe of a storage that says nothing ends with the time of its job.
func TestProbeTakesTooLong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		attempts string
		then     where
	}{{"5", visible}, {"1", poison}} {
		t.Run(string(tt.then), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "RSMS_JOB_TIMEOUT_SEC=2", "RSMS_WORKER_MAX_DEQUEUE_COUNT="+tt.attempts)
			w.send(`{"type":"worker.probe","job_id":"probe-1"}`)
			p := w.proxy()
			p.Fail(faultproxy.Rule{Match: faultproxy.Match{Service: faultproxy.Table}, When: claimed(p), Action: faultproxy.BlackHole()})
			begin := time.Now()
			w.run(via(p)).exits(15)
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if got := w.where(); got != tt.then {
				t.Errorf("the message is %s, want %s", got, tt.then)
			}
		})
	}
}
