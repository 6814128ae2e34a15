// Package workdir makes the folders that runs work in. Invariant: a run folder is
// private and empty when it is made, and is gone when its process is, if not at
// once then when the next run begins.
package workdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rsmsjob/internal/filelock"
	"rsmsjob/internal/remove"
)

const (
	prefix     = "rsms-"
	lockSuffix = ".lock"
)

// Folder is a run folder. Beside it stands a file that its process holds
// locked: who can take that lock knows that the process is dead.
type Folder struct {
	Path string // absolute
	lock *os.File
}

// Make makes a run folder in parent, "" for the system's temporary folder. Its
// path is short, as old programs cut long ones.
func Make(parent string) (*Folder, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	for {
		lock, err := os.CreateTemp(parent, prefix+"*"+lockSuffix)
		if err != nil {
			return nil, err
		}
		mine, err := filelock.Try(lock)
		if err != nil {
			return nil, errors.Join(err, lock.Close(), os.Remove(lock.Name()))
		}
		if !mine { // somebody who sweeps was faster and takes the name away
			lock.Close()
			continue
		}
		f := &Folder{Path: strings.TrimSuffix(lock.Name(), lockSuffix), lock: lock}
		if err := os.Mkdir(f.Path, 0o700); err != nil {
			return nil, errors.Join(err, f.unlock())
		}
		return f, nil
	}
}

// Keep leaves the folder where it is for good.
func (f *Folder) Keep() error { return f.unlock() }

// Remove removes the folder. On Windows a file may still be open for a moment,
// so it is tried again before the error is returned.
func (f *Folder) Remove() error {
	var err error
	for pause := 50 * time.Millisecond; pause < time.Second; pause *= 2 {
		if err = remove.All(f.Path); err == nil {
			return f.unlock()
		}
		time.Sleep(pause)
	}
	return errors.Join(err, f.lock.Close())
}

// unlock closes the lock file before it goes: Windows removes no open file. In
// between somebody who sweeps may take it away, or be about to.
func (f *Folder) unlock() error {
	err := f.lock.Close()
	if gone := os.Remove(f.lock.Name()); gone != nil && !os.IsNotExist(gone) && !inUse(gone) {
		err = errors.Join(err, gone)
	}
	return err
}

// Sweep removes the run folders in parent whose processes are dead, and returns
// the base names of those it removed. What it cannot remove stays.
func Sweep(parent string) []string {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil // the next run folder is made there, and says why not
	}
	var removed []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), lockSuffix) || !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(parent, e.Name())
		lock, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if dead, err := filelock.Try(lock); err != nil || !dead {
			lock.Close()
			continue
		}
		f := &Folder{Path: strings.TrimSuffix(name, lockSuffix), lock: lock}
		_, missing := os.Stat(f.Path)
		if err := remove.All(f.Path); err != nil {
			lock.Close()
			continue
		}
		if f.unlock() == nil && missing == nil {
			removed = append(removed, filepath.Base(f.Path))
		}
	}
	return removed
}
