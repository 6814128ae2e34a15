package daflow_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"rsmsjob/internal/daflow"
	"rsmsjob/internal/river"
)

// Whatever the network: water is neither made nor lost, in full precision and
// as written; flows and areas are never negative; a withdrawal takes no more
// than is asked and there.
func TestWaterBalanceOfRandomNetworks(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for i := range 150 {
		in := randomInput(random)
		got, balance := run(t, in)
		if balance.Relative > 1e-11 || math.IsNaN(balance.Stored) {
			t.Fatalf("network %d: balance %+v", i, balance)
		}
		// Five digits are good to 5e-5; the same flow is off the same way at each step.
		if off, _ := checkWritten(t, in, got); off > 5e-5 {
			t.Errorf("network %d: balance of what is written off by %g", i, off)
		}
		asked := map[[2]int]float64{}
		for k := 1; k <= in.Steps; k++ {
			for _, c := range in.Boundaries[k-1] {
				asked[[2]int{c.Branch, c.Grid}] = c.Flow
			}
			for b := range got[k] {
				for _, f := range got[k][b] {
					want := asked[[2]int{f.Branch, f.Grid}]
					if f.Grid == 1 {
						if !in.Network.Interior(in.Network.Branches[b].Up) && math.Abs(f.Q-want) > 1e-4*want && len(asked) > 0 {
							if _, given := asked[[2]int{f.Branch, 1}]; given {
								t.Fatalf("network %d step %d: inflow %v, want %v", i, k, f.Q, want)
							}
						}
						continue
					}
					// A volume carried over may add up to QI in a step.
					slack := 3*in.SmallFlow() + 1e-4*math.Abs(want)
					if f.Lateral > max(want, 0)+slack {
						t.Fatalf("network %d step %d: lateral %+v, want at most %v", i, k, f, want)
					}
				}
			}
		}
	}
}

// The numbering of the branches does not matter.
func TestNumberingDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for range 40 {
		in := randomInput(random)
		n := len(in.Network.Branches)
		order := random.Perm(n) // new number of each branch
		other := *in
		other.Network.Branches = make([]river.Branch, n)
		for i, b := range in.Network.Branches {
			other.Network.Branches[order[i]] = b
		}
		other.Boundaries = make([][]daflow.Change, in.Steps)
		for k, changes := range in.Boundaries {
			for _, c := range changes {
				at(&other, k+1, order[c.Branch-1]+1, c.Grid, c.Flow)
			}
		}
		got, _ := run(t, in)
		want, _ := run(t, &other)
		for k := range got {
			for i := range got[k] {
				for g, f := range got[k][i] {
					h := want[k][order[i]][g]
					h.Branch = f.Branch
					if f != h {
						t.Fatalf("step %d branch %d grid %d: %+v, numbered otherwise %+v", k, i+1, g+1, f, h)
					}
				}
			}
		}
	}
}

// English and metric units give the same river.
func TestUnitsGiveTheSameRiver(t *testing.T) {
	in := readExample3(t)
	metric := *in
	metric.Network.Units = river.Metric
	const foot, cubic = .3048, river.CubicMetresPerCubicFoot
	metric.Peak *= cubic
	metric.Network.Branches = nil
	for _, b := range in.Network.Branches {
		grids := b.Grids
		b.Grids = nil
		for _, g := range grids {
			g.Distance *= river.KilometresPerMile
			g.A1 *= foot * foot / math.Pow(cubic, g.A2)
			g.A0 *= foot * foot
			g.W1 *= foot / math.Pow(cubic, g.W2)
			b.Grids = append(b.Grids, g)
		}
		metric.Network.Branches = append(metric.Network.Branches, b)
	}
	metric.Boundaries = make([][]daflow.Change, in.Steps)
	for k, changes := range in.Boundaries {
		for _, c := range changes {
			at(&metric, k+1, c.Branch, c.Grid, c.Flow*cubic)
		}
	}
	got, _ := run(t, &metric)
	want, _ := run(t, in)
	for k := range got {
		for b := range got[k] {
			for g, f := range got[k][b] {
				h := want[k][b][g]
				if math.Abs(f.Q-h.Q*cubic) > 2e-4*f.Q+1e-4 || math.Abs(f.A-h.A*foot*foot) > 2e-4*f.A+1e-4 {
					t.Fatalf("step %d branch %d grid %d: %+v, in English units %+v", k, b+1, g+1, f, h)
				}
			}
		}
	}
}

// A river with tributaries that is steady stays steady: the laterals of step 1
// are those that the initial flows show.
func TestSteadyStaysSteady(t *testing.T) {
	b := reachOf(1, 2, 30, .5, 100, channel)
	for g := range b.Grids[:29] {
		if g >= 10 {
			b.Grids[g].Flow += 10.1
		}
		if g >= 20 {
			b.Grids[g].Flow -= 30.3
			b.Grids[g].A2, b.Grids[g].A0 = .7, 12
		}
	}
	in := single(200, b)
	at(in, 1, 1, 1, 100)
	at(in, 1, 1, 11, 10.1)
	at(in, 1, 1, 21, -30.3)
	got, balance := run(t, in)
	for k := 1; k <= in.Steps; k++ {
		for g, f := range got[k][0] {
			first := got[1][0][g]
			first.Step = k
			if f != first {
				t.Fatalf("step %d grid %d: %+v, in step 1 %+v", k, g+1, f, first)
			}
			if start := got[0][0][g]; start.Q != f.Q || start.A != f.A {
				t.Fatalf("step %d grid %d: %+v, at the start %+v", k, g+1, f, start)
			}
		}
	}
	if math.Abs(balance.Stored-balance.Stored0) > 1e-6 || math.Abs(balance.Withdrawn-200*900*30.3) > 1e-3 {
		t.Errorf("balance %+v", balance)
	}
}

// A withdrawal beyond the flow dries the river below and takes what there is.
func TestWithdrawalBeyondTheFlow(t *testing.T) {
	in := single(100, reachOf(1, 2, 11, .5, 20, channel))
	at(in, 1, 1, 1, 20)
	at(in, 1, 1, 6, -50)
	got, balance := run(t, in)
	last := got[100][0]
	if last[5].Q != 0 || last[10].Q > .1 || last[4].Q != 20 || math.Abs(last[5].Lateral+20) > 1e-3 {
		t.Errorf("at the end %+v", last)
	}
	if math.Abs(balance.Withdrawn/(100*900*20)-1) > 1e-6 || balance.Relative > 1e-12 {
		t.Errorf("balance %+v", balance)
	}
}

// A river that is divided into branches carries a wave as one that is not.
func TestDividedRiver(t *testing.T) {
	whole := single(60, reachOf(1, 2, 41, .25, 50, channel))
	parts := single(60, reachOf(2, 1, 21, .25, 50, channel))
	parts.Network.InteriorJunctions = 1
	parts.Network.Branches = append(parts.Network.Branches, reachOf(1, 3, 21, .25, 50, channel))
	for _, in := range []*daflow.Input{whole, parts} {
		for k := 1; k <= in.Steps; k++ {
			at(in, k, 1, 1, 50+300*math.Exp(-math.Pow(float64(k-15)/4, 2)))
		}
	}
	a, _ := run(t, whole)
	b, _ := run(t, parts)
	worst := 0.0
	for k := range a {
		worst = max(worst, math.Abs(a[k][0][40].Q-b[k][1][20].Q))
	}
	t.Logf("largest difference at the end %.2f of 350", worst)
	if worst > 5 {
		t.Errorf("differs by %.2f at the end, want at most 5", worst)
	}
}

// Two runs write the same bytes.
func TestRunIsDeterministic(t *testing.T) {
	in := randomInput(rand.New(rand.NewPCG(9, 9)))
	var one, two bytes.Buffer
	if _, err := daflow.Run(in, daflow.Outputs{Flow: &one, Report: &two}); err != nil {
		t.Fatal(err)
	}
	var three, four bytes.Buffer
	if _, err := daflow.Run(in, daflow.Outputs{Flow: &three, Report: &four}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), three.Bytes()) || !bytes.Equal(two.Bytes(), four.Bytes()) {
		t.Error("two runs differ")
	}
}

func TestWarnings(t *testing.T) {
	in := single(10, reachOf(1, 2, 11, .5, 20, channel))
	in.Peak, in.StepHours = 100, 1./60
	at(in, 1, 1, 1, 20)
	at(in, 2, 1, 1, 150)
	at(in, 3, 1, 1, 180)
	_, balance := run(t, in)
	want := []string{"step 2 branch 1 flow 150 is above the peak discharge 100 that sets the accuracy",
		"step 2 branch 1 a wave spreads further in a step than it moves; a longer time step is more accurate"}
	if len(balance.Warnings) != 2 || balance.Warnings[0] != want[0] || balance.Warnings[1] != want[1] {
		t.Errorf("warnings %q, want %q", balance.Warnings, want)
	}
}
