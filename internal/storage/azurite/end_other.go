//go:build !linux

package azurite

import "os/exec"

func endWithParent(*exec.Cmd) {}
