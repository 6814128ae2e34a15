package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
)

// unreadable is the reason of an engine that cannot be read: what a file system
// or a busy machine refuses now it may give later, and then no message is lost
// over it.
func unreadable(err error) reason.Code {
	for _, passing := range []error{syscall.EIO, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EHOSTDOWN} {
		if errors.Is(err, passing) {
			return reason.EngineFailed
		}
	}
	return reason.EngineMissing
}

// startable finds what can be said against starting a file before it is
// started: check says it, and no message is lost over it.
func startable(path string) error {
	if _, err := exec.LookPath(path); err != nil {
		return reason.New(reason.EngineMissing, "%s in EXE_DIR %s may not be executed: %s, or name a RSMS_ENGINE_RUNNER",
			shownName(filepath.Base(path)), filepath.Dir(path), remedy(path))
	}
	begin := head(path)
	problem := scriptProblem(begin)
	if problem == "" && foreign(begin) && !emulated() {
		problem = notExecutable(begin)
	}
	if runtime.GOOS == "windows" {
		problem = programProblem(path, systemRefuses)
	}
	return unstartable(path, problem)
}

// unstartable is the error of a file with a problem, nil for "".
func unstartable(path, problem string) error {
	if problem == "" {
		return nil
	}
	return reason.New(reason.EngineMissing, "%s in EXE_DIR %s cannot be started: %s", shownName(filepath.Base(path)), filepath.Dir(path), problem)
}

// remedy is what to do where a file may not be executed.
func remedy(path string) string {
	if runtime.GOOS == "windows" {
		return "Windows goes by the end of the name, so call it " + shownName(spellings(filepath.Base(path))[0])
	}
	return "give permission (chmod +x)"
}

// foreign reports whether what begins so is certainly no program that this
// machine itself can execute. A 64-bit one also takes programs of 32 bits.
func foreign(head []byte) bool {
	if runtime.GOOS != "linux" || bytes.HasPrefix(head, []byte("#!")) {
		return false
	}
	machine := elfMachine(head)
	if machine == "" {
		return bytes.HasPrefix(head, []byte("MZ")) || !bytes.ContainsRune(head, 0)
	}
	return machine != runtime.GOARCH && !(machine == "386" && runtime.GOARCH == "amd64") && !(machine == "arm" && runtime.GOARCH == "arm64")
}

// emulated reports whether the system has a program that it starts for others:
// which ones it would take only it knows.
func emulated() bool {
	handlers, err := os.ReadDir("/proc/sys/fs/binfmt_misc")
	return err == nil && slices.ContainsFunc(handlers, func(e os.DirEntry) bool { return e.Name() != "register" && e.Name() != "status" })
}

// head is how a file begins, nil where that cannot be read.
func head(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 512)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return b[:n]
}

// scriptProblem says why a script cannot be started, "" for one that can, and
// for what is none.
func scriptProblem(head []byte) string {
	line, isScript := bytes.CutPrefix(head, []byte("#!"))
	if !isScript || runtime.GOOS == "windows" {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if bytes.HasSuffix(line, []byte("\r")) {
		return "its lines end as on Windows (CR LF), so that the system looks for an interpreter of another name; save it with Unix line ends"
	}
	fields := strings.Fields(string(line))
	if len(fields) == 0 {
		return "its #! line names no interpreter; #!/bin/sh is usual"
	}
	if _, err := os.Stat(fields[0]); err != nil || !filepath.IsAbs(fields[0]) {
		return fmt.Sprintf("its interpreter %s is missing; install it, or correct the #! line", shownName(fields[0]))
	}
	return ""
}

// startProblem says in our words why the system did not start a program, and
// what to do.
func startProblem(path string, e *process.StartError) string {
	begin := head(path)
	switch {
	case errors.Is(e.Kind, process.ErrNotFound):
		return "it is not there any more"
	case errors.Is(e.Kind, process.ErrDirectory):
		return "it is a folder; the file to start is wanted"
	case errors.Is(e.Kind, process.ErrLibrary):
		return "a shared library that it needs is missing; the log has its name: install it, or name its folder in LD_LIBRARY_PATH; for a program for Windows put it beside the program"
	case errors.Is(e.Kind, process.ErrBatch):
		return "it is a batch file, and what reads those would change or execute its path or an argument; the log names the character: do without it, or start a program instead"
	case scriptProblem(begin) != "":
		return scriptProblem(begin)
	case errors.Is(e.Kind, process.ErrInterpreter):
		return "the loader it was built for is missing: it is for another C library, or a 32-bit program; build it for this system, or link it statically"
	case errors.Is(e.Kind, process.ErrNotExecutable):
		if _, err := exec.LookPath(path); err != nil {
			return "it may not be executed; " + remedy(path)
		}
		return notExecutable(begin)
	}
	return "the system refused it; the log says why"
}

// notExecutable says of the beginning of a file why it may not be executable.
func notExecutable(head []byte) string {
	if len(head) == 0 {
		return "the file is empty"
	}
	if bytes.HasPrefix(head, []byte("MZ")) {
		return "it is a Windows program that this machine does not take; set RSMS_ENGINE_RUNNER=wine, or run the job on Windows"
	}
	if machine := elfMachine(head); machine != "" {
		if machine == runtime.GOARCH && runtime.GOOS != "windows" {
			return "the system refuses to execute it: is its file system mounted noexec, or is it damaged?"
		}
		return fmt.Sprintf("it is a program for %s machines, and this is %s/%s; build it for this one", machine, runtime.GOOS, runtime.GOARCH)
	}
	for _, magic := range []string{"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return "it is a program for macOS; build it for this system"
		}
	}
	if bytes.HasPrefix(head, []byte("#!")) {
		return "the system refuses to execute it or its interpreter: is the file system of one mounted noexec?"
	}
	if runtime.GOOS != "windows" && !bytes.ContainsRune(head, 0) {
		return "it is a text without a #! line; put #!/bin/sh, or what is to read it, first"
	}
	return "it is no program for this system, or damaged"
}

// elfMachine is the machine that an ELF program is for, as Go calls it, "" for
// what is no ELF.
func elfMachine(head []byte) string {
	if len(head) < 20 || !bytes.HasPrefix(head, []byte("\x7fELF")) {
		return ""
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if head[5] == 2 {
		order = binary.BigEndian
	}
	number := order.Uint16(head[18:])
	if name := map[uint16]string{3: "386", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 22: "s390x"}[number]; name != "" {
		return name
	}
	return fmt.Sprintf("other (ELF %d)", number)
}
