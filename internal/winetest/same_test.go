//go:build wine && linux

package winetest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The shipped example gives the same on both systems, to the last byte.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	var took [2]time.Duration
	for i, argv := range [][]string{
		{built("rsms-job"), "demo", filepath.Join(dir, "linux")},
		{"wine", built("rsms-job.exe"), "demo", windowsPath(filepath.Join(dir, "windows"))},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = environment()
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
		took[i] = time.Since(began)
	}
	t.Logf("demo: natively %.2f s, under Wine %.2f s, %.1f times as long",
		took[0].Seconds(), took[1].Seconds(), took[1].Seconds()/took[0].Seconds())
	same(t, filepath.Join(dir, "linux"), filepath.Join(dir, "windows"))
}

// H15, H16: whoever starts the engines, and whatever their folders are called,
// the result is that of our own engines on Linux; two runs at once take nothing
// from each other.
func TestEveryRoad(t *testing.T) {
	want := newLab(t, road{"linux", false})
	want.start(nil).exits(0)
	for _, c := range []struct {
		road
		foreign bool
	}{
		{road{"windows", true}, false},
		{road{"windows", true}, true},
		{road{"linux with wine", false}, true},
	} {
		name := c.name + ", bundled engines"
		if c.foreign {
			name = c.name + ", engines of EXE_DIR"
		}
		t.Run(name, func(t *testing.T) {
			var jobs []*job
			for range 2 {
				l := newLab(t, c.road)
				if c.foreign {
					l.copies()
				}
				jobs = append(jobs, l.start(nil))
			}
			for _, j := range jobs {
				j.exits(0)
				same(t, want.store, j.store)
				if left, err := os.ReadDir(j.work()); err != nil || len(left) != 0 {
					t.Errorf("left in the folder of the run folders: %v, %v", left, err)
				}
			}
		})
	}
}

// A run whose steps are all taken from the cache is the same, on every road.
func TestStepsAreTaken(t *testing.T) {
	want := newLab(t, road{"linux", false})
	want.start(nil).exits(0)
	for _, r := range roads() {
		t.Run(r.name, func(t *testing.T) {
			l := newLab(t, r)
			l.copies()
			l.start(nil).exits(0)
			for _, name := range []string{"rsms-results", "tables/Runs"} {
				check(t, os.RemoveAll(filepath.Join(l.store, name)))
			}
			j := l.start(nil)
			j.exits(0)
			if n := strings.Count(j.stderr.String(), "step taken from the cache"); n != 4 {
				t.Errorf("%d steps were taken", n)
			}
			same(t, want.store, l.store)
		})
	}
}

// An engine may leave its file in small letters where capitals do not count: what
// is in it counts all the same, and other flows give another answer.
func TestSmallLetters(t *testing.T) {
	const program = "small.exe"
	if out, err := exec.Command("x86_64-w64-mingw32-gcc", "-O1", "-Wall", "-Werror", "-o", built(program), "testdata/small.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const manifest = `{"steps": {"daflow": {"reads": ["FLOW.IN"]}, "bltm": {"reads": ["BLTM.IN", "BLTM.FLW"]}, "ctplt": {}, "cxplt": {}}}`
	halve := func(l *lab) {
		path := filepath.Join(l.store, "riverbasin", basin, "FLOW.IN")
		text, err := os.ReadFile(path)
		check(t, err)
		half := strings.ReplaceAll(string(text), "80.000", "40.000")
		if half == string(text) {
			t.Fatal("the flow of the basin is another one")
		}
		check(t, os.WriteFile(path, []byte(half), 0o644))
	}
	newRun := func() *lab {
		l := newLab(t, roads()[0])
		l.copies()
		check(t, os.Rename(filepath.Join(l.engines, "DAFLOW.EXE"), filepath.Join(l.engines, "whole.exe")))
		l.link(program, "DAFLOW.EXE")
		check(t, os.WriteFile(filepath.Join(l.engines, "engine.json"), []byte(manifest), 0o644))
		return l
	}
	want := newRun()
	halve(want)
	want.start([]string{"RSMS_STEP_CACHE=false"}).exits(0)
	l := newRun()
	l.start(nil).exits(0)
	halve(l)
	for _, taken := range []int{0, 4} {
		check(t, os.RemoveAll(filepath.Join(l.store, "rsms-results")))
		check(t, os.RemoveAll(filepath.Join(l.store, "tables", "Runs")))
		j := l.start(nil)
		j.exits(0)
		if n := strings.Count(j.stderr.String(), "step taken from the cache"); n != taken {
			t.Errorf("%d steps were taken, want %d", n, taken)
		}
		same(t, want.store, l.store)
	}
}

// H16: the temporary folder that a program asks the system for is that of its
// run, also where Wine does not come first in the runner.
func TestTemporaryFolder(t *testing.T) {
	for _, c := range []struct {
		road
		runner string
	}{{roads()[0], ""}, {roads()[1], "wine"}, {roads()[1], "env wine"}} {
		t.Run(strings.TrimSpace(c.name+" "+c.runner), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.road)
			l.bad("engine.exe", "temporary")
			settings := []string{"RSMS_KEEP_WORK_DIR=true"}
			if c.runner != "" {
				settings = append(settings, "RSMS_ENGINE_RUNNER="+c.runner)
			}
			j := l.start(settings)
			j.exits(10)
			found, err := filepath.Glob(filepath.Join(l.work(), "rsms-*", "fort.10"))
			check(t, err)
			if len(found) != 1 {
				t.Errorf("in the run folder: %q; %v", found, j.last()["msg"])
			}
		})
	}
}

// own are the members of documents that tell of the run itself: when and by what
// program it was. A run key is over the engines as well.
var own = regexp.MustCompile(`(?i)^(run_?key|engine.*|files|owner|lease_?until|started_?at|finished_?at|commit)$`)

// same checks that two stores hold the same: all files byte for byte, but for
// what tells of the run itself.
func same(t *testing.T, one, other string) {
	t.Helper()
	a, b := contents(t, one), contents(t, other)
	for name, data := range a {
		switch there, ok := b[name]; {
		case !ok:
			t.Errorf("%s is missing", name)
		case bytes.Equal(data, there):
		case !tellsOfRun(name):
			t.Errorf("%s is not the same: %s", name, difference(data, there))
		default:
			data, there = told(t, name, data), told(t, name, there)
			if !bytes.Equal(data, there) {
				t.Errorf("%s is not the same: %s", name, difference(data, there))
			}
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			t.Errorf("%s is too much", name)
		}
	}
}

// contents are the files of a folder by slash path, without the log of the run.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	check(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if name == "cache" { // keys have the engines and the system in them
			return fs.SkipDir
		}
		if err != nil || e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), "run-") && strings.HasSuffix(name, ".log") {
			return nil
		}
		files[name], err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		return err
	}))
	if len(files) < 10 {
		t.Fatalf("%s has %d files only", dir, len(files))
	}
	return files
}

// tellsOfRun reports whether a file of a store has such members.
func tellsOfRun(name string) bool {
	base := filepath.Base(name)
	return base == "result.json" || base == "report.html" || base == "params.json" || strings.HasPrefix(name, "tables/Runs/") || strings.HasPrefix(name, "tables/Scenarios/")
}

// told is a document without them.
func told(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	if strings.HasSuffix(name, ".html") { // hashes of inputs stand in params.json, too
		return regexp.MustCompile(`<dt>Engine</dt>.*|<tr>.*<td class="hash">.*\n`).ReplaceAll(data, nil)
	}
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for member := range document {
		if own.MatchString(member) {
			delete(document, member)
		}
	}
	// Size and hash of the documents that tell of the engines.
	for _, list := range []string{"blobs", "files"} {
		blobs, _ := document[list].([]any)
		for _, b := range blobs {
			if blob, ok := b.(map[string]any); ok && tellsOfRun(blob["name"].(string)) {
				delete(blob, "size")
				delete(blob, "sha256")
			}
		}
	}
	left, err := json.MarshalIndent(document, "", " ")
	check(t, err)
	return left
}

// difference shows the first place where two texts differ.
func difference(a, b []byte) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	piece := func(text []byte) []byte { return text[max(0, at-40):min(len(text), at+40)] }
	return strings.Join([]string{"at byte", string(piece(a)), "and", string(piece(b))}, " ")
}
