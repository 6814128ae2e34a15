package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nobody is a user without rights, as whom the tests run programs where they
// run as root themselves: root may read everything.
const nobody = 65534

// unprivileged returns a command that runs as a user without rights, in dir.
func unprivileged(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "GORACE=atexit_sleep_ms=0",
		"RSMS_WORK_DIR=" + dir, "CANARY=canary-secret"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// program puts a copy of the program into a folder that belongs to the user
// without rights.
func program(t *testing.T) (dir, path string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir = t.TempDir()
	check(os.Chmod(filepath.Dir(dir), 0o755))
	if os.Getuid() == 0 {
		check(os.Chown(dir, nobody, nobody))
	}
	self, err := os.Executable()
	check(err)
	data, err := os.ReadFile(self)
	check(err)
	path = filepath.Join(dir, "rsms-job")
	check(os.WriteFile(path, data, 0o755))
	return dir, path
}

// What a user's programs can read of each other they cannot read of the job,
// whose environment has the credentials of the storage.
func TestEnvironmentIsHidden(t *testing.T) {
	t.Parallel()
	dir, path := program(t)
	job := unprivileged(dir, path, "run", "--store", dir, "--message", "-") // waits for a message
	var stdin io.WriteCloser
	stdin, err := job.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	other := unprivileged(dir, "cat")
	if _, err := other.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{job, other} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
	}
	read := func(cmd *exec.Cmd, what string) (string, error) {
		out, err := unprivileged(dir, "cat", filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), what)).CombinedOutput()
		return string(out), err
	}
	deadline := time.Now().Add(30 * time.Second)
	hidden := func(what string) bool {
		said, err := read(job, what)
		return err != nil && strings.Contains(said, "ermission denied")
	}
	// It hides itself soon after its start.
	for !hidden("environ") {
		if time.Now().After(deadline) {
			t.Fatal("the environment of the job can be read")
		}
	}
	if !hidden("maps") {
		t.Error("the memory of the job can be read")
	}
	if said, err := read(other, "environ"); err != nil || !strings.Contains(said, "canary") {
		t.Errorf("another program's environment cannot be read, so that the test says nothing: %v, %s", err, said)
	}
	stdin.Close()
	var exit *exec.ExitError
	if err := job.Wait(); !errors.As(err, &exit) || exit.ExitCode() < 0 {
		t.Errorf("without a message the job ended with %v", err)
	}
}

// A hidden job still finds itself, starts its engines and watches over them.
func TestHiddenJobWorks(t *testing.T) {
	t.Parallel()
	dir, path := program(t)
	if out, err := unprivileged(dir, path, "demo", filepath.Join(dir, "demo")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
