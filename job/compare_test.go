package main

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
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
