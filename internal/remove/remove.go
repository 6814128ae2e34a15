// Package remove removes files and folders, also where the system does not know
// the call that Go removes with: Wine before 9. Invariant: what is outside a root
// is not removed through it.
package remove

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// At removes a file or an empty folder below root.
func At(root *os.Root, name string) error {
	err := root.Remove(name)
	if !unknownCall(err) {
		return err
	}
	path, err := inside(root, name)
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// AllAt removes a file or a folder below root with all that is in it; nil where
// there is none.
func AllAt(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !unknownCall(err) {
		return err
	}
	path, err := inside(root, name)
	if err != nil {
		return err
	}
	return each(path)
}

// inside is the path of what a root has, once it is seen that this is inside.
func inside(root *os.Root, name string) (string, error) {
	_, err := root.Lstat(name)
	return filepath.Join(root.Name(), filepath.FromSlash(name)), err
}

// All removes a file or a folder with all that is in it; nil where there is none.
func All(path string) error {
	err := os.RemoveAll(path)
	if !unknownCall(err) {
		return err
	}
	return each(path)
}

// each removes one entry after another by its path. It does not follow links, and
// goes on behind what it cannot remove.
func each(path string) error {
	err := os.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, statErr := os.Lstat(path)
	if statErr != nil || !info.IsDir() {
		return err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		err = errors.Join(err, each(filepath.Join(path, e.Name())))
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}
