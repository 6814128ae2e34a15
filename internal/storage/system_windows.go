package storage

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

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
