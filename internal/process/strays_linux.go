package process

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// strayPatience bounds the hunt for processes that start others as fast as they
// are killed, or do not die.
const strayPatience = 2 * time.Second

// adopt makes this process the parent of all orphans among its descendants, so
// that none gets out of sight by leaving the group.
func adopt() {
	// A system that cannot is left with the group.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	// Who kills the job by its name must not hit us in the same moment: nobody
	// would be left to kill the engine's tree.
	_ = os.WriteFile("/proc/self/comm", []byte(supervisorName), 0)
}

// supervisorName is what lists of processes call a supervisor; 15 bytes at most.
const supervisorName = "engine-guard"

// killStrays kills all descendants of this process but the servers of Wine. It
// reaps: no other goroutine may wait for a child.
func killStrays() {
	var before map[int]bool
	for deadline := time.Now().Add(strayPatience); time.Now().Before(deadline); {
		// A descendant whose parent died is a child of ours, so there is none
		// where there is no child. That needs no look at all processes.
		if childless() {
			return
		}
		if killChildren() {
			continue
		}
		// None that is ours to kill, as far as that look can tell.
		seen, clean := killOnce()
		if clean && maps.Equal(seen, before) {
			return
		}
		before = seen
	}
}

// childless reaps what has ended and reports whether no child is left.
func childless() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR, err == nil && pid > 0:
		default:
			return err == unix.ECHILD
		}
	}
}

// killChildren kills the children of this process, whose own become its
// children then, and reports whether there were any. It costs little and may
// miss some, or all where the kernel has no such list.
func killChildren() (found bool) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return false
	}
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, number := range bytes.Fields(data) {
			pid, err := strconv.Atoi(string(number))
			if err == nil && !sharedServer(pid) && unix.Kill(pid, unix.SIGKILL) == nil {
				found = true
			}
		}
	}
	return found
}

// killOnce kills the descendants that it sees and returns them, and whether
// there were only servers and dead ones. A process that starts another and ends
// meanwhile hides it; it is in seen then, or makes the look unclean.
func killOnce() (seen map[int]bool, clean bool) {
	all, clean := descendants(os.Getpid())
	for pid, dead := range all {
		if !dead && !sharedServer(pid) {
			unix.Kill(pid, unix.SIGKILL)
			clean = false
		}
	}
	return all, clean
}

// descendants returns the descendants of a process, true for a dead one, and
// whether all processes could be looked at before they were gone.
func descendants(of int) (found map[int]bool, whole bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	whole = true
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
		whole = whole && parent != gone
	}
	found = map[int]bool{}
	for next := children[of]; len(next) > 0; {
		pid := next[0]
		next = append(next[1:], children[pid]...)
		found[pid] = dead[pid]
	}
	return found, whole
}

// gone is the parent of a process that is not there any more.
const gone = -1

// status is the state of a process and its parent; 'X' and gone for one that
// is not there any more.
func status(pid int) (state byte, parent int) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 'X', gone
	}
	// The name before the last bracket may hold anything.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 2 {
		return 'X', gone
	}
	parent, err = strconv.Atoi(string(fields[1]))
	if err != nil {
		return 'X', gone
	}
	return fields[0][0], parent
}
