package storage

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock on f that the system frees when f is closed or its
// process dies, and reports whether it could. It locks one byte far behind the
// end: a locked byte cannot be read or written by others.
func tryLock(f *os.File) (bool, error) {
	region := windows.Overlapped{OffsetHigh: 0x7fffffff}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &region)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// inUse reports whether another process, a virus scanner as a rule, has the
// file open in a way that only lasts for a moment.
func inUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) ||
		errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// syncFolder does nothing: Windows has no such call for folders.
func syncFolder(*os.Root, string) error { return nil }

// removeFile removes a file. Wine 8 does not know the call that os.Root removes
// with; there it goes by the path, once it is seen that it stays inside.
func removeFile(root *os.Root, name string) error {
	err := root.Remove(name)
	if !errors.Is(err, windows.ERROR_INVALID_FUNCTION) {
		return err
	}
	if _, err := root.Lstat(name); err != nil {
		return err
	}
	return os.Remove(filepath.Join(root.Name(), filepath.FromSlash(name)))
}
