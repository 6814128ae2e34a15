package process

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Characters that cmd.exe does not hand on as they are. What stands between
// quotes, as an argument with a blank does, is not safe from it either.
const (
	notInBatchPath = "\"%!^&|<>"
	notForBatch    = notInBatchPath + "(),;=\t\r\n"
)

// unfitForBatch returns a *StartError for a batch file whose path or arguments
// cmd.exe, which Windows has read such files, would change or execute.
func unfitForBatch(path string, args []string) error {
	// Windows drops dots and blanks at the end of a name.
	switch strings.ToLower(filepath.Ext(strings.TrimRight(path, ". "))) {
	case ".bat", ".cmd":
	default:
		return nil
	}
	fault := func(format string, args ...any) error {
		return &StartError{Path: path, Kind: ErrBatch, Err: fmt.Errorf(format, args...)}
	}
	if i := strings.IndexAny(path, notInBatchPath); i >= 0 {
		return fault("its path has the character %q; move it, or start a program instead", path[i])
	}
	for n, arg := range args {
		if i := strings.IndexAny(arg, notForBatch); i >= 0 {
			return fault("argument %d has the character %q, which cmd.exe takes for its own; start a program instead", n+1, arg[i])
		}
		// A quoted one gets its last backslash twice.
		if strings.Contains(arg, " ") && strings.HasSuffix(arg, `\`) {
			return fault("argument %d has a blank and ends in a backslash; start a program instead", n+1)
		}
	}
	return nil
}
