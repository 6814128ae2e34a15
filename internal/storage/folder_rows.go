package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"time"

	"rsmsjob/internal/reason"
)

// Scenario returns the columns of a scenario row, numbers as json.Number;
// ErrNotFound when there is no such row.
func (f *Folder) Scenario(ctx context.Context, basin, scenario string) (map[string]any, error) {
	doc, _, err := f.scenario(ctx, basin, scenario)
	if err != nil {
		return nil, err
	}
	return doc.columns()
}

// scenario reads a scenario row and returns the name of its file.
func (f *Folder) scenario(ctx context.Context, basin, scenario string) (*document, string, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return nil, "", err
	}
	name := path.Join(scenarioFolder, basin, scenario+".json")
	if err := f.begin(ctx, name); err != nil {
		return nil, "", err
	}
	doc, err := f.document(ctx, name)
	return doc, name, err
}

func (f *Folder) document(ctx context.Context, name string) (*document, error) {
	data, _, err := f.read(ctx, name, maxDocument)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(data)
	return doc, reason.InFile(err, path.Base(name))
}

// MergeScenario sets columns of an existing scenario row and leaves every other
// one as it is, byte for byte. Values are string, bool, int, int64, float64,
// json.Number, time.Time, or nil, which clears the column. ErrNotFound when
// there is no such row.
func (f *Folder) MergeScenario(ctx context.Context, basin, scenario string, columns map[string]any) error {
	values, err := encodeColumns(columns)
	if err != nil {
		return err
	}
	// Seen before anything is created: the lock must not leave a trace of a
	// row that does not exist.
	_, name, err := f.scenario(ctx, basin, scenario)
	if err != nil {
		return err
	}
	unlock, err := f.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	doc, err := f.document(ctx, name)
	if err != nil {
		return err
	}
	merged := doc.merge(values)
	if string(merged) == string(doc.source) {
		return nil
	}
	if len(merged) > maxDocument {
		return tooLarge(name, maxDocument)
	}
	p, err := f.create(ctx, name)
	if err != nil {
		return err
	}
	defer p.Abort()
	if _, err := p.Write(merged); err != nil {
		return err
	}
	return p.Commit()
}

// Run returns the run record of a scenario and its ETag; ErrNotFound when
// there is none. The ETag of one that no store has written comes with
// ErrUnreadable, so that it can be replaced.
func (f *Folder) Run(ctx context.Context, basin, scenario string) (data []byte, etag string, err error) {
	name, err := f.runName(ctx, basin, scenario)
	if err != nil {
		return nil, "", err
	}
	data, etag, _, err = f.record(ctx, name)
	return data, etag, err
}

// record reads a run record and when it was changed. With ErrUnreadable it
// returns both all the same.
func (f *Folder) record(ctx context.Context, name string) (data []byte, etag string, changed time.Time, err error) {
	data, info, err := f.read(ctx, name, maxDocument)
	if err != nil && info == nil {
		return nil, "", time.Time{}, err
	}
	if err != nil {
		if etag, err = f.version(ctx, name); err != nil {
			return nil, "", time.Time{}, err
		}
		return nil, etag, info.ModTime(), unreadable(name)
	}
	etag, _ = etagOf(bytes.NewReader(data), info) // bytes can be read
	return data, etag, info.ModTime(), nil
}

// PutRun writes the run record if its ETag is still etag or, with an empty
// etag, if there is none; otherwise it returns ErrConflict. Of any number of
// processes that try the same, one succeeds.
func (f *Folder) PutRun(ctx context.Context, basin, scenario string, data []byte, etag string) (newETag string, err error) {
	if len(data) > maxDocument {
		return "", tooLarge(scenario+".json", maxDocument)
	}
	name, err := f.runName(ctx, basin, scenario)
	if err != nil {
		return "", err
	}
	unlock, err := f.lockScenario(ctx, basin, scenario)
	if err != nil {
		return "", err
	}
	defer unlock()

	_, now, before, err := f.record(ctx, name)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable) {
		return "", err
	}
	if now != etag {
		return "", fmt.Errorf("%s: %w", name, ErrConflict)
	}
	return f.putVersion(ctx, name, data, before)
}

// putVersion writes a run record with a time of change behind before, so that
// a record with the content of an earlier one is still another version.
func (f *Folder) putVersion(ctx context.Context, name string, data []byte, before time.Time) (etag string, err error) {
	p, err := f.create(ctx, name)
	if err != nil {
		return "", err
	}
	defer p.Abort()
	if _, err := p.Write(data); err != nil {
		return "", err
	}
	changed := time.Now()
	if !changed.After(before) {
		changed = before.Add(time.Microsecond)
	}
	if err := f.root.Chtimes(p.temp, changed, changed); err != nil {
		return "", writeFailure(name, err)
	}
	info, err := p.file.Stat() // as the file system keeps it
	if err != nil {
		return "", writeFailure(name, err)
	}
	if err := p.Commit(); err != nil {
		return "", err
	}
	return etagOf(bytes.NewReader(data), info)
}

func (f *Folder) runName(ctx context.Context, basin, scenario string) (string, error) {
	if err := checkIDs(basin, scenario); err != nil {
		return "", err
	}
	name := path.Join(runFolder, basin, scenario+".json")
	return name, f.begin(ctx, name)
}

// etagOf names a version of a file by its content and its time of change.
func etagOf(content io.Reader, info fs.FileInfo) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]) + "-" + strconv.FormatInt(info.ModTime().UnixNano(), 36), nil
}
