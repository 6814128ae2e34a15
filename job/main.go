// Command rsms-job runs one river-spill model from one message: see README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
)

// Set by the linker.
var (
	version = "dev"
	commit  = "unknown"
)

func main() {
	os.Exit(run())
}

// run is main without the exit: signals, one call, one switch.
func run() (code int) {
	args := arguments(os.Args)
	// Before all else: each engine waits for its supervisor to be there. And no
	// signal may end that one before it has told how its engine ended.
	if len(args) > 0 && args[0] == superviseName {
		return process.Supervise(args[1:])
	}
	if err := process.Hide(); err != nil {
		fmt.Fprintf(os.Stderr, "rsms-job: %v; engines can read the environment of the job\n", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	// An engine has nothing to hand back: a signal ends it at once.
	if len(args) == 0 || args[0] != engineName {
		signals := make(chan os.Signal, 2)
		// The last two would end the process with the exit code of bad settings.
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
		defer signal.Stop(signals)
		go listen(signals, cancel)
		// A reader that went away, of the log or of the answer, ends no run: the
		// writes fail instead. Children get the signal's usual effect back.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}

	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "rsms-job: internal error: %v\n%s", p, debug.Stack())
			code = exitInternal
		}
	}()
	c := a.command()
	c.SetArgs(args)
	return a.exit(c.ExecuteContext(ctx))
}

// arguments are those of the program. Under the name of an engine it is that
// engine, so that copies of it can stand in a folder of executables.
func arguments(argv []string) []string {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe")
	if slices.Contains(engine.Names(), name) {
		return append([]string{engineName, name}, argv[1:]...)
	}
	return argv[1:]
}

// listen turns the first signal into the end of the context and the second one
// into the end of the process.
func listen(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	cancel(&stopped{<-signals})
	os.Exit(signalCode(<-signals))
}

// stopped is the cause of a context that a signal ended. It carries the reason
// shutdown.
type stopped struct{ signal os.Signal }

func (s *stopped) Error() string { return fmt.Sprintf("stopped by signal %s", s.signal) }

func (s *stopped) Unwrap() error {
	return reason.New(reason.Shutdown, "stopped by signal %s", s.signal)
}

func signalCode(s os.Signal) int {
	if s == os.Interrupt {
		return exitInterrupted
	}
	return exitTerminated
}
