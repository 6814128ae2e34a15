//go:build unix

package engine

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/process"
)

// lay writes files into a new folder with a name that programs trip over
// (H15); those that begin with #! or ELF may be executed. It returns the folder.
func lay(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "Programme für alle, à jour")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") || strings.HasPrefix(text, "\x7fELF") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// build compiles a C program to path.
func build(t testing.TB, path, source string, flags ...string) {
	t.Helper()
	c := filepath.Join(t.TempDir(), "main.c")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", append([]string{"-o", path, c}, flags...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
}

// runner runs a set under a supervisor, as the job does.
func runner(t testing.TB, set *Set) (*Runner, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return &Runner{Set: set, StepTimeout: time.Minute, Grace: 100 * time.Millisecond, Supervisor: []string{self(t), superviseRole},
		Env:   process.MinimalEnv(os.LookupEnv, "GORACE=atexit_sleep_ms=0"),
		Check: func(context.Context, string, string) error { return nil }, Log: slog.New(slog.NewTextHandler(&log, nil)), Progress: func(string, float64) {}}, &log
}

// inputFolder is a run folder with the inputs of a small case, and its plan.
func inputFolder(t *testing.T) (string, *Plan) {
	t.Helper()
	in := channel(1, 4)
	p := planOf(t, in, indexOf(t, in, 0, 1), nil)
	dir := filepath.Join(t.TempDir(), "Läufe 1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteInputs(dir); err != nil {
		t.Fatal(err)
	}
	return dir, p
}

// self is the test binary.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
