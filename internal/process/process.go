// Package process runs one child process under control: its whole group dies
// when it must, its output is kept within bounds, and how it ended is a value.
// Invariant: when Run returns, every process of the child's group has ended or
// been killed, and no goroutine or pipe of the run is left.
package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// Command is what to run and within which limits.
type Command struct {
	Path string   // of the executable, absolute
	Args []string // behind the executable's own name
	Dir  string   // folder to run in, absolute
	Env  []string // complete, as NAME=value; see MinimalEnv
	// Stdin is all that the child can read; nil is an empty input.
	Stdin []byte
	// Stdout and Stderr name the files in Dir that keep the child's output in
	// full, up to MaxOutput. An empty name keeps the tail only.
	Stdout, Stderr string
	// Timeout is how long the child may run; 0 is without limit.
	Timeout time.Duration
	// Grace is the time between asking the group to end (SIGTERM, Ctrl-Break
	// on Windows) and killing it; 0 kills at once.
	Grace time.Duration
	// MaxOutput is how many bytes each stream may have; 0 means 64 MiB. A
	// child that writes more is stopped.
	MaxOutput int64
	// OnLine is called, one call after another, with each complete line of
	// standard output without its end, cut at 4 KiB. The slice is valid during
	// the call only. It must not block for long: the child waits meanwhile.
	OnLine func(line []byte)
	// Supervisor is the argv prefix of a program that calls Supervise with
	// what follows it: the job's own binary and its hidden subcommand. With it
	// the whole group dies even when this process is killed and can do
	// nothing any more, and on Linux what left the group as well. Without it
	// only the child itself does, and only on Linux. Windows needs none and
	// ignores it.
	Supervisor []string
}

// Cause is why a child ended.
type Cause string

// Every cause.
const (
	Exited      Cause = "exited"       // by itself, or by a signal that was not ours
	Timeout     Cause = "timeout"      // Command.Timeout passed
	Cancelled   Cause = "cancelled"    // the context ended; context.Cause says why
	OutputLimit Cause = "output_limit" // a stream grew beyond Command.MaxOutput
	StartFailed Cause = "start_failed" // it never ran; Run returned an error
)

// Result is how a child ended and what it took.
type Result struct {
	Cause Cause
	// ExitCode is the child's own, or 128 plus the number of the signal that
	// ended it; then Signal is its name (SIGKILL), otherwise empty. It is -1
	// for a child that never ran. Windows has no signals.
	ExitCode int
	Signal   string
	// Exception is the name of the exception that ended a Windows program
	// (STATUS_ACCESS_VIOLATION), otherwise empty. On Windows its status is the
	// exit code; Wine has room for the last byte only and names it in words.
	Exception string
	// Tail is the end of standard error, or of standard output where that is
	// blank: 2 KiB at most, valid UTF-8, control characters made visible.
	Tail string
	// MaxRSS is the largest resident set of the child or a process it waited
	// for, in bytes; on Windows the largest committed memory, 0 under Wine. On
	// Linux without a supervisor it is never below the resident set of this
	// process, whose memory the child shares until it executes.
	MaxRSS       int64
	User, System time.Duration // processor time
	Wall         time.Duration
}

const (
	defaultMaxOutput = 64 << 20
	// waitDelay bounds the wait for pipes that a process holds which left the
	// group: what it writes later is lost, the run goes on.
	waitDelay = time.Second
	// killDelay is how long a supervisor may take to kill a tree.
	killDelay = time.Second
)

// Why a run was stopped, where it was not the caller's context.
var (
	errTimeout     = errors.New("time limit of the process passed")
	errOutputLimit = errors.New("output limit of the process passed")
	errOutputWrite = errors.New("output of the process cannot be kept")
)

// Run starts c and waits for it and its whole group to end. When ctx ends, or
// a limit is passed, the group is asked to end, and killed after the grace.
//
// The error is a *StartError when the child could not be started. Any other
// error says that the command is not well formed, or that its output could not
// be kept or its end not be seen. A child that ran and ended badly is a Result
// and no error.
func Run(ctx context.Context, c Command) (Result, error) {
	never := Result{Cause: StartFailed, ExitCode: -1}
	if err := c.check(); err != nil {
		return never, err
	}
	if ctx.Err() != nil {
		never.Cause = Cancelled
		return never, nil
	}
	if err := checkExecutable(c.Path); err != nil {
		return never, err
	}
	if err := c.unfit(); err != nil {
		return never, err
	}

	runCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out, err := openOutput(&c, stop)
	if err != nil {
		return never, err
	}
	r, err := c.run(runCtx, out)
	if closeErr := out.close(); err == nil {
		err = closeErr
	}
	r.Tail = out.tail()
	if err != nil || r.Cause != Exited {
		return r, err
	}
	r.Exception = exception(r.ExitCode, r.Tail)
	if missingLibrary(r.ExitCode, r.Tail) {
		r.Cause = StartFailed
		err = &StartError{Path: c.Path, Kind: ErrLibrary, Err: errors.New(cmp.Or(r.Tail, r.Exception))}
	}
	return r, err
}

// check returns what is wrong with the command itself.
func (c *Command) check() error {
	switch {
	case !filepath.IsAbs(c.Path):
		return errors.New("path of the executable is not absolute")
	case !filepath.IsAbs(c.Dir):
		return errors.New("folder of the process is not absolute")
	case c.Stdout != "" && c.Stdout == c.Stderr:
		return errors.New("both output streams have the same file")
	}
	for _, name := range []string{c.Stdout, c.Stderr} {
		if name != "" && (filepath.Base(name) != name || !filepath.IsLocal(name)) {
			return errors.New("output file is not a bare file name")
		}
	}
	return nil
}

// run starts the child, sees it to its end and leaves nothing of it alive.
func (c *Command) run(ctx context.Context, out *output) (Result, error) {
	// Linux sends the death signal of a child when the thread that started it
	// ends; a locked thread stays until the child is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	r := Result{Cause: StartFailed, ExitCode: -1}
	t, err := newTree(c)
	if err != nil {
		e := &StartError{Path: c.Path, Err: fmt.Errorf("prepare process: %w", err)}
		if shortage(err) {
			e.Kind = ErrShortage
		}
		return r, e
	}
	defer t.close()
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	began := time.Now()
	cmd, err := c.start(t, out)
	if err != nil {
		return r, err
	}
	w := watch(ctx, t, c.Grace)
	err = t.wait(cmd)
	stopped := w.end()
	r.Wall = time.Since(began)
	if cmd.ProcessState == nil {
		return r, fmt.Errorf("wait for process: %w", err)
	}
	if err := t.report(cmd.ProcessState, &r); err != nil {
		return r, err
	}
	switch {
	case stopped == nil && out.over(): // it ended by itself before we acted
		r.Cause = OutputLimit
	case stopped == nil:
		r.Cause = Exited
	case errors.Is(stopped, errTimeout):
		r.Cause = Timeout
	case errors.Is(stopped, errOutputLimit), errors.Is(stopped, errOutputWrite):
		r.Cause = OutputLimit
	default:
		r.Cause = Cancelled
	}
	return r, nil
}

// start starts the child as t would have it.
func (c *Command) start(t *tree, out *output) (cmd *exec.Cmd, err error) {
	err = whileBusy(func() error {
		cmd = c.build(out) // one starts once only
		return t.start(cmd)
	})
	return cmd, err
}

func (c *Command) build(out *output) *exec.Cmd {
	cmd := &exec.Cmd{
		Path:      c.Path,
		Args:      append([]string{c.Path}, c.Args...),
		Dir:       c.Dir,
		Env:       append([]string{}, c.Env...), // never nil: that would inherit ours
		Stdout:    &out.stdout,
		Stderr:    &out.stderr,
		WaitDelay: waitDelay,
	}
	if len(c.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	return cmd
}

// watcher stops a tree when its context ends.
type watcher struct {
	gone  chan struct{} // closed when the child has ended
	cause chan error    // why the tree was stopped, nil when it was not
}

func watch(ctx context.Context, t *tree, grace time.Duration) *watcher {
	w := &watcher{make(chan struct{}), make(chan error)}
	go func() {
		select {
		case <-w.gone:
			w.cause <- nil
			return
		case <-ctx.Done():
		}
		cause := context.Cause(ctx)
		if grace > 0 && t.interrupt() {
			w.within(grace)
		}
		t.kill()
		if !w.within(killDelay) {
			t.force()
		}
		w.cause <- cause
	}()
	return w
}

// within waits for the child to end, d at most, and reports whether it did.
func (w *watcher) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.gone:
		return true
	case <-timer.C:
		return false
	}
}

// end tells the watcher that the child has ended, waits for it, and returns
// why it stopped the tree, nil when it did not.
func (w *watcher) end() error {
	close(w.gone)
	return <-w.cause
}
