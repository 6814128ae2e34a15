package compare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/storage"
)

// memory is a store with one result, whoever asks.
type memory struct {
	files map[string][]byte
	rows  []plume.Row
	// byMile are the rows of PlumeByMile.
	byMile []plume.Row
	record []byte // of the run, nil for none
	// behind is called when the last row of PlumeByTime was read.
	behind func()
}

func (m *memory) ReadResult(_ context.Context, _, _, name string) (io.ReadCloser, error) {
	data, ok := m.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, storage.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (m *memory) ReadPlumeByTime(context.Context, string, string) iter.Seq2[storage.PlumeEntity, error] {
	return func(yield func(storage.PlumeEntity, error) bool) {
		for _, row := range m.rows {
			if !yield(storage.PlumeEntity{Row: row}, nil) {
				return
			}
		}
		if m.behind != nil {
			m.behind()
		}
	}
}

func (m *memory) ReadPlumeByMile(context.Context, string, string) iter.Seq2[storage.PlumeEntity, error] {
	return func(yield func(storage.PlumeEntity, error) bool) {
		for _, row := range m.byMile {
			if !yield(storage.PlumeEntity{Row: row}, nil) {
				return
			}
		}
	}
}

func (m *memory) Run(context.Context, string, string) ([]byte, string, error) {
	if m.record == nil {
		return nil, "", storage.ErrNotFound
	}
	return m.record, "e", nil
}

// byMileOf are rows in the order of PlumeByMile.
func byMileOf(rows []plume.Row) []plume.Row {
	list := slices.Clone(rows)
	slices.SortStableFunc(list, func(x, y plume.Row) int {
		return cmp.Or(strings.Compare(x.River, y.River), cmp.Compare(x.RiverMile, y.RiverMile), cmp.Compare(x.Branch, y.Branch))
	})
	return list
}

// scratch is a Scratch in memory, which counts how often it was written to.
type scratch struct {
	bytes.Buffer
	writes int
	closed bool
}

func (s *scratch) Write(b []byte) (int, error) {
	s.writes++
	return s.Buffer.Write(b)
}

func (s *scratch) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(s.Bytes()).ReadAt(b, at)
}

func (s *scratch) Close() error {
	s.closed = true
	return nil
}

var start = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

// draft is a result that a test changes before it is stored.
type draft struct {
	Marker  publish.Marker
	Edges   plume.EdgeDocument
	Balance plume.BalanceDocument
	Intakes plume.IntakeDocument
	Params  map[string]any
	Rows    []plume.Row
}

// newDraft is a small result: two places of river Main, three hours.
func newDraft() *draft {
	ids := plume.IDs{Basin: "tiny", Scenario: "s1", JobID: "j1"}
	d := &draft{Marker: publish.Marker{IDs: ids, RunKey: "k1", Attempt: 1, Engine: "bundled 01", Commit: "c1", StartedAt: start, FinishedAt: start},
		Params: map[string]any{"inputs_sha256": map[string]any{"FLOW.IN": "aa"}, "scenario": map[string]any{"SpillMassKg": 100}}}
	d.Edges = plume.EdgeDocument{IDs: ids, ToleranceMgL: 0.001}
	d.Balance = plume.BalanceDocument{IDs: ids}
	series := plume.EdgeSeries{River: "Main"}
	for h := range 3 {
		at := start.Add(time.Duration(h) * time.Hour)
		d.Balance.Add(at, plume.Ledger{InjectedKg: 100, InRiverKg: 100})
		series.Time = append(series.Time, at)
		series.LeadingEdgeMile = append(series.LeadingEdgeMile, ptr(10.5))
		series.TrailingEdgeMile = append(series.TrailingEdgeMile, ptr(10.0))
		series.PeakMile = append(series.PeakMile, ptr(10.0))
		series.PeakMgL = append(series.PeakMgL, ptr(2.0))
		series.MassKg = append(series.MassKg, 100)
		for i, mile := range []float64{10, 10.5} {
			d.Rows = append(d.Rows, plume.Row{River: "Main", RiverMile: mile, Branch: 1, Grid: i + 1, Time: at, ElapsedHours: float64(h),
				ConcentrationMgL: 2 / float64(1+i+h), JobID: "j1"})
		}
	}
	d.Balance.Finish(plume.Ledger{InjectedKg: 100, InRiverKg: 100})
	d.Edges.Series = []plume.EdgeSeries{series}
	lead, peak := start.Add(10*time.Minute), start.Add(time.Hour)
	d.Intakes = plume.IntakeDocument{IDs: ids, Intakes: []plume.Intake{{Name: "Upper", River: "Main", RiverMile: 10.5, LeadingEdge: &lead,
		PeakTime: &peak, PeakMgL: 1, HoursAboveThreshold: ptr(1.5)}}}
	return d
}

func ptr[T any](x T) *T { return &x }

// store stores the draft; its marker counts the rows.
func (d *draft) store(tb testing.TB) *memory {
	tb.Helper()
	for i := range d.Rows {
		if id := &d.Rows[i].JobID; *id == "" || *id == "j1" {
			*id = d.Marker.JobID
		}
	}
	d.Marker.Rows.ByTime, d.Marker.Rows.ByMile = len(d.Rows), len(d.Rows)
	m := &memory{files: map[string][]byte{}, rows: d.Rows, byMile: byMileOf(d.Rows)}
	for name, v := range map[string]any{publish.MarkerName: d.Marker, edgeDocument: d.Edges, balanceDocument: d.Balance, intakeDocument: d.Intakes,
		"run/" + d.Marker.JobID + "/params.json": d.Params} {
		data, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		m.files[name] = data
	}
	return m
}

func (d *draft) open(tb testing.TB, label string) *Result {
	tb.Helper()
	r, err := Open(tb.Context(), d.store(tb), Target{d.Marker.Basin, d.Marker.Scenario, strings.ToUpper(label[:1]), label})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// compared compares two drafts.
func compared(tb testing.TB, a, b *draft, o Options) *Report {
	tb.Helper()
	if o.Scratch == nil {
		o.Scratch = func() (Scratch, error) { return &scratch{}, nil }
	}
	report, err := Results(tb.Context(), a.open(tb, "a"), b.open(tb, "b"), o)
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

// randomDraft is a result with random numbers of everything, its rows of one
// time in any order.
func randomDraft(r *rand.Rand) *draft {
	d := newDraft()
	d.Rows, d.Edges.Series, d.Intakes.Intakes = nil, nil, nil
	d.Balance.Balance = plume.Balance{}
	d.Edges.ToleranceMgL = []float64{1e-9, 0.001, 1}[r.IntN(3)]
	concentration := func() float64 { return d.Edges.ToleranceMgL * (1 + r.ExpFloat64()*10) }
	maybe := func(x float64) *float64 {
		if r.IntN(4) == 0 {
			return nil
		}
		return &x
	}
	moments := func() *time.Time {
		if r.IntN(4) == 0 {
			return nil
		}
		return ptr(start.Add(time.Duration(r.IntN(600)) * time.Minute))
	}
	rivers := []string{"Main", "Side", "a-b_c 1.2"}[:1+r.IntN(3)]
	for h := range r.IntN(6) {
		d.Balance.Add(start.Add(time.Duration(h)*time.Hour), plume.Ledger{InjectedKg: r.Float64() * 100, InRiverKg: r.Float64() * 100})
	}
	d.Balance.Finish(plume.Ledger{InjectedKg: r.Float64() * 100})
	for _, name := range rivers {
		s := plume.EdgeSeries{River: name}
		for _, at := range d.Balance.Time {
			s.Time = append(s.Time, at)
			s.LeadingEdgeMile = append(s.LeadingEdgeMile, maybe(r.Float64()*50))
			s.TrailingEdgeMile = append(s.TrailingEdgeMile, maybe(r.Float64()*50))
			s.PeakMile = append(s.PeakMile, maybe(r.Float64()*50))
			s.PeakMgL = append(s.PeakMgL, maybe(concentration()))
			s.MassKg = append(s.MassKg, r.Float64()*100)
		}
		d.Edges.Series = append(d.Edges.Series, s)
	}
	for i := range r.IntN(4) {
		d.Intakes.Intakes = append(d.Intakes.Intakes, plume.Intake{Name: fmt.Sprintf("I%d", i%2), River: rivers[0], RiverMile: float64(i / 2),
			LeadingEdge: moments(), PeakTime: moments(), TrailingEdge: moments(), PeakMgL: concentration(), HoursAboveThreshold: maybe(r.Float64() * 5)})
	}
	for _, at := range d.Balance.Time {
		var step []plume.Row
		for _, name := range rivers {
			for i := range 12 {
				if r.IntN(3) == 0 {
					continue
				}
				step = append(step, plume.Row{River: name, RiverMile: float64(i) / 7, Branch: 1 + i%3, Grid: i + 1, Time: at,
					ElapsedHours: at.Sub(start).Hours(), ConcentrationMgL: concentration(), JobID: "j1"})
			}
		}
		r.Shuffle(len(step), func(i, j int) { step[i], step[j] = step[j], step[i] })
		d.Rows = append(d.Rows, step...)
	}
	return d
}

// lateMarker has its marker from the second look on.
type lateMarker struct {
	*memory
	marker []byte
	looks  int
}

func (l *lateMarker) ReadResult(ctx context.Context, basin, scenario, name string) (io.ReadCloser, error) {
	if name == publish.MarkerName {
		if l.looks++; l.looks > 1 {
			l.files[name] = l.marker
		}
	}
	return l.memory.ReadResult(ctx, basin, scenario, name)
}
