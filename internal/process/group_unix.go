//go:build unix

package process

import (
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a process group, which has the number of its leader, a child of
// ours.
type group struct {
	mu     sync.Mutex
	id     int  // 0 before the start
	sealed bool // the leader is reaped: its number may be another's by now
}

// lead says that the leader has started.
func (g *group) lead(pid int) {
	g.mu.Lock()
	g.id = pid
	g.mu.Unlock()
}

// signal signals the group and reports whether it could.
func (g *group) signal(s syscall.Signal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id == 0 || g.sealed {
		return false
	}
	return unix.Kill(-g.id, s) == nil
}

// kill kills the group, and the leader also where it went to another one.
func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id != 0 && !g.sealed {
		unix.Kill(-g.id, unix.SIGKILL)
		unix.Kill(g.id, unix.SIGKILL)
	}
}

// wait returns when the leader has ended, kill was called, and the output is
// read.
func (g *group) wait(cmd *exec.Cmd, kill func()) error {
	if awaitExit(cmd.Process.Pid) {
		// Not reaped yet, so that the number of the group is still its own.
		kill()
		g.seal()
		return cmd.Wait()
	}
	err := cmd.Wait()
	kill()
	g.seal()
	return err
}

func (g *group) seal() {
	g.mu.Lock()
	g.sealed = true
	g.mu.Unlock()
}
