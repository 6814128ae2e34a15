//go:build unix

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestQueueUnixScripts runs what needs signals or shell scripts.
func TestQueueUnixScripts(t *testing.T) {
	t.Parallel()
	commands := queueCommands()
	maps.Copy(commands, map[string]scriptCommand{
		"engine": layEngine, "until": until, "gone": gone, "job": job, "signal": sendSignal, "ended": ended, "upstairs": upstairs,
	})
	runScripts(t, "testdata/script/queue/unix", commands)
}

// upstairs: upstairs makes the current folder a checkout for scripts/up.sh, with
// this program. The emulator that it starts ends with the script.
func upstairs(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 0, "upstairs")
	root := filepath.Join(ts.Getenv("DATA"), "..", "..", "scripts")
	for _, dir := range []string{"scripts", "bin"} {
		ts.Check(os.Mkdir(ts.MkAbs(dir), 0o755))
	}
	for _, name := range []string{"up.sh", "down.sh", "emulator.sh"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs("scripts/"+name), text, 0o755))
	}
	ts.Check(os.Symlink(filepath.Join(root, "azurite"), ts.MkAbs("scripts/azurite")))
	ts.Check(os.WriteFile(ts.MkAbs("bin/rsms-job"), []byte("#!/bin/sh\nexec rsms-job \"$@\"\n"), 0o755))
	ts.Defer(func() {
		if out, err := exec.Command(ts.MkAbs("scripts/down.sh")).CombinedOutput(); err != nil {
			ts.Fatalf("scripts/down.sh: %v: %s", err, out)
		}
	})
}
