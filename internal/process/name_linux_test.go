package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who kills a job by its name leaves the supervisor, which then kills the tree.
func TestSupervisorHasAnotherName(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "engine")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat /proc/$PPID/comm\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := supervised(t, command(t, "exit", "0"))
	c.Path, c.Args, c.Dir = script, nil, dir
	if r := run(t, context.Background(), c); r.ExitCode != 0 {
		t.Fatalf("%+v", r)
	}
	said, err := os.ReadFile(filepath.Join(dir, "out.txt"))
	if name := strings.TrimSpace(string(said)); err != nil || name != "engine-guard" {
		t.Errorf("the supervisor is called %q, %v", name, err)
	}
}
