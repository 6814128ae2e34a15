package compare

import (
	"context"
	"iter"
	"os"
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
	// upstream has the places of PlumeByMile in the opposite order.
	upstream bool
}

const places = 1000

func (e *endless) ReadPlumeByTime(context.Context, string, string) iter.Seq2[storage.PlumeEntity, error] {
	return func(yield func(storage.PlumeEntity, error) bool) {
		for n := range e.rows {
			if e.every > 0 && n%e.every == e.every-1 {
				e.look()
			}
			if !yield(e.row(n%places, n/places), nil) {
				return
			}
		}
	}
}

func (e *endless) row(place, hour int) storage.PlumeEntity {
	return storage.PlumeEntity{Row: plume.Row{River: "Main", RiverMile: float64(place) / 10, Branch: 1 + place/100, Grid: 1 + place%100,
		Time: start.Add(time.Duration(hour) * time.Hour), ElapsedHours: float64(hour), ConcentrationMgL: 1 + e.plus, JobID: "j1"}}
}

func (e *endless) ReadPlumeByMile(context.Context, string, string) iter.Seq2[storage.PlumeEntity, error] {
	return func(yield func(storage.PlumeEntity, error) bool) {
		for n := range e.rows {
			if e.every > 0 && n%e.every == e.every-1 {
				e.look()
			}
			hours := e.rows / places
			place := n / hours
			if e.upstream {
				place = places - 1 - place
			}
			if !yield(e.row(place, n%hours), nil) {
				return
			}
		}
	}
}

func newEndless(tb testing.TB, rows int, plus float64) *endless {
	d := newDraft()
	d.Rows = make([]plume.Row, rows) // for the marker
	m := d.store(tb)
	m.rows, m.byMile = nil, nil
	return &endless{memory: m, rows: rows, plus: plus}
}

func openEndless(tb testing.TB, e *endless) *Result {
	r, err := Open(context.Background(), e, Target{"tiny", "s1", "A", "endless"})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// What is in memory does not grow with the rows.
func TestMemory(t *testing.T) {
	heap := func(rows int, upstream bool) (most uint64) {
		e := newEndless(t, rows, 0)
		e.every = 10_000
		e.look = func() {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
		e.upstream = upstream
		report, err := Results(t.Context(), openEndless(t, e), openEndless(t, newEndless(t, rows, 1)), Options{Scratch: scratchFile(t)})
		if err != nil {
			t.Fatal(err)
		}
		if report.ByMile.Both != rows {
			t.Errorf("rows by mile: %+v", report.ByMile)
		}
		return most
	}
	for _, upstream := range []bool{false, true} {
		few, many := heap(20_000, upstream), heap(400_000, upstream)
		t.Logf("heap: %d KiB at 20,000 rows, %d KiB at 400,000", few>>10, many>>10)
		if many > few+few/2+1<<20 {
			t.Errorf("heap: %d bytes at 20,000 rows, %d at 400,000", few, many)
		}
	}
}

// scratchFile opens real files: what is in memory is what is measured.
func scratchFile(tb testing.TB) func() (Scratch, error) {
	return func() (Scratch, error) { return os.CreateTemp(tb.TempDir(), "") }
}

// BenchmarkRows compares two results of 10^6 rows in which every cell differs.
func BenchmarkRows(b *testing.B) {
	const rows = 1_000_000
	x, y := openEndless(b, newEndless(b, rows, 0)), openEndless(b, newEndless(b, rows, 0.0005))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Results(context.Background(), x, y, Options{Scratch: scratchFile(b)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
