package river

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

// details returns what the faults of err say, with the text of the input.
func details(err error) []string {
	var list []string
	for _, f := range reason.Faults(err) {
		list = append(list, f.Error())
	}
	return list
}

func wantFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	if got := details(err); !slices.Equal(got, want) {
		t.Errorf("faults\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func wantWarnings(t *testing.T, warnings []Warning, want ...string) {
	t.Helper()
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// bare returns a place without the columns kept for faults.
func bare(places []Place) []Place {
	var out []Place
	for _, p := range places {
		p.branchColumn, p.gridColumn, p.mileColumn = 0, 0, 0
		out = append(out, p)
	}
	return out
}

func TestParseIndex(t *testing.T) {
	two := []Place{
		{Branch: 1, Grid: 1, River: "Ohio", Mile: 0, Line: 2},
		{Branch: 1, Grid: 2, River: "Ohio", Mile: 6.2, Line: 3},
	}
	full := []Place{
		{Branch: 1, Grid: 1, River: "Ohio", Mile: 0, Latitude: 40.44, Longitude: -79.99, HasPosition: true, Name: `Pittsburgh, "PA"`, Feature: Gauge, Line: 2},
		{Branch: 2, Grid: 9, River: "Big Sandy_2-x.y", Mile: 9999.9999, Name: "Ötztal 中", Feature: Intake, Line: 3},
	}
	tests := []struct {
		name, text string
		want       []Place
		warnings   []string
	}{
		{name: "plain", text: "branch,grid,river,river_mile\n1,1,Ohio,0\n1,2,Ohio,6.2\n", want: two},
		{name: "no newline at the end", text: "branch,grid,river,river_mile\n1,1,Ohio,0\n1,2,Ohio,6.2", want: two},
		{name: "H08 byte order mark and CRLF", text: "\xef\xbb\xbfbranch,grid,river,river_mile\r\n1,1,Ohio,0\r\n1,2,Ohio,6.2\r\n", want: two},
		{name: "H08 byte order mark and quoted header", text: "\xef\xbb\xbf\"branch\",grid,river,river_mile\n1,1,Ohio,0\n1,2,Ohio,6.2\n", want: two},
		{name: "H08 trailing commas and blank last lines", text: "branch,grid,river,river_mile,,\n1,1,Ohio,0,,\n1,2,Ohio,6.2,,,,\n,,,\n  \n\n\n", want: two},
		{name: "case, order and extra columns", text: "River_Mile, GRID ,site_no,River,Branch\n0,1,03085152,Ohio,1\n6.2,2,,Ohio,1\n", want: two},
		{name: "quotes and spaces", text: "branch,grid,river,river_mile\n \"1\", 1,\t\"Ohio\",0\n1 ,2,Ohio , 6.2 \n", want: two},
		{name: "all columns", text: "branch,grid,river,river_mile,latitude,longitude,name,feature\n" +
			"1,1,Ohio,-0,40.44,-79.99,\"Pittsburgh, \"\"PA\"\"\",GAUGE\n2,9,Big Sandy_2-x.y,9999.9999,,,Ötztal 中,intake\n", want: full},
		{name: "short row of optional columns", text: "branch,grid,river,river_mile,name,feature\n1,1,Ohio,0\n1,2,Ohio,6.2,\n", want: two},
		{name: "miles are rounded to their key", text: "branch,grid,river,river_mile\n1,1,Ohio,0.00004\n1,2,Ohio,62.00004e-1\n", want: two},
		{name: "H19 rows out of order", text: "branch,grid,river,river_mile\n2,1,Ohio,5\n1,2,Ohio,4\n1,1,Ohio,3\n",
			want: []Place{{Branch: 1, Grid: 1, River: "Ohio", Mile: 3, Line: 4}, {Branch: 1, Grid: 2, River: "Ohio", Mile: 4, Line: 3},
				{Branch: 2, Grid: 1, River: "Ohio", Mile: 5, Line: 2}},
			warnings: []string{"R.csv line 3: the row is out of the order of branch and grid; the rows were sorted"}},
		{name: "foreign feature", text: "branch,grid,river,river_mile,feature\n1,1,Ohio,0,Intakes\n1,2,Ohio,6.2,\n", want: two,
			warnings: []string{`R.csv line 2: feature "Intakes" is none of intake, gauge, dam, confluence, landmark and is left out`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, warnings, err := ParseIndex(strings.NewReader(tt.text), "R.csv")
			if err != nil {
				t.Fatal(err)
			}
			if got := bare(x.Places); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			wantWarnings(t, warnings, tt.warnings...)
		})
	}
}

func TestParseIndexFaults(t *testing.T) {
	const head = "branch,grid,river,river_mile\n"
	const optional = "branch,grid,river,river_mile,latitude,longitude,name\n"
	const quotes = `; put the whole text in quotes and double the quotes inside: "6"" pipe"`
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"R.csv: is empty; the first line names the columns: branch,grid,river,river_mile"}},
		{"only blank lines", "\xef\xbb\xbf\n , ,\n\n", []string{"R.csv: is empty; the first line names the columns: branch,grid,river,river_mile"}},
		{"header only", head, []string{"R.csv: has no places"}},
		{"columns missing", "\nbranch;grid;river;river_mile\n", []string{
			"R.csv line 2 branch: the column is missing; the first line names the columns, separated by commas",
			"R.csv line 2 grid: the column is missing; the first line names the columns, separated by commas",
			"R.csv line 2 river: the column is missing; the first line names the columns, separated by commas",
			"R.csv line 2 river_mile: the column is missing; the first line names the columns, separated by commas"}},
		{"column twice", "branch,grid,river,river_mile,Grid\n", []string{`R.csv line 1 column 30: a column is named twice (found "Grid")`}},
		{"branch and grid", head + "0,1,Ohio,0\n1000,1.0,Ohio,0\n+1,0x1,Ohio,0\nx,,Ohio,0\n", []string{
			`R.csv line 2 column 1 branch: must be an integer from 1 to 999 (found "0")`,
			`R.csv line 3 column 1 branch: must be an integer from 1 to 999 (found "1000")`,
			`R.csv line 3 column 6 grid: must be an integer from 1 to 99999 (found "1.0")`,
			`R.csv line 4 column 1 branch: must be an integer from 1 to 999 (found "+1")`,
			`R.csv line 4 column 4 grid: must be an integer from 1 to 99999 (found "0x1")`,
			`R.csv line 5 column 1 branch: must be an integer from 1 to 999 (found "x")`,
			`R.csv line 5 column 3 grid: is blank; it must be an integer from 1 to 99999`}},
		{"H19 blank miles", head + "1,1,Ohio,\n1,2,Ohio,   \n1,3,Ohio\n", []string{
			"R.csv line 2 column 10 river_mile: is blank; it must be a number from 0 to 9999.9999",
			"R.csv line 3 column 13 river_mile: is blank; it must be a number from 0 to 9999.9999",
			"R.csv line 4 column 9 river_mile: is blank; it must be a number from 0 to 9999.9999"}},
		{"miles", head + "1,1,Ohio,NaN\n1,2,Ohio,Inf\n1,3,Ohio,-0.1\n1,4,Ohio,10000\n1,5,Ohio,1e999\n1,6,Ohio,0x1p3\n1,7,Ohio,1_0\n1,8,Ohio,\"1,5\"\n1,9,Ohio,9999.99995\n", []string{
			`R.csv line 2 column 10 river_mile: must be a number from 0 to 9999.9999 (found "NaN")`,
			`R.csv line 3 column 10 river_mile: must be a number from 0 to 9999.9999 (found "Inf")`,
			`R.csv line 4 column 10 river_mile: must be a number from 0 to 9999.9999 (found "-0.1")`,
			`R.csv line 5 column 10 river_mile: must be a number from 0 to 9999.9999 (found "10000")`,
			`R.csv line 6 column 10 river_mile: must be a number from 0 to 9999.9999 (found "1e999")`,
			`R.csv line 7 column 10 river_mile: must be a number from 0 to 9999.9999 (found "0x1p3")`,
			`R.csv line 8 column 10 river_mile: must be a number from 0 to 9999.9999 (found "1_0")`,
			`R.csv line 9 column 10 river_mile: must be a number from 0 to 9999.9999 (found "1,5")`,
			`R.csv line 10 column 10 river_mile: must be a number from 0 to 9999.9999 (found "9999.99995")`}},
		{"rivers", head + "1,1,,0\n1,2,Öhio,1\n1,3,a|b,2\n1,4,a/b,3\n1,5," + strings.Repeat("a", 65) + ",3\n", []string{
			"R.csv line 2 column 5 river: is blank; it must have 1 to 64 characters",
			`R.csv line 3 column 5 river: may hold only letters A-Z and a-z, digits, space, dot, underscore and hyphen: it becomes a key (found "Öhio")`,
			`R.csv line 4 column 5 river: may hold only letters A-Z and a-z, digits, space, dot, underscore and hyphen: it becomes a key (found "a|b")`,
			`R.csv line 5 column 5 river: may hold only letters A-Z and a-z, digits, space, dot, underscore and hyphen: it becomes a key (found "a/b")`,
			`R.csv line 6 column 5 river: must have 1 to 64 characters (found "` + strings.Repeat("a", 40) + `…")`}},
		{"river in other case", head + "1,1,Ohio,0\n1,2,OHIO,1\n", []string{`R.csv line 3 column 5 river: differs from the river of line 2 in case only (found "OHIO")`}},
		{"positions", optional + "1,1,Ohio,0,40.4,,\n1,2,Ohio,1,,-80,\n1,3,Ohio,2,91,-181,\n1,4,Ohio,2,NaN,x,\n", []string{
			"R.csv line 2 column 17 longitude: is blank where latitude is given",
			"R.csv line 3 column 12 latitude: is blank where longitude is given",
			`R.csv line 4 column 12 latitude: must be a number from -90 to 90 (found "91")`,
			`R.csv line 4 column 15 longitude: must be a number from -180 to 180 (found "-181")`,
			`R.csv line 5 column 12 latitude: must be a number from -90 to 90 (found "NaN")`,
			`R.csv line 5 column 16 longitude: must be a number from -180 to 180 (found "x")`}},
		{"half of the columns of a position", "branch,grid,river,river_mile,longitude\n1,1,Ohio,0,-80\n", []string{
			"R.csv line 2 latitude: is blank where longitude is given"}},
		{"names", optional + "1,1,Ohio,0,,,a\x07b\n1,2,Ohio,1,,," + strings.Repeat("é", 201) + "\n1,3,Ohio,2,,,\"two\nlines\"\n1,4,x|y,3,,,\n", []string{
			`R.csv line 2 column 14 name: holds a control character (found "a\ab")`,
			`R.csv line 3 column 14 name: has more than 200 characters (found "` + strings.Repeat("é", 20) + `…")`,
			`R.csv line 4 column 14 name: holds a control character (found "two\nlines")`,
			`R.csv line 6 column 5 river: may hold only letters A-Z and a-z, digits, space, dot, underscore and hyphen: it becomes a key (found "x|y")`}},
		{"comma in a name without quotes", "branch,grid,river,river_mile,name\n1,1,Ohio,0,Pittsburgh, PA\n", []string{
			`R.csv line 2 column 24: the row has more than the 5 columns of the header (found "PA"); put a text with commas in quotes`}},
		{"columns count characters", "name,branch,grid,river,river_mile\nÖtztal 中😀,1,1,Ohio,x\n", []string{
			`R.csv line 2 column 20 river_mile: must be a number from 0 to 9999.9999 (found "x")`}},
		{"not UTF-8", head + "1,1,Ohio,0\n1,2,Oh\xefo,1\n", []string{"R.csv line 3 column 7: is not UTF-8; save the file as UTF-8"}},
		{"UTF-16", "\xff\xfeb\x00r\x00", []string{"R.csv line 1 column 1: is not UTF-8; save the file as UTF-8"}},
		{"quote inside", head + "1,1,Oh\"io,0\n", []string{"R.csv line 2 column 7: a quote stands where none may" + quotes}},
		{"text behind a quote", head + "1,1,\"Oh\"io,0\n", []string{"R.csv line 2 column 8: a quote stands where none may" + quotes}},
		{"quote without end", head + "1,1,\"Ohio,0\n1,2,Ohio,1\n", []string{"R.csv line 2: a quoted text does not end on its line"}},
		{"faults end at twenty", head + strings.Repeat("1,1,Ohio,x\n", 30), slices.Collect(func(yield func(string) bool) {
			for line := 2; line <= 21; line++ {
				if !yield("R.csv line " + strconv.Itoa(line) + ` column 10 river_mile: must be a number from 0 to 9999.9999 (found "x")`) {
					return
				}
			}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, _, err := ParseIndex(strings.NewReader(tt.text), "R.csv")
			if x != nil || err == nil {
				t.Fatalf("accepted: %+v", x)
			}
			wantFaults(t, err, tt.want...)
		})
	}
}

type brokenReader struct{ error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.error }

func TestParseIndexReadError(t *testing.T) {
	broken := errors.New("cable cut")
	if _, _, err := ParseIndex(brokenReader{broken}, "R.csv"); !errors.Is(err, broken) || reason.Faults(err) != nil {
		t.Errorf("got %v: an error of the reader is no fault of the file", err)
	}
}

func TestTooManyRows(t *testing.T) {
	table, err := openTable(strings.NewReader("a\n"+strings.Repeat("1\n", maxRows+1)), "R.csv", "a")
	if err != nil {
		t.Fatal(err)
	}
	for table.next() {
	}
	if table.rows != maxRows+1 {
		t.Errorf("stopped at row %d", table.rows)
	}
	wantFaults(t, table.faults.Err(), "R.csv line 1000002: has more than 1000000 rows")
}

func TestTooManyBytes(t *testing.T) {
	_, err := openTable(io.LimitReader(zeros{}, maxBytes+1), "R.csv", "a")
	wantFaults(t, err, "R.csv: has more than 64 MiB")
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// ohio turns a file of testdata, which has no branches, into an index on one
// branch and the network for it.
func ohio(t *testing.T, file string) (*Index, *Network) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "ohio", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	branch := Branch{Share: 1, Up: 1, Down: 2}
	for i, row := range rows {
		added := []string{"1", strconv.Itoa(i)}
		if i == 0 {
			added = []string{"branch", "grid"}
			for j, name := range row {
				row[j] = strings.NewReplacer("lat", "latitude", "lon", "longitude").Replace(name)
			}
		} else {
			branch.Grids = append(branch.Grids, Grid{Distance: float64(i)})
		}
		if err := w.Write(append(added, row...)); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	x, warnings, err := ParseIndex(strings.NewReader(text.String()), file)
	if err != nil || warnings != nil {
		t.Fatal(warnings, err)
	}
	return x, &Network{Branches: []Branch{branch}}
}

func TestOhioGaps(t *testing.T) {
	x, n := ohio(t, "gauges_with_errors.csv")
	if len(x.Places) != 33 {
		t.Fatalf("%d places", len(x.Places))
	}
	warnings, err := x.Bind(n)
	if err != nil {
		t.Fatal(err)
	}
	const file = "gauges_with_errors.csv"
	wantWarnings(t, warnings, // H19
		file+" line 3: miles 0 and 6 are 9.66 km apart along the river but 19.86 km in a straight line (other position in line 2)",
		file+" line 11: miles 192 and 204 are 19.31 km apart along the river but 24.53 km in a straight line (other position in line 10)",
		file+" line 12: miles 204 and 237 are 53.11 km apart along the river but 60.79 km in a straight line (other position in line 11)",
		file+" line 15: miles 302 and 314 are 19.31 km apart along the river but 21.94 km in a straight line (other position in line 14)",
		file+" line 22: miles 531 and 584 are 85.30 km apart along the river but 93.18 km in a straight line (other position in line 21)",
		file+" line 28: miles 813 and 823 are 16.09 km apart along the river but 26.44 km in a straight line (other position in line 27)",
		file+" line 32: miles 918 and 919 are 1.61 km apart along the river but 23.62 km in a straight line (other position in line 31)",
	)
	if got := x.Downstream("Ohio"); got != 1 {
		t.Errorf("miles run %+d downstream", got)
	}

	x, n = ohio(t, "locks.csv")
	warnings, err = x.Bind(n)
	if err != nil {
		t.Fatal(err)
	}
	wantWarnings(t, warnings)
}
