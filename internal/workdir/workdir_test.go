package workdir

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The test binary makes a run folder, tells its path and waits to be killed.
func TestMain(m *testing.M) {
	if parent := os.Getenv("WORKDIR_PARENT"); parent != "" {
		f, err := Make(parent)
		if err != nil {
			os.Exit(1)
		}
		os.WriteFile(filepath.Join(f.Path, "BLTM.FLW"), []byte("half"), 0o600)
		os.Stdout.WriteString(f.Path + "\n")
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestMakeAndRemove(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "wörk dir")
	if err := os.Mkdir(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := Make(parent)
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(f.Path) || len(entries(t, f.Path)) != 0 || len(filepath.Base(f.Path)) > 20 {
		t.Errorf("folder %s", f.Path)
	}
	if err := os.WriteFile(filepath.Join(f.Path, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if swept := Sweep(parent); len(swept) != 0 {
		t.Errorf("a living run was swept: %v", swept)
	}
	if err := f.Remove(); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, parent); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestKeptFoldersStay(t *testing.T) {
	parent := t.TempDir()
	f, err := Make(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Keep(); err != nil {
		t.Fatal(err)
	}
	if swept := Sweep(parent); len(swept) != 0 {
		t.Errorf("a kept folder was swept: %v", swept)
	}
	if left := entries(t, parent); len(left) != 1 || left[0] != filepath.Base(f.Path) {
		t.Errorf("left: %v", left)
	}
}

func TestMakeSaysWhy(t *testing.T) {
	if _, err := Make(filepath.Join(t.TempDir(), "nowhere")); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	if swept := Sweep(filepath.Join(t.TempDir(), "nowhere")); swept != nil {
		t.Errorf("%v", swept)
	}
}

// The name of a folder is no pattern: runs below it are swept, and those of a
// folder that it would stand for are not.
func TestSweepTakesNamesAsTheyAre(t *testing.T) {
	above := t.TempDir()
	for _, name := range []string{"runs [1]", "runs 1"} {
		parent := filepath.Join(above, name)
		if err := os.Mkdir(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, dead := range []string{"rsms-1.lock", "rsms-1", "rsms-2", "other.lock"} {
			if err := os.WriteFile(filepath.Join(parent, dead), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	swept := Sweep(filepath.Join(above, "runs [1]"))
	if len(swept) != 1 || swept[0] != "rsms-1" {
		t.Errorf("swept %v, want rsms-1", swept)
	}
	if left := entries(t, filepath.Join(above, "runs 1")); len(left) != 4 {
		t.Errorf("left in the other folder: %v", left)
	}
	if left := entries(t, filepath.Join(above, "runs [1]")); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

// A process that is killed leaves its folder to the next run.
func TestKilledRunIsSwept(t *testing.T) {
	parent := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "WORKDIR_PARENT="+parent)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimSpace(line)
	if swept := Sweep(parent); len(swept) != 0 {
		t.Errorf("a living run of another process was swept: %v", swept)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait() // it was killed: the error says so
	if swept := Sweep(parent); len(swept) != 1 || swept[0] != filepath.Base(path) {
		t.Errorf("swept %v, want %s", swept, filepath.Base(path))
	}
	if left := entries(t, parent); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Many that make and sweep at once take nothing from each other.
func TestMakeAndSweepAtOnce(t *testing.T) {
	parent := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 30 {
				Sweep(parent)
				f, err := Make(parent)
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(f.Path, "x"), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	Sweep(parent)
	if left := entries(t, parent); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
