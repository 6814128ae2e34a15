// Package publish makes a result public: table rows, then blobs, then
// result.json, which alone makes it a result. Invariant: whoever sees
// result.json sees all that it names, and nothing is written once the
// ownership of the scenario is lost.
package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// MarkerName is the name of the commit marker.
const MarkerName = "result.json"

// Store takes a result. A blob is not seen before its Commit; rows may be.
type Store interface {
	Markers
	PlumeByTime(ctx context.Context, basin, scenario string) (storage.RowWriter, error)
	PlumeByMile(ctx context.Context, basin, scenario string) (storage.RowWriter, error)
	WriteResult(ctx context.Context, basin, scenario, name string) (storage.ResultWriter, error)
	RemoveResult(ctx context.Context, basin, scenario, name string) error
	ListResults(ctx context.Context, basin, scenario string) ([]string, error)
}

// Markers keeps the marker of each result under conditions that the store
// itself sees to: a request of a dead worker that comes late must neither
// replace nor remove the marker of another run.
type Markers interface {
	// ResultVersion returns storage.ErrNotFound where there is none.
	ResultVersion(ctx context.Context, basin, scenario, name string) (etag string, err error)
	// CreateResult returns storage.ErrConflict where there is one that holds
	// anything else than data.
	CreateResult(ctx context.Context, basin, scenario, name string, data []byte) error
	// RemoveVersion returns storage.ErrConflict where there is another one than
	// that of the ETag; none is fine.
	RemoveVersion(ctx context.Context, basin, scenario, name, etag string) error
}

// Rows streams rows into emit and stops at its first error.
type Rows func(emit func(plume.Row) error) error

// Result is what is to be published.
type Result struct {
	ByTime, ByMile Rows
	Blobs          []Blob
	Marker         Marker // Rows and Blobs are filled in here
}

// Blob is one blob of a result; Write writes its content.
type Blob struct {
	Name  string
	Write func(w io.Writer) error
}

// JSON is a blob that holds a value as minified JSON.
func JSON(name string, value any) Blob {
	return Blob{Name: name, Write: func(w io.Writer) error {
		data, err := marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}}
}

// marshal is minified JSON without a line end; NaN and infinities are refused.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, &reason.Error{Code: reason.EngineOutputInvalid, Err: err, Detail: "a result value is not a number"}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Marker is result.json.
type Marker struct {
	plume.IDs
	RunKey     string     `json:"run_key"`
	Attempt    int        `json:"attempt"`
	Engine     string     `json:"engine"`
	Commit     string     `json:"commit"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt time.Time  `json:"finished_at"`
	Rows       RowCounts  `json:"rows"`
	Blobs      []BlobInfo `json:"blobs"`
}

// RowCounts is how many rows each plume table has.
type RowCounts struct {
	ByTime int `json:"plume_by_time"`
	ByMile int `json:"plume_by_mile"`
}

// BlobInfo names a blob and what it holds.
type BlobInfo struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// maxMarker bounds result.json when it is read, in bytes.
const maxMarker = 16 << 20

// ErrNoMarker says that result.json is there and cannot be read.
var ErrNoMarker = errors.New(MarkerName + " cannot be read")

// ReadMarker reads result.json; ErrNoMarker.
func ReadMarker(r io.Reader) (*Marker, error) {
	var m Marker
	if err := json.NewDecoder(io.LimitReader(r, maxMarker)).Decode(&m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoMarker, err)
	}
	return &m, nil
}

// Publish writes the result and returns its marker. held is asked before every
// write and must return nil while the scenario is ours. now is the clock.
func Publish(ctx context.Context, store Store, held func() error, now func() time.Time, r *Result) (*Marker, error) {
	p := publisher{ctx: ctx, store: store, held: held, basin: r.Marker.Basin, scenario: r.Marker.Scenario}
	m := r.Marker
	m.Blobs = make([]BlobInfo, 0, len(r.Blobs))
	// The old result stops being one before its parts are replaced.
	err := p.removeMarker()
	if err != nil {
		return nil, err
	}
	if m.Rows.ByTime, err = p.rows(store.PlumeByTime, r.ByTime); err != nil {
		return nil, fmt.Errorf("publish PlumeByTime: %w", err)
	}
	if m.Rows.ByMile, err = p.rows(store.PlumeByMile, r.ByMile); err != nil {
		return nil, fmt.Errorf("publish PlumeByMile: %w", err)
	}
	if err := p.removeOthers(r.Blobs); err != nil {
		return nil, err
	}
	for _, b := range r.Blobs {
		info, err := p.blob(b)
		if err != nil {
			return nil, fmt.Errorf("publish %s: %w", b.Name, err)
		}
		m.Blobs = append(m.Blobs, info)
	}
	m.FinishedAt = now().UTC().Truncate(time.Second)
	if err := p.putMarker(&m); err != nil {
		return nil, fmt.Errorf("publish %s: %w", MarkerName, err)
	}
	return &m, nil
}

// Logs writes blobs of a run that has no result, such as engine logs. held is
// asked as in Publish.
func Logs(ctx context.Context, store Store, held func() error, ids plume.IDs, blobs []Blob) error {
	p := publisher{ctx: ctx, store: store, held: held, basin: ids.Basin, scenario: ids.Scenario}
	for _, b := range blobs {
		if _, err := p.blob(b); err != nil {
			return fmt.Errorf("publish %s: %w", b.Name, err)
		}
	}
	return nil
}

type publisher struct {
	ctx             context.Context
	store           Store
	held            func() error
	basin, scenario string
}

// guard returns why nothing more may be written.
func (p *publisher) guard() error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	return p.held()
}

// rounds bounds how often the marker of somebody else is removed. One may come
// late from a dead worker, and those are few.
const rounds = 10

// removeMarker removes the marker that is there, if there is one.
func (p *publisher) removeMarker() error {
	for range rounds {
		if err := p.guard(); err != nil {
			return err
		}
		etag, err := p.store.ResultVersion(p.ctx, p.basin, p.scenario, MarkerName)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.guard(); err != nil {
			return err
		}
		if err := p.store.RemoveVersion(p.ctx, p.basin, p.scenario, MarkerName, etag); !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
	return p.contested()
}

// putMarker writes the marker. One that is there came late from a dead worker
// while ours was on its way here; it is removed while the scenario is ours.
func (p *publisher) putMarker(m *Marker) error {
	data, err := marshal(m)
	if err != nil {
		return err
	}
	for range rounds {
		if err := p.guard(); err != nil {
			return err
		}
		if err := p.store.CreateResult(p.ctx, p.basin, p.scenario, MarkerName, data); !errors.Is(err, storage.ErrConflict) {
			return err
		}
		if err := p.removeMarker(); err != nil {
			return err
		}
	}
	return p.contested()
}

// contested is the end of a marker that others write again and again although
// the scenario is ours. It spends an attempt: the scenario is not busy by its
// record, so that waiting for its owner would have no end.
func (p *publisher) contested() error {
	return reason.New(reason.StorageUnavailable, "%s of scenario %s of basin %s is changed by others all the time; does something else write results?",
		MarkerName, p.scenario, p.basin)
}

func (p *publisher) rows(open func(context.Context, string, string) (storage.RowWriter, error), rows Rows) (int, error) {
	if err := p.guard(); err != nil {
		return 0, err
	}
	w, err := open(p.ctx, p.basin, p.scenario)
	if err != nil {
		return 0, err
	}
	defer w.Abort()
	// A store may send rows on their way before Commit, so each one asks.
	err = rows(func(row plume.Row) error {
		if err := p.guard(); err != nil {
			return err
		}
		return w.Write(row)
	})
	if err != nil {
		return 0, err
	}
	if err := p.guard(); err != nil {
		return 0, err
	}
	return w.Commit()
}

func (p *publisher) blob(b Blob) (BlobInfo, error) {
	if err := p.guard(); err != nil {
		return BlobInfo{}, err
	}
	w, err := p.store.WriteResult(p.ctx, p.basin, p.scenario, b.Name)
	if err != nil {
		return BlobInfo{}, err
	}
	defer w.Abort()
	sum := &summer{w: w, hash: sha256.New()}
	if err := b.Write(sum); err != nil {
		return BlobInfo{}, err
	}
	if err := p.guard(); err != nil {
		return BlobInfo{}, err
	}
	if err := w.Commit(); err != nil {
		return BlobInfo{}, err
	}
	return BlobInfo{Name: b.Name, Size: sum.size, SHA256: hex.EncodeToString(sum.hash.Sum(nil))}, nil
}

// removeOthers removes blobs of an earlier result that this one does not have.
// What stands under run/ belongs to runs, not to the result, and stays. A
// marker that came late is left to putMarker, which knows its version.
func (p *publisher) removeOthers(keep []Blob) error {
	if err := p.guard(); err != nil {
		return err
	}
	names, err := p.store.ListResults(p.ctx, p.basin, p.scenario)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == MarkerName || strings.HasPrefix(name, storage.RunPrefix) || slices.ContainsFunc(keep, func(b Blob) bool { return b.Name == name }) {
			continue
		}
		if err := p.guard(); err != nil {
			return err
		}
		if err := p.store.RemoveResult(p.ctx, p.basin, p.scenario, name); err != nil {
			return err
		}
	}
	return nil
}

// summer counts and hashes what passes through.
type summer struct {
	w    io.Writer
	hash hash.Hash
	size int64
}

func (s *summer) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.hash.Write(b[:n])
	s.size += int64(n)
	return n, err
}
