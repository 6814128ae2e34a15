package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
)

// The roles that the test binary plays as a child, by its first argument.
const (
	superviseRole = "as-supervisor"
	bundleRole    = "as-engine"
	jobRole       = "as-job" // see runAsJob
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case superviseRole:
			os.Exit(process.Supervise(os.Args[2:]))
		case bundleRole:
			if err := (&Bundle{}).Run(os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case jobRole:
			os.Exit(runAsJob(os.Args[2], os.Args[3]))
		}
	}
	os.Exit(m.Run())
}

// oneStep is a set of one engine that stands in the place of daflow.
func oneStep(path string, change func(*Step)) *Set {
	s := Step{Name: "daflow", Path: path, Executable: path, Outputs: []string{}}
	if change != nil {
		change(&s)
	}
	return &Set{Name: "test", Foreign: true, Steps: []Step{s}}
}

// ends checks reason and sentence of an error.
func ends(t *testing.T, err error, code reason.Code, sentence string) {
	t.Helper()
	if reason.Of(err) != code || !strings.Contains(reason.Detail(err), sentence) {
		t.Errorf("got %s: %v\nwant %s: …%s…", reason.Of(err), err, code, sentence)
	}
}

// runAsJob is the role of a job of one engine; it ends with 0 where the reason
// is engine_failed, as that of a flood is.
func runAsJob(engine, dir string) int {
	self, err := os.Executable()
	if err != nil {
		return 3
	}
	r := &Runner{Set: oneStep(engine, nil), StepTimeout: time.Minute, Grace: time.Minute, Supervisor: []string{self, superviseRole},
		Check: func(context.Context, string, string) error { return nil }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Progress: func(string, float64) {}}
	if reason.Of(r.Run(context.Background(), dir)) != reason.EngineFailed {
		return 4
	}
	return 0
}
