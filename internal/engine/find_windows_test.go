package engine

import (
	"debug/pe"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

// What Windows starts is found, in any case; what it does not is refused in
// words that help there.
func TestFindOnWindows(t *testing.T) {
	const amd64, i386 = pe.IMAGE_FILE_MACHINE_AMD64, pe.IMAGE_FILE_MACHINE_I386
	none := func(string) (string, bool) { return "", false }
	good := map[string]string{"DAFLOW.EXE": program(amd64), "Bltm.exe": program(i386), "ctplt.EXE": program(amd64), "CXPLT.exe": program(amd64)}
	dir := filepath.Join(t.TempDir(), "Programme für alle, à jour")
	write(t, dir, good)
	set, err := Find(dir, "", none)
	if err != nil || len(set.Files) != 4 {
		t.Fatalf("%+v, %v", set, err)
	}
	for _, tt := range []struct {
		name, file, text string
		want             string
	}{
		{"no end of the name", "DAFLOW", program(amd64), "DAFLOW in EXE_DIR %DIR% may not be executed: Windows goes by the end of the name, so call it DAFLOW.EXE, or name a RSMS_ENGINE_RUNNER"},
		{"text", "DAFLOW.EXE", "echo hello\r\n", "DAFLOW.EXE in EXE_DIR %DIR% cannot be started: it is no program for Windows"},
		{"script for Unix", "DAFLOW.EXE", "#!/bin/sh\n", "it is no program for Windows"},
		{"for DOS", "DAFLOW.EXE", "MZ" + strings.Repeat("\x00", 100), "it is a program for DOS"},
		{"for ARM", "DAFLOW.EXE", program(pe.IMAGE_FILE_MACHINE_ARM64), "it is a program for arm64, and this is windows/amd64"},
		{"for Linux", "DAFLOW.EXE", "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 40), "it is a program for Linux"},
		{"empty", "DAFLOW.EXE", "", "the file is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, good)
			if err := os.Remove(filepath.Join(dir, "DAFLOW.EXE")); err != nil {
				t.Fatal(err)
			}
			write(t, dir, map[string]string{tt.file: tt.text})
			_, err := Find(dir, "", none)
			ends(t, err, reason.EngineMissing, strings.ReplaceAll(tt.want, "%DIR%", dir))
		})
	}
	write(t, dir, map[string]string{"run.bat": "@echo off\r\n", "engine.json": `{"steps": {"daflow": {"executable": "run.bat"}, "bltm": {}, "ctplt": {}, "cxplt": {}}}`})
	if set, err = Find(dir, "", none); err != nil || filepath.Base(set.Steps[0].Path) != "run.bat" {
		t.Errorf("a batch file: %+v, %v", set, err)
	}
}
