//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rsmsjob/internal/storage"
)

// nightly is the block of shell with the loop over scenarios, as README.md has
// it.
func nightly(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(readme), "\nTwo sets of engines, every night")
	_, text, fenced := strings.Cut(text, "\n```sh\n")
	text, _, closed := strings.Cut(text, "\n```\n")
	if !ok || !fenced || !closed {
		t.Fatal("README.md has no loop for every night")
	}
	return text
}

// TestReadmeNightly runs the loop of README.md over a folder store, with engines
// in a folder: scenarios that are the same, that differ, that cannot be
// compared, run, or found.
func TestReadmeNightly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := strings.NewReplacer("/opt/new-engines", filepath.Join(dir, "engines"), "/var/lib/rsms-shadow", filepath.Join(dir, "kept"))
	script := paths.Replace(nightly(t))
	if strings.Count(script, dir) != 2 {
		t.Fatalf("README.md names other folders than this test knows:\n%s", script)
	}
	for _, engine := range []string{"daflow", "bltm", "ctplt", "cxplt"} {
		layFile(t, filepath.Join(dir, "engines", engine), "#!/bin/sh\nGORACE=atexit_sleep_ms=0 exec rsms-job engine "+engine+"\n")
	}
	layFile(t, filepath.Join(dir, "bin", "rsms-job"), "#!/bin/sh\nexec rsms-job \"$@\"\n")
	store := filepath.Join(dir, "store")
	if err := os.CopyFS(store, os.DirFS("testdata/store")); err != nil {
		t.Fatal(err)
	}
	scenario, err := os.ReadFile(filepath.Join(store, "tables", "Scenarios", "tiny", "s1.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := &nightlyShell{T: t, dir: dir, env: append(os.Environ(), "RSMS_STORE_DIR="+store, "RSMS_WORK_DIR="+t.TempDir(), "GORACE=atexit_sleep_ms=0")}
	for _, id := range []string{"s1", "s2", "s3", "s4", "s5"} {
		layFile(t, filepath.Join(store, "tables", "Scenarios", "tiny", id+".json"), string(scenario))
		if id != "s3" { // which production did not run
			s.sh(fmt.Sprintf(`bin/rsms-job run --message '{"riverbasin_id":"tiny","scenario_id":"%s"}'`, id))
		}
	}
	s.sh(`sed -i 's/,1,1\.4524/,1,2.4524/' store/tables/PlumeByTime/tiny/s2.csv`)
	s.sh("rm store/rsms-results/tiny/s4/result.json")
	layFile(t, filepath.Join(store, "tables", "Runs", "tiny", "s4.json"), `{"JobId":"j7","State":"Running","LeaseUntil":"2999-01-01T00:00:00Z"}`)
	layFile(t, filepath.Join(dir, "s5.json"), strings.Replace(string(scenario), `"SpillMile"`, `"SpillMiles"`, 1))
	s.sh("mv s5.json store/tables/Scenarios/tiny/s5.json")
	layFile(t, filepath.Join(dir, "scenarios.txt"), "tiny s1\ntiny s2\ntiny s3\ntiny s4\ntiny s5\ntiny s6\n")
	want := "tiny s1: the same within the tolerances\n" +
		"tiny s2: different: ConcentrationMgL of PlumeByTime (1)\n" +
		"tiny s3: not compared: production has no result of this scenario; run it there first\n" +
		"tiny s4: is being run, not compared\n" +
		"tiny s5: exit 11, see tiny-s5.log\n" +
		"tiny s6: exit 11, see tiny-s6.log\n"
	for _, night := range []string{"first", "second"} {
		if got := s.sh(script); got != want {
			t.Errorf("the %s night prints\n%swant\n%s", night, got, want)
		}
	}
	for _, page := range []string{"tiny-s1.html", "tiny-s2.html"} {
		if _, err := os.Stat(filepath.Join(dir, page)); err != nil {
			t.Error(err)
		}
	}
	folder, err := storage.OpenFolder(filepath.Join(dir, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := folder.ResultVersion(t.Context(), "tiny", "s1", "result.json"); err != nil {
		t.Errorf("the shadow of s1 was not kept: %v", err)
	}
}

// layFile writes a file that can be run.
func layFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// nightlyShell runs shell in a folder.
type nightlyShell struct {
	*testing.T
	dir string
	env []string
}

// sh runs a script, which must end with 0, and returns what it prints.
func (s *nightlyShell) sh(script string) string {
	s.Helper()
	c := exec.CommandContext(s.Context(), "sh", "-c", script)
	c.Dir, c.Env = s.dir, s.env
	var log strings.Builder
	c.Stderr = &log
	out, err := c.Output()
	if err != nil {
		s.Fatalf("%s: %v\n%s%s", script, err, out, &log)
	}
	return string(out)
}
