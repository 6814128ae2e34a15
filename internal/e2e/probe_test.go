//go:build unix

package e2e

import (
	"strings"
	"testing"

	"rsmsjob/internal/runs"
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
		{"no poison queue", "RSMS_WORKER_POISON_QUEUE_NAME=nothing-here", "nothing-here", runs.Failed},
		{"no table", "RSMS_PLUME_BY_MILE_TABLE=NothingHere", "NothingHere", runs.Failed},
		{"no engines", "EXE_DIR=nowhere", "EXE_DIR", runs.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.send(`{"type":"worker.probe","job_id":"probe-1"}`)
			w.run(tt.setting).exits(0)
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
