package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// A copy of the program under the name of an engine is that engine.
func TestArguments(t *testing.T) {
	tests := []struct {
		argv, want []string
	}{
		{[]string{"rsms-job"}, nil},
		{[]string{"rsms-job", "run", "--json"}, []string{"run", "--json"}},
		{[]string{filepath.Join("engines", "DAFLOW.EXE")}, []string{"engine", "daflow"}},
		{[]string{"Bltm", "--published"}, []string{"engine", "bltm", "--published"}},
		{[]string{"ctplt.exe"}, []string{"engine", "ctplt"}},
		{[]string{"cxplt.bin"}, nil},
	}
	for _, tt := range tests {
		if got := arguments(tt.argv); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.argv, got, tt.want)
		}
	}
}
