//go:build unix

package workdir

// inUse is false: on Unix an open file hinders nobody.
func inUse(error) bool { return false }
