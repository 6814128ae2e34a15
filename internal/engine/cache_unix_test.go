//go:build unix

package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/reason"
)

// memory is a cache in memory.
type memory struct {
	mu      sync.Mutex
	entries map[string]map[string]string
	dropped int
}

func newMemory() *memory { return &memory{entries: map[string]map[string]string{}} }

func (m *memory) Take(_ context.Context, key string, dir *os.Root) (map[string]string, func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sums := map[string]string{}
	for name, text := range m.entries[key] {
		if err := dir.WriteFile(name, []byte(text), 0o600); err != nil {
			panic(err)
		}
		sum := sha256.Sum256([]byte(text))
		sums[name] = hex.EncodeToString(sum[:])
	}
	return sums, func() {}
}

func (m *memory) Keep(_ context.Context, key string, dir *os.Root, files map[string]fs.FileInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[key] = map[string]string{}
	for name := range files {
		text, err := dir.ReadFile(name)
		if err != nil {
			panic(err)
		}
		m.entries[key][name] = string(text)
	}
}

func (m *memory) Drop(_ context.Context, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropped++
	delete(m.entries, key)
}

// simple are engines that compute something of all that they read.
func simple() map[string]string {
	return map[string]string{
		"DAFLOW":  "#!/bin/sh\necho reading FLOW.IN\n(cat FLOW.IN; echo $MODE $1; cat) > BLTM.FLW\n",
		"BLTM":    "#!/bin/sh\ncat BLTM.IN BLTM.FLW > BLTM.CON\necho \"a warning\" >&2\necho ledger > BLTM.OUT\n",
		"CTPLT":   "#!/bin/sh\ncat CTPLT.IN BLTM.CON > PLUME.TIM\n",
		"CXPLT":   "#!/bin/sh\ncat CXPLT.IN BLTM.CON > PLUME.PLT\n",
		"lib.dll": "library\n",
	}
}

// trial is a set of engines with a cache and what a run folder has.
type trial struct {
	engines map[string]string
	inputs  map[string]string
	runner  string
	env     []string
	cache   Cache
}

func newTrial() *trial {
	return &trial{engines: simple(), inputs: map[string]string{flowInputFile: "flow\n", transportInputFile: "transport\n", placesFile: "places\n", outputStepsFile: "times\n"},
		cache: newMemory()}
}

// run runs the engines in a new folder and returns which of them ran, in their
// order, and what the folder holds then.
func (tr *trial) run(t *testing.T) (ran []string, files map[string]string, err error) {
	t.Helper()
	set, err := Find(lay(t, tr.engines), tr.runner, none)
	if err != nil {
		t.Fatal(err)
	}
	dir := lay(t, tr.inputs)
	r, log := runner(t, set)
	r.Env = append(r.Env, tr.env...)
	r.Cache = tr.cache
	err = r.Run(context.Background(), dir)
	for line := range strings.Lines(log.String()) {
		if _, name, ok := strings.Cut(line, `msg="engine done" engine=`); ok {
			ran = append(ran, strings.Fields(name)[0])
		}
	}
	files = map[string]string{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.Type().IsRegular() {
			files[e.Name()] = e.Type().String()
		} else if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			files[e.Name()] = string(text)
		}
	}
	if t.Failed() {
		t.Log(log)
	}
	return ran, files, err
}

// steps runs the engines, which must succeed, and holds which of them ran, by
// blanks, against want.
func (tr *trial) steps(t *testing.T, what, want string) map[string]string {
	t.Helper()
	ran, files, err := tr.run(t)
	if got := strings.Join(ran, " "); err != nil || got != want {
		t.Errorf("%s: ran %q, want %q, %v", what, got, want, err)
	}
	return files
}

const all = "daflow bltm ctplt cxplt"

// The second run starts no engine and has the same files, of the same bytes, what
// the engines said among them.
func TestStepsAreTaken(t *testing.T) {
	tr := newTrial()
	cache := tr.cache
	tr.cache = nil
	plain := tr.steps(t, "without a cache", all)
	tr.cache = cache
	first, second := tr.steps(t, "first", all), tr.steps(t, "second", "")
	if d := cmp.Diff(plain, first) + cmp.Diff(plain, second); d != "" {
		t.Error(d)
	}
	if plain["bltm.stderr"] != "a warning\n" || plain["daflow.stdout"] != "reading FLOW.IN\n" {
		t.Errorf("logs: %q", plain)
	}
}

// Whatever an engine is given makes it run again when it is another.
func TestWhatMakesAStepRun(t *testing.T) {
	const manifest = `{"steps": {"daflow": {%s}, "bltm": {%s}, "ctplt": {}, "cxplt": {}}}`
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, tr *trial)
		want   string
	}{
		{"nothing", func(*testing.T, *trial) {}, ""},
		{"a byte of an input", func(_ *testing.T, tr *trial) { tr.inputs[flowInputFile] = "flox\n" }, all},
		// It may read any file of the folder.
		{"an input of a later step", func(_ *testing.T, tr *trial) { tr.inputs[outputStepsFile] = "timex\n" }, all},
		{"a file more", func(_ *testing.T, tr *trial) { tr.inputs["extra.dat"] = "" }, all},
		{"a byte of an engine", func(_ *testing.T, tr *trial) { tr.engines["CXPLT"] += "\n" }, all},
		{"a byte of what stands beside", func(_ *testing.T, tr *trial) { tr.engines["lib.dll"] = "libraryx" }, all},
		{"a file beside", func(_ *testing.T, tr *trial) { tr.engines["sub/other.dll"] = "" }, all},
		{"another name of a file beside", func(_ *testing.T, tr *trial) { delete(tr.engines, "lib.dll"); tr.engines["lib2.dll"] = "library\n" }, all},
		{"a runner", func(_ *testing.T, tr *trial) { tr.runner = "env" }, all},
		{"a variable", func(_ *testing.T, tr *trial) { tr.env = []string{"LC_CTYPE=C"} }, all},
		{"the zone", func(_ *testing.T, tr *trial) { tr.env = []string{"TZ=Europe/Berlin"} }, all},
		{"a temporary folder", func(t *testing.T, tr *trial) { tr.env = []string{"TMPDIR=" + t.TempDir(), "Temp=x"} }, ""},
		{"an argument", func(_ *testing.T, tr *trial) {
			tr.engines["engine.json"] = fmt.Sprintf(manifest, `"arguments": ["x"]`, "")
		}, all},
		{"standard input", func(_ *testing.T, tr *trial) { tr.engines["engine.json"] = fmt.Sprintf(manifest, `"stdin": ["x"]`, "") }, all},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial()
			tr.steps(t, "first", all)
			tt.change(t, tr)
			got := tr.steps(t, "changed", tt.want)
			tr.cache = nil
			if d := cmp.Diff(tr.steps(t, "without a cache", all), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A runner counts by its bytes and those of the programs that it names, and by its
// words; not by where it stands.
func TestRunnerIsPartOfTheKey(t *testing.T) {
	tr := newTrial()
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "run.sh")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\nexec \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tr.runner = script(":")
	tr.steps(t, "first", all)
	tr.runner = script(":")
	tr.steps(t, "the same elsewhere", "")
	tr.runner = script("true")
	tr.steps(t, "another one", all)
	tr.runner = "/usr/bin/env " + script("one")
	tr.steps(t, "behind another", all)
	tr.runner = "/usr/bin/env A=b " + script("one")
	tr.steps(t, "with another word", all)
}

// A step that says what it reads is taken when that is the same.
func TestReads(t *testing.T) {
	tr := newTrial()
	tr.engines["engine.json"] = `{"steps": {"daflow": {"reads": ["FLOW.IN"]}, "bltm": {"reads": ["BLTM.IN", "BLTM.FLW"]}, "ctplt": {}, "cxplt": {"cache": false}}}`
	tr.steps(t, "first", all)
	tr.steps(t, "the same", "cxplt")
	tr.inputs[outputStepsFile] = "other times\n"
	tr.steps(t, "other times", "ctplt cxplt")
	tr.inputs[transportInputFile] = "another spill\n"
	got := tr.steps(t, "another spill", "bltm ctplt cxplt")
	tr.inputs[flowInputFile] = "other flows\n"
	tr.steps(t, "other flows", all)
	tr.inputs[flowInputFile] = "flow\n"
	tr.cache = nil
	if d := cmp.Diff(tr.steps(t, "without a cache", all), got); d != "" {
		t.Error(d)
	}
	// What our own engine of the name reads counts in any case.
	tr = newTrial()
	tr.engines["engine.json"] = `{"steps": {"daflow": {}, "bltm": {"reads": ["FLOW.IN"]}, "ctplt": {}, "cxplt": {}}}`
	tr.steps(t, "first", all)
	tr.inputs[transportInputFile] = "another spill\n"
	tr.steps(t, "an input that it did not name", all)
}

// What a later step says that it reads may not be changed meanwhile.
func TestReadsAreGuarded(t *testing.T) {
	tr := newTrial()
	tr.engines["DAFLOW"] += "echo table > GRID.TAB\n"
	tr.engines["CTPLT"] += "echo more >> GRID.TAB\n"
	tr.engines["engine.json"] = `{"steps": {"daflow": {"outputs": ["BLTM.FLW", "GRID.TAB"]}, "bltm": {}, "ctplt": {}, "cxplt": {"reads": ["CXPLT.IN", "GRID.TAB"]}}}`
	_, _, err := tr.run(t)
	ends(t, err, reason.EngineOutputInvalid, "engine ctplt changed GRID.TAB, which is read after it")
}

// What a step did that cannot be kept is done again each time, and the steps behind
// it find all of it.
func TestStepsThatAreNotKept(t *testing.T) {
	for name, tt := range map[string]struct{ ctplt, want string }{
		"changed what was there":  {"echo more >> scratch", "ctplt"},
		"removed what was there":  {"rm scratch", "ctplt"},
		"left a folder":           {"mkdir out", "ctplt cxplt"},
		"left a link":             {"ln -s scratch link", "ctplt cxplt"},
		"left a pipe":             {"mkfifo pipe", "ctplt cxplt"},
		"left a name in capitals": {"echo > SCRATCH", "ctplt cxplt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial()
			tr.engines["DAFLOW"] += "echo scratch > scratch\n"
			tr.engines["CTPLT"] += tt.ctplt + "\n"
			first := tr.steps(t, "first", all)
			if d := cmp.Diff(first, tr.steps(t, "second", tt.want)); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("changed its folder", func(t *testing.T) {
		t.Parallel()
		tr := newTrial()
		tr.engines["BLTM"] += "echo >> \"$(dirname \"$0\")/lib.dll\"\n"
		tr.steps(t, "first", all)
		tr.steps(t, "second", all)
	})
	t.Run("has a link to a folder beside it", func(t *testing.T) {
		t.Parallel()
		tr := newTrial()
		set, err := Find(lay(t, tr.engines), "", none)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(t.TempDir(), filepath.Join(filepath.Dir(set.Steps[0].Executable), "libs")); err != nil {
			t.Fatal(err)
		}
		r, log := runner(t, set)
		r.Cache = tr.cache
		if err := r.Run(context.Background(), lay(t, tr.inputs)); err != nil || !strings.Contains(log.String(), "libs in EXE_DIR is no file") || len(tr.cache.(*memory).entries) != 0 {
			t.Errorf("%v, %d entries\n%s", err, len(tr.cache.(*memory).entries), log)
		}
	})
}

// What is taken is looked at like what was made; where it does not stand that it
// is dropped, and the step run.
func TestTakenIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(files map[string]string){
		"an output is missing": func(files map[string]string) { delete(files, flowFile) },
		"an output is empty":   func(files map[string]string) { files[flowFile] = "" },
		"it is refused":        func(files map[string]string) { files[flowFile] = "refused\n" },
		"it did not succeed":   func(files map[string]string) { files["daflow.stdout"] = "failed\n" },
		"it has an input":      func(files map[string]string) { files[transportInputFile] = "changed\n" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, m := newTrial(), newMemory()
			tr.cache = m
			tr.engines["engine.json"] = `{"steps": {"daflow": {"success_text": "reading"}, "bltm": {}, "ctplt": {}, "cxplt": {}}}`
			first := tr.steps(t, "first", all)
			for _, files := range m.entries {
				if files["daflow.stdout"] != "" {
					spoil(files)
				}
			}
			set, err := Find(lay(t, tr.engines), "", none)
			if err != nil {
				t.Fatal(err)
			}
			r, log := runner(t, set)
			r.Cache = m
			r.Check = func(_ context.Context, dir, name string) error {
				if text, _ := os.ReadFile(filepath.Join(dir, name)); string(text) == "refused\n" {
					return reason.New(reason.EngineOutputInvalid, "refused")
				}
				return nil
			}
			dir := lay(t, tr.inputs)
			if name == "it has an input" { // the entry puts its own in the place of ours: a run is ended by that
				err := r.Run(context.Background(), dir)
				if err == nil || m.dropped == 0 {
					t.Errorf("%v, %d dropped", err, m.dropped)
				}
				return
			}
			if err := r.Run(context.Background(), dir); err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			if text, _ := os.ReadFile(filepath.Join(dir, flowFile)); string(text) != first[flowFile] || m.dropped != 1 || strings.Count(log.String(), `msg="engine done"`) != 1 {
				t.Errorf("%q, %d dropped\n%s", text, m.dropped, log)
			}
		})
	}
}

// An engine that fails on what was taken finds the work of its own run the next
// time; where an output is no good, all of the run is made anew.
func TestDoubt(t *testing.T) {
	for _, tt := range []struct{ fails, first, second, third string }{
		{"exit 3", "daflow", "", "daflow"},
		{"exit 0", "daflow", "daflow", "daflow"}, // no output
		{"exec sleep 60", "daflow", "", "daflow"},
	} {
		tr := newTrial()
		if strings.Contains(tt.fails, "sleep") {
			tr.engines["engine.json"] = `{"steps": {"daflow": {}, "bltm": {"timeout_seconds": 1}, "ctplt": {}, "cxplt": {}}}`
		}
		tr.engines["BLTM"] = "#!/bin/sh\n" + tt.fails + "\n"
		for i, want := range []string{tt.first, tt.second, tt.third} {
			ran, _, err := tr.run(t)
			if got := strings.Join(ran, " "); err == nil || got != want {
				t.Errorf("%s, attempt %d: ran %q, want %q, %v", tt.fails, i+1, got, want, err)
			}
		}
	}
}

// Forget drops all that a run was made of, taken or not.
func TestForget(t *testing.T) {
	tr, m := newTrial(), newMemory()
	tr.cache = m
	tr.steps(t, "first", all)
	set, err := Find(lay(t, tr.engines), "", none)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := runner(t, set)
	r.Cache = m
	if err := r.Run(context.Background(), lay(t, tr.inputs)); err != nil {
		t.Fatal(err)
	}
	if r.Forget(t.Context()); len(m.entries) != 0 || m.dropped != 4 {
		t.Errorf("%d left, %d dropped", len(m.entries), m.dropped)
	}
	(&Runner{}).Forget(t.Context())
}

// What a key is made of, word for word: another key loses what every store has, so
// a change of this wants another format.
func TestKeyIsStable(t *testing.T) {
	dir := lay(t, map[string]string{flowInputFile: "flow\n"})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	there, err := filesOf(root)
	if err != nil {
		t.Fatal(err)
	}
	step := Step{Name: "daflow", Path: "/no/such/runner", Args: []string{"-q", "/no/such/DAFLOW", "x"}, Executable: "/no/such/DAFLOW",
		Stdin: []byte("FLOW.IN\n"), Outputs: []string{flowFile}, Success: "END", ExitCodes: []int{0, 2}, Reads: []string{flowInputFile, "TABLE"}}
	r := &Runner{Set: &Set{Hash: "abc", Steps: []Step{step}}}
	r.Set.Env = []string{"TABLE=t"}
	key, err := r.resume(dir, []string{"TZ=UTC", "TMPDIR=/x"}).key(t.Context(), root, step, there)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("flow\n"))
	want := "rsms step 2 2\n" + sized(runtime.GOOS, runtime.GOARCH) + "step 1\n6 daflow\nset 1\n3 abc\n" +
		"word 1\n" + sized("runner") + "word 1\n" + sized("-q") + "word 1\n" + sized("the executable") + "word 1\n" + sized("x") + "variable 0\n" +
		"stdin 1\n8 FLOW.IN\n\noutputs 1\n8 BLTM.FLW\nsuccess 1\n3 END\nexit 1\n1 0\nexit 1\n1 2\nenvironment 1\n6 TZ=UTC\n" +
		"file 2\n" + sized(flowInputFile, hex.EncodeToString(sum[:])) + "file 2\n" + sized("TABLE", "")
	whole := sha256.Sum256([]byte(want))
	if key != hex.EncodeToString(whole[:]) {
		t.Errorf("the key is not the hash of\n%s", want)
	}
}

func sized(values ...string) string {
	var b bytes.Buffer
	for _, v := range values {
		fmt.Fprintf(&b, "%d %s\n", len(v), v)
	}
	return b.String()
}

// Every step of our own says all that it opens and nothing else, so that it counts.
func TestBundledReads(t *testing.T) {
	set, err := Bundled(self(t), "")
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := inputFolder(t)
	for _, s := range set.Steps {
		opened := map[string]bool{}
		b := &Bundle{Dir: dir, opened: func(name string) { opened[name] = true }}
		if err := b.Run(s.Name); err != nil {
			t.Fatal(err)
		}
		if want := slices.Sorted(slices.Values(s.Reads)); s.Uncached || !slices.Equal(slices.Sorted(maps.Keys(opened)), want) {
			t.Errorf("%s reads %q, and says %q", s.Name, slices.Sorted(maps.Keys(opened)), want)
		}
	}
}
