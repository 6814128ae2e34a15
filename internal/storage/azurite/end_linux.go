package azurite

import (
	"os/exec"
	"syscall"
)

// endWithParent lets the kernel kill the emulator when the tests are killed.
func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
