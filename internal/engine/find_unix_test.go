//go:build unix

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

const script = "#!/bin/sh\nexit 0\n"

// none is an empty environment.
func none(string) (string, bool) { return "", false }

func TestFindPlain(t *testing.T) {
	for _, names := range [][]string{
		{"DAFLOW", "BLTM", "CTPLT", "CXPLT"},
		{"daflow", "bltm", "ctplt", "cxplt"},
		{"DAFLOW.EXE", "Bltm.exe", "ctplt.Exe", "CxPlt"},
		{"DAFLOW", "bltm.exe", "CTPLT.EXE", "cxplt"},
	} {
		files := map[string]string{"DAFLOW.TXT": "not it", "notes": "not it"}
		for i, name := range names {
			files[name] = script + strings.Repeat("#", i)
		}
		s, err := Find(lay(t, files), "", none)
		if err != nil {
			t.Errorf("%q: %v", names, err)
			continue
		}
		for i, step := range s.Steps {
			if step.Name != Names()[i] || filepath.Base(step.Path) != names[i] || step.Executable != step.Path || len(step.Args) > 0 {
				t.Errorf("%q: step %d is %+v", names, i, step)
			}
			sum := sha256.Sum256([]byte(files[names[i]]))
			if s.Files[names[i]] != hex.EncodeToString(sum[:]) {
				t.Errorf("%q: hashes %v", names, s.Files)
			}
		}
		if len(s.Files) != 4 || s.Name != "EXE_DIR" || !s.Foreign || s.MaxBytes != 8<<30 || s.Version() != "EXE_DIR "+s.Hash[:16] {
			t.Errorf("%q: %+v", names, s)
		}
	}
}

// Of two that fit, the one without .exe is meant on Unix; of two in different
// case nobody knows.
func TestFindAmbiguous(t *testing.T) {
	files := map[string]string{"DAFLOW.EXE": script, "daflow": script, "BLTM": script, "CTPLT": script, "CXPLT": script}
	s, err := Find(lay(t, files), "", none)
	if err != nil || filepath.Base(s.Steps[0].Path) != "daflow" {
		t.Errorf("%+v, %v", s, err)
	}
	files["Daflow"] = script
	_, err = Find(lay(t, files), "", none)
	ends(t, err, reason.EngineMissing, "DAFLOW may mean Daflow or daflow in ")
}

// H11: what is missing, what was looked for, where, and what is there instead.
func TestFindSaysWhereItLooked(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", map[string]string{}, []string{"DAFLOW, BLTM, CTPLT, CXPLT not found in EXE_DIR ", "there is: nothing"}},
		{"other files", map[string]string{"DAFLOW.TXT": "x", "readme": "x", "BLTM": script, "sub/ctplt": script}, []string{
			"DAFLOW, CTPLT, CXPLT not found in EXE_DIR ", "looked for DAFLOW, DAFLOW.EXE, CTPLT, CTPLT.EXE, CXPLT, CXPLT.EXE in any case; there is: BLTM, DAFLOW.TXT, readme, sub/"}},
		{"folder", map[string]string{"DAFLOW": script, "BLTM/x": "x", "CTPLT": script, "CXPLT": script}, []string{"/BLTM is a folder; the file to start is wanted"}},
		{"no permission", map[string]string{"DAFLOW": script, "BLTM": "\x7fELx", "CTPLT": "text", "CXPLT": script}, []string{
			"BLTM in EXE_DIR ", "may not be executed: give permission (chmod +x), or name a RSMS_ENGINE_RUNNER", "\nCTPLT in EXE_DIR "}},
		{"no interpreter", map[string]string{"DAFLOW": "#!/no/such/sh -e\n", "BLTM": "#!\n", "CTPLT": "#! sh\n", "CXPLT": script}, []string{
			"DAFLOW in EXE_DIR ", "cannot be started: its interpreter /no/such/sh is missing; install it, or correct the #! line", "BLTM in", "its #! line names no interpreter", "its interpreter sh is missing"}},
		{"CR LF", map[string]string{"DAFLOW": "#!/bin/sh\r\nexit 0\r\n", "BLTM": "#!/usr/bin/env python3\r\n", "CTPLT": script, "CXPLT": script}, []string{
			"DAFLOW in EXE_DIR ", "its lines end as on Windows (CR LF)", "\nBLTM in"}},
		{"two engine.json", map[string]string{"engine.json": "{}", "ENGINE.JSON": "{}"}, []string{" has ENGINE.JSON and engine.json; keep one of them"}},
		{"engine.json is a folder", map[string]string{"Engine.json/x": "{}"}, []string{"/Engine.json cannot be read; it must be a file that describes the engines (rsms-job schema engine)"}},
		{"engine.json is huge", map[string]string{"engine.json": strings.Repeat(" ", maxManifest+1)}, []string{"/engine.json is longer than 1048576 bytes"}},
		{"engine.json names what is not there", map[string]string{"engine.json": "{\"steps\": {\n\"daflow\": {\"executable\": \"bin/flow\"},\n\"bltm\": {\"executable\": \"nowhere/b\"},\n\"ctplt\": {},\n \"cxplt\": {\"executable\": \"bin\"}}}", "bin/Flow.txt": "x"}, []string{
			"engine.json line 2 column 26 steps.daflow.executable: bin/flow was not found; looked for flow, flow.exe in any case in ", "/bin; there is: Flow.txt",
			"engine.json line 3 column 24 steps.bltm.executable: nowhere/b was not found; looked for nowhere/ in any case in ", "; there is: bin/, engine.json",
			"line 4 column 10 steps.ctplt.executable: CTPLT was not found; looked for CTPLT, CTPLT.EXE in any case", "line 5 column 26 steps.cxplt.executable: ", "/bin is a folder"}},
		{"faults and missing ones together", map[string]string{"engine.json": `{"name": "", "steps": {"daflow": {"stdin": 1}, "bltm": {}, "ctplt": {}, "cxplt": {"executable": "/x"}}}`, "bltm": script, "ctplt": script}, []string{
			"name: must be", "steps.daflow.stdin: must be", "steps.daflow.executable: DAFLOW was not found", "steps.cxplt.executable: must be"}},
		{"runner", map[string]string{"engine.json": `{"runner": ["no-such-runner"], "steps": {"daflow": {}, "bltm": {}, "ctplt": {}, "cxplt": {}}}`, "daflow": script, "bltm": script, "ctplt": script, "cxplt": script}, []string{
			"engine.json line 1 column 12 runner: the program of the runner was not found on the PATH"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := lay(t, tt.files)
			_, err := Find(dir, "", none)
			for _, want := range append(tt.want, dir) {
				if strings.Contains(tt.name, "together") && want == dir || tt.name == "runner" && want == dir {
					continue
				}
				ends(t, err, reason.EngineMissing, want)
			}
		})
	}
	_, err := Find(filepath.Join(t.TempDir(), "nowhere"), "", none)
	ends(t, err, reason.EngineMissing, "nowhere cannot be read; it must be the folder of the engine executables")
	_, err = Find(lay(t, nil), "no-such-runner", none)
	ends(t, err, reason.EngineMissing, "the program of RSMS_ENGINE_RUNNER was not found on the PATH")
}

const described = `{"name": "usgs", "version": "2.0", "runner": ["tools/run.sh", "-q"], "environment": ["LICENSE", "MISSING", "THREADS=2"], "output_limit_mb": 7,
 "steps": {"daflow": {"executable": "Bin\\flow", "arguments": ["a b", ""], "stdin": ["FLOW.IN", "", "é"], "timeout_seconds": 5, "exit_codes": [0, 2], "success_text": "OK"},
  "bltm": {"executable": "bin/./FLOW.EXE", "arguments": ["x"]}, "ctplt": {}, "cxplt": {"executable": "ctplt"}}}`

func TestFindDescribed(t *testing.T) {
	dir := lay(t, map[string]string{"Engine.JSON": described, "bin/flow.exe": "program", "tools/run.sh": script, "CTPLT": "text"})
	s, err := Find(dir, "", func(name string) (string, bool) { return "from outside", name == "LICENSE" })
	if err != nil {
		t.Fatal(err)
	}
	run, flow := filepath.Join(dir, "tools", "run.sh"), filepath.Join(dir, "bin", "flow.exe")
	if d := s.Steps[0]; d.Path != run || d.Executable != flow || !slices.Equal(d.Args, []string{"-q", flow, "a b", ""}) || string(d.Stdin) != "FLOW.IN\n\né\n" ||
		d.Timeout.Seconds() != 5 || !slices.Equal(d.ExitCodes, []int{0, 2}) || d.Success != "OK" || !slices.Equal(d.Outputs, []string{"BLTM.FLW"}) {
		t.Errorf("daflow is %+v", d)
	}
	if s.Name != "usgs 2.0" || s.MaxBytes != 7<<20 || !slices.Equal(s.Env, []string{"LICENSE=from outside", "THREADS=2"}) {
		t.Errorf("%+v", s)
	}
	if names := slices.Sorted(maps.Keys(s.Files)); !slices.Equal(names, []string{"CTPLT", "Engine.JSON", "bin/flow.exe", "tools/run.sh"}) {
		t.Errorf("hashes of %q", names)
	}
	// A runner of the settings counts instead.
	s, err = Find(dir, "sh -u", none)
	if err != nil || filepath.Base(s.Steps[3].Path) != "sh" || !slices.Equal(s.Steps[3].Args, []string{"-u", filepath.Join(dir, "CTPLT")}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// The hash of a set changes with each of its files, and with nothing else.
func TestHash(t *testing.T) {
	files := map[string]string{"engine.json": described, "bin/flow": script, "tools/run.sh": script, "ctplt": script, "notes": "a"}
	hash := func(change string) string {
		laid := maps.Clone(files)
		if change != "" {
			laid[change] += "\n"
		}
		s, err := Find(lay(t, laid), "", none)
		if err != nil {
			t.Fatal(err)
		}
		return s.Hash
	}
	first := hash("")
	if hash("") != first || hash("notes") != first {
		t.Error("the hash changes where nothing of the set does")
	}
	seen := map[string]string{first: "none"}
	for _, name := range []string{"engine.json", "bin/flow", "tools/run.sh", "ctplt"} {
		h := hash(name)
		if seen[h] != "" {
			t.Errorf("a change of %s gives the hash of a change of %s", name, seen[h])
		}
		seen[h] = name
	}
}

// A set that describes itself does not lead out of its folder; a link inside is
// none of that.
func TestFindLinks(t *testing.T) {
	text := `{"steps": {"daflow": {"executable": "flow"}, "bltm": {"executable": "alias"}, "ctplt": {"executable": "alias"}, "cxplt": {"executable": "alias"}}}`
	dir := lay(t, map[string]string{"engine.json": text, "real/flow": script})
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("real/flow", "alias")
	link("/bin/true", "flow")
	_, err := Find(dir, "", none)
	ends(t, err, reason.EngineMissing, "steps.daflow.executable: "+filepath.Join(dir, "flow")+" is a link that leads out of EXE_DIR; put the file itself there")
	if strings.Contains(reason.Detail(err), "bltm") {
		t.Errorf("a link inside the folder is refused: %v", err)
	}
}

func TestBundledFiles(t *testing.T) {
	s, err := Bundled(self(t), "")
	if err != nil || len(s.Files) != 1 || s.Files[filepath.Base(self(t))] != s.Hash || s.Foreign || s.MaxBytes != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
