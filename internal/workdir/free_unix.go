//go:build unix

package workdir

import "golang.org/x/sys/unix"

// Free is what an ordinary user may still write where dir is, bytes.
func Free(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
