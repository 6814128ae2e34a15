package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"rsmsjob/internal/process"
)

// A batch file gets what cmd.exe leaves as it is, and no more.
func TestBatchFile(t *testing.T) {
	c := command(t, "FLOW.IN", "two words")
	c.Path = filepath.Join(t.TempDir(), "DAFLOW.bat")
	if err := os.WriteFile(c.Path, []byte("@echo off\r\necho [%1] [%~2]\r\nexit /b 3\r\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := process.Run(context.Background(), c)
	said, readErr := os.ReadFile(filepath.Join(c.Dir, "out.txt"))
	if err != nil || readErr != nil || r.ExitCode != 3 || strings.TrimSpace(string(said)) != "[FLOW.IN] [two words]" {
		t.Errorf("got %+v, %v, %q, %v", r, err, said, readErr)
	}
	c.Args = []string{"x&echo.injected>injected.txt"}
	if r, err := process.Run(context.Background(), c); !errors.Is(err, process.ErrBatch) || r.Cause != process.StartFailed {
		t.Errorf("got %+v, %v, want %v", r, err, process.ErrBatch)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "injected.txt")); err == nil {
		t.Error("the argument was executed")
	}
}

// An executable that somebody has for himself cannot be started, and can
// afterwards.
func TestExecutableInUse(t *testing.T) {
	c := command(t, "as=exit", "4")
	data, err := os.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	c.Path = filepath.Join(t.TempDir(), "DAFLOW.exe")
	if err := os.WriteFile(c.Path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	name, err := windows.UTF16PtrFromString(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = process.Run(context.Background(), c)
	if closeErr := windows.CloseHandle(handle); closeErr != nil {
		t.Fatal(closeErr)
	}
	if !errors.Is(err, process.ErrShortage) {
		t.Errorf("in use: got %v, want %v", err, process.ErrShortage)
	}
	if r, err := process.Run(context.Background(), c); err != nil || r.ExitCode != 4 {
		t.Errorf("afterwards: got %+v, %v", r, err)
	}
}
