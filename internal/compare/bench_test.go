package compare

import (
	"context"
	"iter"
	"runtime"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/storage"
)

// endless has as many rows as are wanted without keeping any: a thousand places
// at each time. look is called now and then.
type endless struct {
	*memory
	rows  int
	plus  float64 // mg/L above the others
	every int
	look  func()
}

func (e *endless) ReadPlumeByTime(context.Context, string, string) iter.Seq2[storage.PlumeEntity, error] {
	const places = 1000
	return func(yield func(storage.PlumeEntity, error) bool) {
		for n := range e.rows {
			if e.every > 0 && n%e.every == e.every-1 {
				e.look()
			}
			i := n % places
			row := plume.Row{River: "Main", RiverMile: float64(i) / 10, Branch: 1 + i/100, Grid: 1 + i%100,
				Time: start.Add(time.Duration(n/places) * time.Hour), ElapsedHours: float64(n / places), ConcentrationMgL: 1 + e.plus, JobID: "j1"}
			if !yield(storage.PlumeEntity{Row: row}, nil) {
				return
			}
		}
	}
}

func newEndless(tb testing.TB, rows int, plus float64) *endless {
	d := newDraft()
	d.Rows = make([]plume.Row, rows) // for the marker
	m := d.store(tb)
	m.rows = nil
	return &endless{memory: m, rows: rows, plus: plus}
}

func openEndless(tb testing.TB, e *endless) *Result {
	r, err := Open(context.Background(), e, "tiny", "s1", "endless")
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// What is in memory does not grow with the rows.
func TestMemory(t *testing.T) {
	heap := func(rows int) (most uint64) {
		e := newEndless(t, rows, 0)
		e.every = 10_000
		e.look = func() {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
		if _, err := Results(t.Context(), openEndless(t, e), openEndless(t, newEndless(t, rows, 1)), Options{}); err != nil {
			t.Fatal(err)
		}
		return most
	}
	few, many := heap(20_000), heap(400_000)
	t.Logf("heap: %d KiB at 20,000 rows, %d KiB at 400,000", few>>10, many>>10)
	if many > few+few/2+1<<20 {
		t.Errorf("heap: %d bytes at 20,000 rows, %d at 400,000", few, many)
	}
}

// BenchmarkRows compares two results of 10^6 rows in which every cell differs.
func BenchmarkRows(b *testing.B) {
	const rows = 1_000_000
	x, y := openEndless(b, newEndless(b, rows, 0)), openEndless(b, newEndless(b, rows, 0.0005))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Results(context.Background(), x, y, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
