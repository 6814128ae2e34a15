package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/message"
)

// What stands before an engine may change its numbers: another runner is another
// run key, and no runner leaves the key what it was before runners counted.
func TestRunKeyOfRunner(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"nice", "strict"} {
		if err := os.WriteFile(filepath.Join(dir, name+".exe"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	nice, strict := filepath.Join(dir, "nice.exe"), filepath.Join(dir, "strict.exe")
	in := &inputs{columns: map[string]any{"SpillMassKg": 1.0}, hashes: map[string]string{"FLOW.IN": "f"}, tolerance: 0.001}
	seen := map[string]string{}
	for _, tt := range []struct {
		runner string
		words  []string
	}{
		{"", nil}, {nice, []string{nice}}, {strict, []string{strict}}, {nice + " -n 5", []string{nice, "-n", "5"}}, {nice + " -n 6", []string{nice, "-n", "6"}},
	} {
		set, err := engine.Bundled(self, tt.runner)
		if err != nil {
			t.Fatal(err)
		}
		set.Hash = "e"
		if got := runnerOf(set); !slices.Equal(got, tt.words) {
			t.Errorf("runner %q: %q, want %q", tt.runner, got, tt.words)
		}
		key, err := in.runKey(&message.Message{Type: message.TypeRun, Version: message.Version}, set)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[key]; ok {
			t.Errorf("runners %q and %q have the same key", tt.runner, other)
		}
		seen[key] = tt.runner
	}
	before := hash([]byte(`{"engine":"e","files":{"FLOW.IN":"f"},"scenario":{"SpillMassKg":1},"tolerance":0.001,"type":"rsms.run","version":1}`))
	if runner, ok := seen[before]; !ok || runner != "" {
		t.Errorf("the key without a runner is another one than before")
	}
}
