//go:build unix

package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rsmsjob/internal/process"
)

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name string
		path string
		want error
	}{
		{"missing", filepath.Join(dir, "DAFLOW"), process.ErrNotFound},
		{"below a missing folder", filepath.Join(dir, "no", "DAFLOW"), process.ErrNotFound},
		{"directory", dir, process.ErrDirectory},
		{"not executable", write("plain", "#!/bin/sh\n", 0o644), process.ErrNotExecutable},
		{"missing interpreter", write("script", "#!/no/such/interpreter\n", 0o755), process.ErrInterpreter},
		{"another machine's", write("binary", "MZ\x90\x00\x03\x00 not for here", 0o755), process.ErrNotExecutable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			both(t, func(t *testing.T, build func(string, ...string) process.Command) {
				c := build("exit", "0")
				c.Path = test.path
				r, err := process.Run(context.Background(), c)
				var start *process.StartError
				if !errors.As(err, &start) || !errors.Is(err, test.want) || start.Path != test.path {
					t.Errorf("got %v, want a StartError with %v", err, test.want)
				}
				if r.Cause != process.StartFailed {
					t.Errorf("cause %s, want %s", r.Cause, process.StartFailed)
				}
				noChildren(t)
			})
		})
	}
}

// The supervisor's own start can fail as well; it is the one that is named.
func TestSupervisorMissing(t *testing.T) {
	c := command(t, "exit", "0")
	c.Supervisor = []string{filepath.Join(t.TempDir(), "rsms-job")}
	_, err := process.Run(context.Background(), c)
	var start *process.StartError
	if !errors.As(err, &start) || !errors.Is(err, process.ErrNotFound) || start.Path != c.Supervisor[0] {
		t.Errorf("got %v, want a StartError of the supervisor", err)
	}
	c.Supervisor = []string{c.Path, "as=exit", "0"}
	if r, err := process.Run(context.Background(), c); err == nil {
		t.Errorf("a supervisor that does not report is taken for a good run: %+v", r)
	}
	noChildren(t)
}

func TestMissingLibrary(t *testing.T) {
	c := command(t, "exit", "0")
	c.Path = filepath.Join(t.TempDir(), "DAFLOW")
	script := "#!/bin/sh\necho './DAFLOW: error while loading shared libraries: libgfortran.so.5: cannot open' >&2\nexit 127\n"
	if err := os.WriteFile(c.Path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := process.Run(context.Background(), c)
	if runtime.GOOS == "linux" {
		if !errors.Is(err, process.ErrLibrary) || !strings.Contains(err.Error(), "libgfortran.so.5") || r.Cause != process.StartFailed {
			t.Errorf("got %v, %+v", err, r)
		}
	} else if err != nil || r.ExitCode != 127 {
		t.Errorf("got %v, %+v", err, r)
	}
}

func TestMalformedCommands(t *testing.T) {
	tests := map[string]func(*process.Command){
		"relative executable":    func(c *process.Command) { c.Path = "DAFLOW" },
		"relative folder":        func(c *process.Command) { c.Dir = "run" },
		"missing folder":         func(c *process.Command) { c.Dir = filepath.Join(c.Dir, "gone") },
		"missing folder, no out": func(c *process.Command) { c.Dir, c.Stdout, c.Stderr = filepath.Join(c.Dir, "gone"), "", "" },
		"output above":           func(c *process.Command) { c.Stdout = "../out" },
		"output is the folder":   func(c *process.Command) { c.Stderr = ".." },
		"output elsewhere":       func(c *process.Command) { c.Stdout = "/tmp/out" },
		"one file for both":      func(c *process.Command) { c.Stderr = c.Stdout },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			c := command(t, "exit", "0")
			spoil(&c)
			r, err := process.Run(context.Background(), c)
			if err == nil || r.Cause != process.StartFailed || errors.Is(err, process.ErrInterpreter) {
				t.Errorf("got %v, %+v", err, r)
			}
		})
	}
}
