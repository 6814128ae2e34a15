package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"rsmsjob/internal/remove"
)

// WriteResult begins a result; name may have folders, separated by slashes.
// When ctx ends before Commit, the result is not written.
func (f *Folder) WriteResult(ctx context.Context, basin, scenario, name string) (ResultWriter, error) {
	file, err := f.resultName(ctx, basin, scenario, name)
	if err != nil {
		return nil, err
	}
	p, err := f.create(ctx, file)
	if err != nil {
		return nil, err // not p: a nil pointer in an interface is not nil
	}
	return p, nil
}

// ReadResult opens a result; ErrNotFound when it does not exist.
func (f *Folder) ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error) {
	file, err := f.resultName(ctx, basin, scenario, name)
	if err != nil {
		return nil, err
	}
	r, _, err := f.open(file)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// RemoveResult removes a result; that it does not exist is fine.
func (f *Folder) RemoveResult(ctx context.Context, basin, scenario, name string) error {
	file, err := f.resultName(ctx, basin, scenario, name)
	if err != nil {
		return err
	}
	return f.remove(ctx, file)
}

// remove removes a plain file; that it does not exist is fine.
func (f *Folder) remove(ctx context.Context, file string) error {
	info, err := f.root.Lstat(file)
	if err == nil && info.IsDir() {
		return notPlain(file, "plain file")
	}
	if err == nil {
		err = RetryInUse(ctx, func() error { return remove.At(f.root, file) })
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return writeFailure(file, err)
}

// ListResults returns the names of all results of a scenario, sorted; none is
// no error.
func (f *Folder) ListResults(ctx context.Context, basin, scenario string) ([]string, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return nil, err
	}
	top := path.Join(resultFolder, basin, scenario)
	if err := f.begin(ctx, top); err != nil {
		return nil, err
	}
	var found []string
	err := fs.WalkDir(f.root.FS(), top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist): // gone since, or never there
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), tempPrefix):
			found = append(found, strings.TrimPrefix(name, top+"/"))
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	slices.Sort(found)
	return found, failure("list", top, err)
}

func (f *Folder) resultName(ctx context.Context, basin, scenario, name string) (string, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return "", err
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	file := path.Join(resultFolder, basin, scenario, name)
	return file, f.begin(ctx, file)
}
