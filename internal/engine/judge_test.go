package engine

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
)

// What an exit code says by itself.
func TestAfterExit(t *testing.T) {
	for code, want := range map[int64]string{
		1: "", 2: "", 126: "may not be executed", 127: "was not found", 128: "", 129: "", 134: "SIGABRT: it crashed", 137: "SIGKILL; the system kills so when memory runs out",
		139: "SIGSEGV: it crashed", 255: "",
	} {
		got := afterExit(Step{}, process.Result{ExitCode: int(code)})
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("code %d: %q, want %q", code, got, want)
		}
	}
}

// What ended a program for Windows; STOP -1 is no exception.
func TestExceptions(t *testing.T) {
	for name, want := range map[string]string{
		"STATUS_ACCESS_VIOLATION": "was ended by the exception STATUS_ACCESS_VIOLATION: it crashed",
		"STATUS_NO_MEMORY":        "was ended by the exception STATUS_NO_MEMORY; memory ran out",
		"STATUS_CONTROL_C_EXIT":   "somebody else asked it to end",
		"":                        "ended with exit code 4294967295, 0 means success; see",
	} {
		err := (&Runner{}).judge(t.Context(), Step{Name: "bltm"}, process.Result{Cause: process.Exited, ExitCode: 0xFFFFFFFF, Exception: name}, nil)
		ends(t, err, reason.EngineFailed, want)
	}
}

// An engine that did nothing wrong is not blamed.
func TestUnseen(t *testing.T) {
	r := &Runner{}
	ends(t, r.unseen(Step{Name: "bltm"}, &fs.PathError{Op: "write", Path: "bltm.stdout", Err: errors.New("no space left")}), reason.StorageUnavailable,
		"what engine bltm says cannot be kept in the run folder; is the disk of RSMS_WORK_DIR full?")
	ends(t, r.unseen(Step{Name: "bltm"}, errors.New("wait for process")), reason.Internal, "engine bltm could not be watched")
	ends(t, r.unseen(Step{Name: "bltm", Path: "/e/BLTM.BAT"}, &process.StartError{Path: "/e/BLTM.BAT", Kind: process.ErrBatch}), reason.EngineMissing,
		"engine bltm (BLTM.BAT) cannot be started: it is a batch file, and what reads those would change or execute its path or an argument")
	// What may pass is tried again, be it the engine or who watches over it.
	for _, start := range []*process.StartError{
		{Path: "/e/BLTM", Kind: process.ErrShortage, Err: errors.New("text file busy")},
		{Path: "/bin/supervisor", Kind: process.ErrShortage, Err: errors.New("resource temporarily unavailable")},
	} {
		err := r.unseen(Step{Name: "bltm", Path: "/e/BLTM"}, start)
		ends(t, err, reason.EngineFailed, "engine bltm could not be started now: the system is short of memory, processes or open files, or the program is just being written; the log says which")
		if !errors.Is(err, start) {
			t.Errorf("the log does not say which: %v", err)
		}
	}
	ends(t, r.unseen(Step{Name: "bltm", Path: "/e/BLTM"}, &process.StartError{Path: "/e/BLTM", Err: errors.New("input/output error")}), reason.EngineFailed,
		"engine bltm (BLTM) was not started: the system refused it; the log says why")
}

// Only what is certainly not there costs a message.
func TestUnreadable(t *testing.T) {
	for err, want := range map[error]reason.Code{
		fs.ErrNotExist: reason.EngineMissing, fs.ErrPermission: reason.EngineMissing, syscall.ENOTDIR: reason.EngineMissing,
		syscall.EIO: reason.EngineFailed, syscall.EMFILE: reason.EngineFailed, syscall.ESTALE: reason.EngineFailed,
	} {
		if got := unreadable(&fs.PathError{Op: "open", Path: "x", Err: err}); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func TestElfMachine(t *testing.T) {
	for head, want := range map[string]string{
		"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00": "amd64",
		"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00": "arm64",
		"\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x03\x00": "386",
		"\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x16": "s390x",
		"\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x15": "other (ELF 21)",
		"\x7fELF": "", "MZ": "", "": "",
	} {
		if got := elfMachine([]byte(head)); got != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
}
