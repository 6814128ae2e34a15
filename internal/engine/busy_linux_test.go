package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"rsmsjob/internal/process"
	"rsmsjob/internal/reason"
)

// A program that is just being written is none that is missing.
func TestJudgeBusyProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daflow")
	build(t, path, "int main(void) { return 0; }")
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := runner(t, oneStep(path, nil))
	err = r.Run(context.Background(), t.TempDir())
	ends(t, err, reason.EngineFailed, "engine daflow could not be started now: ")
	if !errors.Is(err, process.ErrShortage) {
		t.Errorf("%v", err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(context.Background(), t.TempDir()); err != nil {
		t.Error(err)
	}
}
