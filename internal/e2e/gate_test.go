//go:build unix

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// gate holds an engine up before it begins.
type gate struct {
	tb  testing.TB
	dir string
}

// gateScript runs an engine, the last word of whose command line is its name.
// One that is asked to end while it is held up notes that. A runner that is given
// a folder is not cached, so it finds the one that it stands in.
const gateScript = `#!/bin/sh
dir=${0%/*} engine=$1
shift
echo $$ $PPID >>"$dir/pids"
for name; do :; done
if [ "$name" = "$engine" ] && [ -p "$dir/fifo" ]; then
	trap ': >"$dir/ended"; exit 143' TERM
	: >"$dir/reached"
	read -r _ <"$dir/fifo"
fi
exec "$@"
`

// newGate makes a gate before an engine, and the setting for it.
func newGate(tb testing.TB, engine string) (g *gate, setting string) {
	tb.Helper()
	g = &gate{tb, tb.TempDir()}
	script := filepath.Join(g.dir, "gate")
	check(tb, os.WriteFile(script, []byte(gateScript), 0o755))
	check(tb, syscall.Mkfifo(filepath.Join(g.dir, "fifo"), 0o600))
	return g, "RSMS_ENGINE_RUNNER=" + strings.Join([]string{script, engine}, " ")
}

// reached waits until the engine is held up.
func (g *gate) reached() {
	g.tb.Helper()
	poll(g.tb, "the engine begins", g.holds)
}

// holds reports whether the engine is, or was, held up.
func (g *gate) holds() bool {
	_, err := os.Stat(filepath.Join(g.dir, "reached"))
	return err == nil
}

// open lets the engine go on, and every later one pass.
func (g *gate) open() {
	g.tb.Helper()
	fifo := filepath.Join(g.dir, "fifo")
	poll(g.tb, "the engine waits", func() bool {
		f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false // nobody reads yet
		}
		check(g.tb, os.Remove(fifo))
		check(g.tb, f.Close())
		return true
	})
}

// asked reports whether the held engine was asked to end.
func (g *gate) asked() bool {
	_, err := os.Stat(filepath.Join(g.dir, "ended"))
	return err == nil
}

// started is how many engines were started.
func (g *gate) started() int {
	g.tb.Helper()
	data, err := os.ReadFile(filepath.Join(g.dir, "pids"))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	check(g.tb, err)
	return strings.Count(string(data), "\n")
}

// gone waits until every engine and what watched over it has ended.
func (g *gate) gone() {
	g.tb.Helper()
	data, err := os.ReadFile(filepath.Join(g.dir, "pids"))
	check(g.tb, err)
	for _, n := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(n)
		check(g.tb, err)
		poll(g.tb, "process "+n+" has ended", func() bool { return dead(pid) })
	}
}

// dead reports whether a process has ended, reaped or not.
func dead(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	s := state(pid)
	return s == "" || strings.HasPrefix(s, "Z")
}

// state is what ps says of a process, "" where there is none.
func state(pid int) string {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
