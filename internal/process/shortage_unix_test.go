//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// A shortage passes; what is wrong with the program itself does not.
func TestStartKind(t *testing.T) {
	for number, want := range map[syscall.Errno]error{
		unix.EAGAIN: ErrShortage, unix.ENOMEM: ErrShortage, unix.EMFILE: ErrShortage, unix.ENFILE: ErrShortage,
		unix.EIO: ErrShortage, unix.ETXTBSY: ErrShortage, unix.ESTALE: ErrShortage, unix.ENOBUFS: ErrShortage,
		unix.ENOENT: ErrInterpreter, unix.EACCES: ErrNotExecutable, unix.ENOEXEC: ErrNotExecutable, unix.EPERM: ErrNotExecutable,
		unix.ELOOP: nil, unix.E2BIG: nil, unix.EINVAL: nil,
	} {
		err := &fs.PathError{Op: "fork/exec", Path: "/exe/DAFLOW", Err: number}
		if got := startKind(err); got != want {
			t.Errorf("%v: got %v, want %v", number, got, want)
		}
	}
	if got := startKind(errors.New("text file busy")); got != nil {
		t.Errorf("an error of no number: got %v", got)
	}
}

func TestWhileBusy(t *testing.T) {
	busy := &fs.PathError{Op: "fork/exec", Path: "/exe/DAFLOW", Err: unix.ETXTBSY}
	for _, test := range []struct {
		name  string
		fails int // so many times, with err
		err   error
		tries int
		want  error
		took  time.Duration
	}{
		{"at once", 0, nil, 1, nil, 0},
		{"soon", 3, busy, 4, nil, 7 * time.Millisecond},
		{"never", 100, busy, 8, busy, 127 * time.Millisecond},
		{"another error", 100, fs.ErrPermission, 1, fs.ErrPermission, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, tries := time.Now(), 0
				err := whileBusy(func() error {
					if tries++; tries <= test.fails {
						return test.err
					}
					return nil
				})
				if err != test.want || tries != test.tries || time.Since(began) != test.took {
					t.Errorf("got %v after %d tries and %v, want %v after %d and %v", err, tries, time.Since(began), test.want, test.tries, test.took)
				}
			})
		})
	}
}

// There are no descriptors for the pipes of another process.
func TestNoDescriptors(t *testing.T) {
	var limits unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limits); err != nil {
		t.Fatal(err)
	}
	c := Command{Path: "/bin/sh", Args: []string{"-c", "exit 0"}, Dir: t.TempDir()}
	for _, supervisor := range [][]string{nil, {"/bin/sh"}} {
		c.Supervisor = supervisor
		free, err := os.Open(c.Dir)
		if err != nil {
			t.Fatal(err)
		}
		low := limits
		low.Cur = uint64(free.Fd()) // the lowest that is free from now on
		free.Close()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
			t.Fatal(err)
		}
		_, err = Run(context.Background(), c)
		if back := unix.Setrlimit(unix.RLIMIT_NOFILE, &limits); back != nil {
			t.Fatal(back)
		}
		if start, ok := errors.AsType[*StartError](err); !ok || start.Kind != ErrShortage {
			t.Errorf("supervisor %q: got %v, want a StartError with %v", supervisor, err, ErrShortage)
		}
	}
}

// An executable that somebody writes cannot be started, and can afterwards.
func TestExecutableBeingWritten(t *testing.T) {
	data, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	c := Command{Path: filepath.Join(t.TempDir(), "DAFLOW"), Args: []string{"-c", "exit 3"}, Dir: t.TempDir()}
	if err := os.WriteFile(c.Path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(c.Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, err := Run(context.Background(), c); !errors.Is(err, ErrShortage) || !errors.Is(err, unix.ETXTBSY) {
		t.Errorf("while it is written: got %v, want %v", err, ErrShortage)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Run(context.Background(), c); err != nil || r.ExitCode != 3 {
		t.Errorf("afterwards: got %v, %s", err, fmt.Sprintf("%+v", r))
	}
}
