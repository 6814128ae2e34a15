package workdir

import (
	"errors"

	"golang.org/x/sys/windows"
)

// inUse reports whether somebody else has the file open.
func inUse(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }
