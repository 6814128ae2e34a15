package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

// layout is a uniform river to write into a store as basin "channel".
type layout struct {
	branches, grids      int
	subreachKm           float64
	firstMile, mileSense float64 // miles per subreach
}

func writeRiver(tb testing.TB, dir string, r layout) {
	tb.Helper()
	in := &daflow.Input{Steps: 1, PrintEvery: 1, StepHours: 0.25, Peak: 40, Boundaries: [][]daflow.Change{{{Branch: 1, Grid: 1, Flow: 20}}}}
	net := &in.Network
	net.Title, net.Units, net.InteriorJunctions = "uniform channel", river.Metric, r.branches-1
	var index strings.Builder
	index.WriteString("branch,grid,river,river_mile,name,feature\n")
	mile := r.firstMile
	for b := range r.branches {
		branch := river.Branch{Share: 1, Up: b, Down: b + 1}
		if b == 0 {
			branch.Up = r.branches
		}
		if b == r.branches-1 {
			branch.Down = r.branches + 1
		}
		for g := range r.grids {
			branch.Grids = append(branch.Grids, river.Grid{Distance: float64(g) * r.subreachKm, Flow: 20, A1: 5.54, A2: 0.66,
				Slope: 0.0005, W1: 12, W2: 0.26})
			if g > 0 {
				mile += r.mileSense
			}
			name := ","
			if b == r.branches-1 && g == r.grids/2 {
				name = "Middle,intake"
			}
			fmt.Fprintf(&index, "%d,%d,Test River,%s,%s\n", b+1, g+1, strconv.FormatFloat(mile, 'f', 4, 64), name)
		}
		branch.Grids[r.grids-1] = river.Grid{Distance: branch.Grids[r.grids-1].Distance}
		net.Branches = append(net.Branches, branch)
	}
	var flow bytes.Buffer
	if err := daflow.WriteInput(&flow, in); err != nil {
		tb.Fatal(err)
	}
	put(tb, dir, "riverbasin/channel/FLOW.IN", flow.String())
	put(tb, dir, "riverbasin/channel/RiverMileIndex.csv", index.String())
	put(tb, dir, "riverbasin/channel/basin.json", `{"name":"channel","dispersion":{"dqq":0.25}}`)
}

// benchScenario is 500 steps of 15 minutes.
const benchScenario = `{"SpillMile":1,"SpillTime":"2026-01-02T03:00:00Z","SpillMassKg":5000,"SimulationHours":125}`

// BenchmarkPipeline runs the whole job with the engines as child processes,
// 500 steps, on networks of 100, 1,000 and 10,000 grids. ns/cell is wall time
// per grid and step, job-MB the peak memory of this process.
func BenchmarkPipeline(b *testing.B) {
	for _, branches := range []int{1, 10, 100} {
		grids := 100 * branches
		b.Run(fmt.Sprint(grids), func(b *testing.B) {
			dir := b.TempDir()
			writeRiver(b, dir, layout{branches: branches, grids: 100, subreachKm: 0.5, mileSense: 0.3})
			put(b, dir, "tables/Scenarios/channel/s1.json", benchScenario)
			j := jobOn(b, dir)
			rows := 0
			for b.Loop() {
				rows = mustRun(b, j, messageOf("channel", "s1", true)).Marker.Rows.ByTime
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(grids*500), "ns/cell")
			b.ReportMetric(float64(rows), "rows")
			b.ReportMetric(peakMB(), "job-MB")
		})
	}
}

// peakMB is the memory that this process has taken from the system, which
// never shrinks.
func peakMB() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys) / (1 << 20)
}

// TestWriteBenchRiver writes the engine inputs of the largest benchmark into a
// folder for scripts/bench.sh; without one it checks that they can be written.
func TestWriteBenchRiver(t *testing.T) {
	dir, branches := os.Getenv("RSMS_BENCH_DIR"), 100
	if dir == "" {
		dir, branches = t.TempDir(), 2
	}
	writeRiver(t, dir, layout{branches: branches, grids: 100, subreachKm: 0.5, mileSense: 0.3})
	put(t, dir, "tables/Scenarios/channel/s1.json", benchScenario)
	j := jobOn(t, dir)
	set, err := j.Engines()
	if err != nil {
		t.Fatal(err)
	}
	in, err := j.load(context.Background(), messageOf("channel", "s1", true), set)
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := j.plan(in)
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := plan.WriteInputs(run); err != nil {
		t.Fatal(err)
	}
}
