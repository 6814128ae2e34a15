//go:build unix

package process

import (
	"errors"
	"fmt"
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
	orderFD  = 3 // each byte asks the child to end; its own end has the tree killed
	statusFD = 4 // takes what report_unix.go describes
)

// Supervise is the body of the supervisor that Command.Supervisor names. It
// runs argv in the current folder and environment, with the standard streams
// it has itself, as the leader of a process group. When the child ends, or the
// process that started the supervisor is gone or says so, it kills what is left
// of the child's tree, then itself. It returns, with an exit code, only where
// it was not started by Run.
//
// A process that leaves the group is within its reach on Linux only.
func Supervise(argv []string) int {
	if len(argv) == 0 || unix.Getpgrp() != os.Getpid() || !isPipe(orderFD) || !isPipe(statusFD) {
		fmt.Fprintln(os.Stderr, "this command is for the job itself: it watches over an engine")
		return 2
	}
	// The child must have neither: it could hold the report open.
	unix.CloseOnExec(orderFD)
	unix.CloseOnExec(statusFD)

	// Who means everything that runs here does not mean the one that tells how
	// it ended. Caught, not ignored: the child would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	adopt()
	watchOver(argv)
	killStrays()
	unix.Kill(0, unix.SIGKILL)
	return 1
}

func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// watchOver runs argv and reports on it. Where nobody reads that the runner is
// gone, and nothing is to be done about it.
func watchOver(argv []string) {
	runtime.LockOSThread() // as in Command.run
	defer runtime.UnlockOSThread()
	status := os.NewFile(statusFD, "status")
	var child group
	cmd, err := startSupervised(argv)
	if err != nil {
		_ = tellGroup(status, 0)
		_ = tellEnding(status, ending{StartError: err.Error(), StartKind: slices.Index(startKinds(), startKind(err))})
		return
	}
	child.lead(cmd.Process.Pid)
	_ = tellGroup(status, cmd.Process.Pid)
	go obey(&child)
	err = child.wait(cmd, child.kill)
	end := ending{StartKind: -1}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		end.StartError = err.Error()
	} else {
		end = endOf(cmd.ProcessState)
	}
	_ = tellEnding(status, end)
}

// startSupervised starts argv as the leader of a group of its own, so that
// nothing it does to its group reaches us.
func startSupervised(argv []string) (cmd *exec.Cmd, err error) {
	err = whileBusy(func() error {
		cmd = &exec.Cmd{Path: argv[0], Args: argv,
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
		dieWithParent(cmd.SysProcAttr)
		return cmd.Start()
	})
	return cmd, err
}

// obey does what the runner says, and kills the child when it is gone. What is
// left then goes when the child's end is seen.
func obey(child *group) {
	orders := os.NewFile(orderFD, "orders")
	for {
		if _, err := orders.Read(make([]byte, 1)); err != nil {
			child.kill()
			return
		}
		child.signal(unix.SIGTERM)
	}
}

// startKinds are the sentinels in an order that both ends of a report know.
func startKinds() []error {
	return []error{ErrNotFound, ErrDirectory, ErrNotExecutable, ErrInterpreter, ErrLibrary, ErrShortage}
}
