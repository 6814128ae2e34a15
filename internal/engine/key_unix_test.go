//go:build unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// keyOf is the key of a step in a folder with files; listed changes what a look at
// the folder shows.
func keyOf(t *testing.T, step Step, files map[string]string, listed func(there map[string]fs.FileInfo)) (string, error) {
	t.Helper()
	dir := lay(t, files)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	there, err := filesOf(root)
	if err != nil {
		return "", err
	}
	listed(there)
	r := &Runner{Set: &Set{Hash: "h"}}
	return r.resume(dir, nil).key(t.Context(), root, step, there)
}

// Where capitals do not count an engine may leave bltm.flw, which the checks and
// the next engine find as BLTM.FLW: its bytes are in the key under either name, of
// steps that say what they read, and of those that only our own are known to read.
func TestKeyInAnyCase(t *testing.T) {
	lower := func(there map[string]fs.FileInfo) { // as Windows lists what was made so
		there["bltm.flw"] = there[flowFile]
		delete(there, flowFile)
	}
	for _, step := range []Step{
		{Name: "bltm", Path: "/no", Executable: "/no", Reads: []string{transportInputFile, flowFile}},
		{Name: "bltm", Path: "/no", Executable: "/no", Reads: []string{transportInputFile}},
	} {
		var keys []string
		for _, flow := range []string{"one", "two"} {
			for _, listed := range []func(map[string]fs.FileInfo){func(map[string]fs.FileInfo) {}, lower} {
				key, err := keyOf(t, step, map[string]string{transportInputFile: "x", flowFile: flow}, listed)
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, key)
			}
		}
		if keys[0] != keys[1] || keys[2] != keys[3] || keys[0] == keys[2] {
			t.Errorf("%q: %q", step.Reads, keys)
		}
		// Where they count, Wine may find it all the same.
		_, err := keyOf(t, step, map[string]string{transportInputFile: "x", "Bltm.flw": "one"}, func(map[string]fs.FileInfo) {})
		if no, ok := errors.AsType[*uncached](err); !ok || !strings.Contains(no.why, "BLTM.FLW in the run folder is called Bltm.flw") {
			t.Errorf("another spelling: %v", err)
		}
	}
	_, err := keyOf(t, Step{Name: "bltm", Path: "/no", Executable: "/no"}, map[string]string{"scratch": "1", "SCRATCH": "2"}, func(map[string]fs.FileInfo) {})
	if no, ok := errors.AsType[*uncached](err); !ok || !strings.Contains(no.why, "differ by capitals only") {
		t.Errorf("two spellings: %v", err)
	}
}

// Whatever outside a command line or a variable of engine.json names counts, and a
// folder there is not cached.
func TestNamedFiles(t *testing.T) {
	for _, field := range []string{`"arguments": [%q]`, `"arguments": ["--tab=" %q]`, `"arguments": ["-I" %q]`, `"arguments": ["@" %q]`, `"arguments": ["a,b=" %q]`, `"environment": ["TABLE=" %q]`} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			outside := filepath.Join(t.TempDir(), "t.dat")
			set := func(tr *trial, path string) {
				text := strings.ReplaceAll(fmt.Sprintf(field, path), `" "`, "")
				if strings.Contains(text, "environment") {
					tr.engines["engine.json"] = `{` + text + `, "steps": {"daflow": {}, "bltm": {}, "ctplt": {}, "cxplt": {}}}`
				} else {
					tr.engines["engine.json"] = `{"steps": {"daflow": {` + text + `}, "bltm": {}, "ctplt": {}, "cxplt": {}}}`
				}
			}
			tr := newTrial()
			set(tr, outside)
			tr.steps(t, "nothing there", all)
			tr.steps(t, "the same", "")
			for _, content := range []string{"1", "2"} {
				if err := os.WriteFile(outside, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				// The later steps find what the first one left.
				tr.engines["DAFLOW"] = "#!/bin/sh\n(cat FLOW.IN '" + outside + "') > BLTM.FLW\n"
				tr.steps(t, "content "+content, all)
				tr.steps(t, "the same", "")
			}
			set(tr, filepath.Dir(outside))
			tr.steps(t, "a folder", all)
			want := "daflow"
			if strings.Contains(field, "environment") {
				want = all
			}
			tr.steps(t, "a folder again", want)
		})
	}
}

// What is said of the system counts, with the Wine that stands behind a script.
func TestSystemIsPartOfTheKey(t *testing.T) {
	system := lay(t, map[string]string{"status": "libc 1\n", "bin/wine": "#!/bin/sh\n", "lib/any/wine/x-unix/ntdll.so": "8.0\n"})
	set := &Set{Hash: "h", Foreign: true, system: []string{filepath.Join(system, "sta*")}, dir: lay(t, map[string]string{"DAFLOW": "#!/bin/sh\n"})}
	set.beside = remembered(set.dir)
	step := Step{Name: "daflow", Path: filepath.Join(system, "bin", "wine"), Args: []string{"/no"}, Executable: "/no"}
	seen := map[string]string{}
	for _, change := range [][2]string{{"", ""}, {"status", "libc 2\n"}, {"lib/any/wine/x-unix/ntdll.so", "8.1\n"}} {
		if change[0] != "" {
			write(t, system, map[string]string{change[0]: change[1]})
		}
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		key, err := (&Runner{Set: set}).resume(root.Name(), nil).key(t.Context(), root, step, nil)
		if before, ok := seen[key]; err != nil || ok {
			t.Errorf("%q changes nothing since %q, %v", change[0], before, err)
		}
		seen[key] = change[0]
	}
	if len(systemFiles()) == 0 {
		t.Error("nothing is known of this system")
	}
}

// An EXE_DIR that takes too long to be read is not cached, once for all; whoever
// is to end does not wait for it, and may ask again.
func TestSlowFolder(t *testing.T) {
	dir := lay(t, simple())
	if _, err := contentsOf(t.Context(), dir, time.Nanosecond); err == nil || err.Error() != "EXE_DIR is too slow to be read" {
		t.Errorf("%v", err)
	}
	read := remembered(dir)
	why := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := read(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	c, err := read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.unchanged(ctx, time.Now()) || !c.unchanged(t.Context(), time.Now()) {
		t.Error("a look that was ended says something, or the next one does not")
	}
	write(t, dir, map[string]string{"lib.dll": "another\n"})
	if !c.unchanged(t.Context(), time.Now().Add(-time.Minute)) || c.unchanged(t.Context(), time.Now()) {
		t.Error("an early look does not count, or a late one does not see the change")
	}
}

// Under Wine no step starts while what the one before left is read: a program may
// ask for its files alone.
func TestKeptBeforeTheNextStep(t *testing.T) {
	tr := newTrial()
	tr.engines = map[string]string{"wine": "#!/bin/sh\nexec \"$@\"\n"}
	for name, text := range simple() {
		tr.engines[name] = text
	}
	set, err := Find(lay(t, tr.engines), "", none)
	if err != nil {
		t.Fatal(err)
	}
	for i := range set.Steps {
		s := &set.Steps[i]
		s.Path, s.Args = filepath.Join(set.dir, "wine"), []string{s.Executable}
	}
	m := &slowMemory{memory: newMemory()}
	r, _ := runner(t, set)
	r.Cache = m
	if err := r.Run(context.Background(), lay(t, tr.inputs)); err != nil || m.early {
		t.Errorf("a step was started too early: %v, %v", m.early, err)
	}
}

// slowMemory takes its time to keep what daflow left, and sees whether the next
// step is started meanwhile.
type slowMemory struct {
	*memory
	early bool
}

func (m *slowMemory) Keep(ctx context.Context, key string, dir *os.Root, files map[string]fs.FileInfo) {
	if files[flowFile] != nil {
		tick, enough := time.NewTicker(5*time.Millisecond), time.After(300*time.Millisecond)
		defer tick.Stop()
		for waiting := true; waiting && !m.early; {
			select {
			case <-tick.C:
				_, err := dir.Lstat("bltm" + stdoutSuffix)
				m.early = err == nil
			case <-enough:
				waiting = false
			}
		}
	}
	m.memory.Keep(ctx, key, dir, files)
}
