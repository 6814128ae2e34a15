//go:build !race || !unix

package main

// endAtOnce has nothing to do without the race detector.
func endAtOnce() {}
