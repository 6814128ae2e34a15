//go:build !linux

package pipeline

import "testing"

// running is not known here: that the run folder could be removed must do.
func running(*testing.T) []string { return nil }
