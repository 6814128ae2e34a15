//go:build race && unix

package main

import (
	"os"
	"syscall"
)

// endAtOnce takes the pause away that the race detector makes at the end of
// every process, a second each. It goes by an environment variable, which
// engines are not given, and is read before main: so the program starts again.
func endAtOnce() {
	if len(os.Args) < 2 || os.Args[1] != "engine" || os.Getenv("GORACE") != "" {
		return
	}
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, append([]string{self}, os.Args[1:]...), append(os.Environ(), "GORACE=atexit_sleep_ms=0"))
	}
	panic(err)
}
