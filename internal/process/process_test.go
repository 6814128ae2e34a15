//go:build unix

package process_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/process"
)

// both runs a test on a child of ours and on one behind a supervisor.
func both(t *testing.T, test func(t *testing.T, c func(role string, args ...string) process.Command)) {
	t.Run("direct", func(t *testing.T) {
		test(t, func(role string, args ...string) process.Command { return command(t, role, args...) })
	})
	t.Run("supervised", func(t *testing.T) {
		test(t, func(role string, args ...string) process.Command {
			return supervised(t, command(t, role, args...))
		})
	})
}

func TestEnding(t *testing.T) {
	tests := []struct {
		name   string
		role   string
		arg    string
		code   int
		signal string
	}{
		{"success", "exit", "0", 0, ""},
		{"failure", "exit", "3", 3, ""},
		{"code that looks like a signal", "exit", "137", 137, ""},
		{"C17 killed as by the system short of memory", "signal", "9", 137, "SIGKILL"},
		{"terminated by another", "signal", "15", 143, "SIGTERM"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			both(t, func(t *testing.T, c func(string, ...string) process.Command) {
				r := run(t, context.Background(), c(test.role, test.arg))
				if r.Cause != process.Exited || r.ExitCode != test.code || r.Signal != test.signal {
					t.Errorf("got %s %d %q, want %s %d %q", r.Cause, r.ExitCode, r.Signal,
						process.Exited, test.code, test.signal)
				}
				if r.MaxRSS <= 1<<20 || r.Wall <= 0 {
					t.Errorf("MaxRSS %d bytes, Wall %v: not measured", r.MaxRSS, r.Wall)
				}
				noChildren(t)
			})
		})
	}
}

func TestCancelStubborn(t *testing.T) {
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("a user asked for it")
		c := build("stubborn")
		c.Grace = 50 * time.Millisecond
		c.OnLine = func([]byte) { cancel(why) }
		r := run(t, ctx, c)
		if r.Cause != process.Cancelled || r.Signal != "SIGKILL" || r.ExitCode != 137 {
			t.Errorf("got %+v, want cancelled by SIGKILL", r)
		}
		if !errors.Is(context.Cause(ctx), why) {
			t.Errorf("cause of the context is %v", context.Cause(ctx))
		}
		noChildren(t)
	})
}

func TestCancelObedient(t *testing.T) {
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		c := build("obedient")
		c.Grace = time.Minute
		c.OnLine = func([]byte) { cancel() }
		r := run(t, ctx, c)
		if r.Cause != process.Cancelled || r.ExitCode != 7 || r.Signal != "" {
			t.Errorf("got %+v, want cancelled with its own exit code 7", r)
		}
		if got := content(t, c.Dir, "out.txt"); got != "ready\ncleaned up\n" {
			t.Errorf("stdout %q: what it wrote in the grace is not kept", got)
		}
		noChildren(t)
	})
}

func TestTimeout(t *testing.T) {
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		c := build("stubborn")
		c.Timeout = time.Millisecond
		if r := run(t, context.Background(), c); r.Cause != process.Timeout || r.Signal != "SIGKILL" {
			t.Errorf("got %+v, want timeout by SIGKILL", r)
		}
		noChildren(t)
	})
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := command(t, "exit", "0")
	r := run(t, ctx, c)
	if r.Cause != process.Cancelled || r.ExitCode != -1 {
		t.Errorf("got %+v, want cancelled and never run", r)
	}
	if files, _ := os.ReadDir(c.Dir); len(files) != 0 {
		t.Errorf("it left %v", files)
	}
}

func TestOutputLimit(t *testing.T) {
	for _, stream := range []string{"stdout", "stderr"} {
		t.Run(stream, func(t *testing.T) {
			both(t, func(t *testing.T, build func(string, ...string) process.Command) {
				c := build("flood", stream)
				c.MaxOutput = 1<<20 + 5
				r := run(t, context.Background(), c)
				if r.Cause != process.OutputLimit {
					t.Errorf("cause %s, want %s", r.Cause, process.OutputLimit)
				}
				name := map[string]string{"stdout": "out.txt", "stderr": "err.txt"}[stream]
				if got := int64(len(content(t, c.Dir, name))); got != c.MaxOutput {
					t.Errorf("kept %d bytes, want %d", got, c.MaxOutput)
				}
				if len(r.Tail) > 2048 || !strings.HasSuffix(r.Tail, "0123456789abcde\n01234") {
					t.Errorf("tail of %d bytes ends in %q", len(r.Tail), r.Tail[max(0, len(r.Tail)-25):])
				}
				noChildren(t)
			})
		})
	}
}

// A child that ends by itself right behind the limit is cut all the same.
func TestOutputLimitOfShortChild(t *testing.T) {
	for limit, want := range map[int64]process.Cause{5: process.OutputLimit, 6: process.Exited} {
		c := command(t, "lines", "abcdef")
		c.MaxOutput = limit
		c.Grace = time.Minute
		if r := run(t, context.Background(), c); r.Cause != want {
			t.Errorf("6 bytes at a limit of %d: cause %s, want %s", limit, r.Cause, want)
		}
	}
}

func TestOnLine(t *testing.T) {
	long := strings.Repeat("x", 5000)
	c := command(t, "lines", "one\n", "two\r\n", "\n", long, "\nlast", " line\n", "unfinished")
	var got []string
	c.OnLine = func(line []byte) { got = append(got, string(line)) }
	run(t, context.Background(), c)
	want := []string{"one", "two", "", long[:4096], "last line"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if kept := content(t, c.Dir, "out.txt"); kept != "one\ntwo\r\n\n"+long+"\nlast line\nunfinished" {
		t.Errorf("file of %d bytes is not what was written", len(kept))
	}
}

func TestTail(t *testing.T) {
	tests := []struct{ name, stderr, want string }{
		{"plain", "bad input\n", "bad input"},
		{"blank", " \n\n", "on stdout"},
		{"control characters", "a\x1b[31mred\x07\tb\r\nc", "a\\x1b[31mred\\a\tb\nc"},
		{"not UTF-8", "caf\xe9", "caf\ufffd"},
		{"direction override", "a\u202eb", "a\\u202eb"},
		{"long", strings.Repeat("é", 2000), strings.Repeat("é", 1024)},
		{"long by escapes", strings.Repeat("\x01x", 2000), strings.Repeat(`\x01x`, 410)[2:]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, context.Background(), command(t, "tail", test.stderr))
			if r.Tail != test.want {
				t.Errorf("got %q, want %q", r.Tail, test.want)
			}
		})
	}
}

func TestStdin(t *testing.T) {
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		c := build("cat")
		c.Stdin = []byte("FLOW.IN\nBLTM.IN\n")
		run(t, context.Background(), c)
		if got := content(t, c.Dir, "out.txt"); got != string(c.Stdin) {
			t.Errorf("child read %q, want %q", got, c.Stdin)
		}
		// More than a pipe holds, to a child that does not read it.
		c = build("exit", "0")
		c.Stdin = make([]byte, 1<<20)
		if r := run(t, context.Background(), c); r.Cause != process.Exited || r.ExitCode != 0 {
			t.Errorf("got %+v", r)
		}
		// Nothing at all is an empty input, not ours.
		c = build("cat")
		if r := run(t, context.Background(), c); r.ExitCode != 0 {
			t.Errorf("got %+v", r)
		}
	})
}

func TestMinimalEnvironmentOfChild(t *testing.T) {
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "canary-secret")
	t.Setenv("RSMS_ANYTHING", "canary-secret")
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		c := build("env")
		run(t, context.Background(), c)
		got := content(t, c.Dir, "out.txt")
		if strings.Contains(got, "canary") || strings.Contains(got, "AZURE") || strings.Contains(got, "RSMS") {
			t.Errorf("the child has more than it may:\n%s", got)
		}
		lines := strings.Split(strings.TrimSpace(got), "\n")
		slices.Sort(lines)
		want := slices.Clone(c.Env)
		slices.Sort(want)
		if !slices.Equal(lines, want) {
			t.Errorf("environment is\n%q, want\n%q", lines, want)
		}
	})
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	c := command(t, "env")
	c.Path, c.Args, c.Env = env, nil, nil
	run(t, context.Background(), c)
	if got := content(t, c.Dir, "out.txt"); got != "" {
		t.Errorf("a nil environment is not empty: %q", got)
	}
}

func TestPathWithSpacesAndAccents(t *testing.T) { // H15
	both(t, func(t *testing.T, build func(string, ...string) process.Command) {
		c := build("exit", "4")
		c.Dir = filepath.Join(c.Dir, "Flüsse und Bäche", "rivière n° 1 'x' \"y\"")
		if err := os.MkdirAll(c.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(c.Dir, "mon exécutable")
		if err := os.Symlink(c.Path, path); err != nil {
			t.Fatal(err)
		}
		c.Path = path
		c.Stdout = "é à.txt"
		if r := run(t, context.Background(), c); r.ExitCode != 4 {
			t.Errorf("got %+v", r)
		}
		content(t, c.Dir, "é à.txt")
	})
}

// Two runs at once are independent, and the death signal follows neither the
// goroutine nor another run's thread.
func TestParallelRuns(t *testing.T) {
	results := make(chan error)
	const n = 8
	for i := range n {
		c := command(t, "exit", []string{"0", "1"}[i%2])
		go func() {
			r, err := process.Run(context.Background(), c)
			if err == nil && r.ExitCode != i%2 {
				err = errors.New("wrong exit code")
			}
			results <- err
		}()
	}
	for range n {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	noChildren(t)
}

func BenchmarkRun(b *testing.B) {
	for name, c := range map[string]process.Command{
		"direct":     command(b, "exit", "0"),
		"supervised": supervised(b, command(b, "exit", "0")),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(b, context.Background(), c)
			}
		})
	}
}

// BenchmarkOutput measures how fast output is taken.
func BenchmarkOutput(b *testing.B) {
	c := command(b, "flood")
	c.MaxOutput = 64 << 20
	c.OnLine = func([]byte) {}
	b.SetBytes(c.MaxOutput)
	b.ReportAllocs()
	for b.Loop() {
		run(b, context.Background(), c)
	}
}
