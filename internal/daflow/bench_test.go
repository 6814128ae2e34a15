package daflow_test

import (
	"fmt"
	"io"
	"math"
	"testing"

	"rsmsjob/internal/daflow"
)

// busy is n grids with an inflow that is new at every step, so that there are
// as many shocks as the river holds.
func busy(n, steps int, unsteady bool) *daflow.Input {
	in := single(steps, reachOf(1, 2, n, .2, 300, channel))
	for g := range in.Network.Branches[0].Grids[:n-1] {
		if unsteady { // full of waves from the start, as many to a mile as come in later
			in.Network.Branches[0].Grids[g].Flow += 100 * math.Sin(math.Floor(float64(g)/2.6)/5)
		}
	}
	for k := 1; unsteady && k <= steps; k++ {
		at(in, k, 1, 1, 300+100*math.Sin(float64(k)/5))
	}
	if !unsteady {
		at(in, 1, 1, 1, 300)
	}
	return in
}

// BenchmarkRun gives the time per grid and step, files included.
func BenchmarkRun(b *testing.B) {
	for _, unsteady := range []bool{true, false} {
		for _, n := range []int{100, 1000, 10000} {
			name := "steady"
			if unsteady {
				name = "unsteady"
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				in := busy(n, 400, unsteady)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := daflow.Run(in, daflow.Outputs{Flow: io.Discard}); err != nil {
						b.Fatal(err)
					}
				}
				cells := float64(b.N) * float64(n) * float64(in.Steps)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/cells, "ns/cell")
			})
		}
	}
}
