package remove

import (
	"errors"

	"golang.org/x/sys/windows"
)

// unknownCall reports whether err is what Wine before 9 says of the call.
func unknownCall(err error) bool { return errors.Is(err, windows.ERROR_INVALID_FUNCTION) }
