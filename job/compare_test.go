package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A name means one result or none, whatever system its path is of.
func TestParseTarget(t *testing.T) {
	root := t.TempDir() // absolute, with a drive where there are drives
	tests := []struct {
		text                      string
		dir, basin, scenario, job string
	}{
		{"ohio/42", "", "ohio", "42", ""},
		{"ohio/42@job-1", "", "ohio", "42", "job-1"},
		{"job-1", "", "", "", "job-1"},
		{"a@b::job-1", "a@b", "", "", "job-1"},
		{"rsms-results/ohio", "", "rsms-results", "ohio", ""},
		{"store::ohio/42", "store", "ohio", "42", ""},
		{`C:\store::ohio/42@j`, `C:\store`, "ohio", "42", "j"},
		{"C:store::ohio/42", "C:store", "ohio", "42", ""},
		{"a::b::ohio/42", "a::b", "ohio", "42", ""},
		{"a@b::ohio/42", "a@b", "ohio", "42", ""},
		{filepath.Join(root, "rsms-results", "ohio", "42"), root, "ohio", "42", ""},
		{filepath.Join(root, "a@b", "rsms-results", "ohio", "42") + string(filepath.Separator), filepath.Join(root, "a@b"), "ohio", "42", ""},
		{filepath.Join(root, "rsms-results", "ohio", "42@j"), root, "ohio", "42", "j"},
	}
	for _, tt := range tests {
		got, err := parseTarget(tt.text)
		want := target{label: tt.text, dir: tt.dir, basin: tt.basin, scenario: tt.scenario, job: tt.job}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", tt.text, got, err, want)
		}
	}
}

// An answer that cannot be written is neither a difference nor a bug; one that
// nobody reads to its end is as it would have been.
func TestVerdict(t *testing.T) {
	gone := &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.EPIPE}
	full := &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.ENOSPC}
	for _, tt := range []struct {
		same    bool
		printed error
		code    int
	}{{true, nil, exitDone}, {false, nil, exitDiffer}, {true, gone, exitDone}, {false, gone, exitDiffer}, {true, full, exitRetry}, {false, full, exitRetry}} {
		a := &app{stderr: io.Discard}
		if code := a.exit(verdict(tt.same, tt.printed)); code != tt.code {
			t.Errorf("same %t, %v: exit %d, want %d", tt.same, tt.printed, code, tt.code)
		}
	}
}

// Where a comparison panics, --json says that it is no difference.
func TestDocumentOfPanic(t *testing.T) {
	var out bytes.Buffer
	a := &app{stdout: &out, stderr: io.Discard}
	c := a.compareCommand()
	if err := c.Flags().Set("json", "true"); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }()
		a.orDocument(c, func() error { panic("bug") })
	}()
	var document map[string]struct{ Exit, Reason any }
	if err := json.Unmarshal(out.Bytes(), &document); err != nil || len(document) != 1 || document["error"].Exit != 1.0 || document["error"].Reason != "internal" {
		t.Errorf("%v, %s", err, &out)
	}
}

func TestParseTargetRefuses(t *testing.T) {
	list := []string{"", "job.1", "C:job", "C:ohio/42", "a/b/c", "a//b", "/b", "a/", "a/b@", "::a/b", "x::", "x::y.", "./a/b", ".", "..", "../rsms-results/a",
		"./rsms-results/a/b@", "a/nul..", "ä/b", "x::./a/b"}
	if runtime.GOOS == "windows" {
		list = append(list, `\rsms-results\a`, `C:\`)
	} else {
		list = append(list, `C:\store\rsms-results\ohio\42`)
	}
	for _, text := range list {
		got, err := parseTarget(text)
		if _, bad := errors.AsType[*usageError](err); !bad {
			t.Errorf("%q: %+v, %v", text, got, err)
		} else if !strings.Contains(err.Error(), "BASIN") && !strings.Contains(err.Error(), "no folder in front") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
