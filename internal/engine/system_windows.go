package engine

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// systemFiles are files that are others after an update of the system, or in an
// image that was built on another one.
func systemFiles() []string {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(dir, "ntdll.dll"), filepath.Join(dir, "kernelbase.dll"), filepath.Join(dir, "ucrtbase.dll")}
}
