package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// What an EXE_DIR may have for its steps to be cached: all of it is read at the
// beginning of a run.
const (
	mostBeside      = 20_000
	mostBesideBytes = 512 << 20
)

// lookAgain is how long a look at a folder counts that was hashed before, where
// somebody else's change of it cannot do more harm than in any moment.
const lookAgain = 10 * time.Second

// contents are all files of a folder: an engine may load a library or a table
// that stands beside it.
type contents struct {
	dir   string
	files map[string]fs.FileInfo // by path below dir
	sums  map[string]string      // SHA-256 in hexadecimal

	mu     sync.Mutex
	looked time.Time // when the folder was last seen to be that
}

// remembered returns what reads dir when it is first asked for; see contentsOf.
func remembered(dir string) func(ctx context.Context) (*contents, error) {
	turn := make(chan struct{}, 1)
	var found *contents
	var no *uncached
	return func(ctx context.Context) (*contents, error) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if found == nil && no == nil {
			c, err := contentsOf(ctx, dir, slowest)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if found = c; err != nil {
				no = &uncached{err.Error()}
			}
		}
		if no != nil {
			return nil, no
		}
		return found, nil
	}
}

// contentsOf reads all files below dir, which may take so long. The error says why
// that cannot stand for what an engine finds there, or is the cause of ctx.
func contentsOf(ctx context.Context, dir string, limit time.Duration) (*contents, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("EXE_DIR is %w", errSlow))
	defer cancel()
	c := &contents{dir: dir, sums: map[string]string{}, looked: time.Now()}
	var err error
	if c.files, err = filesBelow(ctx, dir); err != nil {
		return nil, err
	}
	bytes := int64(0)
	for name, info := range c.files {
		if bytes += info.Size(); bytes > mostBesideBytes {
			return nil, fmt.Errorf("EXE_DIR has more than %d MB", mostBesideBytes>>20)
		}
		sum, hashed, err := hashFile(ctx, filepath.Join(dir, name))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%s in EXE_DIR cannot be read", shownName(name))
		}
		if !same(info, hashed) {
			return nil, fmt.Errorf("%s in EXE_DIR was changed while it was read", shownName(name))
		}
		c.sums[name] = sum
	}
	return c, nil
}

// filesBelow looks at all files below dir, through links to files. The error may
// be the cause of ctx.
func filesBelow(ctx context.Context, dir string) (map[string]fs.FileInfo, error) {
	files := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s in EXE_DIR is no file", shownName(name))
		}
		if files[name] = info; len(files) > mostBeside {
			return fmt.Errorf("EXE_DIR has more than %d files", mostBeside)
		}
		return nil
	})
	if _, unreadable := errors.AsType[*fs.PathError](err); unreadable && ctx.Err() == nil {
		return nil, errors.New("EXE_DIR has a folder that cannot be read")
	}
	return files, err
}

// add puts the files into what a step is given.
func (c *contents) add(g *given) {
	for _, name := range slices.Sorted(maps.Keys(c.sums)) {
		g.add("beside", filepath.ToSlash(name), c.sums[name])
	}
}

// unchanged reports whether the folder was what it is in the key when it was looked
// at, not before since.
func (c *contents) unchanged(ctx context.Context, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.looked.Before(since) {
		return true
	}
	ctx, cancel := context.WithTimeoutCause(ctx, slowest, errSlow)
	defer cancel()
	began := time.Now()
	now, err := filesBelow(ctx, c.dir)
	if err != nil || !maps.EqualFunc(c.files, now, same) {
		return false
	}
	c.looked = began
	return true
}
