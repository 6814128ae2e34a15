package storage_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/storage"
)

// writeRows writes n rows to both tables of a scenario.
func writeRows(t testing.TB, f *storage.Folder, ctx context.Context, n int) {
	t.Helper()
	for _, open := range []func(context.Context, string, string) (storage.RowWriter, error){f.PlumeByTime, f.PlumeByMile} {
		w, err := open(ctx, "ohio", "42")
		if err != nil {
			t.Fatal(err)
		}
		row := plume.Row{River: "Ohio River", Branch: 3, JobID: "job-1"}
		for i := range n {
			row.RiverMile = float64(i%5000) / 8
			row.Grid = 1 + i%5000
			row.Time = time.Date(2026, 1, 2, 3+i/5000, 0, 0, 0, time.UTC)
			row.ElapsedHours = float64(i/5000) + 0.25
			row.ConcentrationMgL = 1 / float64(1+i)
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		if rows, err := w.Commit(); rows != n || err != nil {
			t.Fatalf("%d rows, %v", rows, err)
		}
	}
}

// BenchmarkPlumeRows writes a year-like table; heap-B is how much the heap has
// grown at its end, which must not depend on the number of rows.
func BenchmarkPlumeRows(b *testing.B) {
	for name, n := range map[string]int{"10k": 10_000, "1M": 1_000_000} {
		b.Run(name, func(b *testing.B) {
			f := openFolder(b, b.TempDir())
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			b.ReportAllocs()
			for b.Loop() {
				writeRows(b, f, context.Background(), n)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapSys)-float64(before.HeapSys), "heap-B")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*n), "ns/row")
		})
	}
}

func BenchmarkReadPlume(b *testing.B) {
	f := openFolder(b, b.TempDir())
	writeRows(b, f, context.Background(), 100_000)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range f.ReadPlumeByTime(context.Background(), "ohio", "42") {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkPutRun(b *testing.B) {
	f := openFolder(b, b.TempDir())
	etag := ""
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if etag, err = f.PutRun(context.Background(), "ohio", "42", []byte(`{"owner":"x"}`), etag); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMergeScenario(b *testing.B) {
	dir := b.TempDir()
	f := openFolder(b, dir)
	put(b, dir, "tables/Scenarios/ohio/42.json", []byte("{\n  \"Name\": \"x\",\n  \"SpillMile\": 1.5\n}\n"))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := f.MergeScenario(context.Background(), "ohio", "42", map[string]any{"Progress": i, "Step": "BLTM"}); err != nil {
			b.Fatal(err)
		}
	}
}
