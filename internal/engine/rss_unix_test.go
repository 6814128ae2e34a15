//go:build unix

package engine

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// maxRSS is the largest resident set of a process that has ended, in bytes.
func maxRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "linux" {
		return int64(usage.Maxrss) << 10
	}
	return int64(usage.Maxrss)
}

// BenchmarkStart measures what an engine step costs beside the engine itself:
// folder looked at, supervisor, watch, log files. It fails above 10 ms.
func BenchmarkStart(b *testing.B) {
	program, err := exec.LookPath("true")
	if err != nil {
		b.Fatal(err)
	}
	r, _ := runner(b, oneStep(program, nil))
	r.Set.MaxBytes = 1 << 30
	dir := b.TempDir()
	var bare, step []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := exec.Command(program).Run(); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		if err := r.Run(context.Background(), dir); err != nil {
			b.Fatal(err)
		}
		bare, step = append(bare, between.Sub(began)), append(step, time.Since(between))
	}
	// What else the machine does is in the slow ones.
	quartile := func(all []time.Duration) float64 {
		slices.Sort(all)
		return all[len(all)/4].Seconds() * 1000
	}
	b.ReportMetric(quartile(bare), "ms-bare")
	b.ReportMetric(quartile(step), "ms-step")
	if over := quartile(step) - quartile(bare); len(step) > 20 && over > 10 {
		b.Errorf("starting an engine costs %.1f ms more than the engine", over)
	}
}
