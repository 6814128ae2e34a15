//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
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

// script is a command that runs a shell script.
func script(t *testing.T, text string) process.Command {
	t.Helper()
	c := command(t, "exit", "0")
	c.Path = filepath.Join(t.TempDir(), "DAFLOW")
	if err := os.WriteFile(c.Path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMissingLibrary(t *testing.T) {
	for _, test := range []struct {
		name, said string
		code       int
		everywhere bool
	}{
		{"glibc", "./DAFLOW: error while loading shared libraries: libgfortran.so.5: cannot open", 127, false},
		{"musl", "Error loading shared library libgfortran.so.5: No such file (needed by ./DAFLOW)", 127, false},
		{"wine", "0024:err:module:import_dll Library libgfortran.so.5.dll (which is needed by L\"Z:DAFLOW.EXE\") not found", 53, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := process.Run(context.Background(), script(t, fmt.Sprintf("echo '%s' >&2\nexit %d\n", test.said, test.code)))
			if test.everywhere || runtime.GOOS == "linux" {
				if !errors.Is(err, process.ErrLibrary) || !strings.Contains(err.Error(), "libgfortran.so.5") || r.Cause != process.StartFailed {
					t.Errorf("got %v, %+v", err, r)
				}
			} else if err != nil || r.ExitCode != test.code {
				t.Errorf("got %v, %+v", err, r)
			}
		})
	}
}

// Wine has room for one byte of a status; what ended the program it says.
func TestExceptionUnderWine(t *testing.T) {
	for _, test := range []struct {
		said string
		code int
		want string
	}{
		{"wine: Unhandled page fault on write access to 0000000000000000 at address 00000001400019BF (thread 0024), starting debugger...", 5, "STATUS_ACCESS_VIOLATION"},
		{"wine: Unhandled exception 0xc0000017 in thread 150 at address 000000007B013D7E (thread 0150), starting debugger...", 23, "STATUS_NO_MEMORY"},
		{"wine: Unhandled exception 0xc0001234 in thread 150 at address 000000007B013D7E (thread 0150), starting debugger...", 52, "status 0xc0001234"},
		{"wine: Unhandled stack overflow at address 000000007B013D7E (thread 0150), starting debugger...", 253, "STATUS_STACK_OVERFLOW"},
		{"wine: Unhandled something new at address 000000007B013D7E (thread 0150), starting debugger...", 5, ""},
		{"wine: Unhandled page fault of another, long over", 0, ""},
		{"page fault", 5, ""},
	} {
		r := run(t, context.Background(), script(t, fmt.Sprintf("echo '%s' >&2\nexit %d\n", test.said, test.code)))
		if r.Exception != test.want || r.ExitCode != test.code || r.Cause != process.Exited || r.Signal != "" {
			t.Errorf("%q with %d: got %+v, want %q", test.said, test.code, r, test.want)
		}
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
