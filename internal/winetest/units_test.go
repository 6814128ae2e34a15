//go:build wine && linux

package winetest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rsmsjob/internal/storage/azurite"
)

// The rooms that see the system pass their own tests on Windows.
func TestRooms(t *testing.T) {
	for _, room := range []string{"process", "workdir", "remove", "engine", "storage"} {
		t.Run(room, func(t *testing.T) {
			t.Parallel()
			folder, err := filepath.Abs(filepath.Join("..", room))
			check(t, err)
			tests := filepath.Join(t.TempDir(), "tests.exe")
			build := exec.Command("go", "test", "-c", "-overlay", overlay(t, folder), "-ldflags=-checklinkname=0", "-o", tests, ".")
			build.Dir = folder
			build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			cmd := exec.Command("wine", tests, "-test.v")
			cmd.Dir = folder
			cmd.Env = environment(utf8, azurite.Variable+"="+azurite.Connection(t))
			out, err := cmd.CombinedOutput()
			text := strings.ReplaceAll(string(out), "\r", "")
			passed := strings.Count(text, "--- PASS: ")
			if err != nil || passed == 0 || strings.Contains(text, "--- SKIP: ") {
				t.Errorf("%v, %d passed:\n%s", err, passed, text)
			}
			t.Logf("%d passed", passed)
		})
	}
}

// overlay adds a file to the tests of a room: the folders of Go tests are
// removed with a call that Wine before 9 does not know, unless they are told to
// do without. The program itself is tested as it is.
func overlay(t *testing.T, folder string) string {
	t.Helper()
	dir := t.TempDir()
	added, list := filepath.Join(dir, "wine_test.go"), filepath.Join(dir, "overlay.json")
	check(t, os.WriteFile(added, []byte("package "+filepath.Base(folder)+`

import _ "unsafe"

//go:linkname doWithout internal/syscall/windows.TestDeleteatFallback
var doWithout bool

func init() { doWithout = true }
`), 0o644))
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(folder, "wine_test.go"): added}})
	check(t, err)
	check(t, os.WriteFile(list, data, 0o644))
	return list
}
