package river

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const flowHead = "time,branch,grid,flow\n"

// at returns an hour of 2026-01-02, UTC.
func at(hours float64) time.Time {
	return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(math.Round(hours*3600)) * time.Second)
}

func TestParseFlows(t *testing.T) {
	one := []Series{{Branch: 1, Grid: 1, Times: []time.Time{at(0), at(1)}, Flows: []float64{100, 110.5}}}
	tests := []struct {
		name, text string
		zone       *time.Location
		want       []Series
		warnings   []string
	}{
		{name: "plain", text: flowHead + "2026-01-02T00:00:00Z,1,1,100\n2026-01-02T01:00:00Z,1,1,110.5\n", want: one},
		{name: "H08", text: "\xef\xbb\xbfFlow,\"Grid\",note,BRANCH,Time,\r\n100,1,,1,2026-01-02T00:00:00Z,\r\n1.105e2,1,\"a, b\",1,2026-01-02T01:00:00Z\r\n,,,,\r\n\r\n", want: one},
		{name: "H05 zones", zone: newYork(t), text: flowHead + "2026-01-01T19:00,1,1,100\n2026-01-02 02:00:00+01:00,1,1,110.5\n", want: one},
		{name: "H04 unsorted", text: flowHead + "2026-01-02T01:00:00Z,1,1,110.5\n2026-01-02T00:00:00Z,1,1,100\n", want: one,
			warnings: []string{"N.csv line 3: the time is before that of an earlier row; the rows were sorted"}},
		{name: "H04 duplicate, the last wins", text: flowHead + "2026-01-02T00:00:00Z,1,1,90\n2026-01-02T01:00:00Z,1,1,110.5\n2026-01-02T01:00:00+01:00,1,1,100\n", want: one,
			warnings: []string{"N.csv line 4: the time is before that of an earlier row; the rows were sorted",
				"N.csv line 4: branch 1 grid 1 has this time in line 2 already; the last row counts"}},
		{name: "H04 a missing value replaces nothing", text: flowHead + "2026-01-02T00:00:00Z,1,1,100\n2026-01-02T00:00:00Z,1,1,-999999\n2026-01-02T01:00:00Z,1,1,110.5\n", want: one,
			warnings: []string{"N.csv: missing values: 1"}},
		{name: "H01 numbers for missing", text: flowHead + "2026-01-02T00:00:00Z,1,1,100\n" +
			"2026-01-02T00:10:00Z,1,1,-999999\n2026-01-02T00:20:00Z,1,1,-9999\n2026-01-02T00:30:00Z,1,1,-99999.00\n2026-01-02T00:40:00Z,1,1,-999\n" +
			"2026-01-02T00:50:00Z,1,1,-9999.99\n2026-01-02T00:55:00Z,1,1,\n2026-01-02T01:00:00Z,1,1,110.5\n", want: one,
			warnings: []string{"N.csv: missing values: 6"}},
		{name: "H02 texts", text: flowHead + "2026-01-02T00:00:00Z,1,1,100\n2026-01-02T00:10:00Z,1,1,Ice\n2026-01-02T00:20:00Z,1,1,*** Temporarily unavailable\n" +
			"2026-01-02T00:30:00Z,1,1,NaN\n2026-01-02T00:40:00Z,1,1,--\n2026-01-02T00:50:00Z,1,1,infinity\n2026-01-02T01:00:00Z,1,1,110.5\n", want: one,
			warnings: []string{`N.csv line 3: flow "Ice" is not a number and counts as missing`,
				`N.csv line 4: flow "*** Temporarily unavailable" is not a number and counts as missing`,
				`N.csv line 5: flow "NaN" is not a number and counts as missing`,
				`N.csv line 6: flow "--" is not a number and counts as missing`,
				`N.csv line 7: flow "infinity" is not a number and counts as missing`}},
		{name: "H03 withdrawals", text: flowHead + "2026-01-02T00:00:00Z,1,3,-5.5\n2026-01-02T00:00:00Z,1,2,-998\n2026-01-02T00:00:00Z,1,4,-99\n",
			want: []Series{{Branch: 1, Grid: 2, Times: []time.Time{at(0)}, Flows: []float64{-998}},
				{Branch: 1, Grid: 3, Times: []time.Time{at(0)}, Flows: []float64{-5.5}},
				{Branch: 1, Grid: 4, Times: []time.Time{at(0)}, Flows: []float64{-99}}}},
		{name: "H06 jumps", text: flowHead + "2026-01-02T00:00:00Z,2,1,1\n2026-01-02T01:00:00Z,2,1,5\n2026-01-02T02:00:00Z,2,1,25.1\n2026-01-02T03:00:00Z,2,1,0\n2026-01-02T04:00:00Z,2,1,9\n",
			want:     []Series{{Branch: 2, Grid: 1, Times: []time.Time{at(0), at(1), at(2), at(3), at(4)}, Flows: []float64{1, 5, 25.1, 0, 9}}},
			warnings: []string{"N.csv line 4: the flow of branch 2 grid 1 jumps from 5 to 25.1 (line 3)"}},
		{name: "H06 a jump down, and a change of sign", text: flowHead + "2026-01-02T00:00:00Z,2,2,-100\n2026-01-02T01:00:00Z,2,2,-1\n2026-01-02T02:00:00Z,2,2,100\n",
			want:     []Series{{Branch: 2, Grid: 2, Times: []time.Time{at(0), at(1), at(2)}, Flows: []float64{-100, -1, 100}}},
			warnings: []string{"N.csv line 3: the flow of branch 2 grid 2 jumps from -100 to -1 (line 2)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, warnings, err := ParseFlows(strings.NewReader(tt.text), "N.csv", tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			for i := range f.Series {
				if len(f.Series[i].lines) != len(f.Series[i].Times) {
					t.Errorf("%d lines of %d times", len(f.Series[i].lines), len(f.Series[i].Times))
				}
				f.Series[i].lines = nil
			}
			if !reflect.DeepEqual(f.Series, tt.want) {
				t.Errorf("got  %v\nwant %v", f.Series, tt.want)
			}
			wantWarnings(t, warnings, tt.warnings...)
		})
	}
}

func TestParseFlowsFaults(t *testing.T) {
	const first = "2026-01-02T00:00:00Z,1,1,"
	tests := []struct {
		name, text string
		zone       *time.Location
		want       []string
	}{
		{"nothing", "", nil, []string{"N.csv: is empty; the first line names the columns: time,branch,grid,flow"}},
		{"column missing", "time,branch,flow\n", nil, []string{"N.csv line 1 grid: the column is missing; the first line names the columns, separated by commas"}},
		{"no rows", flowHead, nil, []string{"N.csv: has no flows"}},
		{"H01 all missing", flowHead + first + "-9999\n", nil, []string{"N.csv: has no flows"}},
		{"H03 negative inflow", flowHead + first + "5\n2026-01-02T01:00:00Z,1,1,-5\n" + first + "-28316.8\n", nil, []string{
			`N.csv line 3 column 26 flow: is negative at the head of a branch: the engines know one direction of flow (found "-5")`,
			`N.csv line 4 column 26 flow: is negative at the head of a branch: the engines know one direction of flow (found "-28316.8")`}},
		{"H05 no zone", flowHead + "2026-01-02T00:00:00,1,1,5\n", nil, []string{
			`N.csv line 2 column 1 time: is a time without a zone (found "2026-01-02T00:00:00"); write UTC with Z, or an offset like -05:00, or name time_zone in basin.json`}},
		{"H05 change of clocks", flowHead + "2026-03-08T02:00,1,1,5\n2026-11-01T01:00,1,1,5\n", newYork(t), []string{
			`N.csv line 2 column 1 time: is a local time that the change of clocks skips (found "2026-03-08T02:00"); write the offset, like -05:00`,
			`N.csv line 3 column 1 time: is a local time that the change of clocks gives twice (found "2026-11-01T01:00"); write the offset, like -05:00`}},
		{"times", flowHead + ",1,1,5\n1/2/2026 0:00,1,1,5\n2300-01-01T00:00:00Z,1,1,5\n", nil, []string{
			"N.csv line 2 column 1 time: is blank; it must be a time like 2026-01-02T03:00:00Z",
			`N.csv line 3 column 1 time: must be a time like 2026-01-02T03:00:00Z (found "1/2/2026 0:00")`,
			`N.csv line 4 column 1 time: must lie in the years 1900 to 2200 (found "2300-01-01T00:00:00Z")`}},
		{"places", flowHead + "2026-01-02T00:00:00Z,0,-1,5\n2026-01-02T00:00:00Z\n", nil, []string{
			`N.csv line 2 column 22 branch: must be an integer from 1 to 999 (found "0")`,
			`N.csv line 2 column 24 grid: must be an integer from 1 to 99999 (found "-1")`,
			`N.csv line 3 column 21 branch: is blank; it must be an integer from 1 to 999`,
			`N.csv line 3 column 21 grid: is blank; it must be an integer from 1 to 99999`}},
		{"H10 overflow", flowHead + first + "*****\n", nil, []string{
			"N.csv line 2 column 26 flow: is stars: the number did not fit its field; write it with more columns"}},
		{"flows", flowHead + first + "1e8\n" + first + "\"1,234\"\n" + first + "1.5D3\n" + first + "0x10\n" + first + "1.2.3\n" + first + "12 300\n", nil, []string{
			`N.csv line 2 column 26 flow: must be a number from -10000000 to 10000000 (found "1e8")`,
			`N.csv line 3 column 26 flow: must be a number from -10000000 to 10000000 (found "1,234")`,
			`N.csv line 4 column 26 flow: must be a number from -10000000 to 10000000 (found "1.5D3")`,
			`N.csv line 5 column 26 flow: must be a number from -10000000 to 10000000 (found "0x10")`,
			`N.csv line 6 column 26 flow: must be a number from -10000000 to 10000000 (found "1.2.3")`,
			`N.csv line 7 column 26 flow: must be a number from -10000000 to 10000000 (found "12 300")`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, _, err := ParseFlows(strings.NewReader(tt.text), "N.csv", tt.zone)
			if f != nil || err == nil {
				t.Fatalf("accepted: %+v", f)
			}
			wantFaults(t, err, tt.want...)
		})
	}
}

// flows parses rows of hour of 2026-01-02, branch, grid, flow.
func flows(t testing.TB, rows ...[4]float64) *Flows {
	t.Helper()
	var text strings.Builder
	text.WriteString(flowHead)
	for _, r := range rows {
		fmt.Fprintf(&text, "%s,%v,%v,%v\n", at(r[0]).Format(time.RFC3339), r[1], r[2], r[3])
	}
	f, _, err := ParseFlows(strings.NewReader(text.String()), "N.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFlowsValidate(t *testing.T) {
	good := flows(t, [4]float64{0, 1, 1, 5}, [4]float64{0, 2, 1, 5}, [4]float64{0, 3, 2, -5})
	if err := good.Validate(fork()); err != nil {
		t.Error(err)
	}
	bad := flows(t, [4]float64{0, 4, 1, 5}, [4]float64{0, 1, 4, 5}, [4]float64{0, 2, 2, 5}, [4]float64{0, 3, 1, 5}, [4]float64{1, 3, 1, 5})
	wantFaults(t, bad.Validate(fork()),
		"N.csv line 3 grid: is 4; branch 1 has the grids 1 to 3",
		"N.csv line 4 grid: grid 2 is the last of branch 2 and takes no lateral flow; give it at the grid above, or to a branch below",
		"N.csv line 5 grid: grid 1 of branch 3 takes its inflow from junction 1; give a lateral inflow at another grid, or the inflow of a branch above",
		"N.csv line 2 branch: is 4; the network has the branches 1 to 3")
}

func TestMean(t *testing.T) {
	f := flows(t, [4]float64{0, 1, 1, 100}, [4]float64{1, 1, 1, 200}, [4]float64{2, 1, 1, 50}, [4]float64{8, 1, 1, 10}, [4]float64{14.5, 1, 1, 7},
		[4]float64{0, 1, 3, -4}, [4]float64{3, 2, 1, 9})
	tests := []struct {
		branch, grid int
		from, to     float64 // hours
		want         float64
	}{
		{1, 1, 0, 1, 100},
		{1, 1, 0.25, 0.5, 100},
		{1, 1, 0.5, 1.5, 150},
		{1, 1, 0.75, 1.75, 175},
		{1, 1, 1, 1.25, 200},
		{1, 1, 0, 2.5, (100 + 200 + 25) / 2.5},
		{1, 1, 2, 8, 50}, // held for 6 h to the next value
		{1, 1, 7, 9, 30},
		{1, 1, 13, 14, 10},
		{1, 1, 14.5, 20.5, 7},
		{1, 3, 5, 6, -4},
		{2, 1, 3, 9, 9},
	}
	for _, tt := range tests {
		got, err := f.Mean(tt.branch, tt.grid, at(tt.from), at(tt.to))
		if err != nil || math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("branch %d grid %d, %v to %v h: %v, %v, want %v", tt.branch, tt.grid, tt.from, tt.to, got, err, tt.want)
		}
	}
}

func TestMeanFaults(t *testing.T) {
	f := flows(t, [4]float64{0, 1, 1, 100}, [4]float64{6.5, 1, 1, 200}, [4]float64{3, 2, 1, 9})
	tests := []struct {
		branch, grid int
		from, to     float64
		want         string
	}{
		{1, 2, 0, 1, "N.csv flow: branch 1 grid 2: the file has no flow of this place"},
		{3, 1, 0, 1, "N.csv flow: branch 3 grid 1: the file has no flow of this place"},
		{2, 1, 2.75, 3.25, "N.csv line 4 flow: branch 2 grid 1: no flow at 2026-01-02T02:45:00Z, the first is of 2026-01-02T03:00:00Z"},
		{1, 1, 5.75, 6.25, "N.csv line 2 flow: branch 1 grid 1: no flow after 2026-01-02T06:00:00Z: a value is held for 6 h at most"},
		{1, 1, 6.25, 6.75, "N.csv line 2 flow: branch 1 grid 1: no flow after 2026-01-02T06:00:00Z: a value is held for 6 h at most"},
		{1, 1, 0, 8, "N.csv line 2 flow: branch 1 grid 1: no flow after 2026-01-02T06:00:00Z: a value is held for 6 h at most"},
		{1, 1, 100, 101, "N.csv line 3 flow: branch 1 grid 1: no flow after 2026-01-02T12:30:00Z: a value is held for 6 h at most"},
	}
	for _, tt := range tests {
		_, err := f.Mean(tt.branch, tt.grid, at(tt.from), at(tt.to))
		wantFaults(t, err, tt.want)
	}
	if _, err := f.Mean(1, 1, at(1), at(1)); err == nil {
		t.Error("an empty time has a mean")
	}
}

// The mean over any cut of a time, weighted, is the mean over the whole, and
// agrees with a sum over minutes.
func TestMeanProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var rows [][4]float64
		var minutes []float64 // flow of each minute
		for len(minutes) < 24*60 {
			flow := float64(rng.IntN(1000))
			rows = append(rows, [4]float64{float64(len(minutes)) / 60, 1, 1, flow})
			minutes = append(minutes, slices.Repeat([]float64{flow}, 1+rng.IntN(360))...)
		}
		f := flows(t, rows...)
		from := rng.IntN(20 * 60)
		to := from + 1 + rng.IntN(24*60-from-1)
		cut := from + rng.IntN(to-from)
		var sum float64
		for _, q := range minutes[from:to] {
			sum += q
		}
		mean := func(a, b int) float64 {
			if a == b {
				return 0
			}
			m, err := f.Mean(1, 1, at(float64(a)/60), at(float64(b)/60))
			if err != nil {
				t.Fatal(err)
			}
			return m * float64(b-a)
		}
		if got := mean(from, to); math.Abs(got-sum) > 1e-6 {
			t.Fatalf("%d to %d: %v, want %v", from, to, got, sum)
		}
		if got := mean(from, cut) + mean(cut, to); math.Abs(got-sum) > 1e-6 {
			t.Fatalf("%d to %d cut at %d: %v, want %v", from, to, cut, got, sum)
		}
	}
}

func BenchmarkParseFlows(b *testing.B) {
	var text strings.Builder
	text.WriteString(flowHead)
	for i := range 10000 {
		fmt.Fprintf(&text, "%s,1,1,%d\n", at(float64(i)/4).Format(time.RFC3339), 1000+i%100)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ParseFlows(strings.NewReader(text.String()), "N.csv", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMean(b *testing.B) {
	var s Series
	for i := range 100000 {
		s.Times, s.Flows = append(s.Times, at(float64(i)/4)), append(s.Flows, float64(i))
	}
	s.Branch, s.Grid = 1, 1
	f := &Flows{Series: []Series{s}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Mean(1, 1, at(12345), at(12345.25)); err != nil {
			b.Fatal(err)
		}
	}
}
