package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"rsmsjob/internal/reason"
)

// Folder is a store in a folder. Any number of processes may use one folder at
// the same time; a Folder may be used by any number of goroutines.
//
// Ids are names of files and folders as they are. The store treats letter case
// alike on every system: a name that differs only by case from one that is
// there is refused, also where the file system could hold both. Links inside
// the folder are followed, links out of it are refused.
type Folder struct{ root *os.Root }

// Folders of the store (contract section 4).
const (
	basinFolder    = "riverbasin"
	resultFolder   = "rsms-results"
	scenarioFolder = "tables/Scenarios"
	runFolder      = "tables/Runs"
	byTimeFolder   = "tables/PlumeByTime"
	byMileFolder   = "tables/PlumeByMile"
)

// OpenFolder opens the store in dir, an existing folder given as an absolute
// path. It creates nothing.
func OpenFolder(dir string) (*Folder, error) {
	if !filepath.IsAbs(dir) {
		return nil, &reason.Fault{Field: "store", Problem: "path of the folder is not absolute", Text: dir}
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &reason.Fault{Field: "store", Problem: "folder does not exist", Text: dir}
	}
	if err != nil {
		return nil, failure("open", "the folder", err)
	}
	if !info.IsDir() {
		return nil, &reason.Fault{Field: "store", Problem: "not a folder", Text: dir}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failure("open", "the folder", err)
	}
	return &Folder{root}, nil
}

// Close frees the handle on the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Basin returns riverbasin/{basin}/{name}, 256 MiB at most; ErrNotFound when
// it does not exist.
func (f *Folder) Basin(ctx context.Context, basin, name string) ([]byte, error) {
	if err := checkID("riverbasin_id", basin); err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	file := path.Join(basinFolder, basin, name)
	if err := f.begin(ctx, file); err != nil {
		return nil, err
	}
	data, _, err := f.read(ctx, file, maxInput)
	return data, err
}

// BasinExists reports whether riverbasin/{basin} exists.
func (f *Folder) BasinExists(ctx context.Context, basin string) (bool, error) {
	if err := checkID("riverbasin_id", basin); err != nil {
		return false, err
	}
	dir := path.Join(basinFolder, basin)
	if err := f.begin(ctx, dir); err != nil {
		return false, err
	}
	info, err := f.root.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, readFailure(dir, err)
	case !info.IsDir():
		return false, notPlain(dir, "folder")
	}
	return true, nil
}

// begin is what every operation does first: it sees that ctx has not ended and
// that no part of name is in the folder in another letter case.
func (f *Folder) begin(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	dir := "."
	for part := range strings.SplitSeq(name, "/") {
		entries, err := f.names(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return readFailure(dir, err)
		}
		exact, other := false, ""
		for _, entry := range entries {
			if entry == part {
				exact = true
			} else if strings.EqualFold(entry, part) {
				other = entry
			}
		}
		if other != "" {
			return &reason.Fault{File: part, Problem: "the store has this name in another letter case", Text: other,
				Hint: "upper and lower case count; use one spelling"}
		}
		if !exact {
			return nil // nothing below it
		}
		dir = path.Join(dir, part)
	}
	return nil
}

// open opens a plain file; ErrNotFound when it does not exist.
func (f *Folder) open(name string) (*os.File, fs.FileInfo, error) {
	// Looked at before it is opened: opening a named pipe would block.
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, nil, readFailure(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notPlain(name, "plain file")
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, nil, readFailure(name, err)
	}
	// Of what is open, which a rename may have put there since.
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, nil, readFailure(name, err)
	}
	return file, info, nil
}

// read returns the content of a plain file of limited size. What is known of
// one that is larger comes with the fault.
func (f *Folder) read(ctx context.Context, name string, limit int64) ([]byte, fs.FileInfo, error) {
	file, info, err := f.open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.Size() > limit {
		return nil, info, tooLarge(name, limit)
	}
	data := make([]byte, 0, info.Size()+1)
	data, err = appendAll(ctx, data, io.LimitReader(file, limit+1))
	if err != nil && ctx.Err() != nil {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, readFailure(name, err)
	}
	if int64(len(data)) > limit {
		return nil, info, tooLarge(name, limit)
	}
	return data, info, nil
}

// appendAll reads r to its end, as long as ctx lasts.
func appendAll(ctx context.Context, data []byte, r io.Reader) ([]byte, error) {
	for {
		if ctx.Err() != nil {
			return data, context.Cause(ctx)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.Read(data[len(data):min(cap(data), len(data)+1<<20)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
}

func tooLarge(name string, limit int64) error {
	return &reason.Fault{File: path.Base(name), Problem: fmt.Sprintf("file is larger than %d bytes", limit)}
}
