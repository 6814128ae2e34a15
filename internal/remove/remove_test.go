package remove

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// tree makes a folder with files and folders in it, below a folder that it
// returns, and a file beside.
func tree(t *testing.T) (parent string) {
	t.Helper()
	parent = t.TempDir()
	for _, name := range []string{"run/a/b/é à.txt", "run/a/c", "run/d", "beside"} {
		path := filepath.Join(parent, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return parent
}

// left checks what the folder has.
func left(t *testing.T, parent string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("left are %v, want %v", entries, want)
	}
	for i, e := range entries {
		if i < len(want) && e.Name() != want[i] {
			t.Errorf("left are %v, want %v", entries, want)
		}
	}
}

func openRoot(t *testing.T, parent string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(parent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestAt(t *testing.T) {
	parent := tree(t)
	root := openRoot(t, filepath.Join(parent, "run"))
	if err := At(root, "a/b/é à.txt"); err != nil {
		t.Error(err)
	}
	if err := At(root, "a/b"); err != nil {
		t.Error(err)
	}
	if err := At(root, "a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if err := At(root, "a"); err == nil {
		t.Error("a folder with something in it was removed")
	}
	if err := At(root, "../beside"); err == nil {
		t.Error("what is outside was removed")
	}
	left(t, filepath.Join(parent, "run", "a"), "c")
	left(t, parent, "beside", "run")
}

func TestAll(t *testing.T) {
	for name, all := range map[string]func(t *testing.T, parent, name string) error{
		"All":  func(t *testing.T, parent, name string) error { return All(filepath.Join(parent, name)) },
		"each": func(t *testing.T, parent, name string) error { return each(filepath.Join(parent, name)) },
		"AllAt": func(t *testing.T, parent, name string) error {
			return AllAt(openRoot(t, parent), name)
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := tree(t)
			for range 2 { // the second time there is nothing
				if err := all(t, parent, "run"); err != nil {
					t.Error(err)
				}
			}
			left(t, parent, "beside")
			if err := all(t, parent, "beside"); err != nil {
				t.Error(err)
			}
			left(t, parent)
		})
	}
}

// A way out of the root is none for AllAt either.
func TestAllAtStaysInside(t *testing.T) {
	parent := tree(t)
	if err := AllAt(openRoot(t, filepath.Join(parent, "run")), "../beside"); err == nil {
		t.Error("what is outside was removed")
	}
	left(t, parent, "beside", "run")
}
