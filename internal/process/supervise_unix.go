//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors that Run gives its supervisor.
const (
	deathFD  = 3 // ends when the runner does, or wants the tree dead
	statusFD = 4 // takes the ending of the child
)

// Supervise is the body of the supervisor that Command.Supervisor names. It
// runs argv in the current folder and environment, with the standard streams
// it has itself. When the child ends, or the process that started the
// supervisor is gone or says so, it kills what is left of the child's tree and
// its own process group, itself included. It returns, with an exit code, only
// where it was not started by Run.
//
// A process that leaves the group is within its reach on Linux only.
func Supervise(argv []string) int {
	if len(argv) == 0 || unix.Getpgrp() != os.Getpid() || !isPipe(deathFD) || !isPipe(statusFD) {
		fmt.Fprintln(os.Stderr, "this command is for the job itself: it watches over an engine")
		return 2
	}
	// The child must have neither: it could hold the report open.
	unix.CloseOnExec(deathFD)
	unix.CloseOnExec(statusFD)

	// What the group is asked is for the child to follow. Caught, not ignored:
	// the child would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	adopt()
	go func() {
		io.Copy(io.Discard, os.NewFile(deathFD, "death"))
		killTree()
	}()
	end := runSupervised(argv)
	// Reported before the tree is killed; the report is what the runner goes by,
	// not how the supervisor ends. Where nobody reads it the runner is gone.
	_ = json.NewEncoder(os.NewFile(statusFD, "status")).Encode(end)
	killTree()
	return 1
}

func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// killTree kills the caller's descendants and its process group, the caller
// included.
func killTree() {
	killStrays()
	unix.Kill(0, unix.SIGKILL)
}

func runSupervised(argv []string) ending {
	runtime.LockOSThread() // as in Command.run
	defer runtime.UnlockOSThread()
	cmd := &exec.Cmd{Path: argv[0], Args: argv,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{}}
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		kind := startKind(err)
		return ending{StartError: err.Error(), StartKind: slices.Index(startKinds(), kind)}
	}
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return ending{StartError: err.Error(), StartKind: -1}
	}
	return endOf(cmd.ProcessState)
}

// startKinds are the sentinels in an order that both ends of a report know.
func startKinds() []error {
	return []error{ErrNotFound, ErrDirectory, ErrNotExecutable, ErrInterpreter, ErrLibrary}
}
