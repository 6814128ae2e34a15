//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a child and its process group, which has the child's id.
type tree struct {
	path, dir string
	prefix    []string // supervisor, nil without one
	// Ends of the pipes to the supervisor: the child's ends until it has
	// started, ours until the run is over.
	theirs, ours []*os.File

	mu     sync.Mutex
	group  int  // 0 before the start
	sealed bool // the leader is reaped: its number may be another's by now
}

func newTree(c *Command) (*tree, error) {
	t := &tree{path: c.Path, dir: c.Dir, prefix: c.Supervisor}
	if len(c.Supervisor) == 0 {
		return t, nil
	}
	deathRead, deathWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		deathRead.Close()
		deathWrite.Close()
		return nil, err
	}
	t.theirs = []*os.File{deathRead, statusWrite} // descriptors 3 and 4
	t.ours = []*os.File{deathWrite, statusRead}
	return t, nil
}

func (t *tree) close() {
	closeAll(t.theirs)
	closeAll(t.ours)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // a second time it only says so
	}
}

// start starts cmd, or the supervisor with cmd behind it, as the leader of a
// new process group.
func (t *tree) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	path := t.path
	if len(t.prefix) > 0 {
		path = t.prefix[0]
		cmd.Path = path
		cmd.Args = append(append([]string{}, t.prefix...), cmd.Args...)
		cmd.ExtraFiles = t.theirs
		if err := checkExecutable(path); err != nil {
			return err
		}
	} else {
		// The supervisor must outlive us to kill the group; a child that has
		// none must not.
		dieWithParent(cmd.SysProcAttr)
	}
	if err := cmd.Start(); err != nil {
		return startError(path, t.dir, err)
	}
	closeAll(t.theirs)
	t.mu.Lock()
	t.group = cmd.Process.Pid
	t.mu.Unlock()
	return nil
}

// interrupt asks the group to end and reports whether it could.
func (t *tree) interrupt() bool { return t.signal(unix.SIGTERM) }

// kill kills the group or, so that what left it dies as well, has the
// supervisor do so.
func (t *tree) kill() {
	if len(t.prefix) == 0 {
		t.force()
		return
	}
	t.ours[0].Close()
	t.signal(unix.SIGCONT) // it may have stopped its own group, the supervisor too
}

// force kills the group.
func (t *tree) force() { t.signal(unix.SIGKILL) }

func (t *tree) signal(s syscall.Signal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.group == 0 || t.sealed {
		return false
	}
	return unix.Kill(-t.group, s) == nil
}

// wait returns when the leader has ended, the rest of the group is killed and
// the output is read.
func (t *tree) wait(cmd *exec.Cmd) error {
	if awaitExit(cmd.Process.Pid) {
		// Not reaped yet, so that the number of the group is still its own.
		t.force()
		t.seal()
		return cmd.Wait()
	}
	err := cmd.Wait()
	t.force()
	t.seal()
	return err
}

func (t *tree) seal() {
	t.mu.Lock()
	t.sealed = true
	t.mu.Unlock()
}

// report fills in how the child ended: what the supervisor says of it, or what
// the system says of the leader.
func (t *tree) report(state *os.ProcessState, r *Result) error {
	end := endOf(state)
	if len(t.prefix) > 0 {
		said, err := t.readEnd()
		switch {
		case err == nil:
			end = said
		case end.Signal == 0:
			return fmt.Errorf("supervisor ended with code %d without a report: %w", end.Code, err)
		}
	}
	if end.StartError != "" {
		e := &StartError{Path: t.path, Err: errors.New(end.StartError)}
		if kinds := startKinds(); end.StartKind >= 0 && end.StartKind < len(kinds) {
			e.Kind = kinds[end.StartKind]
		}
		return e
	}
	r.ExitCode = end.Code
	if end.Signal != 0 {
		r.ExitCode = 128 + int(end.Signal)
		r.Signal = unix.SignalName(end.Signal)
	}
	r.MaxRSS, r.User, r.System = end.MaxRSS, end.User, end.System
	return nil
}

func (t *tree) readEnd() (ending, error) {
	var end ending
	pipe := t.ours[1]
	if err := pipe.SetReadDeadline(time.Now().Add(waitDelay)); err != nil {
		return end, err
	}
	err := json.NewDecoder(io.LimitReader(pipe, 64<<10)).Decode(&end)
	return end, err
}

// ending is how a child ended, as the supervisor reports it.
type ending struct {
	StartError   string // set when it never ran
	StartKind    int    // index into startKinds, -1 for none
	Code         int
	Signal       syscall.Signal
	MaxRSS       int64 // bytes
	User, System time.Duration
}

func endOf(state *os.ProcessState) ending {
	end := ending{Code: state.ExitCode(), User: state.UserTime(), System: state.SystemTime()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Signal = status.Signal()
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		end.MaxRSS = int64(usage.Maxrss) * rssUnit
	}
	return end
}

func mayExecute(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

// startKind gives an error of starting an existing file its kind.
func startKind(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT): // the file is there, so what it names is not
		return ErrInterpreter
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EPERM):
		return ErrNotExecutable
	}
	return nil
}

// exception is the name of the exception that ended a program under Wine.
func exception(code int, tail string) string {
	if code == 0 {
		return ""
	}
	return wineException(tail)
}
