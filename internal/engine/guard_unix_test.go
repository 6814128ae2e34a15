//go:build unix

package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rsmsjob/internal/reason"
)

// Whatever an engine puts where something that was said is kept, its own or that
// of another, none of it is taken for a log, or waited at.
func TestOnlyLogsAreLeft(t *testing.T) {
	for _, tt := range []struct {
		name, step, program string
		left                []string
	}{
		{"its own", "daflow", "rm daflow.stdout; mkfifo daflow.stdout; echo no >&2; exit 3", []string{"daflow.stderr"}},
		{"of an earlier one", "bltm", "rm daflow.stdout daflow.stderr; mkfifo daflow.stdout; ln -s /etc/passwd daflow.stderr; exit 3", []string{"bltm.stderr", "bltm.stdout"}},
		{"of later ones", "daflow", "mkfifo bltm.stdout; mkdir ctplt.stdout; echo words of another >cxplt.stderr; exit 3", []string{"daflow.stderr", "daflow.stdout"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, _ := inputFolder(t)
			r, log := runner(t, shellStep(t, tt.step, tt.program))
			withBundle(t, r)
			ends(t, r.Run(context.Background(), dir), reason.EngineFailed, "exit code 3")
			var left []string
			for _, pattern := range []string{"*.stderr", "*.stdout"} {
				names, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range names {
					left = append(left, filepath.Base(name))
				}
			}
			if strings.Join(left, " ") != strings.Join(tt.left, " ") {
				t.Errorf("left are %v, want %v", left, tt.left)
			}
			if !strings.Contains(log.String(), "put something else in the place of") {
				t.Errorf("the log says nothing of it:\n%s", log)
			}
		})
	}
}

// A file is opened, and nothing else that has its name.
func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600),
		os.WriteFile(outside, []byte("secret"), 0o600),
		os.Symlink("file", filepath.Join(dir, "link")),
		os.Symlink(outside, filepath.Join(dir, "link out")),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "link"} {
		f, err := OpenFile(dir, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		f.Close()
	}
	for _, name := range []string{"link out", "folder", "pipe", "nowhere", "../" + filepath.Base(dir) + "/file"} {
		if f, err := OpenFile(dir, name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

// A run may have so many files and no more, however small they are; an engine
// that makes more is stopped.
func TestManyFiles(t *testing.T) {
	dir, _ := inputFolder(t)
	r, _ := runner(t, shellStep(t, "daflow", "mkdir d; cd d; seq 1 20100 | xargs touch; sleep 1000"))
	ends(t, r.Run(context.Background(), dir), reason.EngineOutputInvalid,
		"engine daflow filled the run folder: it has more than 20000 files; an engine that keeps so many must remove them, or put them into one")
}

// Nobody who wants a run to end waits until its files are looked at.
func TestLooksEndWithTheRun(t *testing.T) {
	why := errors.New("a user asked for it")
	ctx, cancel := context.WithCancelCause(context.Background())
	dir, plan := inputFolder(t)
	r, _ := runner(t, shellStep(t, "daflow", "exec rsms-job engine daflow"))
	withBundle(t, r)
	r.Check = func(ctx context.Context, dir, name string) error {
		cancel(why)
		return plan.Check(ctx, dir, name)
	}
	if err := r.Run(ctx, dir); !errors.Is(err, why) {
		t.Errorf("check of an output: %v", err)
	}
	if err := tooMuch(ctx, dir, 1<<30, "daflow"); !errors.Is(err, why) {
		t.Errorf("look at the size: %v", err)
	}
	if _, err := plan.Ledgers(ctx, dir, nil); reason.Of(err) != reason.EngineOutputMissing {
		t.Errorf("an output that is not there: %v", err)
	}
}

// The engines of a run are those that it says they are: one that changes an
// executable of its set, or engine.json, fails, and so does a run during which
// somebody else does.
func TestEnginesStayAsTheyAre(t *testing.T) {
	for name, program := range map[string]string{
		"written to":   `echo >>"$(dirname "$0")/ctplt"`,
		"written anew": `d=$(dirname "$0"); cp -p "$d/ctplt" "$d/x"; mv "$d/x" "$d/ctplt"`,
		"gone":         `rm "$(dirname "$0")/ctplt"`,
		"same length":  `printf '#!/bin/SH' >"$(dirname "$0")/x"; cat "$(dirname "$0")/x" >"$(dirname "$0")/ctplt"`,
	} {
		dir, plan := inputFolder(t)
		r, _ := runner(t, shellStep(t, "bltm", "rsms-job engine bltm; "+program))
		withBundle(t, r)
		r.Check = plan.Check
		err := r.Run(context.Background(), dir)
		ends(t, err, reason.EngineFailed, "ctplt in EXE_DIR is not what it was when the run began: engine bltm changed it, or somebody else did")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	dir, _ := inputFolder(t)
	r, _ := runner(t, shellStep(t, "bltm", ""))
	withBundle(t, r)
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(r.Set.Steps[0].Executable, later, later); err != nil {
		t.Fatal(err)
	}
	ends(t, r.Run(context.Background(), dir), reason.EngineFailed, "daflow in EXE_DIR is not what it was when the run began")
}

// What was run is on record when it fails, too: the log of the run has the hash
// of every file of the set.
func TestLogNamesTheEngines(t *testing.T) {
	dir, _ := inputFolder(t)
	r, log := runner(t, shellStep(t, "daflow", "exit 3"))
	ends(t, r.Run(context.Background(), dir), reason.EngineFailed, "exit code 3")
	if len(r.Set.Files) != 4 || !strings.Contains(log.String(), r.Set.Hash) {
		t.Errorf("hash of the set:\n%s", log)
	}
	for name, sum := range r.Set.Files {
		if !strings.Contains(log.String(), name+":"+sum) {
			t.Errorf("hash of %s:\n%s", name, log)
		}
	}
}
