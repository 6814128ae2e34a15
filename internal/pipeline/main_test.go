package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/message"
	"rsmsjob/internal/process"
	"rsmsjob/internal/storage"
)

// The test binary is the engines and their supervisor as well.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "supervise" {
		os.Exit(process.Supervise(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == "engine" {
		if err := (&engine.Bundle{}).Run(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(11)
		}
		os.Exit(0)
	}
	if len(os.Args) == 5 && os.Args[1] == "picky" {
		os.Exit(runPicky(os.Args[2], os.Args[3], os.Args[4]))
	}
	os.Exit(m.Run())
}

// runPicky runs an engine, which notes its name in a file, and not in some folders.
func runPicky(folders, starts, name string) (exit int) {
	dir, err := os.Getwd()
	if err != nil || slices.Contains(strings.Split(folders, ","), filepath.Base(dir)) {
		fmt.Fprintln(os.Stderr, "not this one")
		return 7
	}
	f, err := os.OpenFile(starts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, name)
	}
	if err = errors.Join(err, f.Close(), (&engine.Bundle{}).Run(name)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 11
	}
	return 0
}

// jobOn is a job on the folder store in dir with the bundled engines.
func jobOn(tb testing.TB, dir string) *Job {
	tb.Helper()
	store, err := storage.OpenFolder(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	set, err := engine.Bundled(self, "")
	if err != nil {
		tb.Fatal(err)
	}
	work := filepath.Join(tb.TempDir(), "wörk dir")
	if err := os.Mkdir(work, 0o755); err != nil {
		tb.Fatal(err)
	}
	return &Job{Inputs: store, Runs: store, Results: store, Engines: func() (*engine.Set, error) { return set, nil }, EngineEnv: process.MinimalEnv(os.LookupEnv, "GORACE=atexit_sleep_ms=0"),
		Supervisor: []string{self, "supervise"}, StepTimeout: time.Minute, Grace: time.Second, WorkDir: work, Lease: time.Minute,
		Owner: "test", Tolerance: 0.001, Commit: "c0ffee", Log: slog.New(slog.DiscardHandler), Progress: func(string, float64) {}}
}

func messageOf(basin, scenario string, force bool) *message.Message {
	return &message.Message{Type: message.TypeRun, Version: message.Version, Basin: basin, Scenario: scenario, Force: force}
}

func mustRun(tb testing.TB, j *Job, m *message.Message) *Answer {
	tb.Helper()
	answer, err := j.Run(context.Background(), m, "job-1")
	if err != nil {
		tb.Fatal(err)
	}
	return answer
}
