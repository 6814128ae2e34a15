package process

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const rssUnit = 1024 // ru_maxrss is in KiB

// dieWithParent has the kernel kill the child when the thread that started it
// ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = unix.SIGKILL }

// awaitExit returns true when the process has ended and is not reaped yet,
// false where that cannot be known.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// missingLibrary reports whether a child ended before its own code began: the
// loaders of glibc and musl have no other sign than this code and text.
func missingLibrary(code int, tail string) bool {
	return wineMissesLibrary(code, tail) || code == 127 && (strings.Contains(tail, "error while loading shared libraries") ||
		strings.Contains(tail, "Error loading shared library"))
}
