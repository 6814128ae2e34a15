package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"rsmsjob/internal/process"
)

// childVar names the role that the test binary plays as a child.
const childVar = "PROCESS_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		args := os.Args[1:]
		if len(args) > 0 && strings.HasPrefix(args[0], "as=") {
			role, args = strings.TrimPrefix(args[0], "as="), args[1:]
		}
		os.Exit(child(role, args))
	}
	os.Exit(m.Run())
}

func child(role string, args []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 97
	}
	switch role {
	case "exit":
		code, _ := strconv.ParseUint(args[0], 10, 32)
		fmt.Println("bye")
		return int(code)
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
		return 0
	case "flood":
		block := strings.Repeat("0123456789abcd\r\n", 1<<12)
		for {
			if _, err := os.Stdout.WriteString(block); err != nil {
				return 3
			}
		}
	case "obedient":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		fmt.Println("ready")
		<-c
		return 7
	case "breakaway": // starts one that would leave the job
		cmd := exec.Command(exe, "as=exit", "0")
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_BREAKAWAY_FROM_JOB}
		if err := cmd.Run(); err == nil {
			return 94
		}
		return 0
	case "hold": // until it is killed
		fmt.Println(os.Getpid())
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		for {
			<-c
		}
	case "parent": // of one that holds the output; exits, or stays with "stay"
		_, err := os.StartProcess(exe, []string{exe, "as=hold"}, &os.ProcAttr{
			Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
		if err != nil {
			return 96
		}
		if args[0] == "stay" {
			return child("hold", nil)
		}
		return 5
	case "runner": // of args[1:], in the folder args[0]; tells the ids of its children
		_, err := process.Run(context.Background(), process.Command{Path: exe, Args: args[1:], Dir: args[0],
			Env:    process.MinimalEnv(os.LookupEnv, childVar),
			OnLine: func(line []byte) { fmt.Println(string(line)) }})
		fmt.Fprintln(os.Stderr, err)
		return 95
	}
	return 99
}

func command(t *testing.T, args ...string) process.Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return process.Command{Path: exe, Args: args, Dir: t.TempDir(), Stdout: "out.txt", Stderr: "err.txt",
		Env: process.MinimalEnv(os.LookupEnv, childVar+"=x"), Timeout: time.Minute}
}

// dead fails when the process does not end.
func dead(t *testing.T, pid string) {
	t.Helper()
	id, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatal(err)
	}
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(id))
	if err != nil {
		return // there is none
	}
	defer windows.CloseHandle(h)
	if event, err := windows.WaitForSingleObject(h, 30_000); event != windows.WAIT_OBJECT_0 {
		t.Errorf("process %d is alive: %d, %v", id, event, err)
	}
}

func TestEnding(t *testing.T) {
	for _, code := range []int{0, 3, 137} {
		c := command(t, "as=exit", strconv.Itoa(code))
		r, err := process.Run(context.Background(), c)
		if err != nil || r.Cause != process.Exited || r.ExitCode != code || r.Tail != "bye" {
			t.Errorf("got %+v, %v, want code %d", r, err, code)
		}
	}
}

// An exception is named, and is no signal.
func TestException(t *testing.T) {
	for _, test := range []struct {
		code      uint32
		exception string
		missing   bool
	}{
		{0xC0000005, "STATUS_ACCESS_VIOLATION", false},
		{0xC0000017, "STATUS_NO_MEMORY", false},
		{0xC00000FD, "STATUS_STACK_OVERFLOW", false},
		{0xC0001234, "status 0xc0001234", false},
		{0xC0000135, "STATUS_DLL_NOT_FOUND", true},
		{0xC000007B, "STATUS_INVALID_IMAGE_FORMAT", true},
		{0xFFFFFFFF, "", false}, // STOP -1
		{3, "", false},
	} {
		r, err := process.Run(context.Background(), command(t, "as=exit", strconv.FormatUint(uint64(test.code), 10)))
		if r.ExitCode != int(test.code) || r.Exception != test.exception || r.Signal != "" {
			t.Errorf("%#x: got %+v, want %q", test.code, r, test.exception)
		}
		if errors.Is(err, process.ErrLibrary) != test.missing || (r.Cause == process.StartFailed) != test.missing || (err != nil) != test.missing {
			t.Errorf("%#x: got %v, %+v", test.code, err, r)
		}
	}
}

func TestNoBreakaway(t *testing.T) {
	if r, err := process.Run(context.Background(), command(t, "as=breakaway")); err != nil || r.ExitCode != 0 {
		t.Errorf("a grandchild left the job: %+v, %v", r, err)
	}
}

// Where Ctrl-Break can be sent, the child gets it and its grace; where not, as
// under Wine and without a console, it is killed at once.
func TestAskedToEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := command(t, "as=obedient")
	c.Grace = time.Minute
	c.OnLine = func([]byte) { cancel() }
	r, err := process.Run(ctx, c)
	if err != nil || r.Cause != process.Cancelled || r.ExitCode != 7 && r.ExitCode != 137 || r.Wall > c.Grace {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A child has what it is given and no other handle of ours, even one that may
// be inherited.
func TestHandles(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	if err := windows.SetHandleInformation(windows.Handle(writer.Fd()), windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, reader)
		ended <- err
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := command(t, "as=hold")
	c.OnLine = func([]byte) {
		defer cancel()
		writer.Close()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("read: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the child holds a pipe that it was not given")
		}
	}
	if r, err := process.Run(ctx, c); err != nil || r.Cause != process.Cancelled {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	c := command(t, "as=hold")
	c.Timeout, c.Grace = time.Second, time.Millisecond
	if r, err := process.Run(context.Background(), c); err != nil || r.Cause != process.Timeout || r.ExitCode != 137 {
		t.Errorf("got %+v, %v, want timeout", r, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c = command(t, "as=hold")
	pid := ""
	c.OnLine = func(line []byte) { pid = string(line); cancel() }
	if r, err := process.Run(ctx, c); err != nil || r.Cause != process.Cancelled || r.ExitCode != 137 {
		t.Errorf("got %+v, %v, want cancelled", r, err)
	}
	dead(t, pid)
}

func TestOutputLimit(t *testing.T) {
	c := command(t, "as=flood")
	c.MaxOutput = 1<<20 + 5
	r, err := process.Run(context.Background(), c)
	info, statErr := os.Stat(filepath.Join(c.Dir, "out.txt"))
	if err != nil || statErr != nil || r.Cause != process.OutputLimit || info.Size() != c.MaxOutput {
		t.Errorf("got %+v, %v, %v", r, err, statErr)
	}
}

func TestStdinAndNames(t *testing.T) { // H15
	c := command(t, "as=cat")
	c.Dir = filepath.Join(c.Dir, "Flüsse und Bäche")
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.Stdin, c.Stdout = []byte("FLOW.IN\n"), "é à.txt"
	_, err := process.Run(context.Background(), c)
	got, readErr := os.ReadFile(filepath.Join(c.Dir, c.Stdout))
	if err != nil || readErr != nil || string(got) != "FLOW.IN\n" {
		t.Errorf("got %q, %v, %v", got, err, readErr)
	}
}

// C11: a grandchild that holds the output must not hold the run.
func TestGrandchildDies(t *testing.T) {
	for _, mode := range []string{"exit", "stay"} {
		ctx, cancel := context.WithCancel(context.Background())
		c := command(t, "as=parent", mode)
		var pids []string
		c.OnLine = func(line []byte) {
			if pids = append(pids, string(line)); mode == "stay" && len(pids) == 2 {
				cancel()
			}
		}
		r, err := process.Run(ctx, c)
		cancel()
		if err != nil || mode == "exit" && r.ExitCode != 5 || mode == "stay" && r.Cause != process.Cancelled {
			t.Errorf("%s: %+v, %v", mode, r, err)
		}
		for _, pid := range pids {
			dead(t, pid)
		}
	}
}

// C12: when the job is killed and can do nothing any more, its engine and what
// the engine started die.
func TestKilledRunner(t *testing.T) {
	c := command(t)
	cmd := exec.Command(c.Path, "as=runner", c.Dir, "as=parent", "stay")
	cmd.Env = c.Env
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	var pids []string
	for len(pids) < 2 && lines.Scan() {
		pids = append(pids, lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if len(pids) != 2 {
		t.Fatalf("children %q, want 2", pids)
	}
	for _, pid := range pids {
		dead(t, pid)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "DAFLOW.exe")
	if err := os.WriteFile(text, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{filepath.Join(dir, "no.exe"): process.ErrNotFound,
		dir: process.ErrDirectory, text: process.ErrNotExecutable} {
		c := command(t)
		c.Path = path
		if _, err := process.Run(context.Background(), c); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}
