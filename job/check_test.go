package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/workdir"
)

func TestClockDetail(t *testing.T) {
	for skew, want := range map[time.Duration]string{0: "0 s ahead of that of the storage", 60 * time.Second: "60 s ahead of",
		-60 * time.Second: "60 s behind", 61 * time.Second: "", -15 * time.Minute: ""} {
		got, err := clockDetail(skew)
		if (want == "") != (err != nil) || !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q %v", skew, got, err)
		}
	}
	if _, err := clockDetail(-90 * time.Second); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "90 s behind that of the storage; set it") {
		t.Errorf("%v", err)
	}
}

func TestDiskDetail(t *testing.T) {
	if got, err := diskDetail("/x", 200<<20); err != nil || got != "200 MB are free in /x" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := diskDetail("/x", 200<<20-1); exitCode(err) != exitRetry || !strings.Contains(err.Error(), "199 MB are free in /x, 200 are wanted; make room") {
		t.Errorf("%v", err)
	}
}

func TestFreeSpace(t *testing.T) {
	if free, err := workdir.Free(t.TempDir()); err != nil || free == 0 {
		t.Errorf("%d %v", free, err)
	}
	if _, err := workdir.Free(t.TempDir() + "/none"); err == nil {
		t.Error("a folder that is not there has space")
	}
}

func TestFirstFailure(t *testing.T) {
	ok := checked{Name: "a", OK: true}
	bad := checked{Name: "b", err: reason.New(reason.EngineMissing, "no engine")}
	worse := checked{Name: "c", err: &pipeline.NoStart{Err: errors.New("x")}}
	for _, tt := range []struct {
		list []checked
		code int
		text string
	}{
		{nil, exitDone, ""}, {[]checked{ok, ok}, exitDone, ""},
		{[]checked{ok, bad, worse}, exitFailed, "2 of 3 checks failed, the first is b: no engine"},
		{[]checked{worse, bad}, exitNoStart, "2 of 2 checks failed, the first is c: no start: x"},
	} {
		err := firstFailure(tt.list)
		if exitCode(err) != tt.code || err != nil && err.Error() != tt.text {
			t.Errorf("%v: %v", tt.list, err)
		}
	}
}

func TestProbeRecord(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ok := checked{Name: "a", OK: true, Detail: "fine"}
	r := probeRecord([]checked{ok}, "p1", began, began.Add(time.Second))
	if r.State != runs.Completed || r.Reason != "" || r.Detail != "" || r.JobID != "p1" || r.Commit != commit || !r.StartedAt.Equal(began) || r.FinishedAt == nil {
		t.Errorf("%+v", r)
	}
	bad := checked{Name: "b", Detail: "x\ny", err: reason.New(reason.StorageDenied, "x\ny")}
	late := checked{Name: "c", Detail: "z", err: reason.New(reason.EngineMissing, "z")}
	r = probeRecord([]checked{bad, ok, late}, "p1", began, began)
	if r.State != runs.Failed || r.Reason != reason.StorageDenied || r.Detail != "b: x; y\nc: z" {
		t.Errorf("%+v", r)
	}
}
