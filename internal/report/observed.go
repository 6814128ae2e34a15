package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"rsmsjob/internal/reason"
)

// Observation is what was measured at a place: hours from the release to 10 % of
// the peak before it, to the peak, and to 10 % behind it (0 where it is not known),
// and the peak in mg/L.
type Observation struct {
	Name                             string
	LeadHours, PeakHours, TrailHours float64
	PeakMgL                          float64
}

// point is one concentration at one time: hours from the spill, mg/L.
type point struct{ h, c float64 }

// points are what a drawing shows of an observation.
func (o *Observation) points() []point {
	var list []point
	for _, p := range []point{{o.LeadHours, o.PeakMgL / 10}, {o.PeakHours, o.PeakMgL}, {o.TrailHours, o.PeakMgL / 10}} {
		if p.h > 0 {
			list = append(list, p)
		}
	}
	return list
}

// maxObserved bounds how many rows of a file of observations are read.
const maxObserved = 100_000

// ReadObserved reads what was measured during a scenario from a file with the
// columns scenario, name, lead10_h, peak_h, peak_mg_l, trail10_h in this order,
// under a header. Faults name file and line.
func ReadObserved(r io.Reader, file, scenario string) ([]Observation, error) {
	table := csv.NewReader(r)
	table.FieldsPerRecord = 6
	var list []Observation
	for n := range maxObserved {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, &reason.Fault{File: file, Line: bad.Line, Problem: "must have 6 columns: scenario, name, lead10_h, peak_h, peak_mg_l, trail10_h"}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if n == 0 || row[0] != scenario {
			continue
		}
		var v [4]float64
		for i, text := range row[2:] {
			v[i], err = strconv.ParseFloat(text, 64)
			if err != nil || !(v[i] >= 0 && v[i] <= math.MaxInt32) {
				line, _ := table.FieldPos(2 + i)
				return nil, &reason.Fault{File: file, Line: line, Field: []string{"lead10_h", "peak_h", "peak_mg_l", "trail10_h"}[i],
					Problem: "must be a number of at least 0", Text: text}
			}
		}
		list = append(list, Observation{Name: row[1], LeadHours: v[0], PeakHours: v[1], PeakMgL: v[2], TrailHours: v[3]})
	}
	return slices.Clip(list), nil
}
