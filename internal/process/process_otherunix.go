//go:build unix && !linux

package process

import "syscall"

const rssUnit = 1 // ru_maxrss is in bytes on Darwin

// dieWithParent does nothing: only Linux has a death signal.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit returns false: the end is seen by reaping only.
func awaitExit(int) bool { return false }

// missingLibrary knows Wine only.
func missingLibrary(code int, tail string) bool { return wineMissesLibrary(code, tail) }
