//go:build unix

package process_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"rsmsjob/internal/process"
)

// Started by hand, Supervise must not kill the group of whoever did so.
func TestSuperviseByHand(t *testing.T) {
	for _, args := range [][]string{{}, {self(t)}} {
		cmd := exec.Command(self(t), append([]string{"as=supervisor"}, args...)...)
		cmd.Env = []string{childVar + "=supervisor"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%q: got %v, want exit code 2", args, err)
		}
	}
}

// C11: a grandchild that holds the output must not hold the run.
func TestGrandchildDiesWithChild(t *testing.T) {
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		life := newLifeline(t)
		used.Store("hold", true)
		r := run(t, context.Background(), build("parent", life.path, "exit"))
		if r.Cause != process.Exited || r.ExitCode != 5 {
			t.Errorf("got %+v, want exit code 5", r)
		}
		life.dead(t)
		noChildren(t)
	})
}

func TestGrandchildDiesByCancel(t *testing.T) { // C11, C12
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		life := newLifeline(t)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { life.await(t, 2); cancel() }()
		c := build("parent", life.path, "stay")
		c.Grace = time.Millisecond
		if r := run(t, ctx, c); r.Cause != process.Cancelled {
			t.Errorf("got %+v, want cancelled", r)
		}
		life.dead(t)
		noChildren(t)
	})
}

// C11: what left the group is killed behind a supervisor where the system lets
// it see such; elsewhere the run ends all the same.
func TestGrandchildInItsOwnSession(t *testing.T) {
	for _, mode := range []string{"exit", "stay"} {
		t.Run(mode, func(t *testing.T) {
			both(t, func(t *testing.T, build func(string, ...string) process.Command) {
				life := newLifeline(t)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				c := build("parent", life.path, mode, "session")
				if mode == "stay" {
					go func() { life.await(t, 2); cancel() }()
				}
				r := run(t, ctx, c)
				if mode == "exit" && (r.Cause != process.Exited || r.ExitCode != 5) || mode == "stay" && r.Cause != process.Cancelled {
					t.Errorf("got %+v", r)
				}
				if len(c.Supervisor) > 0 && runtime.GOOS == "linux" {
					life.dead(t)
				} else {
					life.file.Close() // lets it go
				}
				noChildren(t)
			})
		})
	}
}

func TestStoppedGroup(t *testing.T) {
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		life := newLifeline(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { life.await(t, 1); cancel() }()
		if r := run(t, ctx, build("stopper", life.path)); r.Cause != process.Cancelled || r.Signal != "SIGKILL" {
			t.Errorf("got %+v, want cancelled by SIGKILL", r)
		}
		life.dead(t)
		noChildren(t)
	})
}

// What an engine does to its own group does not reach its supervisor, which
// tells how it ended and kills what left the group.
func TestOwnGroup(t *testing.T) {
	for number, name := range map[string]string{"9": "SIGKILL", "15": "SIGTERM", "1": "SIGHUP", "2": "SIGINT"} {
		t.Run(name, func(t *testing.T) {
			used.Store("hold", true)
			life := newLifeline(t)
			r := run(t, context.Background(), supervised(t, command(t, "group", life.path, number)))
			if r.Cause != process.Exited || r.Signal != name {
				t.Errorf("got %+v, want ended by %s", r, name)
			}
			if runtime.GOOS == "linux" {
				life.dead(t)
			} else {
				life.file.Close()
			}
			noChildren(t)
		})
	}
}

// Without its supervisor a child dies with its group all the same.
func TestSupervisorKilled(t *testing.T) {
	life := newLifeline(t)
	r := run(t, context.Background(), supervised(t, command(t, "orphan", life.path)))
	if r.Cause != process.Exited || r.Signal != "SIGKILL" {
		t.Errorf("got %+v, want ended by SIGKILL", r)
	}
	life.dead(t)
	noChildren(t)
}

func TestChildInAnotherGroup(t *testing.T) {
	life := newLifeline(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { life.await(t, 1); cancel() }()
	if r := run(t, ctx, supervised(t, command(t, "joiner", life.path))); r.Cause != process.Cancelled || r.Signal != "SIGKILL" {
		t.Errorf("got %+v, want cancelled by SIGKILL", r)
	}
	life.dead(t)
	noChildren(t)
}

type killedRunner struct {
	name      string
	mode      string
	role      []string
	processes int
}

// C12: when the job is killed and can do nothing any more, its engine dies;
// behind a supervisor, what the engine started dies too.
func TestKilledRunner(t *testing.T) {
	tests := []killedRunner{
		{"direct", "direct", []string{"hold"}, 1},
		{"supervised", "supervised", []string{"hold"}, 1},
		{"supervised with a grandchild", "supervised", []string{"parent", "stay"}, 2},
	}
	if runtime.GOOS == "linux" {
		tests = append(tests, killedRunner{"supervised with a grandchild in its own session", "supervised", []string{"parent", "stay", "session"}, 2})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			life := newLifeline(t)
			used.Store("runner", true)
			args := []string{"as=runner", test.mode, t.TempDir(), test.role[0], life.path}
			cmd := exec.Command(self(t), append(args, test.role[1:]...)...)
			cmd.Env = process.MinimalEnv(os.LookupEnv, childVar+"=runner")
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			life.await(t, test.processes)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			said, _ := io.ReadAll(stderr)
			if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
				t.Errorf("runner ended with %v (%s), want killed", err, said)
			}
			life.dead(t)
		})
	}
}
