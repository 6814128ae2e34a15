package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// house is the list of rooms from the street down: each may import only what
// stands below it.
var house = []string{
	"scripts/sim",
	"internal/scalesim",
	"internal/e2e",
	"internal/imagetest",
	"internal/winetest",
	"internal/deploytest",
	"job",
	"internal/examples",
	"internal/pipeline",
	"internal/compare",
	"internal/launch",
	"internal/launch/armtest",
	"internal/publish",
	"internal/report",
	"internal/drawing",
	"internal/engine",
	"internal/process",
	"internal/workdir",
	"internal/lease",
	"internal/runs",
	"internal/storage/identitytest",
	"internal/storage/faultproxy",
	"internal/storage/azurite",
	"internal/storage/storagetest",
	"internal/storage",
	"internal/config",
	"internal/filelock",
	"internal/remove",
	"internal/bltm",
	"internal/daflow",
	"internal/fortran",
	"internal/ensemble",
	"internal/plume",
	"internal/plausible",
	"internal/river",
	"internal/message",
	"internal/reason",
}

// pure rooms see no file, no clock, no environment and no network.
var pure = []string{"internal/scalesim", "internal/bltm", "internal/daflow", "internal/fortran", "internal/ensemble", "internal/plume", "internal/plausible", "internal/report", "internal/drawing", "internal/river", "internal/message", "internal/reason"}

// outside are what pure rooms must not import.
var outside = []string{"os", "os/exec", "net", "net/http", "path/filepath", "syscall", "os/signal", "log", "log/slog"}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "rsmsjob/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func floor(path string) int {
	for i, room := range house {
		if path == "rsmsjob/"+room {
			return i
		}
	}
	return -1
}

// upward returns the imports of p that do not stand below it.
func upward(p listed) []string {
	var bad []string
	for _, to := range p.Imports {
		if strings.HasPrefix(to, "rsmsjob/") && floor(to) <= floor(p.ImportPath) {
			bad = append(bad, to)
		}
	}
	return bad
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range packages(t) {
		if floor(p.ImportPath) < 0 {
			t.Errorf("%s has no room in the house: add it to the list where it belongs", p.ImportPath)
		}
		for _, to := range upward(p) {
			t.Errorf("%s imports %s, which does not stand below it", p.ImportPath, to)
		}
	}
}

// The check itself can fail.
func TestUpwardImportIsSeen(t *testing.T) {
	if got := upward(listed{"rsmsjob/internal/river", []string{"fmt", "rsmsjob/internal/reason", "rsmsjob/internal/daflow"}}); len(got) != 1 {
		t.Errorf("upward imports: %v", got)
	}
}

// clocks are what pure rooms must not call: time comes in as a value.
var clocks = []string{"time.Now(", "time.Since(", "time.Sleep(", "time.After(", "time.Tick("}

func TestPureRooms(t *testing.T) {
	for _, room := range pure {
		if floor("rsmsjob/"+room) < 0 {
			t.Errorf("%s is not a room of the house", room)
		}
		sources, err := filepath.Glob("../" + room + "/*.go")
		if err != nil || len(sources) == 0 {
			t.Fatalf("%s: no sources, %v", room, err)
		}
		for _, name := range sources {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, clock := range clocks {
				if !strings.HasSuffix(name, "_test.go") && strings.Contains(string(text), clock) {
					t.Errorf("%s is pure and calls %s)", name, clock)
				}
			}
		}
	}
	for _, p := range packages(t) {
		for _, room := range pure {
			if p.ImportPath != "rsmsjob/"+room {
				continue
			}
			for _, to := range p.Imports {
				for _, no := range outside {
					if to == no {
						t.Errorf("%s is pure and imports %s", p.ImportPath, to)
					}
				}
			}
		}
	}
}
