package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

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

// maxObserved bounds how many rows a file of observations has, beside its header.
const maxObserved = 100_000

// observedColumns are the columns of a file of observations, in this order.
func observedColumns() []string {
	return []string{"scenario", "name", "lead10_h", "peak_h", "peak_mg_l", "trail10_h"}
}

// ReadObserved reads what was measured during a scenario from a file with
// observedColumns under a header that names them. Faults name file and line.
func ReadObserved(r io.Reader, file, scenario string) ([]Observation, error) {
	columns := observedColumns()
	table := csv.NewReader(r)
	table.FieldsPerRecord = len(columns)
	var list []Observation
	for n := 0; ; n++ {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, &reason.Fault{File: file, Line: bad.Line, Problem: "must have 6 columns: " + strings.Join(columns, ", ")}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		line, _ := table.FieldPos(0)
		switch {
		case n == 0 && !isHeader(row):
			return nil, &reason.Fault{File: file, Line: line, Problem: "must be the header " + strings.Join(columns, ",")}
		case n > maxObserved:
			return nil, &reason.Fault{File: file, Line: line, Problem: fmt.Sprintf("is row %d, and a file may have %d", n, maxObserved)}
		case n == 0 || row[0] != scenario:
			continue
		}
		o, fault := observation(row)
		if fault != nil {
			fault.File, fault.Line = file, line
			return nil, fault
		}
		list = append(list, o)
	}
}

// isHeader reports whether a row names the columns, in any case of letters.
func isHeader(row []string) bool {
	for i, name := range observedColumns() {
		if !strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(row[i], "\ufeff")), name) {
			return false
		}
	}
	return true
}

// observation reads one row.
func observation(row []string) (Observation, *reason.Fault) {
	var v [4]float64
	for i, text := range row[2:] {
		var err error
		v[i], err = strconv.ParseFloat(text, 64)
		if err != nil || !(v[i] >= 0 && v[i] <= math.MaxInt32) {
			return Observation{}, &reason.Fault{Field: observedColumns()[2+i], Problem: "must be a number of at least 0", Text: text}
		}
	}
	return Observation{Name: row[1], LeadHours: v[0], PeakHours: v[1], PeakMgL: v[2], TrailHours: v[3]}, nil
}
