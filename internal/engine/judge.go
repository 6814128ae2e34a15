package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
)

// judge turns the end of an engine into an error with a reason, nil for
// success.
func (r *Runner) judge(ctx context.Context, step Step, result process.Result, err error) error {
	if err != nil {
		return r.unseen(step, err)
	}
	fails := func(code reason.Code, format string, args ...any) error {
		e := reason.New(code, "engine "+step.Name+" "+format, args...)
		if result.Tail != "" {
			e.Err = errors.New("its last words: " + strings.TrimSpace(result.Tail))
		}
		return e
	}
	switch result.Cause {
	case process.Cancelled:
		return context.Cause(ctx)
	case process.Timeout:
		return fails(reason.EngineTimeout, "was stopped at its time limit of %.0f s (%s)%s; raise it, or give the scenario a longer time step",
			r.limit(step).Seconds(), r.limitName(step), stubborn(result))
	case process.OutputLimit:
		return fails(reason.EngineFailed, "was stopped: it wrote more than %d MiB to its output%s; the end of that says what it repeats",
			maxOutput>>20, stubborn(result))
	}
	if result.Signal != "" {
		return fails(reason.EngineFailed, "was ended by signal %s%s", result.Signal, afterSignal(result.Signal))
	}
	if result.Exception != "" {
		return fails(reason.EngineFailed, "was ended by the exception %s%s", result.Exception, afterException(result.Exception))
	}
	accepted := step.ExitCodes
	if len(accepted) == 0 {
		accepted = []int{0}
	}
	if !slices.Contains(accepted, result.ExitCode) {
		return fails(reason.EngineFailed, "ended with exit code %d, %s means success%s; see %s and %s", result.ExitCode, listed(accepted),
			afterExit(step, result), step.Name+stderrSuffix, step.Name+stdoutSuffix)
	}
	return nil
}

// unseen is the error of an engine that did not start, or could not be watched.
func (r *Runner) unseen(step Step, err error) error {
	if start, ok := errors.AsType[*process.StartError](err); ok {
		// Both may be over soon: the job is tried again.
		if errors.Is(err, process.ErrShortage) {
			return &reason.Error{Code: reason.EngineFailed, Err: err, Detail: fmt.Sprintf(
				"engine %s could not be started now: the system is short of memory, processes or open files, or the program is just being written; the log says which", step.Name)}
		}
		if start.Kind == nil && start.Path == step.Path {
			return &reason.Error{Code: reason.EngineFailed, Err: err,
				Detail: fmt.Sprintf("engine %s (%s) was not started: the system refused it; the log says why", step.Name, shownName(filepath.Base(start.Path)))}
		}
		if start.Path != step.Path {
			return &reason.Error{Code: reason.Internal, Err: err, Detail: "the program that watches over engines cannot be started"}
		}
		path := step.Path
		if errors.Is(start.Kind, process.ErrLibrary) {
			path = step.Executable // a runner that had one missing would not have run
		}
		return &reason.Error{Code: reason.EngineMissing, Err: err,
			Detail: fmt.Sprintf("engine %s (%s) cannot be started: %s", step.Name, shownName(filepath.Base(path)), startProblem(path, start))}
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return &reason.Error{Code: reason.StorageUnavailable, Err: err,
			Detail: fmt.Sprintf("what engine %s says cannot be kept in the run folder; is the disk of RSMS_WORK_DIR full?", step.Name)}
	}
	return &reason.Error{Code: reason.Internal, Err: err, Detail: fmt.Sprintf("engine %s could not be watched", step.Name)}
}

// limitName is where the time limit of a step stands.
func (r *Runner) limitName(step Step) string {
	if r.limit(step) == r.StepTimeout {
		return "RSMS_ENGINE_STEP_TIMEOUT_SEC"
	}
	return "timeout_seconds in " + manifestName
}

// stubborn says that an engine which was asked to end did not.
func stubborn(result process.Result) string {
	if result.Signal == "SIGKILL" {
		return "; it did not end when it was asked to, and was killed"
	}
	return ""
}

// afterSignal says what a signal that was not ours means.
func afterSignal(signal string) string {
	switch signal {
	case "SIGKILL":
		return "; the system kills so when memory runs out: give the job more of it, or the scenario a longer time step"
	case "SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGSYS":
		return ": it crashed, as programs do on inputs beyond their fixed sizes; try it by hand in a folder kept by RSMS_KEEP_WORK_DIR"
	}
	return "; somebody else sent it"
}

// afterException says what an exception of Windows means.
func afterException(name string) string {
	switch name {
	case "STATUS_NO_MEMORY", "STATUS_COMMITMENT_LIMIT":
		return "; memory ran out: give the job more of it, or the scenario a longer time step"
	case "STATUS_CONTROL_C_EXIT":
		return "; somebody else asked it to end"
	}
	return ": it crashed, as programs do on inputs beyond their fixed sizes; try it by hand in a folder kept by RSMS_KEEP_WORK_DIR"
}

// afterExit says what is known of an exit code.
func afterExit(step Step, result process.Result) string {
	code := result.ExitCode
	// What a shell says of a program that it started and a signal ended.
	byShell := map[int]string{128 + 4: "SIGILL", 128 + 6: "SIGABRT", 128 + 7: "SIGBUS", 128 + 8: "SIGFPE", 128 + 9: "SIGKILL", 128 + 11: "SIGSEGV"}
	switch {
	case code == 127:
		return " (127: a program that it calls was not found)"
	case code == 126:
		return " (126: a program that it calls may not be executed)"
	case byShell[code] != "":
		return fmt.Sprintf(" (%d: a program that it calls was ended by signal %s%s)", code, byShell[code], afterSignal(byShell[code]))
	case readToEnd(result.Tail):
		return fmt.Sprintf(" (it read past the end of a file: standard input had %d lines, which stdin in %s can give)",
			strings.Count(string(step.Stdin), "\n"), manifestName)
	}
	return ""
}

// readToEnd reports whether the last words are of a program that wanted to read
// more than there was; a hint is all that depends on it.
func readToEnd(tail string) bool {
	tail = strings.ToLower(tail)
	return strings.Contains(tail, "end of file") || strings.Contains(tail, "end-of-file") || strings.Contains(tail, "eof")
}

// listed is a list of numbers in words.
func listed(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, " or ")
}
