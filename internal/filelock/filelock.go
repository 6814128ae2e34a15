// Package filelock takes locks on files. Invariant: the system frees a lock when
// the file is closed or its process dies, however it dies.
package filelock

import "os"

// Try takes the lock on f, which stays until f is closed, and reports whether
// it could: false where another process or another open file has it.
func Try(f *os.File) (bool, error) { return try(f) }
