package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
)

// Exit codes of status --watch, for every state and reason a run can end in.
func TestStandingEnd(t *testing.T) {
	want := map[runs.State]int{runs.Completed: exitDone, runs.Failed: exitFailed, runs.Cancelled: exitCancelled, runs.TimedOut: exitTimedOut, "": exitDone}
	for state, code := range want {
		for _, why := range append(reason.Codes(), "") {
			s := &standing{Basin: "b", Scenario: "s", JobID: "j", State: state, Reason: why}
			if got := exitCode(s.end()); got != code {
				t.Errorf("%s for %q exits %d, want %d", state, why, got, code)
			}
		}
	}
}

// A row is what others wrote: what has the wrong form is left out.
func TestStandingFromRow(t *testing.T) {
	var s standing
	s.fromRow(map[string]any{"Status": "Running", "Step": "bltm", "Progress": json.Number("41.5"), "Attempt": json.Number("2"),
		"Reason": "busy", "StatusDetail": "d", "JobId": "j", "StartedAt": "2026-01-02T03:04:05Z", "FinishedAt": "soon", "EngineVersion": json.Number("1")})
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if s.State != runs.Running || s.Step != "bltm" || s.Percent != 41.5 || s.Attempt != 2 || s.Reason != reason.Busy || s.Detail != "d" ||
		s.JobID != "j" || s.StartedAt == nil || !s.StartedAt.Equal(started) || s.FinishedAt != nil || s.Engine != "" {
		t.Errorf("%+v", s)
	}
	var empty standing
	empty.fromRow(map[string]any{"Status": json.Number("3"), "Progress": "x", "Attempt": true})
	if !reflect.DeepEqual(empty, standing{}) {
		t.Errorf("%+v", empty)
	}
}

func TestCancelled(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, r := range map[string]runs.Record{
		"nothing to cancel, no job was asked for":                                   {},
		"job j is running and was asked to stop":                                    {JobID: "j", State: runs.Running, LeaseUntil: now.Add(1)},
		"job j was asked to stop; its worker is silent since 2026-01-02 03:04:05Z;": {JobID: "j", State: runs.Running, LeaseUntil: now},
		"job j waits and will be cancelled when its message is taken":               {JobID: "j", State: runs.Queued},
		"the job waits":                                 {State: runs.Queued},
		"nothing to cancel, job j is Failed":            {JobID: "j", State: runs.Failed},
		"nothing to cancel, job j is Completed since 2": {JobID: "j", State: runs.Completed, FinishedAt: &now},
	} {
		if got := (&app{config: &config.Config{}}).words().cancelled(&r, now); !strings.HasPrefix(got, want) {
			t.Errorf("%+v: %s", r, got)
		}
	}
}
