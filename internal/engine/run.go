package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/remove"
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
	// Check looks at an output of a foreign set that a later step reads; see
	// Plan.Check.
	Check func(ctx context.Context, dir, name string) error
	// Given names files of the run folder that are there by right besides the
	// inputs: what steps left that are not in the set.
	Given []string
	// Cache keeps what steps left; nil is none. What is taken from it counts as what
	// the engine would have left.
	Cache Cache
	// Keeping counts what is still being kept when Run has returned: its owner waits
	// for it before the folder goes. Where it is nil, Run waits.
	Keeping *sync.WaitGroup
	Log     *slog.Logger
	// Progress hears the engine's name and which part of it is done, 0..1.
	Progress func(step string, part float64)

	used []use // of the cache, by the last Run
	took bool  // whether the last Run took a step from the cache
}

// maxOutput is what an engine may write to each of its streams, in bytes.
const maxOutput = 64 << 20

// Run runs the engines one after the other in dir, an absolute path, and stops
// at the first that fails. Errors carry a reason; what an engine said is in
// the full story of the error only.
func (r *Runner) Run(ctx context.Context, dir string) error {
	c := r.resume(dir, slices.Concat(r.Env, r.Set.Env))
	if r.Keeping == nil {
		defer c.keeping.Wait()
	}
	env := slices.Clone(r.Env)
	if r.Set.Foreign {
		// Programs that know fixed names for their scratch files must not meet
		// those of another run.
		env = append(env, "TEMP="+dir, "TMP="+dir)
		if r.Set.underWine() {
			env = append(env, wineTemporary(dir)...)
		} else {
			env = append(env, "TMPDIR="+dir)
		}
	}
	env = append(env, r.Set.Env...)
	r.Log.Info("engines", "set", r.Set.Name, "sha256", r.Set.Hash, "files_sha256", r.Set.Files)
	made, begun := append(inputs(), r.Given...), 0
	defer func() { r.keepLogs(dir, begun) }()
	defer c.confirm(ctx)
	for _, step := range r.Set.Steps {
		r.Progress(step.Name, 0)
		begun++
		if err := c.step(ctx, step, env, made); err != nil {
			c.writing.Wait() // what is dropped must not come back
			c.doubt(ctx, err)
			return err
		}
		made = append(made, step.Outputs...)
	}
	return nil
}

// step takes one step from the cache, or runs its engine. made are the files that
// are there by right before it.
func (c *resume) step(ctx context.Context, step Step, env, made []string) error {
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return folderError(err)
	}
	defer root.Close()
	before, err := c.prepare(root, step, made)
	if err != nil {
		return folderError(err)
	}
	a, err := c.begin(ctx, root, step)
	if err != nil {
		return err
	}
	defer func() { a.done() }()
	if taken, err := c.take(ctx, root, step, a, before); taken || err != nil {
		return err
	}
	c.alone()
	result, err := c.start(ctx, step, c.dir, env)
	if err != nil {
		return err
	}
	if err := c.accept(ctx, root, step, before, result.ExitCode); err != nil {
		return err
	}
	c.tell(root, step)
	c.Log.Info("engine done", "engine", step.Name, "seconds", result.Wall.Seconds(), "max_rss_bytes", result.MaxRSS)
	c.keep(ctx, root, step, a)
	return nil
}

// accept looks at what a step left, however it came there. exit is the code that
// its engine ended with.
func (c *resume) accept(ctx context.Context, root *os.Root, step Step, before *before, exit int) error {
	if step.Success != "" && !shown(root, step) {
		return reason.New(reason.EngineFailed, "engine %s ended with exit code %d but did not print the success_text of its set; see %s and %s",
			step.Name, exit, step.Name+stdoutSuffix, step.Name+stderrSuffix)
	}
	if err := before.left(root); err != nil {
		return err
	}
	if err := before.unchanged(root); err != nil {
		return err
	}
	if err := c.Set.untouched(step.Name); err != nil {
		return err
	}
	if c.Set.Foreign {
		for _, name := range step.Outputs {
			if err := c.Check(ctx, c.dir, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// start runs the engine of a step to its end.
func (r *Runner) start(ctx context.Context, step Step, dir string, env []string) (process.Result, error) {
	watched, stop := watchSize(ctx, dir, r.Set.MaxBytes, step.Name)
	result, err := process.Run(watched, process.Command{
		Path: step.Path, Args: step.Args, Dir: dir, Env: env, Stdin: step.Stdin,
		Stdout: step.Name + stdoutSuffix, Stderr: step.Name + stderrSuffix,
		MaxOutput: maxOutput, Timeout: r.limit(step), Grace: r.Grace, Supervisor: r.Supervisor,
		OnLine: func(line []byte) {
			if part, ok := progressOf(line); ok {
				r.Progress(step.Name, part)
			}
		},
	})
	stop()
	if err := r.judge(watched, step, result, err); err != nil {
		return result, err
	}
	return result, tooMuch(ctx, dir, r.Set.MaxBytes, step.Name)
}

// limit is how long a step may take.
func (r *Runner) limit(step Step) time.Duration {
	if step.Timeout > 0 && (r.StepTimeout <= 0 || step.Timeout < r.StepTimeout) {
		return step.Timeout
	}
	return r.StepTimeout
}

// prepare makes the folder ready for a step, and notes what it is like. What
// stands where the step's own files will is not its work: an earlier step left
// it, perhaps as a link to somewhere else.
func (r *Runner) prepare(root *os.Root, step Step, made []string) (*before, error) {
	for _, name := range append(slices.Clone(step.Outputs), step.logs()...) {
		if _, err := root.Lstat(name); errors.Is(err, os.ErrNotExist) {
			continue
		}
		r.Log.Warn(shownName(name)+" was there before the step that makes it; removed", "engine", step.Name)
		if err := remove.AllAt(root, name); err != nil {
			return nil, err
		}
	}
	return r.Set.look(root, step, made)
}

func folderError(err error) error {
	return &reason.Error{Code: reason.StorageUnavailable, Err: err,
		Detail: "the run folder cannot be used; is the disk of RSMS_WORK_DIR full, or the folder gone?"}
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
