package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tree is a child and all its descendants, held together by a job object that
// the system kills when the last handle on it is closed, which it does for us
// when this process dies.
type tree struct {
	path, dir string

	mu  sync.Mutex
	job windows.Handle
	pid int // 0 before the start
}

func newTree(c *Command) (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	return &tree{path: c.Path, dir: c.Dir, job: job}, nil
}

func (t *tree) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	windows.CloseHandle(t.job)
	t.job = 0
}

// start starts cmd suspended, puts it into the job and lets it go: so it has
// no moment in which it could start something outside.
func (t *tree) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
	if err := cmd.Start(); err != nil {
		return startError(t.path, t.dir, err)
	}
	err := t.assign(cmd.Process)
	if err == nil {
		err = resume(uint32(cmd.Process.Pid))
	}
	if err != nil {
		// It is still suspended, and may be outside the job.
		cmd.Process.Kill()
		cmd.Wait()
		return &StartError{Path: t.path, Err: err}
	}
	t.mu.Lock()
	t.pid = cmd.Process.Pid
	t.mu.Unlock()
	return nil
}

func (t *tree) assign(p *os.Process) error {
	var assignErr error
	err := p.WithHandle(func(handle uintptr) {
		assignErr = windows.AssignProcessToJobObject(t.job, windows.Handle(handle))
	})
	if err = errors.Join(err, assignErr); err != nil {
		return fmt.Errorf("assign process to job: %w", err)
	}
	return nil
}

// resume starts the one thread of a process that was created suspended;
// os/exec does not keep its handle.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer windows.CloseHandle(snapshot)
	var entry windows.ThreadEntry32
	entry.Size = uint32(unsafe.Sizeof(entry))
	resumed := false
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		if err := resumeThread(entry.ThreadID); err != nil {
			return fmt.Errorf("resume thread: %w", err)
		}
		resumed = true
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return fmt.Errorf("list threads: %w", err)
	}
	if !resumed {
		return errors.New("list threads: process has none")
	}
	return nil
}

func resumeThread(id uint32) error {
	thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, id)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(thread)
	_, err = windows.ResumeThread(thread)
	return err
}

// interrupt sends Ctrl-Break to the child's process group and reports whether
// it could: without a common console it cannot.
func (t *tree) interrupt() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pid != 0 && windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.pid)) == nil
}

// kill kills the whole job.
func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		windows.TerminateJobObject(t.job, killedCode)
	}
}

// force has nothing to add to kill.
func (t *tree) force() {}

// killedCode is the exit code of what we kill: 128 + SIGKILL, as on Unix.
const killedCode = 137

// wait returns when the child has ended, the rest of the job is killed and the
// output is read.
func (t *tree) wait(cmd *exec.Cmd) error {
	var waitErr error
	err := cmd.Process.WithHandle(func(handle uintptr) {
		_, waitErr = windows.WaitForSingleObject(windows.Handle(handle), windows.INFINITE)
	})
	if err != nil || waitErr != nil {
		// Its end cannot be seen; what is left is to make sure of it.
		t.kill()
		return errors.Join(err, waitErr, cmd.Wait())
	}
	t.kill()
	err = cmd.Wait()
	t.mu.Lock()
	t.pid = 0 // the number may be another's by now
	t.mu.Unlock()
	return err
}

// report fills in how the child ended.
func (t *tree) report(state *os.ProcessState, r *Result) error {
	r.ExitCode = state.ExitCode()
	r.User, r.System = state.UserTime(), state.SystemTime()
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err == nil {
		r.MaxRSS = int64(info.PeakProcessMemoryUsed)
	}
	return nil
}

// mayExecute is true: Windows finds out by trying.
func mayExecute(fs.FileInfo) bool { return true }

// startKind gives an error of starting an existing file its kind.
func startKind(err error) error {
	switch {
	case errors.Is(err, windows.ERROR_BAD_EXE_FORMAT), errors.Is(err, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH),
		errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return ErrNotExecutable
	case errors.Is(err, windows.ERROR_MOD_NOT_FOUND):
		return ErrLibrary
	case shortage(err):
		return ErrShortage
	}
	return nil
}

// shortage reports whether err may be gone the next time: no room for another
// process or file, a disk or network that hiccups, or a file that is in use.
func shortage(err error) bool {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return false
	}
	switch number {
	case windows.ERROR_COMMITMENT_LIMIT, windows.ERROR_NO_SYSTEM_RESOURCES, windows.ERROR_NOT_ENOUGH_MEMORY,
		windows.ERROR_OUTOFMEMORY, windows.ERROR_TOO_MANY_OPEN_FILES, windows.ERROR_NOT_ENOUGH_QUOTA,
		windows.ERROR_WORKING_SET_QUOTA, windows.ERROR_MAX_THRDS_REACHED, windows.ERROR_IO_DEVICE:
		return true
	}
	return busy(err)
}

// busy reports whether somebody has the executable open in a way that does not
// go with starting it, as one does that looks for viruses.
func busy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// unfit returns what is wrong with the arguments of a batch file.
func (c *Command) unfit() error { return unfitForBatch(c.Path, c.Args) }

// missingLibrary reports whether a child ended before its own code began, for
// want of a library, of a part of one, or of one for its kind of machine.
func missingLibrary(code int, _ string) bool {
	switch windows.NTStatus(uint32(code)) {
	case windows.STATUS_DLL_NOT_FOUND, windows.STATUS_ENTRYPOINT_NOT_FOUND,
		windows.STATUS_ORDINAL_NOT_FOUND, windows.STATUS_INVALID_IMAGE_FORMAT:
		return true
	}
	return false
}

// exception is the name of the exception whose status is the exit code.
func exception(code int, _ string) string { return exceptionName(uint32(code)) }
