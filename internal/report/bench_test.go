package report_test

import (
	"io"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/report"
)

// What a report costs a run, beside its rows.
func BenchmarkForms(b *testing.B) {
	r := small().report()
	b.Run("html", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := r.HTML(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, name := range report.Pictures() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Picture(io.Discard, name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a row costs on its way.
func BenchmarkRow(b *testing.B) {
	s := small()
	builder := report.New(s.facts())
	row := plume.Row{River: "Ohio", Branch: 1, Grid: 1, ConcentrationMgL: 1}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		row.RiverMile, row.Time = s.mile(n%s.places), begin.Add(time.Duration(n/s.places%s.times)*time.Hour)
		builder.Row(row)
	}
}
