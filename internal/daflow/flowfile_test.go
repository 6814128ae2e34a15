package daflow_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/reason"
)

// smallFlow is what a run of the small network writes.
func smallFlow(t testing.TB) (string, []int, int) {
	t.Helper()
	in := readSmall(t)
	var file bytes.Buffer
	if _, err := daflow.Run(in, daflow.Outputs{Flow: &file}); err != nil {
		t.Fatal(err)
	}
	return file.String(), in.GridCounts(), in.Steps
}

func TestFlowFile(t *testing.T) {
	text, _, _ := smallFlow(t)
	golden(t, "small.BLTM.FLW", []byte(text))
}

func readAll(text string, grids []int, steps int) (n int, err error) {
	r := daflow.NewFlowReader(strings.NewReader(text), "BLTM.FLW", grids, steps)
	for r.Next() {
		n++
	}
	if r.Next() {
		n = -1
	}
	return n, r.Err()
}

func TestFlowReader(t *testing.T) {
	text, grids, steps := smallFlow(t)
	lines := strings.SplitAfter(text, "\n")
	tests := []struct {
		name, text, want string
		records          int
	}{
		{"whole", text, "", 32},
		{"H08 carriage returns", strings.ReplaceAll(text, "\n", "\r\n"), "", 32},
		{"H08 empty lines behind", text + "\n\n", "", 32},
		{"H18 no end of the last line", strings.TrimSuffix(text, "\n"),
			"BLTM.FLW line 32: the file is cut short: its last line has no end, expected a line end behind the last record", 32},
		{"mark of the end of a file", text + "\x1a", "", 32},
		{"carriage returns and the mark", strings.ReplaceAll(text, "\n", "\r\n") + "\x1a\x1a", "", 32},
		{"a record behind the mark", text + "\x1a\n" + lines[0],
			`BLTM.FLW line 34 column 1: more records than there are steps (found "    0    1    1       0.10000E+02       …")`, 32},
		{"H18 empty", "", "BLTM.FLW line 1: the file ends before step 0 branch 1 grid 1", 0},
		{"H18 cut at a line", strings.Join(lines[:12], ""), "BLTM.FLW line 13: the file ends before step 1 branch 2 grid 2", 12},
		{"H18 cut inside a line", strings.Join(lines[:12], "") + lines[12][:50],
			"BLTM.FLW line 13 column 51: the line is cut short at step 1 branch 2 grid 2", 12},
		{"H18 last line cut", text[:len(text)-2], "BLTM.FLW line 32 column 33: the line is cut short at step 3 branch 3 grid 2", 31},
		{"one record too many", text + lines[0], `BLTM.FLW line 33 column 1: more records than there are steps (found "    0    1    1       0.10000E+02       …")`, 32},
		{"a record too many after an empty line", text + "\nx", `BLTM.FLW line 34 column 1: more records than there are steps (found "x")`, 32},
		{"a record left out", strings.Join(append(append([]string{}, lines[:3]...), lines[4:]...), ""),
			`BLTM.FLW line 4 column 11 grid: out of order, expected step 0 branch 2 grid 1 (found "    0    2    2")`, 3},
		{"a step twice", strings.Join(append(append([]string{}, lines[:8]...), lines[:8]...), ""),
			`BLTM.FLW line 9 column 1 step: out of order, expected step 1 branch 1 grid 1 (found "    0    1    1")`, 8},
		{"H10 stars", strings.Replace(text, "       0.10000E+02", "******************", 1),
			`BLTM.FLW line 1 column 16 flow: the number did not fit its columns when it was written (found "******************")`, 0},
		{"H10 stars as a step", strings.Replace(text, "    0", "*****", 1),
			`BLTM.FLW line 1 column 1 step: the number did not fit its columns when it was written (found "*****")`, 0},
		{"NaN", strings.Replace(text, "       0.10000E+02", "               NaN", 1),
			`BLTM.FLW line 1 column 16 flow: not a finite number (found "NaN")`, 0},
		{"H03 negative flow", strings.Replace(text, "       0.10000E+02", "      -0.10000E+02", 1),
			`BLTM.FLW line 1 column 16 flow: negative (found "      -0.10000E+02")`, 0},
	}
	for _, tt := range tests {
		n, err := readAll(tt.text, grids, steps)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || n != tt.records {
			t.Errorf("%s: %d records, error %s\nwant %d, %s", tt.name, n, got, tt.records, tt.want)
		}
	}
	if n, err := readAll("", nil, 3); n != 0 || err != nil {
		t.Errorf("no branches: %d records, error %v", n, err)
	}
}

// Beyond step 99999 the column of the step holds stars, which the order of the
// records makes good.
func TestFlowReaderBeyondI5(t *testing.T) {
	in := single(100_002, reachOf(1, 2, 2, 1, 1, channel))
	got, _ := run(t, in)
	if f := got[100_002][0][1]; f.Step != 100_002 || f.Q != 1 {
		t.Errorf("last record %+v", f)
	}
}

func TestFlowReaderAllocatesNothingPerRecord(t *testing.T) {
	text, grids, _ := smallFlow(t)
	first := strings.Split(text, "\n")[:8] // the records of step 0
	const steps = 2000
	var all strings.Builder
	for k := range steps + 1 {
		for _, line := range first {
			fmt.Fprintf(&all, "%5d%s\n", k, line[5:])
		}
	}
	r := daflow.NewFlowReader(strings.NewReader(all.String()), "BLTM.FLW", grids, steps)
	if n := testing.AllocsPerRun(10000, func() {
		if !r.Next() || r.Flow().Grid == 0 {
			t.Fatal(r.Err())
		}
	}); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
}

func FuzzFlowReader(f *testing.F) {
	text, grids, steps := smallFlow(f)
	f.Add([]byte(text))
	f.Add([]byte(text[:200]))
	f.Add([]byte(strings.ReplaceAll(text, "E+02", "-102")))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := daflow.NewFlowReader(bytes.NewReader(data), "BLTM.FLW", grids, steps)
		n := 0
		for r.Next() {
			n++
			if x := r.Flow(); !(x.Q >= 0 && x.A >= 0 && x.W >= 0) {
				t.Fatalf("record %+v", x)
			}
		}
		if err := r.Err(); err == nil && n != 32 || err != nil && len(reason.Faults(err)) == 0 {
			t.Fatalf("%d records, error %v", n, err)
		}
	})
}

func BenchmarkFlowReader(b *testing.B) {
	in := busy(1000, 20, true)
	var file bytes.Buffer
	if _, err := daflow.Run(in, daflow.Outputs{Flow: &file}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if n, err := readAll(file.String(), in.GridCounts(), in.Steps); n != 21000 || err != nil {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/21000, "ns/record")
}
