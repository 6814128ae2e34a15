//go:build unix

package storage

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func diskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// inUse reports whether another process has the file open in a way that only
// lasts for a moment; on Unix that hinders nobody.
func inUse(error) bool { return false }

// syncFolder makes names in the folder outlive a power cut.
func syncFolder(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems cannot; the file itself is safe.
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
