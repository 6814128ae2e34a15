package engine

import (
	"debug/pe"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program is the beginning of a Windows program for a machine.
func program(machine uint16) string {
	b := make([]byte, 128)
	copy(b, "MZ")
	binary.LittleEndian.PutUint32(b[60:], 80)
	copy(b[80:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(b[84:], machine)
	return string(b)
}

// write writes files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Wine is seen wherever it stands in a runner, and nowhere else.
func TestUnderWine(t *testing.T) {
	for words, want := range map[string]bool{
		"/usr/bin/wine /e/DAFLOW.EXE":                                       true,
		"/usr/bin/env wine /e/DAFLOW.EXE x":                                 true,
		"/usr/bin/nice -n 5 wine64 /e/DAFLOW.EXE":                           true,
		"/usr/bin/xvfb-run -a /opt/wine/bin/wine64-preloader /e/DAFLOW.EXE": true,
		"/e/DAFLOW.EXE":                       false,
		"/e/DAFLOW.EXE wine":                  false,
		"/usr/bin/python3 /e/DAFLOW.EXE wine": false,
		"/opt/wine/run.sh /e/DAFLOW.EXE":      false,
	} {
		list := strings.Fields(words)
		set := &Set{Steps: []Step{{Path: list[0], Args: list[1:], Executable: "/e/DAFLOW.EXE"}}}
		if got := set.underWine(); got != want {
			t.Errorf("%s: %v", words, got)
		}
	}
}

// A program that Windows, or a Wine prefix, will not start is found before a
// message is taken for it.
func TestProgramProblem(t *testing.T) {
	const i386, amd64, arm64 = pe.IMAGE_FILE_MACHINE_I386, pe.IMAGE_FILE_MACHINE_AMD64, pe.IMAGE_FILE_MACHINE_ARM64
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"narrow.exe": program(i386), "wide.exe": program(amd64), "arm.exe": program(arm64), "text.exe": "echo hello\n", "empty.exe": "",
		"dos.exe": "MZ" + strings.Repeat("\x00", 300), "short.exe": "MZ", "linux.exe": "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 40), "run.bat": "@echo off\r\n",
		"64/drive_c/windows/system32/kernel32.dll": program(amd64), "64/drive_c/windows/syswow64/x": "",
		"both/drive_c/windows/system32/kernel32.dll": program(amd64), "both/drive_c/windows/syswow64/kernel32.dll": program(i386),
		"32/drive_c/windows/system32/kernel32.dll": program(i386),
	})
	for _, tt := range []struct{ prefix, program, want string }{
		{"64", "wide.exe", ""},
		{"both", "wide.exe", ""},
		{"32", "wide.exe", "it is a program for amd64, and the Wine prefix "},
		{"64", "narrow.exe", "it is a program of 32 bits, and the Wine prefix " + filepath.Join(dir, "64") + " has 64 only; install wine32"},
		{"both", "narrow.exe", ""},
		{"32", "narrow.exe", ""},
		{"not made yet", "narrow.exe", ""},
		{"64", "arm.exe", "it is a program for arm64, and the Wine prefix "},
		{"64", "text.exe", "it is no program for Windows"},
		{"not made yet", "text.exe", "it is no program for Windows"},
		{"64", "empty.exe", "the file is empty"},
		{"64", "dos.exe", "it is a program for DOS, or damaged"},
		{"64", "short.exe", "it is a program for DOS, or damaged"},
		{"64", "linux.exe", "it is a program for Linux"},
		{"64", "run.bat", ""},
	} {
		got := programProblem(filepath.Join(dir, tt.program), winePrefix(filepath.Join(dir, tt.prefix)).refuses)
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s in a prefix %s: %q, want %q", tt.program, tt.prefix, got, tt.want)
		}
	}
	for env, want := range map[string]string{"WINEPREFIX": "/given", "HOME": filepath.Join("/given", ".wine")} {
		if got := findPrefix(func(name string) (string, bool) { return "/given", name == env }); string(got) != want {
			t.Errorf("prefix by %s: %s", env, got)
		}
	}
}
