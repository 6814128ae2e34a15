//go:build unix

package engine

import (
	"context"
	"debug/pe"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

// H16: what programs under Wine take for the temporary folder is that of the
// run, and what they take for that of the Wine server is not, also where Wine
// does not come first.
func TestTemporaryFolderUnderWine(t *testing.T) {
	wine := filepath.Join(lay(t, map[string]string{"wine": "#!/bin/sh\nenv >ENV\n"}), "wine")
	for _, before := range []string{"", "env "} {
		engines := map[string]string{}
		for _, o := range outputs {
			engines[strings.ToUpper(o.name)+".EXE"] = program(pe.IMAGE_FILE_MACHINE_AMD64)
		}
		link := filepath.Join(t.TempDir(), "wine") // a runner is split at blanks
		if err := os.Symlink(wine, link); err != nil {
			t.Fatal(err)
		}
		set, err := Find(lay(t, engines), before+link, none)
		if err != nil {
			t.Fatal(err)
		}
		set.Steps = set.Steps[:1]
		set.Steps[0].Outputs = []string{"ENV"}
		r, _ := runner(t, set)
		r.Env = append(r.Env, "TMPDIR=/of/the/server")
		work := t.TempDir()
		if err := r.Run(context.Background(), work); err != nil {
			t.Fatal(err)
		}
		env, err := os.ReadFile(filepath.Join(work, "ENV"))
		if err != nil {
			t.Fatal(err)
		}
		dir := `Z:` + strings.ReplaceAll(work, "/", `\`)
		for _, want := range []string{"WINETEMP=" + dir + "\n", "WINETMP=" + dir + "\n", "TMPDIR=/of/the/server\n"} {
			if !strings.Contains(string(env), want) {
				t.Errorf("runner %swine: no %q in\n%s", before, want, env)
			}
		}
	}
}

// A set that Wine cannot start is refused when it is looked for.
func TestFindUnderWine(t *testing.T) {
	prefix := t.TempDir()
	write(t, prefix, map[string]string{"drive_c/windows/system32/kernel32.dll": program(pe.IMAGE_FILE_MACHINE_AMD64)})
	dir := lay(t, map[string]string{"DAFLOW.EXE": "text", "BLTM.EXE": program(pe.IMAGE_FILE_MACHINE_I386), "CTPLT.EXE": program(pe.IMAGE_FILE_MACHINE_AMD64), "CXPLT.EXE": script})
	_, err := Find(dir, "env wine", func(name string) (string, bool) { return prefix, name == "WINEPREFIX" })
	for _, want := range []string{
		"DAFLOW.EXE in EXE_DIR " + dir + " cannot be started: it is no program for Windows",
		"BLTM.EXE in EXE_DIR " + dir + " cannot be started: it is a program of 32 bits",
		"CXPLT.EXE in EXE_DIR "} {
		ends(t, err, reason.EngineMissing, want)
	}
	if strings.Contains(reason.Detail(err), "CTPLT.EXE") {
		t.Errorf("the good one is refused: %v", err)
	}
}
