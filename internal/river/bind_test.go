package river

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// network builds one from branches written as up, down, then the distances of
// the grids. Junctions up to interior are interior.
func network(interior int, branches ...[]float64) *Network {
	n := &Network{InteriorJunctions: interior, Units: English}
	for _, b := range branches {
		branch := Branch{Share: 1, Up: int(b[0]), Down: int(b[1])}
		for _, d := range b[2:] {
			branch.Grids = append(branch.Grids, Grid{Distance: d})
		}
		n.Branches = append(n.Branches, branch)
	}
	return n
}

// index parses rows of branch,grid,river,river_mile[,latitude,longitude].
func index(t *testing.T, rows ...string) *Index {
	t.Helper()
	x, _, err := ParseIndex(strings.NewReader("branch,grid,river,river_mile,latitude,longitude\n"+strings.Join(rows, "\n")), "R.csv")
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// fork is two branches that meet in a third: 1 and 2 flow into 3.
func fork() *Network {
	return network(1,
		[]float64{2, 1, 0, 5, 10},
		[]float64{3, 1, 0, 4},
		[]float64{1, 4, 0, 10, 20})
}

func TestBind(t *testing.T) {
	tests := []struct {
		name       string
		n          *Network
		rows       []string
		downstream map[string]int
		faults     []string
		warnings   []string
	}{
		{name: "rising on one river, falling on another", n: fork(),
			rows:       []string{"1,1,Ohio,0", "1,2,Ohio,5", "2,1,Creek,4", "2,2,Creek,0", "3,1,Ohio,10", "3,3,Ohio,30"},
			downstream: map[string]int{"Ohio": 1, "Creek": -1, "Nile": 0}},
		{name: "equal miles at a junction", n: fork(),
			rows:       []string{"1,1,Ohio,30", "1,3,Ohio,20", "3,1,Ohio,20", "3,3,Ohio,0"},
			downstream: map[string]int{"Ohio": -1}},
		{name: "one place tells no direction", n: fork(), rows: []string{"1,1,Ohio,30"}, downstream: map[string]int{"Ohio": 0}},
		{name: "one place per branch", n: fork(), rows: []string{"1,1,Ohio,30", "3,1,Ohio,20"}, downstream: map[string]int{"Ohio": -1}},
		{name: "two junction miles", n: fork(), rows: []string{"1,1,Ohio,0", "1,3,Ohio,10", "3,1,Ohio,11", "3,3,Ohio,30"},
			downstream: map[string]int{"Ohio": 1},
			warnings:   []string{"R.csv line 4: miles 11 and 10 are the same point of the network (other mile in line 3)"}},
		{name: "unknown branch and grid", n: fork(), rows: []string{"1,1,Ohio,0", "1,4,Ohio,5", "4,1,Ohio,6"}, faults: []string{
			"R.csv line 3 column 3 grid: is 4; branch 1 has the grids 1 to 3",
			"R.csv line 4 column 1 branch: is 4; the network has the branches 1 to 3"}},
		{name: "H19 duplicate", n: fork(), rows: []string{"1,1,Ohio,0", "1,2,Ohio,5", "1,1,Ohio,7"}, faults: []string{
			"R.csv line 4 column 3 grid: branch 1 grid 1 is in line 2 already"}},
		{name: "one mile out of order", n: network(0, []float64{1, 2, 0, 1, 2, 3, 4}),
			rows: []string{"1,1,Ohio,0", "1,2,Ohio,1", "1,3,Ohio,0.5", "1,4,Ohio,3", "1,5,Ohio,4"}, faults: []string{
				"R.csv line 4 column 10 river_mile: mile 0.5 is below mile 1 of line 3 upstream, while the miles of this river rise downstream"}},
		{name: "one mile out of order, falling", n: network(0, []float64{1, 2, 0, 1, 2, 3}),
			rows: []string{"1,1,Ohio,9", "1,2,Ohio,8", "1,3,Ohio,8.5", "1,4,Ohio,3"}, faults: []string{
				"R.csv line 4 column 10 river_mile: mile 8.5 is above mile 8 of line 3 upstream, while the miles of this river fall downstream"}},
		{name: "equal miles within a branch", n: fork(), rows: []string{"1,1,Ohio,0", "1,2,Ohio,5", "1,3,Ohio,5.00001"}, faults: []string{
			"R.csv line 4 column 10 river_mile: mile 5 is that of line 3"}},
		{name: "falling across a junction", n: fork(), rows: []string{"1,1,Ohio,0", "1,3,Ohio,10", "3,1,Ohio,9", "3,3,Ohio,30"}, faults: []string{
			"R.csv line 4 column 10 river_mile: mile 9 is below mile 10 of line 3 upstream, while the miles of this river rise downstream"},
			warnings: []string{"R.csv line 4: miles 9 and 10 are the same point of the network (other mile in line 3)"}},
		{name: "across a branch the index leaves out", n: network(2, []float64{3, 1, 0, 1}, []float64{1, 2, 0, 1}, []float64{2, 4, 0, 1}),
			rows: []string{"1,1,Ohio,5", "1,2,Ohio,6", "3,1,Ohio,4", "3,2,Ohio,9"}, faults: []string{
				"R.csv line 4 column 10 river_mile: mile 4 is below mile 6 of line 3 upstream, while the miles of this river rise downstream"}},
		{name: "branches numbered against the water", n: network(1, []float64{1, 3, 0, 1}, []float64{2, 1, 0, 1}),
			rows: []string{"1,1,Ohio,6", "1,2,Ohio,7", "2,1,Ohio,5", "2,2,Ohio,6"}, downstream: map[string]int{"Ohio": 1}},
		{name: "H19 gap over a place without position", n: network(0, []float64{1, 2, 0, 1, 2}),
			rows: []string{"1,1,Ohio,0,40,-80", "1,2,Ohio,1", "1,3,Ohio,10,40.2,-80"}, downstream: map[string]int{"Ohio": 1},
			warnings: []string{"R.csv line 4: miles 0 and 10 are 16.09 km apart along the river but 22.24 km in a straight line (other position in line 2)"}},
		{name: "H19 gap across a junction", n: fork(), rows: []string{"1,1,Ohio,0", "1,2,Ohio,5,0,0", "3,3,Ohio,30,0,1"}, downstream: map[string]int{"Ohio": 1},
			warnings: []string{"R.csv line 4: miles 5 and 30 are 40.23 km apart along the river but 111.20 km in a straight line (other position in line 3)"}},
		{name: "a loop ends", n: network(2, []float64{1, 2, 0, 1}, []float64{2, 1, 0, 1}), rows: []string{"1,1,Ohio,0", "1,2,Ohio,1"},
			downstream: map[string]int{"Ohio": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := index(t, tt.rows...)
			warnings, err := x.Bind(tt.n)
			wantFaults(t, err, tt.faults...)
			wantWarnings(t, warnings, tt.warnings...)
			for river, want := range tt.downstream {
				if got := x.Downstream(river); got != want {
					t.Errorf("%s runs %+d, want %+d", river, got, want)
				}
			}
		})
	}
}

// An index made by hand has not been sorted.
func TestBindNeedsOrder(t *testing.T) {
	x := &Index{File: "R.csv", Places: []Place{{Branch: 1, Grid: 2, River: "Ohio"}, {Branch: 1, Grid: 1, River: "Ohio", Mile: 1}}}
	_, err := x.Bind(fork())
	wantFaults(t, err, "R.csv grid: stands out of the order of branch and grid")
}

func TestWarningsEnd(t *testing.T) {
	var grids = []float64{1, 2}
	var rows []string
	for i := range 30 {
		grids = append(grids, float64(i))
		rows = append(rows, fmt.Sprintf("1,%d,Ohio,%d,%d,0", i+1, i, i))
	}
	warnings, err := index(t, rows...).Bind(network(0, grids))
	if err != nil || len(warnings) != 21 || warnings[20].String() != "R.csv: and 9 more warnings" {
		t.Errorf("%d warnings, %v, %v", len(warnings), warnings[len(warnings)-1], err)
	}
}

// One look at a wrong index or file must not drown in faults.
func TestFaultsEnd(t *testing.T) {
	var grids = []float64{1, 2}
	var unknown, mixed []string
	var records [][4]float64
	duplicates := "{"
	for i := range 60 {
		grids = append(grids, float64(i))
		unknown = append(unknown, fmt.Sprintf("1,%d,Ohio,%d", i+100, i))
		mixed = append(mixed, fmt.Sprintf("1,%d,Ohio,%d", i+1, i-i%2*2+1))
		records = append(records, [4]float64{0, 1, float64(i + 100), 1})
		duplicates += `"a":1,`
	}
	n := network(0, grids)
	_, unknownErr := index(t, unknown...).Bind(n)
	_, mixedErr := index(t, mixed...).Bind(n)
	_, _, basinErr := ParseBasin([]byte(duplicates+`"b":1}`), "basin.json")
	for i, err := range []error{unknownErr, mixedErr, flows(t, records...).Validate(n), basinErr} {
		if got := len(details(err)); got != maxFaults {
			t.Errorf("%d: %d faults, want %d", i, got, maxFaults)
		}
	}
}

func TestGreatCircle(t *testing.T) {
	tests := []struct {
		a, b Place
		want float64 // km on a sphere of radius 6371.0088
	}{
		{Place{}, Place{Longitude: 180}, math.Pi * earthRadius},
		{Place{Latitude: 90}, Place{Latitude: -90}, math.Pi * earthRadius},
		{Place{Latitude: 12}, Place{Latitude: 13}, math.Pi * earthRadius / 180},
		{Place{Latitude: 60}, Place{Latitude: 60}, 0},
		{Place{Longitude: 179.5}, Place{Longitude: -179.5}, math.Pi * earthRadius / 180},
	}
	for _, tt := range tests {
		if got := greatCircle(&tt.a, &tt.b); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%v to %v: %g km, want %g", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestRivers(t *testing.T) {
	x := index(t, "1,1,Ohio,0", "1,2,Ohio,1", "2,1,Allegheny,3", "3,1,Ohio,7")
	if got := fmt.Sprint(x.Rivers()); got != "[Allegheny Ohio]" {
		t.Error(got)
	}
}
