package engine

import (
	"errors"
	"io/fs"
	"strings"
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
