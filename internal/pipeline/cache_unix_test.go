//go:build unix

package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/stepcache"
	"rsmsjob/internal/storage"
)

// cached is a job with a step cache, and its log.
func cached(t testing.TB, dir string) (*Job, *bytes.Buffer) {
	t.Helper()
	j := jobOn(t, dir)
	var text bytes.Buffer
	j.Log = slog.New(slog.NewTextHandler(&text, nil))
	store := j.Runs.(*storage.Folder).StepCache()
	j.StepCache = func(anew bool, since time.Time) engine.Cache {
		return stepcache.New(store, stepcache.Options{Anew: anew, NotBefore: since, Log: j.Log})
	}
	return j, &text
}

// took are the steps that the log says were taken from the cache, by blanks.
func took(log *bytes.Buffer) string {
	var steps []string
	for line := range strings.Lines(log.String()) {
		if _, rest, ok := strings.Cut(line, `msg="step taken from the cache" engine=`); ok {
			steps = append(steps, strings.Fields(rest)[0])
		}
	}
	log.Reset()
	return strings.Join(steps, " ")
}

const allSteps = "daflow bltm ctplt cxplt"

// copies is a folder with engines that are ours under other names, each changed
// by a line of shell behind it.
func copies(t testing.TB, manifest string, behind map[string]string) func() (*engine.Set, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range engine.Names() {
		script := fmt.Sprintf("#!/bin/sh\n'%s' engine %s || exit\n%s\n", self, name, behind[name])
		if err := os.WriteFile(filepath.Join(dir, strings.ToUpper(name)), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if manifest != "" {
		put(t, dir, "engine.json", manifest)
	}
	return func() (*engine.Set, error) {
		return engine.Find(dir, "", func(string) (string, bool) { return "", false })
	}
}

// variants are scenarios, by id, and the steps that each takes behind "s1" when
// the engines are ours.
func variants(t testing.TB, dir string) map[string]string {
	t.Helper()
	for id, change := range map[string]map[string]any{
		"s1": nil, "mass": {"SpillMassKg": 300}, "loss": {"HalfLifeHours": 10}, "time": {"SpillTime": "2026-02-02T03:00:00Z"},
		"duration": {"SpillDurationHours": 3, "ReleaseShape": "exponential"}, "place": {"SpillMile": 97.1}, "step": {"TimeStepMinutes": 30},
		"threshold": {"ThresholdMgL": 1, "ConcentrationTolerance": 0.1}, "output": {"OutputIntervalMinutes": 30},
	} {
		columns := map[string]any{"SpillMile": 98.7, "SpillTime": "2026-01-02T03:00:00Z", "SpillMassKg": 250, "SimulationHours": 24}
		maps.Copy(columns, change)
		text, err := json.Marshal(columns)
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, "tables/Scenarios/channel/"+id+".json", string(text))
	}
	return map[string]string{"s1": allSteps, "mass": "daflow", "loss": "daflow", "time": allSteps, "duration": "daflow", "place": "", "step": "",
		"threshold": allSteps, "output": ""}
}

// resultsOf is all that a store holds of results, without what is of one run.
func resultsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := tree(t, dir)
	maps.DeleteFunc(files, func(name, _ string) bool {
		return !strings.HasPrefix(name, "rsms-results/") && !strings.HasPrefix(name, "tables/Plume")
	})
	for name, text := range files {
		if strings.HasSuffix(name, "/result.json") {
			files[name] = withoutRunFields(t, text)
		}
	}
	return files
}

// With the cache and without it every blob and every row has the same bytes; a
// what-if runs no step that it need not.
func TestSameBytesWithCache(t *testing.T) {
	const reads = `{"steps": {"daflow": {"reads": ["FLOW.IN"]}, "bltm": {"reads": ["BLTM.IN", "BLTM.FLW"]}, "ctplt": {}, "cxplt": {}}}`
	for _, kind := range []string{"bundled", "foreign", "foreign that says what it reads"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			plain, dir := writeChannel(t), writeChannel(t)
			want := variants(t, plain)
			variants(t, dir)
			without := jobOn(t, plain)
			j, log := cached(t, dir)
			switch kind {
			case "foreign":
				without.Engines = copies(t, "", nil)
				for id := range want { // any file of the folder may be read
					if want[id] != allSteps {
						want[id] = ""
					}
				}
			case "foreign that says what it reads":
				without.Engines = copies(t, reads, nil)
			}
			if kind != "bundled" {
				j.Engines = without.Engines
			}
			if mustRun(t, j, messageOf("channel", "s1", false)); took(log) != "" {
				t.Error("an empty cache has something")
			}
			if err := os.RemoveAll(filepath.Join(dir, "rsms-results")); err != nil {
				t.Fatal(err)
			}
			for _, id := range slices.Sorted(maps.Keys(want)) {
				mustRun(t, without, messageOf("channel", id, false))
				mustRun(t, j, messageOf("channel", id, false))
				if got := took(log); got != want[id] {
					t.Errorf("%s took %q, want %q", id, got, want[id])
				}
			}
			a, b := resultsOf(t, plain), resultsOf(t, dir)
			for name := range a {
				if a[name] != b[name] {
					t.Errorf("%s is another", name)
				}
			}
			if len(a) != len(b) || len(a) < 9*10 {
				t.Errorf("%d files without, %d with", len(a), len(b))
			}
		})
	}
}

// A run that is to do all anew takes nothing, and what it makes is kept.
func TestForceTakesNothing(t *testing.T) {
	dir := writeChannel(t)
	j, log := cached(t, dir)
	for range 2 {
		later(t, filepath.Join(dir, "cache")) // the clock of the store need not be ours
		if mustRun(t, j, messageOf("channel", "s1", true)); took(log) != "" {
			t.Error("a forced run took something")
		}
	}
	put(t, dir, "tables/Scenarios/channel/s2.json", tree(t, dir)["tables/Scenarios/channel/s1.json"])
	if mustRun(t, j, messageOf("channel", "s2", false)); took(log) != allSteps {
		t.Error("what a forced run made was not kept")
	}
	// The second attempt of a forced job goes on where the first one stopped.
	j.Since, j.Attempt, j.Attempts = time.Now().Add(-time.Hour), 2, 5
	if err := os.RemoveAll(filepath.Join(dir, "rsms-results")); err != nil {
		t.Fatal(err)
	}
	if mustRun(t, j, messageOf("channel", "s1", true)); took(log) != allSteps {
		t.Error("the work of an earlier attempt is not used")
	}
}

// later makes all entries of a cache an hour younger than they are.
func later(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

// A job that is stopped between two steps goes on behind the last that was kept.
func TestResumes(t *testing.T) {
	dir := writeChannel(t)
	j, log := cached(t, dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	j.Progress = func(step string, _ float64) {
		if step != "ctplt" || ctx.Err() != nil {
			return
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(time.Minute); entries(t, dir) < 2 && time.Now().Before(deadline); <-tick.C {
		}
		cancel(reason.New(reason.Shutdown, "stopped"))
	}
	if _, err := j.Run(ctx, messageOf("channel", "s1", false), "job-1"); reason.Of(err) != reason.Shutdown {
		t.Fatal(err)
	}
	log.Reset()
	if mustRun(t, j, messageOf("channel", "s1", false)); took(log) != "daflow bltm" {
		t.Errorf("log:\n%s", log)
	}
}

// entries is how many entries the cache of a store has.
func entries(t testing.TB, dir string) int {
	t.Helper()
	names, err := os.ReadDir(filepath.Join(dir, "cache"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(names, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }))
}

// Outputs that pass the checks of their steps and not those of the whole are not
// taken again.
func TestRefusedResultIsForgotten(t *testing.T) {
	dir := writeChannel(t)
	j, log := cached(t, dir)
	// The peak is another in one of the two plume files.
	j.Engines = copies(t, "", map[string]string{"cxplt": `awk '/^ *[0-9]+ +[0-9]+ / && $3 > m { m = $3 } { l[NR] = $0 } END { for (i = 1; i <= NR; i++) { split(l[i], f); if (f[3] == m) sub(/[1-9][^ ]*$/, "9.999E+00", l[i]); print l[i] } }' PLUME.PLT > x && mv x PLUME.PLT`})
	for range 2 {
		if _, err := j.Run(t.Context(), messageOf("channel", "s1", false), "job-1"); reason.Of(err) != reason.EngineOutputInvalid {
			t.Fatal(err)
		}
		if n := entries(t, dir); n != 0 || took(log) != "" {
			t.Errorf("%d entries are left", n)
		}
	}
}

// What the cache does wrong costs a run nothing but time.
func TestCacheInTheWay(t *testing.T) {
	dir := writeChannel(t)
	put(t, dir, "cache", "a file where the folder should be")
	j, log := cached(t, dir)
	mustRun(t, j, messageOf("channel", "s1", false))
	if n := strings.Count(log.String(), "the step cache is not used from here on"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log)
	}
}
