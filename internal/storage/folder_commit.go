package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	"rsmsjob/internal/reason"
)

// ResultVersion returns the ETag of a result; ErrNotFound when it does not
// exist.
func (f *Folder) ResultVersion(ctx context.Context, basin, scenario, name string) (etag string, err error) {
	file, err := f.resultName(ctx, basin, scenario, name)
	if err != nil {
		return "", err
	}
	return f.version(ctx, file)
}

// CreateResult writes a result if there is none; ErrConflict when there is one
// that holds anything else than data. Against WriteResult and RemoveResult of
// the same name at the same time it is not safe.
func (f *Folder) CreateResult(ctx context.Context, basin, scenario, name string, data []byte) error {
	if len(data) > maxResult {
		return tooLarge(name, maxResult)
	}
	file, err := f.resultName(ctx, basin, scenario, name)
	if err != nil {
		return err
	}
	unlock, err := f.lockScenario(ctx, basin, scenario)
	if err != nil {
		return err
	}
	defer unlock()
	have, _, err := f.read(ctx, file, int64(len(data)))
	switch {
	case err == nil && bytes.Equal(have, data):
		return nil
	case err == nil, len(reason.Faults(err)) > 0: // larger than data
		return fmt.Errorf("%s: %w", file, ErrConflict)
	case !errors.Is(err, ErrNotFound):
		return err
	}
	p, err := f.create(ctx, file)
	if err != nil {
		return err
	}
	defer p.Abort()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}

// RemoveVersion removes a result whose ETag is still etag; ErrConflict when it
// is another one. That it does not exist is fine.
func (f *Folder) RemoveVersion(ctx context.Context, basin, scenario, name, etag string) error {
	file, err := f.resultName(ctx, basin, scenario, name)
	if err != nil {
		return err
	}
	unlock, err := f.lockScenario(ctx, basin, scenario)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := f.version(ctx, file)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case now != etag:
		return fmt.Errorf("%s: %w", file, ErrConflict)
	}
	return f.remove(ctx, file)
}

// lockScenario takes the lock of the run record: the one who publishes is its
// owner, and no other folder gets a lock file.
func (f *Folder) lockScenario(ctx context.Context, basin, scenario string) (unlock func(), err error) {
	record, err := f.runName(ctx, basin, scenario)
	if err != nil {
		return nil, err
	}
	if err := f.root.MkdirAll(path.Dir(record), 0o755); err != nil {
		return nil, writeFailure(record, err)
	}
	return f.lock(ctx, record)
}

// version returns the ETag of what is in the file now, however large.
func (f *Folder) version(ctx context.Context, name string) (etag string, err error) {
	file, info, err := f.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	etag, err = etagOf(file, info)
	if err = readFailure(name, err); err == nil {
		err = ended(ctx)
	}
	return etag, err
}
