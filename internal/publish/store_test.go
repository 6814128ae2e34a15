package publish

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/storage"
)

// memory is a Store for one scenario that writes down what happens to it.
type memory struct {
	tables map[string][]plume.Row
	blobs  map[string][]byte
	log    []string
	open   int // writers neither committed nor aborted
	// fail is asked before each operation, which is named as in the log.
	fail func(op string) error
}

func newMemory() *memory {
	return &memory{tables: map[string][]plume.Row{}, blobs: map[string][]byte{}}
}

func (m *memory) do(format string, args ...any) error {
	op := fmt.Sprintf(format, args...)
	if m.fail != nil {
		if err := m.fail(op); err != nil {
			return err
		}
	}
	m.log = append(m.log, op)
	return nil
}

func (m *memory) PlumeByTime(_ context.Context, basin, scenario string) (storage.RowWriter, error) {
	return m.table("PlumeByTime", basin, scenario)
}

func (m *memory) PlumeByMile(_ context.Context, basin, scenario string) (storage.RowWriter, error) {
	return m.table("PlumeByMile", basin, scenario)
}

func (m *memory) table(name, basin, scenario string) (storage.RowWriter, error) {
	if err := m.do("open %s of %s/%s", name, basin, scenario); err != nil {
		return nil, err
	}
	m.open++
	return &rowWriter{m: m, name: name, open: true}, nil
}

func (m *memory) WriteResult(_ context.Context, basin, scenario, name string) (storage.ResultWriter, error) {
	if err := m.do("open %s of %s/%s", name, basin, scenario); err != nil {
		return nil, err
	}
	m.open++
	return &blobWriter{m: m, name: name, open: true}, nil
}

func (m *memory) RemoveResult(_ context.Context, _, _, name string) error {
	if err := m.do("remove %s", name); err != nil {
		return err
	}
	delete(m.blobs, name)
	return nil
}

func (m *memory) ResultVersion(_ context.Context, _, _, name string) (string, error) {
	if err := m.do("look at %s", name); err != nil {
		return "", err
	}
	data, there := m.blobs[name]
	if !there {
		return "", storage.ErrNotFound
	}
	return string(data), nil
}

func (m *memory) CreateResult(_ context.Context, _, _, name string, data []byte) error {
	if err := m.do("create %s", name); err != nil {
		return err
	}
	if have, there := m.blobs[name]; there && !bytes.Equal(have, data) {
		return storage.ErrConflict
	}
	m.blobs[name] = data
	return nil
}

func (m *memory) RemoveVersion(_ context.Context, _, _, name, etag string) error {
	if err := m.do("remove %s", name); err != nil {
		return err
	}
	if have, there := m.blobs[name]; there && string(have) != etag {
		return storage.ErrConflict
	}
	delete(m.blobs, name)
	return nil
}

func (m *memory) ListResults(context.Context, string, string) ([]string, error) {
	if err := m.do("list"); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(m.blobs)), nil
}

type rowWriter struct {
	m    *memory
	name string
	rows []plume.Row
	open bool
}

func (w *rowWriter) Write(row plume.Row) error {
	if err := w.m.do("row of %s", w.name); err != nil {
		return err
	}
	w.rows = append(w.rows, row)
	return nil
}

func (w *rowWriter) Commit() (int, error) {
	if err := w.m.do("commit %s", w.name); err != nil {
		return 0, err
	}
	w.m.tables[w.name] = w.rows
	w.close()
	return len(w.rows), nil
}

func (w *rowWriter) Abort() { w.close() }

func (w *rowWriter) close() {
	if w.open {
		w.open = false
		w.m.open--
	}
}

type blobWriter struct {
	m    *memory
	name string
	data bytes.Buffer
	open bool
}

func (w *blobWriter) Write(p []byte) (int, error) {
	if err := w.m.do("write to %s", w.name); err != nil {
		return 0, err
	}
	return w.data.Write(p)
}

func (w *blobWriter) Commit() error {
	if err := w.m.do("commit %s", w.name); err != nil {
		return err
	}
	w.m.blobs[w.name] = w.data.Bytes()
	w.close()
	return nil
}

func (w *blobWriter) Abort() { w.close() }

func (w *blobWriter) close() {
	if w.open {
		w.open = false
		w.m.open--
	}
}
