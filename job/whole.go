package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// writeWhole writes a file that is whole or not there: beside the one of that name,
// which it replaces when all of it is written.
func writeWhole(path string, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".rsms-*")
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
