package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"rsmsjob/internal/filelock"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/remove"
)

const (
	lockWait   = 10 * time.Second       // for a lock that others hold for milliseconds
	lockPoll   = 2 * time.Millisecond   // between two tries
	inUseTries = 20                     // H17: for a file that a scanner has open
	inUseWait  = 100 * time.Millisecond // between two tries
)

// pending is a file while it is written, under a temporary name in the folder
// of its own. It is locked, so that what a killed process left can be told
// from what a living one is writing.
type pending struct {
	root *os.Root
	path string // the name it will have
	temp string
	file *os.File
	ctx  context.Context
	err  error // first error of writing; then it cannot be committed
	done bool
	// loose is set where a file that a power failure spoils is found out: it is not
	// waited for until it is on disk.
	loose bool
}

// create begins a file and removes what killed processes left of the same one.
func (f *Folder) create(ctx context.Context, name string) (*pending, error) {
	dir := path.Dir(name)
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return nil, writeFailure(dir, err)
	}
	f.removeLeft(name)
	// A cleaner may catch the file between its birth and its lock.
	for range 10 {
		temp := path.Join(dir, tempPrefix+path.Base(name)+"-"+rand.Text())
		file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return nil, writeFailure(name, err)
		}
		locked, err := filelock.Try(file)
		if locked && f.isAt(temp, file) {
			return &pending{root: f.root, path: name, temp: temp, file: file, ctx: ctx}, nil
		}
		file.Close()
		remove.At(f.root, temp)
		if err != nil {
			return nil, writeFailure(name, err)
		}
	}
	return nil, reason.New(reason.StorageUnavailable, "cannot lock a new file for %s in the store", name)
}

// isAt reports whether the file is the one at name, and not removed meanwhile.
func (f *Folder) isAt(name string, file *os.File) bool {
	there, err := f.root.Lstat(name)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	return err == nil && os.SameFile(there, info)
}

// removeLeft removes temporary files of name that no living process holds.
// What cannot be removed does no harm: the next write tries again.
func (f *Folder) removeLeft(name string) {
	dir, prefix := path.Dir(name), tempPrefix+path.Base(name)+"-"
	entries, _ := f.names(dir)
	for _, entry := range entries {
		if rest, ok := strings.CutPrefix(entry, prefix); !ok || len(rest) != len(rand.Text()) {
			continue
		}
		left := path.Join(dir, entry)
		file, err := f.root.OpenFile(left, os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		if locked, _ := filelock.Try(file); locked {
			remove.At(f.root, left)
		}
		file.Close()
	}
}

// names returns the names in a folder, in no order.
func (f *Folder) names(dir string) ([]string, error) {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// Write adds to the file.
func (p *pending) Write(b []byte) (int, error) {
	if p.done {
		return 0, fs.ErrClosed
	}
	if p.err == nil && p.ctx.Err() != nil {
		p.err = context.Cause(p.ctx)
	}
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.file.Write(b)
	p.err = writeFailure(p.path, err)
	return n, p.err
}

// Commit gives the file its name, in one step, after all of it is on disk, unless
// it is loose.
func (p *pending) Commit() error {
	if p.done {
		return fs.ErrClosed
	}
	if p.err == nil && p.ctx.Err() != nil {
		p.err = context.Cause(p.ctx)
	}
	if p.err == nil && !p.loose {
		p.err = writeFailure(p.path, p.file.Sync())
	}
	if p.err == nil {
		p.err = writeFailure(p.path, RetryInUse(p.ctx, func() error { return p.root.Rename(p.temp, p.path) }))
	}
	if p.err != nil {
		err := p.err
		p.Abort()
		return err
	}
	p.done = true
	p.file.Close()
	if p.loose {
		return nil
	}
	return writeFailure(p.path, syncFolder(p.root, path.Dir(p.path)))
}

// Abort removes the file; after Commit or Abort it does nothing.
func (p *pending) Abort() {
	if p.done {
		return
	}
	p.done = true
	remove.At(p.root, p.temp) // while its lock is held: nobody else may
	p.file.Close()
}

// RetryInUse calls try again, for about 2 s, while it fails because a file is in
// use, by a virus scanner as a rule; the error is that of the last try. On Unix
// nothing is in use.
func RetryInUse(ctx context.Context, try func() error) error {
	err := try()
	for n := 1; n < inUseTries && inUse(err); n++ {
		if pause(ctx, inUseWait) != nil {
			return err
		}
		err = try()
	}
	return err
}

// pause waits for d, or returns why ctx ended before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// lock takes the lock of the document at name, across processes, and returns
// what frees it. The lock file stays: removing it would race with others.
func (f *Folder) lock(ctx context.Context, name string) (unlock func(), err error) {
	file, err := f.root.OpenFile(path.Join(path.Dir(name), lockPrefix+strings.TrimSuffix(path.Base(name), ".json")), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, writeFailure(name, err)
	}
	limit, cancel := context.WithTimeoutCause(ctx, lockWait, errLocked)
	defer cancel()
	for {
		locked, err := filelock.Try(file)
		if locked {
			return func() { file.Close() }, nil
		}
		if err == nil {
			err = pause(limit, lockPoll)
		}
		if err != nil {
			file.Close()
			if errors.Is(err, errLocked) {
				return nil, &reason.Error{Code: reason.StorageUnavailable,
					Detail: name + " in the store is locked by another process", Err: err}
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, writeFailure(name, err)
		}
	}
}

var errLocked = errors.New("lock not free in time")
