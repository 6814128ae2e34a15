package dockerfiles

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stage is a folder with scripts of ours and, first on the PATH, programs that
// stand for those that they call.
type stage struct{ dir string }

func newStage(t *testing.T, programs map[string]string) stage {
	t.Helper()
	s := stage{t.TempDir()}
	for _, name := range []string{"image.sh", "docker.sh", "wine/bcryptprimitives.c", "wine/prefix.reg"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		s.write(t, "scripts/"+name, string(text))
	}
	if err := os.Mkdir(filepath.Join(s.dir, "scripts/roots"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range programs {
		s.write(t, "path/"+name, "#!/bin/bash\n"+text)
	}
	return s
}

func (s stage) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs a script and returns what it said.
func (s stage) run(script string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(s.dir, "scripts", script), args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(s.dir, "path")+":"+os.Getenv("PATH"), "CALLS="+filepath.Join(s.dir, "calls"),
		"VERSION=1", "COMMIT=1", "LDFLAGS=", "DOCKER_HOST=unix:///nowhere")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// calls are the command lines that docker was called with.
func (s stage) calls(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

const (
	// builder stands for go: what it is to build is there.
	builder = `while [ $# -gt 0 ]; do [ "$1" = -o ] && : >"$2"; shift; done`
	// daemon stands for a Docker that runs Linux containers.
	daemon = `echo "$*" >>"$CALLS"; case $1 in version) echo linux ;; image) echo 1 ;; esac`
	// strange stands for somebody's Docker without a way to a registry.
	strange = `echo "$*" >>"$CALLS"; case $1 in image | pull) exit 1 ;; esac`
)

// windowsProgram is the beginning of one, for a machine.
func windowsProgram(machine uint16) string {
	b := make([]byte, 128)
	copy(b, "MZ")
	binary.LittleEndian.PutUint32(b[60:], 80)
	copy(b[80:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(b[84:], machine)
	return string(b)
}

// The engines of an image may stand in folders of their set: all of them are
// looked at, and what they need is in the image.
func TestImageLooksIntoFolders(t *testing.T) {
	wide, narrow := windowsProgram(0x8664), windowsProgram(0x14c)
	for _, c := range []struct {
		name    string
		engines map[string]string
		bits    bool   // asked for the libraries of 32 bits
		says    string // "" where an image is built
	}{
		{"beside each other", map[string]string{"DAFLOW.EXE": wide, "bltm.exe": wide}, false, ""},
		{"narrow ones in a folder", map[string]string{"DAFLOW.EXE": wide, "bin/plot 1.exe": narrow}, true, ""},
		{"all in folders", map[string]string{"engine.json": "{}", "bin/DAFLOW.EXE": wide, "bin/more/BLTM.Exe": wide}, false, ""},
		{"a text in a folder", map[string]string{"DAFLOW.EXE": wide, "bin/plot.exe": "text"}, false, "bin/plot.exe is no Windows program of 32 or 64 bits"},
		{"none", map[string]string{"bin/readme.txt": "text"}, false, "no engines in "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, map[string]string{"go": builder, "docker": daemon})
			for name, text := range c.engines {
				s.write(t, "my engines/"+name, text)
			}
			said, err := s.run("image.sh", "wine", filepath.Join(s.dir, "my engines"))
			if c.says != "" {
				if err == nil || !strings.Contains(said, c.says) || strings.Contains(s.calls(t), "build ") {
					t.Errorf("%v: %s\ncalled: %s", err, said, s.calls(t))
				}
				return
			}
			if calls := s.calls(t); err != nil || !strings.Contains(calls, "build ") || strings.Contains(calls, "BITS=32") != c.bits {
				t.Errorf("%v: %s\ncalled: %s", err, said, calls)
			}
		})
	}
}

// An image that was made here never has the name of another in somebody's own
// daemon.
func TestBaseIsForOurDaemon(t *testing.T) {
	s := newStage(t, map[string]string{"docker": strange, "debootstrap": "exit 1"})
	said, err := s.run("docker.sh", "base", "debian:bookworm-20260824-slim")
	if err == nil || !strings.Contains(said, "debian:bookworm-20260824-slim cannot be pulled; only a daemon of this script gets one made under that name") {
		t.Errorf("%v: %s", err, said)
	}
	if strings.Contains(s.calls(t), "import") {
		t.Errorf("called: %s", s.calls(t))
	}
}
