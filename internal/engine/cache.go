package engine

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/remove"
)

// Cache keeps what steps left, under keys that stand for all that the steps were
// given: 64 hexadecimal digits. It may be shared by Runners that run at the same
// time. It is there to save time, so what goes wrong in it is its own to tell and
// to get over; it never ends a run. It returns soon when ctx ends.
type Cache interface {
	// Take puts what is kept under key into dir: files that are not there yet, whole
	// and as they were kept, or none. It returns the SHA-256 of each by name, in
	// hexadecimal. While somebody else of this process makes the same it is waited
	// for. done must be called once the step is over and, where it was made, kept.
	Take(ctx context.Context, key string, dir *os.Root) (files map[string]string, done func())
	// Keep keeps the files of dir, by name with what they were when the step had
	// ended; nothing is kept where one of them is another by now.
	Keep(ctx context.Context, key string, dir *os.Root, files map[string]fs.FileInfo)
	// Drop forgets what is kept under key.
	Drop(ctx context.Context, key string)
}

// resume is what one Run does with its cache.
type resume struct {
	*Runner
	dir      string
	env      []string // of every step, but for what differs from run to run
	sums     sums     // of files of the run folder
	programs sums     // of files outside of it, by path

	keeping *sync.WaitGroup
	one     sync.Mutex     // held while an entry is written
	writing sync.WaitGroup // of the entries of this run
	kept    []string       // their keys
}

// Took reports whether the last Run took a step from the cache.
func (r *Runner) Took() bool { return r.took }

func (r *Runner) resume(dir string, env []string) *resume {
	r.used, r.took = nil, false
	return &resume{Runner: r, dir: dir, env: slices.DeleteFunc(env, temporary), sums: sums{}, programs: sums{},
		keeping: cmp.Or(r.Keeping, new(sync.WaitGroup))}
}

// use is a key that a run has used.
type use struct {
	key   string
	taken bool // what was kept before, and not made by this run
}

// attempt is one step and what is known of it to the cache.
type attempt struct {
	key   string
	there map[string]fs.FileInfo // the run folder before the step
	done  func()                 // ends the wait of others for the same
}

// begin finds out what a step is given. A step that is not cached has no key. The
// error is the cause of ctx.
func (c *resume) begin(ctx context.Context, root *os.Root, step Step) (*attempt, error) {
	a := &attempt{done: func() {}}
	if c.Cache == nil {
		return a, nil
	}
	there, err := filesOf(root)
	if err == nil {
		a.there = there
		a.key, err = c.key(ctx, root, step, there)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if no, ok := errors.AsType[*uncached](err); ok {
		c.Log.Info(no.Error(), "engine", step.Name)
	} else if err != nil {
		c.Log.Warn("the step is not cached: its inputs cannot be read", "engine", step.Name, "error", err)
	}
	return a, nil
}

// take takes a step from the cache and reports whether it did. What was kept is
// looked at as if it had just been made; what does not stand that is dropped, and
// the step is run.
func (c *resume) take(ctx context.Context, root *os.Root, step Step, a *attempt, before *before) (bool, error) {
	if a.key == "" {
		return false, nil
	}
	began := time.Now()
	if !c.untouched(ctx, began.Add(-lookAgain)) {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		c.Log.Info(errTouched.Error(), "engine", step.Name)
		a.key = ""
		return false, nil
	}
	files, done := c.Cache.Take(ctx, a.key, root)
	a.done = done
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if len(files) == 0 {
		c.used = append(c.used, use{a.key, false})
		return false, nil
	}
	err := c.accept(ctx, root, step, before, 0)
	if err == nil {
		err = tooMuch(ctx, c.dir, c.Set.MaxBytes, step.Name)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	c.used = append(c.used, use{a.key, err == nil})
	if err != nil {
		c.Log.Warn("what the cache has of the step is not used", "engine", step.Name, "key", a.key, "error", err)
		c.Cache.Drop(ctx, a.key)
		for name := range files {
			if err := remove.AllAt(root, name); err != nil {
				return false, folderError(err)
			}
		}
		return false, nil
	}
	for name, sum := range files { // not to be read again for the next key
		if info, err := root.Lstat(name); err == nil {
			known := c.sums[name]
			known.info, known.sum = info, sum
			c.sums[name] = known
		}
	}
	c.took = true
	c.tell(root, step)
	c.Log.Info("step taken from the cache", "engine", step.Name, "key", a.key, "files", len(files), "seconds", time.Since(began).Seconds())
	return true, nil
}

// errTouched says why a step is not cached whose key is that of other engines.
var errTouched = &uncached{"a file of its command line or of EXE_DIR was changed meanwhile"}

// untouched reports whether all that steps are started with was what their keys
// say when it was looked at, not before since.
func (c *resume) untouched(ctx context.Context, since time.Time) bool {
	if !c.sameCommand() {
		return false
	}
	if c.Set.beside == nil {
		return true
	}
	beside, err := c.Set.beside(ctx)
	return err == nil && beside.unchanged(ctx, since)
}

// keep keeps what a step left, while the next one runs.
func (c *resume) keep(ctx context.Context, root *os.Root, step Step, a *attempt) {
	if a.key == "" {
		return
	}
	left, err := c.newFiles(root, a.there)
	if err != nil {
		c.Log.Info(err.Error(), "engine", step.Name)
		return
	}
	done := a.done
	a.done = func() {} // the others wait until it is kept
	c.kept = append(c.kept, a.key)
	c.writing.Add(1)
	c.keeping.Go(func() {
		defer c.writing.Done()
		defer done()
		c.one.Lock()
		defer c.one.Unlock()
		dir, err := os.OpenRoot(c.dir)
		if err != nil {
			c.Log.Warn("the step is not cached: the run folder cannot be opened", "engine", step.Name, "error", err)
			return
		}
		defer dir.Close()
		c.Cache.Keep(ctx, a.key, dir, left)
	})
}

// alone waits, before an engine starts, for what is read to be kept where no engine
// could open that meanwhile: Windows programs may ask for a file of their own.
func (c *resume) alone() {
	if c.Set.Foreign && (runtime.GOOS == "windows" || c.Set.underWine()) {
		c.writing.Wait()
	}
}

// confirm drops what the run has kept where its engines were not those of its keys
// to the end: on a slow share it takes too long to look at all of EXE_DIR behind
// each step. What a run that is killed before has kept stays; its keys are those
// of the EXE_DIR that was.
func (c *resume) confirm(ctx context.Context) {
	if len(c.kept) == 0 {
		return
	}
	ended := time.Now()
	c.keeping.Go(func() {
		c.writing.Wait()
		if c.untouched(ctx, ended) || ctx.Err() != nil {
			return
		}
		c.Log.Info("what the run has kept is removed from the cache: a file of a command line or of EXE_DIR was changed meanwhile, or EXE_DIR cannot be looked at in time")
		for _, key := range c.kept {
			c.Cache.Drop(ctx, key)
		}
	})
}

// newFiles are the files that a step left. The error says why they are not all
// that it did.
func (c *resume) newFiles(root *os.Root, there map[string]fs.FileInfo) (map[string]fs.FileInfo, error) {
	now, err := filesOf(root)
	if err != nil {
		return nil, err
	}
	if !c.sameCommand() {
		return nil, errTouched
	}
	left := map[string]fs.FileInfo{}
	for name, info := range now {
		was := there[name]
		switch {
		case was != nil && info.IsDir() && was.IsDir():
			return nil, &uncached{"the run folder has a folder, " + shownName(name)}
		case was != nil && !same(was, info):
			return nil, &uncached{"it changed " + shownName(name) + ", which was there before"}
		case was == nil && !info.Mode().IsRegular():
			return nil, &uncached{"it left " + shownName(name) + ", which is no file"}
		case was == nil:
			left[name] = info
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if now[name] == nil {
			return nil, &uncached{"it removed " + shownName(name) + ", which was there before"}
		}
	}
	return left, nil
}

// doubt drops what a failed run was made of, where that may be to blame. An engine
// that fails, or does not end, on what was taken from the cache finds the work of
// its own run the next time; where outputs are not to be believed, all is made anew.
func (c *resume) doubt(ctx context.Context, err error) {
	switch reason.Of(err) {
	case reason.EngineFailed, reason.EngineTimeout:
		c.used = slices.DeleteFunc(c.used, func(u use) bool { return !u.taken })
	case reason.EngineOutputMissing, reason.EngineOutputInvalid:
	default:
		return
	}
	c.Forget(ctx)
}

// Forget drops from the cache all that the last Run was made of: who looks at the
// outputs together has found that they cannot be right.
func (r *Runner) Forget(ctx context.Context) {
	if r.Cache == nil {
		return
	}
	if r.Keeping != nil {
		r.Keeping.Wait() // what is dropped must not come back
	}
	for _, u := range r.used {
		r.Cache.Drop(ctx, u.key)
	}
	r.used = nil
}
