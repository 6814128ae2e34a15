package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/reason"
)

// Exit codes, contract section 1.
const (
	exitDone        = 0
	exitInternal    = 1
	exitDiffer      = 1 // compare: as programs that compare have it
	exitUsage       = 2
	exitRetry       = 10
	exitFailed      = 11
	exitCancelled   = 12
	exitLeaseLost   = 13
	exitBusy        = 14
	exitTimedOut    = 15
	exitNoStart     = 16
	exitInterrupted = 130
	exitTerminated  = 143
)

// usageError is a mistake in flags, arguments or settings.
type usageError struct {
	err  error
	text string // what to say instead of err; "" is err
}

func (u *usageError) Error() string { return cmp.Or(u.text, u.err.Error()) }
func (u *usageError) Unwrap() error { return u.err }

func usage(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

// exit reports err and returns the exit code of the process.
func (a *app) exit(err error) int {
	if errors.Is(err, errDiffer) {
		return exitDiffer // the answer says so
	}
	code := a.code(err)
	if unread(err) {
		return exitDone // who read the answer has read enough
	}
	if err != nil {
		a.report(err, code)
	}
	if a.config != nil && !a.compares && a.config.ExitZero && ((code >= exitRetry && code <= exitTimedOut) || code == exitTerminated) {
		return exitDone
	}
	return code
}

// unread reports whether an answer was not written because nobody reads it any
// more.
func unread(err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && path.Path == os.Stdout.Name() && errors.Is(err, syscall.EPIPE)
}

// code is the exit code of an error: a message that was put aside is as designed.
func (a *app) code(err error) int {
	if _, moved := errors.AsType[*pipeline.Poisoned](err); moved && !(a.config != nil && a.config.ExitOnFailure) {
		return exitDone
	}
	return exitCode(err)
}

// exitCode is the one place where an error becomes an exit code.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if s, ok := errors.AsType[*stopped](err); ok {
		return signalCode(s.signal)
	}
	if _, ok := errors.AsType[*pipeline.NoStart](err); ok {
		return exitNoStart
	}
	switch code := reason.Of(err); code {
	case reason.Internal:
		return exitInternal
	case reason.Cancelled:
		return exitCancelled
	case reason.LeaseLost:
		return exitLeaseLost
	case reason.Busy:
		return exitBusy
	case reason.TimedOut:
		return exitTimedOut
	case reason.Shutdown:
		return exitTerminated
	default:
		if code.Transient() {
			return exitRetry
		}
		return exitFailed
	}
}

// report says what went wrong: a plain line about flags and settings, a line of
// the log with the reason otherwise.
func (a *app) report(err error, code int) {
	if none, ok := err.(*pipeline.NoStart); ok && code == exitUsage {
		err = none.Err // nothing was waited for
	}
	if code == exitUsage || a.log == nil {
		fmt.Fprintf(a.stderr, "rsms-job: %v\n", err)
		return
	}
	log := a.log
	if a.ofJob != nil {
		log = a.ofJob
	}
	log.Error(err.Error(), "reason", string(reason.Of(err)), "exit", code)
}
