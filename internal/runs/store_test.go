package runs

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/storage"
)

// memory is a Store for one scenario, with ETags as a real one has them.
type memory struct {
	mu     sync.Mutex
	data   []byte
	etag   int            // 0 = no record
	row    map[string]any // the scenario row
	noRow  bool           // there is no scenario row
	writes []string       // "record STATE" and "row STATUS", as they came to be
	// fail is asked before each call (op is its name); it may wait for ctx. Nil
	// lets all pass.
	fail func(ctx context.Context, op string) error
	// afterPut is what PutRun returns after it has written: an answer lost.
	afterPut error
}

func (m *memory) ask(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	fail := m.fail
	m.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(ctx, op)
}

func (m *memory) failWith(fail func(ctx context.Context, op string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

func (m *memory) Run(ctx context.Context, basin, scenario string) ([]byte, string, error) {
	if err := m.ask(ctx, "Run"); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.etag == 0 {
		return nil, "", fmt.Errorf("run record: %w", storage.ErrNotFound)
	}
	return slices.Clone(m.data), strconv.Itoa(m.etag), nil
}

func (m *memory) PutRun(ctx context.Context, basin, scenario string, data []byte, etag string) (string, error) {
	if err := m.ask(ctx, "PutRun"); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	have := ""
	if m.etag > 0 {
		have = strconv.Itoa(m.etag)
	}
	if etag != have {
		return "", fmt.Errorf("run record: %w", storage.ErrConflict)
	}
	m.data, m.etag = slices.Clone(data), m.etag+1
	r, err := decode(data)
	if err != nil {
		return "", err
	}
	m.writes = append(m.writes, "record "+string(r.State))
	return strconv.Itoa(m.etag), m.afterPut
}

func (m *memory) MergeScenario(ctx context.Context, basin, scenario string, columns map[string]any) error {
	if err := m.ask(ctx, "MergeScenario"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noRow {
		return fmt.Errorf("scenario row: %w", storage.ErrNotFound)
	}
	if m.row == nil {
		m.row = map[string]any{}
	}
	maps.Copy(m.row, columns)
	m.writes = append(m.writes, fmt.Sprint("row ", m.row["Status"]))
	return nil
}

func (m *memory) Scenario(ctx context.Context, basin, scenario string) (map[string]any, error) {
	if err := m.ask(ctx, "Scenario"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noRow {
		return nil, fmt.Errorf("scenario row: %w", storage.ErrNotFound)
	}
	return maps.Clone(m.row), nil
}

// status sets the status of the scenario row, as an API does.
func (m *memory) status(state State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.row = map[string]any{"Status": string(state)}
}

// record is the record as it stands.
func (m *memory) record(t *testing.T) Record {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := decode(m.data)
	if err != nil {
		t.Fatal(err)
	}
	return *r
}

// change rewrites the record as another program would.
func (m *memory) change(t *testing.T, change func(*Record)) {
	t.Helper()
	r := m.record(t)
	change(&r)
	m.set(t, r)
}

// set writes a record behind everybody's back.
func (m *memory) set(t *testing.T, r Record) {
	t.Helper()
	data, err := encode(&r)
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data, m.etag = data, m.etag+1
}

// remove deletes the record.
func (m *memory) remove() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data, m.etag = nil, 0
}

func (m *memory) column(name string) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.row[name]
}

func (m *memory) written() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.writes)
}

const lease = 2 * time.Minute

// request is one of owner for job j.
func request(owner string) Request {
	return Request{Basin: "ohio", Scenario: "42", JobID: "j", RunKey: "key", Owner: owner, Lease: lease,
		Engine: "bundled", Log: slog.New(slog.DiscardHandler)}
}

func mustTake(t *testing.T, store Store, req Request) *Hold {
	t.Helper()
	h, err := Take(t.Context(), store, req)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// mustFinish ends the hold, which must still be one.
func mustFinish(t *testing.T, h *Hold, out Outcome) {
	t.Helper()
	if err := h.Finish(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if h.Context.Err() == nil {
		t.Error("the context outlives the hold")
	}
}

// pass lets time go by on the clock of the bubble, until all that falls due in
// it is done.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until is whether the context ends before d is over.
func until(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(d):
		return false
	}
}
