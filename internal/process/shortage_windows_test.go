package process

import (
	"io/fs"
	"syscall"
	"testing"

	"golang.org/x/sys/windows"
)

// A shortage passes; what is wrong with the program itself does not.
func TestStartKind(t *testing.T) {
	for number, want := range map[syscall.Errno]error{
		windows.ERROR_SHARING_VIOLATION: ErrShortage, windows.ERROR_LOCK_VIOLATION: ErrShortage,
		windows.ERROR_COMMITMENT_LIMIT: ErrShortage, windows.ERROR_NO_SYSTEM_RESOURCES: ErrShortage,
		windows.ERROR_NOT_ENOUGH_MEMORY: ErrShortage, windows.ERROR_TOO_MANY_OPEN_FILES: ErrShortage,
		windows.ERROR_BAD_EXE_FORMAT: ErrNotExecutable, windows.ERROR_ACCESS_DENIED: ErrNotExecutable,
		windows.ERROR_MOD_NOT_FOUND: ErrLibrary, windows.ERROR_INVALID_PARAMETER: nil,
	} {
		err := &fs.PathError{Op: "fork/exec", Path: `C:\exe\DAFLOW.EXE`, Err: number}
		if got := startKind(err); got != want {
			t.Errorf("%v: got %v, want %v", number, got, want)
		}
	}
}
