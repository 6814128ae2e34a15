package daflow_test

import (
	"math"
	"testing"
)

// The flow enters as a step; its mean over each step at each grid must follow
// the linear diffusive wave (Carslaw & Jaeger; celerity and dispersion at the
// mean flow).
func TestStepFollowsLinearDiffusiveWave(t *testing.T) {
	const c, d, dt, enters = 1.94546, 874.927, 900.0, 5
	in := single(100, reachOf(1, 2, 41, .5, 100, channel))
	at(in, 1, 1, 1, 100)
	at(in, enters, 1, 1, 110)
	got, balance := run(t, in)
	worst := 0.0
	for k := 1; k <= in.Steps; k++ {
		for g := 1; g < 41; g++ {
			x := float64(g) * 2640
			want := 0.0
			const parts = 20
			for i := range parts {
				time := (float64(k-enters) + (float64(i)+.5)/parts) * dt
				if time > 0 {
					root := 2 * math.Sqrt(d*time)
					want += (.5*math.Erfc((x-c*time)/root) + .5*math.Exp(c*x/d)*math.Erfc((x+c*time)/root)) / parts
				}
			}
			if math.IsNaN(want) {
				t.Fatalf("step %d grid %d: the solution is no number", k, g+1)
			}
			have := (got[k][0][g].Q - 100) / 10
			if e := math.Abs(have - want); e > worst {
				worst = e
			}
		}
	}
	t.Logf("largest difference %.4f of the step", worst)
	if worst > .05 {
		t.Errorf("differs by %.3f of the step, want at most 0.05", worst)
	}
	if balance.Relative > 1e-12 {
		t.Errorf("balance %+v", balance)
	}
}
