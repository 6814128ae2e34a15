package examples

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

var update = flag.Bool("update", false, "rewrite the shipped examples from the source data")

// The shipped files are what the builder makes of the source data.
func TestExamplesAreBuiltFromTheirSources(t *testing.T) {
	built := map[string][]byte{}
	add := func(m map[string][]byte) {
		for name, data := range m {
			built[name] = data
		}
	}
	add(buildAntietam(t))
	add(buildBighorn(t))
	if *update {
		if os.Getenv("CI") != "" {
			t.Fatal("-update is refused in CI")
		}
		if err := os.RemoveAll("store"); err != nil {
			t.Fatal(err)
		}
		for name, data := range built {
			path := filepath.Join("store", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	var shipped []string
	err := fs.WalkDir(os.DirFS("store"), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			shipped = append(shipped, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(shipped) != len(built) {
		t.Errorf("%d files shipped, %d built", len(shipped), len(built))
	}
	for _, name := range shipped {
		data, err := os.ReadFile(filepath.Join("store", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, built[name]) {
			t.Errorf("%s differs from what its sources make; run go test ./internal/examples -update", name)
		}
	}
}

// station is a point where the flow of a river is known, in km and m3/s; the
// flow between stations is linear.
type station struct{ km, q float64 }

func flowAt(stations []station, km float64) float64 {
	for i := 1; i < len(stations); i++ {
		a, b := stations[i-1], stations[i]
		if km <= b.km {
			if km <= a.km || a.km == b.km {
				return a.q
			}
			return a.q + (b.q-a.q)*(km-a.km)/(b.km-a.km)
		}
	}
	return stations[len(stations)-1].q
}

// layout is a river as a chain of branches, one per reach.
type layout struct {
	river, title string
	reaches      []hydraulics
	sites        map[string]float64 // name -> km
	gridKm       float64            // spacing of the grids
	lateralKm    float64            // spacing of the lateral inflows
	peak         float64            // FLOW.IN's peak discharge
}

type hydraulics struct {
	from, to                      float64 // km
	a0, a1, a2, slope, w1, w2, dq float64
}

// network lays the grids: equal subreaches of about gridKm, and one on every
// site. It returns the places of lateral inflow as well.
func (l *layout) network() (river.Network, []lateral) {
	net := river.Network{Title: l.title, Units: river.Metric, InteriorJunctions: len(l.reaches) - 1}
	var laterals []lateral
	since := 0.0
	for b, r := range l.reaches {
		branch := river.Branch{Share: 1, Up: b, Down: b + 1}
		if b == 0 {
			branch.Up = len(l.reaches)
		}
		if b == len(l.reaches)-1 {
			branch.Down = len(l.reaches) + 1
		}
		marks := []float64{r.from, r.to}
		for _, km := range l.sites {
			if km > r.from+0.001 && km < r.to-0.001 {
				marks = append(marks, km)
			}
		}
		slices.Sort(marks)
		var km []float64
		for i := 1; i < len(marks); i++ {
			n := math.Max(1, math.Round((marks[i]-marks[i-1])/l.gridKm))
			for k := range int(n) {
				km = append(km, marks[i-1]+(marks[i]-marks[i-1])*float64(k)/n)
			}
		}
		km = append(km, r.to)
		for g, x := range km {
			branch.Grids = append(branch.Grids, river.Grid{Distance: round(x, 4), A0: r.a0, A1: r.a1, A2: r.a2,
				Slope: r.slope, W1: r.w1, W2: r.w2})
			if g > 0 && g < len(km)-1 && x-since >= l.lateralKm-1e-9 {
				laterals = append(laterals, lateral{b + 1, g + 1, x})
				since = x
			}
		}
		end := &branch.Grids[len(branch.Grids)-1]
		*end = river.Grid{Distance: end.Distance}
		net.Branches = append(net.Branches, branch)
	}
	return net, laterals
}

type lateral struct {
	branch, grid int
	km           float64
}

// flows returns the head inflow and the lateral inflows that follow the
// stations: between two lateral points the river carries the flow at the
// middle between them.
func (l *layout) flows(laterals []lateral, stations []station) []daflow.Change {
	q := round(stations[0].q, 4)
	changes := []daflow.Change{{Branch: 1, Grid: 1, Flow: q}}
	end := l.reaches[len(l.reaches)-1].to
	for i, at := range laterals {
		next := end
		if i+1 < len(laterals) {
			next = laterals[i+1].km
		}
		want := round(flowAt(stations, (at.km+next)/2), 4)
		changes = append(changes, daflow.Change{Branch: at.branch, Grid: at.grid, Flow: round(want-q, 4)})
		q = want
	}
	return changes
}

// flowIn is FLOW.IN with steady flows.
func (l *layout) flowIn(t *testing.T, stations []station) []byte {
	net, laterals := l.network()
	changes := l.flows(laterals, stations)
	by := map[[2]int]float64{}
	for _, c := range changes {
		by[[2]int{c.Branch, c.Grid}] = c.Flow
	}
	q := 0.0
	for b := range net.Branches {
		grids := net.Branches[b].Grids
		for g := range grids[:len(grids)-1] {
			q = round(q+by[[2]int{b + 1, g + 1}], 4)
			grids[g].Flow = q
		}
	}
	in := &daflow.Input{Network: net, Steps: 1, PrintEvery: 1, StepHours: 0.25, Peak: l.peak, Boundaries: [][]daflow.Change{changes}}
	if err := in.Validate(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := daflow.WriteInput(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// nfq is NFQ.csv with the same flows every six hours.
func (l *layout) nfq(stations []station, start time.Time, hours int) []byte {
	_, laterals := l.network()
	var b bytes.Buffer
	b.WriteString("time,branch,grid,flow\n")
	for h := 0; h <= hours; h += 6 {
		for _, c := range l.flows(laterals, stations) {
			fmt.Fprintf(&b, "%s,%d,%d,%g\n", start.Add(time.Duration(h)*time.Hour).Format(time.RFC3339), c.Branch, c.Grid, c.Flow)
		}
	}
	return b.Bytes()
}

// index is RiverMileIndex.csv: every grid, miles counted from the injection.
func (l *layout) index() []byte {
	net, _ := l.network()
	var b bytes.Buffer
	b.WriteString("branch,grid,river,river_mile,name,feature\n")
	for n, branch := range net.Branches {
		for g, grid := range branch.Grids {
			name, feature := "", ""
			for site, km := range l.sites {
				// A junction is the last grid of one branch and the first of the
				// next: the site stands on the upper one.
				if math.Abs(grid.Distance-km) < 0.0006 && (g > 0 || n == 0) {
					name, feature = site, "intake"
				}
			}
			fmt.Fprintf(&b, "%d,%d,%s,%.4f,%s,%s\n", n+1, g+1, l.river, grid.Distance/river.KilometresPerMile, name, feature)
		}
	}
	return b.Bytes()
}

func round(x float64, digits int) float64 {
	p := math.Pow(10, float64(digits))
	return math.Round(x*p) / p
}

// significant rounds to five significant digits, as the source data has.
func significant(x float64) float64 {
	if x == 0 {
		return 0
	}
	return round(x, 4-int(math.Floor(math.Log10(math.Abs(x)))))
}

func document(t *testing.T, v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

func readJSON(t *testing.T, name string, v any) {
	data, err := os.ReadFile(filepath.Join("testdata", "source", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// observedHeader is the first line of observed.csv.
const observedHeader = "scenario,name,lead10_h,peak_h,peak_mg_l,trail10_h\n"

func readText(t *testing.T, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimLeft(string(data), "\n"))
}
