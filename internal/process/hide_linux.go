package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Hide keeps the environment and the memory of this process from the other
// programs of its user, its engines among them; a debugger and a core dump then
// have neither. Only root with the right to trace still does. What this process
// starts is not hidden.
func Hide() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide process: %w", err)
	}
	return nil
}
