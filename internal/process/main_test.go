//go:build unix

package process_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rsmsjob/internal/process"
)

// childVar names the role that the test binary plays as a child.
const childVar = "PROCESS_TEST_CHILD"

// children are the roles; each ends by returning an exit code.
func children() map[string]func(args []string) int {
	return map[string]func([]string) int{
		"exit":       childExit,
		"signal":     childSignal,
		"stubborn":   childStubborn,
		"obedient":   childObedient,
		"flood":      childFlood,
		"lines":      childLines,
		"env":        childEnv,
		"cat":        childCat,
		"hold":       childHold,
		"parent":     childParent,
		"stopper":    childStopper,
		"group":      childGroup,
		"orphan":     childOrphan,
		"joiner":     childJoiner,
		"runner":     childRunner,
		"supervisor": process.Supervise,
		"tail":       childTail,
	}
}

// used are the roles that a test asked for.
var used sync.Map

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		// A supervisor and a runner pass their environment on; the role of
		// what they start stands in the first argument.
		args := os.Args[1:]
		if len(args) > 0 && strings.HasPrefix(args[0], "as=") {
			role, args = strings.TrimPrefix(args[0], "as="), args[1:]
		}
		child, ok := children()[role]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such role:", role)
			os.Exit(99)
		}
		os.Exit(child(args))
	}
	code := m.Run()
	if code == 0 && !filtered() {
		for role := range children() {
			if _, ok := used.Load(role); !ok {
				fmt.Fprintln(os.Stderr, "no test uses the child role", role)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// filtered reports whether only some of the tests were asked for.
func filtered() bool {
	for _, arg := range os.Args[1:] {
		for _, name := range []string{"run", "skip", "fuzz", "bench", "list", "short"} {
			if strings.HasPrefix(arg, "-test."+name+"=") && !strings.HasSuffix(arg, "=") {
				return true
			}
		}
	}
	return false
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command returns a command that runs the test binary in a role, in a fresh
// folder, within a limit that only a hanging test reaches.
func command(t testing.TB, role string, args ...string) process.Command {
	t.Helper()
	used.Store(role, true)
	return process.Command{
		Path: self(t),
		Args: append([]string{"as=" + role}, args...),
		Dir:  t.TempDir(),
		// The race detector has every child wait a second at its end.
		Env:     process.MinimalEnv(os.LookupEnv, childVar+"="+role, "GORACE=atexit_sleep_ms=0"),
		Stdout:  "out.txt",
		Stderr:  "err.txt",
		Timeout: time.Minute,
	}
}

// supervised has c run behind the supervisor role.
func supervised(t testing.TB, c process.Command) process.Command {
	used.Store("supervisor", true)
	c.Supervisor = []string{self(t), "as=supervisor"}
	return c
}

func run(t testing.TB, ctx context.Context, c process.Command) process.Result {
	t.Helper()
	r, err := process.Run(ctx, c)
	if err != nil {
		t.Fatalf("Run: %v (result %+v)", err, r)
	}
	return r
}

// noChildren fails when a child of the test binary is left, running or zombie.
func noChildren(t testing.TB) {
	t.Helper()
	_, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
	if err != unix.ECHILD {
		t.Errorf("a child process is left: wait4 says %v, want ECHILD", err)
	}
}

func content(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// lifeline is a named pipe that processes hold open: it tells who came to
// life, and ends when all of them are dead.
type lifeline struct {
	path  string
	file  *os.File
	extra *os.File // a writer of ours, so that it does not end before it began
	lines *bufio.Reader
}

func newLifeline(t testing.TB) *lifeline {
	t.Helper()
	l := &lifeline{path: filepath.Join(t.TempDir(), "lifeline")}
	if err := unix.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.file, err = os.OpenFile(l.path, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.file.Close() })
	if l.extra, err = os.OpenFile(l.path, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.file.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	l.lines = bufio.NewReader(l.file)
	return l
}

// await waits until n processes hold the lifeline.
func (l *lifeline) await(t testing.TB, n int) {
	t.Helper()
	for range n {
		if _, err := l.lines.ReadString('\n'); err != nil {
			t.Fatalf("wait for a process to begin: %v", err)
		}
	}
}

// dead waits until no process holds the lifeline any more.
func (l *lifeline) dead(t testing.TB) {
	t.Helper()
	l.extra.Close()
	if _, err := io.Copy(io.Discard, l.lines); err != nil {
		t.Fatalf("a process that must be dead is alive: %v", err)
	}
}

// hold takes the lifeline at path for the life of the process.
func hold(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	fmt.Fprintln(f, os.Getpid())
	keep = f
}

// keep holds what must not be closed before the end of a child.
var keep *os.File

// forever blocks until the process is killed.
func forever() { <-wait(syscall.SIGUSR1) }

func wait(signals ...os.Signal) chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, signals...)
	return c
}

func childExit(args []string) int {
	var code int
	fmt.Sscan(args[0], &code)
	return code
}

func childSignal(args []string) int {
	var s int
	fmt.Sscan(args[0], &s)
	unix.Kill(os.Getpid(), syscall.Signal(s))
	forever()
	return 0
}

// childStubborn takes no notice of being asked to end.
func childStubborn([]string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	fmt.Println("ready")
	forever()
	return 0
}

func childObedient([]string) int {
	c := wait(syscall.SIGTERM)
	fmt.Println("ready")
	<-c
	fmt.Println("cleaned up")
	return 7
}

func childFlood(args []string) int {
	block := bytes.Repeat([]byte("0123456789abcde\n"), 1<<12)
	to := os.Stdout
	if len(args) > 0 && args[0] == "stderr" {
		to = os.Stderr
	}
	for {
		if _, err := to.Write(block); err != nil {
			return 3
		}
	}
}

func childLines(args []string) int {
	fmt.Print(strings.Join(args, ""))
	return 0
}

func childEnv([]string) int {
	for _, entry := range os.Environ() {
		fmt.Println(entry)
	}
	return 0
}

func childCat([]string) int {
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return 1
	}
	return 0
}

func childTail(args []string) int {
	fmt.Println("on stdout")
	os.Stderr.WriteString(args[0])
	return 1
}

// childHold holds the lifeline and its standard output until it is killed or,
// so that nothing outlives a test that lets it go, the lifeline's reader is
// gone.
func childHold(args []string) int {
	hold(args[0])
	for {
		if _, err := keep.Write([]byte{'.'}); err != nil {
			return 0
		}
		poll := []unix.PollFd{{Fd: int32(keep.Fd()), Events: 0}}
		unix.Poll(poll, -1) // until the reader has gone
	}
}

// childParent starts a grandchild that holds the lifeline and its standard
// output: args are the lifeline, "exit" or "stay", and "session" for a
// grandchild that leaves the group.
func childParent(args []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 97
	}
	attr := &syscall.SysProcAttr{Setsid: len(args) > 2 && args[2] == "session"}
	_, err = os.StartProcess(exe, []string{exe, "as=hold", args[0]}, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: attr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 96
	}
	hold(args[0])
	fmt.Println("started")
	if args[1] == "stay" {
		forever()
	}
	return 5
}

// childStopper stops its group, itself included.
func childStopper(args []string) int {
	hold(args[0])
	unix.Kill(0, unix.SIGSTOP)
	forever()
	return 0
}

// childGroup does to its own group what a shell does by "kill 0": args are the
// lifeline and the signal. One in a session of its own is left behind.
func childGroup(args []string) int {
	if code := childParent([]string{args[0], "exit", "session"}); code != 5 {
		return code
	}
	return childKill(0, args[1])
}

// childOrphan kills its supervisor; one in its group is left behind.
func childOrphan(args []string) int {
	if code := childParent([]string{args[0], "exit"}); code != 5 {
		return code
	}
	return childKill(os.Getppid(), "9")
}

func childKill(pid int, number string) int {
	var s int
	fmt.Sscan(number, &s)
	unix.Kill(pid, syscall.Signal(s))
	forever()
	return 0
}

// childJoiner leaves its group for that of its supervisor.
func childJoiner(args []string) int {
	if err := unix.Setpgid(0, os.Getppid()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 94
	}
	hold(args[0])
	forever()
	return 0
}

// childRunner is a process that uses Run, to be killed itself: args are
// "direct" or "supervised", the folder, and the role and arguments of its child.
func childRunner(args []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 97
	}
	c := process.Command{Path: exe, Args: append([]string{"as=" + args[2]}, args[3:]...), Dir: args[1],
		Env: process.MinimalEnv(os.LookupEnv, childVar)}
	if args[0] == "supervised" {
		c.Supervisor = []string{exe, "as=supervisor"}
	}
	if _, err := process.Run(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 95
	}
	return 0
}
