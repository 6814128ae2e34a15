package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// strayPatience bounds the hunt for processes that start others as fast as they
// are killed.
const strayPatience = 500 * time.Millisecond

// adopt makes this process the parent of all orphans among its descendants, so
// that none gets out of sight by leaving the group.
func adopt() {
	// A system that cannot is left with the group.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// killStrays kills all descendants of this process but the servers of Wine.
func killStrays() {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	for deadline := time.Now().Add(strayPatience); time.Now().Before(deadline); {
		alive := false
		for _, pid := range descendants(os.Getpid()) {
			if !sharedServer(pid, dir) && unix.Kill(pid, unix.SIGKILL) == nil {
				alive = true
			}
		}
		if !alive {
			return
		}
	}
}

// sharedServer reports whether a process is one of Wine's own, which the first
// program in a prefix starts and all programs in it need, those of other runs
// too: it does not stand in dir, as an engine and what it starts does.
func sharedServer(pid int, dir string) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	program, err := os.Readlink(proc + "/exe")
	if err != nil || !strings.HasPrefix(filepath.Base(program), "wine") {
		return false
	}
	at, err := os.Readlink(proc + "/cwd")
	return err == nil && at != dir
}

// descendants returns the living descendants of a process.
func descendants(of int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	dead := map[int]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		state, parent := status(pid)
		children[parent] = append(children[parent], pid)
		dead[pid] = state == 'Z' || state == 'X'
	}
	var found []int
	for next := children[of]; len(next) > 0; {
		pid := next[0]
		next = append(next[1:], children[pid]...)
		if !dead[pid] {
			found = append(found, pid)
		}
	}
	return found
}

// status is the state of a process and its parent; 'X' for one that is gone.
func status(pid int) (state byte, parent int) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 'X', 0
	}
	// The name before the last bracket may hold anything.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 2 {
		return 'X', 0
	}
	parent, err = strconv.Atoi(string(fields[1]))
	if err != nil {
		return 'X', 0
	}
	return fields[0][0], parent
}
