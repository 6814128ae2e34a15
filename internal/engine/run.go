package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
)

// Runner starts the engines of a set in a run folder.
type Runner struct {
	Set         *Set
	StepTimeout time.Duration
	Grace       time.Duration
	// Supervisor is the command that keeps an engine's whole tree from
	// outliving this process; see process.Command.
	Supervisor []string
	Env        []string
	// Check looks at what a step of a foreign set left; see Plan.Check.
	Check func(dir, step string) error
	Log   *slog.Logger
	// Progress hears the engine's name and which part of it is done, 0..1.
	Progress func(step string, part float64)
}

// maxOutput is what an engine may write to each of its streams, in bytes.
const maxOutput = 64 << 20

// Run runs the engines one after the other in dir, an absolute path, and stops
// at the first that fails. Errors carry a reason; what an engine said is in
// the full story of the error only.
func (r *Runner) Run(ctx context.Context, dir string) error {
	for _, step := range r.Set.Steps {
		r.Progress(step.Name, 0)
		result, err := process.Run(ctx, process.Command{
			Path: step.Path, Args: step.Args, Dir: dir, Env: r.Env,
			Stdout: step.Name + ".stdout", Stderr: step.Name + ".stderr",
			MaxOutput: maxOutput, Timeout: r.StepTimeout, Grace: r.Grace, Supervisor: r.Supervisor,
			OnLine: func(line []byte) {
				if part, ok := progressOf(line); ok {
					r.Progress(step.Name, part)
				}
			},
		})
		if err := r.judge(ctx, step, result, err); err != nil {
			return err
		}
		if err := left(dir, step); err != nil {
			return err
		}
		if r.Set.Foreign {
			if err := r.Check(dir, step.Name); err != nil {
				return err
			}
		}
		if info, err := os.Stat(filepath.Join(dir, step.Name+".stderr")); err == nil && info.Size() > 0 {
			r.Log.Warn("engine "+step.Name+" said: "+result.Tail, "engine", step.Name)
		}
		r.Log.Info("engine done", "engine", step.Name, "seconds", result.Wall.Seconds(), "max_rss_bytes", result.MaxRSS)
	}
	return nil
}

// progressLine is how a bundled engine says on standard output how far it is.
const progressLine = "step %d of %d"

// ProgressLine is the line for a step of so many.
func ProgressLine(step, of int) string { return fmt.Sprintf(progressLine, step, of) }

func progressOf(line []byte) (part float64, ok bool) {
	var step, of int
	if n, _ := fmt.Sscanf(string(line), progressLine, &step, &of); n != 2 || of <= 0 || step < 0 || step > of {
		return 0, false
	}
	return float64(step) / float64(of), true
}

// judge turns the end of an engine into an error with a reason, nil for
// success.
func (r *Runner) judge(ctx context.Context, step Step, result process.Result, err error) error {
	if start, ok := errors.AsType[*process.StartError](err); ok {
		return &reason.Error{Code: reason.EngineMissing, Err: err,
			Detail: fmt.Sprintf("engine %s (%s) cannot be started: %s", step.Name, filepath.Base(step.Path), startProblem(start))}
	}
	if err != nil {
		return &reason.Error{Code: reason.Internal, Err: err, Detail: fmt.Sprintf("engine %s could not be watched", step.Name)}
	}
	said := func() error {
		if result.Tail == "" {
			return nil
		}
		return errors.New("its last words: " + strings.TrimSpace(result.Tail))
	}
	switch result.Cause {
	case process.Cancelled:
		return context.Cause(ctx)
	case process.Timeout:
		return &reason.Error{Code: reason.EngineTimeout, Err: said(),
			Detail: fmt.Sprintf("engine %s was stopped at its time limit of %.0f s (RSMS_ENGINE_STEP_TIMEOUT_SEC)", step.Name, r.StepTimeout.Seconds())}
	case process.OutputLimit:
		return &reason.Error{Code: reason.EngineFailed, Err: said(),
			Detail: fmt.Sprintf("engine %s was stopped: it wrote more than %d MiB to its output", step.Name, maxOutput>>20)}
	}
	if result.Signal != "" {
		hint := ""
		if result.Signal == "SIGKILL" {
			hint = "; the system kills so when memory runs out"
		}
		return &reason.Error{Code: reason.EngineFailed, Err: said(),
			Detail: fmt.Sprintf("engine %s was ended by signal %s%s", step.Name, result.Signal, hint)}
	}
	if result.ExitCode != 0 {
		return &reason.Error{Code: reason.EngineFailed, Err: said(),
			Detail: fmt.Sprintf("engine %s ended with exit code %d; see %s.stderr in the run folder", step.Name, result.ExitCode, step.Name)}
	}
	return nil
}

// startProblem says in our words why a program could not be started.
func startProblem(e *process.StartError) string {
	if e.Kind != nil {
		return e.Kind.Error()
	}
	return "the system refused it"
}

// left checks that a step left its outputs.
func left(dir string, step Step) error {
	for _, name := range step.Outputs {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			return reason.New(reason.EngineOutputMissing, "engine %s ended well but left no %s", step.Name, name)
		}
	}
	return nil
}
