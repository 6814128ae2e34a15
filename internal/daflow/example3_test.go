package daflow_test

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"rsmsjob/internal/daflow"
)

func readExample3(t testing.TB) *daflow.Input {
	t.Helper()
	text, err := os.ReadFile("testdata/example3.FLOW.IN")
	if err != nil {
		t.Fatal(err)
	}
	in, err := daflow.ReadInput(bytes.NewReader(text), "FLOW.IN")
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestReadExample3(t *testing.T) {
	in := readExample3(t)
	if in.Network.Title != "Example 3" || in.Steps != 64 || in.StepHours != .25 || in.Peak != 1000 ||
		in.PrintEvery != 1 || in.StartStep != 0 || in.Network.Units != 1 || in.Network.InteriorJunctions != 1 ||
		in.SmallFlow() != .01 || len(in.Warnings) != 0 {
		t.Errorf("header: %+v", in)
	}
	b := in.Network.Branches
	if len(b) != 3 || len(b[2].Grids) != 33 || b[2].Share != 1 || b[2].Up != 1 || b[2].Down != 4 || b[2].Line != 40 {
		t.Errorf("branch 3: %+v", b[2])
	}
	if g := b[2].Grids[1]; g.Distance != .047 || g.A1 != 3.87 || g.A2 != .66 || g.Slope != 1.2e-3 || g.W1 != 26.6 || g.W2 != .26 || g.Print {
		t.Errorf("branch 3 grid 2: %+v", g)
	}
	if !b[0].Grids[11].Print || b[0].Grids[12].Distance != 1.41 {
		t.Errorf("branch 1 grids 12, 13: %+v", b[0].Grids[11:])
	}
	want := []daflow.Change{{Branch: 1, Grid: 1, Flow: 131.2, Line: 90}, {Branch: 2, Grid: 1, Flow: 131.2, Line: 91}}
	if got := in.Boundaries[6]; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("step 7: %+v, want %+v", got, want)
	}
}

// The original program peaks at 427.23 in step 16 at branch 1 grid 12, and at
// 817.87 in step 21 at branch 3 grid 33.
func TestExample3(t *testing.T) {
	in := readExample3(t)
	got, balance := run(t, in)
	for _, tt := range []struct {
		branch, grid, step int
		peak               float64
	}{{1, 12, 16, 427.23}, {2, 12, 16, 427.23}, {3, 33, 21, 817.87}} {
		best := daflow.Flow{}
		for k := range got {
			if f := got[k][tt.branch-1][tt.grid-1]; f.Q > best.Q {
				best = f
			}
		}
		t.Logf("branch %d grid %d: %.2f in step %d, original %.2f in step %d", tt.branch, tt.grid, best.Q, best.Step, tt.peak, tt.step)
		if best.Step != tt.step || math.Abs(best.Q/tt.peak-1) > .01 {
			t.Errorf("branch %d grid %d: %.2f in step %d, want %.2f in step %d", tt.branch, tt.grid, best.Q, best.Step, tt.peak, tt.step)
		}
	}
	if balance.Relative > 1e-12 || math.Abs(balance.In-9800958.6) > .01 || balance.Lateral != 0 || balance.Withdrawn != 0 {
		t.Errorf("balance %+v", balance)
	}
	if len(balance.Warnings) != 0 {
		t.Errorf("warnings %q", balance.Warnings)
	}
	off, deviation := checkWritten(t, in, got)
	t.Logf("what is written is off by %.2g, rounding to five digits explains %.2g", off, deviation)
	if off > 1e-6+3*deviation {
		t.Errorf("balance of what is written off by %g", off)
	}
}

// rounding returns by how much a number of five digits may be off.
func rounding(v float64) float64 {
	if v == 0 {
		return 0
	}
	return .5 * math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-4)
}

// checkWritten checks the volume balance of the flows as written, with five
// digits: that of each subreach and step to what rounding allows. It returns by
// how much all that is written together is off, as a part of what entered or was there, and
// the standard deviation that rounding gives it.
func checkWritten(t *testing.T, in *daflow.Input, got flows) (off, deviation float64) {
	t.Helper()
	dt := in.StepSeconds()
	unit := in.Network.Units.LengthPerDistance()
	entered, left, stored, initial, variance := 0.0, 0.0, 0.0, 0.0, 0.0
	count := func(total *float64, v, factor float64) {
		*total += v * factor
		off := rounding(v) * factor
		variance += off * off / 3
	}
	for b, branch := range in.Network.Branches {
		n := len(branch.Grids)
		for k := 1; k <= in.Steps; k++ {
			now, before := got[k][b], got[k-1][b]
			if !in.Network.Interior(branch.Up) {
				count(&entered, now[0].Q, dt)
			}
			if !in.Network.Interior(branch.Down) {
				count(&left, now[n-1].Q, dt)
			}
			for g := range n - 1 {
				length := (branch.Grids[g+1].Distance - branch.Grids[g].Distance) * unit
				lateral := now[g+1].Lateral
				if lateral > 0 {
					count(&entered, lateral, dt)
				} else {
					count(&left, -lateral, dt)
				}
				off := (now[g].Q+lateral-now[g+1].Q)*dt - (now[g].A-before[g].A)*length
				allowed := (rounding(now[g].Q)+rounding(lateral)+rounding(now[g+1].Q))*dt + (rounding(now[g].A)+rounding(before[g].A))*length
				if math.Abs(off) > allowed*(1+1e-6)+1e-9 {
					t.Fatalf("step %d branch %d grid %d: balance off by %g, rounding allows %g", k, b+1, g+1, off, allowed)
				}
				if k == in.Steps {
					count(&stored, now[g].A, length)
				}
				if k == 1 {
					count(&stored, before[g].A, -length)
					initial += before[g].A * length
				}
			}
		}
	}
	all := entered + initial
	return math.Abs(entered-left-stored) / all, math.Sqrt(variance) / all
}

func TestReport(t *testing.T) {
	in := readExample3(t)
	in.StartStep = 4
	in.PrintEvery = 8
	var report bytes.Buffer
	var steps []int
	if _, err := daflow.Run(in, daflow.Outputs{Report: &report, Progress: func(k int) { steps = append(steps, k) }}); err != nil {
		t.Fatal(err)
	}
	golden(t, "example3.FLOW.OUT", report.Bytes())
	// The middle of step 8, four steps after midnight.
	if !strings.Contains(report.String(), "step      8, hour      2.875") {
		t.Error("the hour of step 8 is not 2.875")
	}
	if len(steps) != 64 || steps[0] != 1 || steps[63] != 64 {
		t.Errorf("progress %v", steps)
	}
}
