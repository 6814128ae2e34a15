//go:build unix

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is a child and its process group. Behind a supervisor the group is the
// supervisor's, and the child leads another one: what it does to its own group
// must not reach who watches over it.
type tree struct {
	path, dir string
	prefix    []string // supervisor, nil without one
	// Ends of the pipes to the supervisor: the child's ends until it has
	// started, ours until the run is over.
	theirs, ours []*os.File
	leader       group
	heard        hearing
}

func newTree(c *Command) (*tree, error) {
	t := &tree{path: c.Path, dir: c.Dir, prefix: c.Supervisor}
	if len(c.Supervisor) == 0 {
		return t, nil
	}
	orderRead, orderWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		orderRead.Close()
		orderWrite.Close()
		return nil, err
	}
	t.theirs = []*os.File{orderRead, statusWrite} // descriptors 3 and 4
	t.ours = []*os.File{orderWrite, statusRead}
	t.heard.open(statusRead)
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
	t.leader.lead(cmd.Process.Pid)
	return nil
}

// interrupt asks the group to end, or has the supervisor ask the child's, and
// reports whether it could.
func (t *tree) interrupt() bool {
	if len(t.prefix) == 0 {
		return t.leader.signal(unix.SIGTERM)
	}
	_, err := t.ours[0].Write([]byte{'.'})
	return err == nil
}

// kill kills the group or, so that what left it dies as well, has the
// supervisor do so.
func (t *tree) kill() {
	if len(t.prefix) == 0 {
		t.force()
		return
	}
	t.ours[0].Close()
	t.leader.signal(unix.SIGCONT) // somebody may have stopped it
}

// force kills the group and, unless the supervisor says that it has done so,
// the child's.
func (t *tree) force() {
	if len(t.prefix) > 0 {
		if child := t.heard.unkilled(); child != 0 {
			unix.Kill(-child, unix.SIGKILL)
		}
	}
	t.leader.kill()
}

// wait returns when the leader has ended, the rest of the group is killed and
// the output is read.
func (t *tree) wait(cmd *exec.Cmd) error { return t.leader.wait(cmd, t.force) }

// report fills in how the child ended: what the supervisor says of it, or what
// the system says of the leader.
func (t *tree) report(state *os.ProcessState, r *Result) error {
	end := endOf(state)
	if len(t.prefix) > 0 {
		said, err := t.heard.end()
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

func mayExecute(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

// startKind gives an error of starting an existing file its kind.
func startKind(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT): // the file is there, so what it names is not
		return ErrInterpreter
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EPERM):
		return ErrNotExecutable
	case shortage(err):
		return ErrShortage
	}
	return nil
}

// shortage reports whether err may be gone the next time: no room for another
// process or file, a disk or network that hiccups, or a file that is written.
func shortage(err error) bool {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return false
	}
	switch number {
	case unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.EIO, unix.ESTALE:
		return true
	}
	return busy(err)
}

// busy reports whether somebody has the executable open to write it, be it a
// copy of its descriptor that another child has until it executes.
func busy(err error) bool { return errors.Is(err, unix.ETXTBSY) }

// unfit is nil: a program gets its arguments as they are.
func (c *Command) unfit() error { return nil }

// exception is the name of the exception that ended a program under Wine.
func exception(code int, tail string) string {
	if code == 0 {
		return ""
	}
	return wineException(tail)
}
