package pipeline

import (
	"slices"

	"rsmsjob/internal/engine"
)

// runnerOf is what stands before the engine in every command line of a set: a
// program, by its path, and its arguments; nil where there is none.
func runnerOf(set *engine.Set) []string {
	if len(set.Steps) == 0 {
		return nil
	}
	step := &set.Steps[0]
	argv := append([]string{step.Path}, step.Args...)
	if i := slices.Index(argv, step.Executable); i > 0 {
		return argv[:i]
	}
	return nil
}
