package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// What an EXE_DIR may have for its steps to be cached: all of it is read at the
// beginning of a run.
const (
	mostBeside      = 20_000
	mostBesideBytes = 512 << 20
)

// contents are all files of a folder: an engine may load a library or a table
// that stands beside it.
type contents struct {
	dir   string
	files map[string]fs.FileInfo // by path below dir
	sums  map[string]string      // SHA-256 in hexadecimal
}

// contentsOf reads all files below dir. The error says why that cannot stand for
// what an engine finds there.
func contentsOf(dir string) (*contents, error) {
	c := &contents{dir: dir, sums: map[string]string{}}
	var err error
	if c.files, err = filesBelow(dir); err != nil {
		return nil, err
	}
	bytes := int64(0)
	for name, info := range c.files {
		if bytes += info.Size(); bytes > mostBesideBytes {
			return nil, fmt.Errorf("EXE_DIR has more than %d MB", mostBesideBytes>>20)
		}
		sum, hashed, err := hashFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("%s in EXE_DIR cannot be read", shownName(name))
		}
		if !same(info, hashed) {
			return nil, fmt.Errorf("%s in EXE_DIR was changed while it was read", shownName(name))
		}
		c.sums[name] = sum
	}
	return c, nil
}

// filesBelow looks at all files below dir, through links to files.
func filesBelow(dir string) (map[string]fs.FileInfo, error) {
	files := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s in EXE_DIR is no file", shownName(name))
		}
		if files[name] = info; len(files) > mostBeside {
			return fmt.Errorf("EXE_DIR has more than %d files", mostBeside)
		}
		return nil
	})
	if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
		return nil, errors.New("EXE_DIR has a folder that cannot be read")
	}
	return files, err
}

// add puts the files into what a step is given.
func (c *contents) add(g *given) {
	for _, name := range slices.Sorted(maps.Keys(c.sums)) {
		g.add("beside", filepath.ToSlash(name), c.sums[name])
	}
}

// unchanged reports whether the folder is what it was.
func (c *contents) unchanged() bool {
	now, err := filesBelow(c.dir)
	return err == nil && maps.EqualFunc(c.files, now, same)
}
