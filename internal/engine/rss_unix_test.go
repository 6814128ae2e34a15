//go:build unix

package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
// folder looked at, supervisor, watch, log files. The supervisor is the program
// as it is shipped; a test binary is smaller. It fails above 10 ms.
func BenchmarkStart(b *testing.B) {
	program, err := exec.LookPath("true")
	if err != nil {
		b.Fatal(err)
	}
	r, _ := runner(b, oneStep(program, nil))
	r.Set.MaxBytes = 1 << 30
	r.Supervisor = []string{shipped(b), "supervise"}
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
	// The best ones have the least of what else the machine does.
	bareBest, stepBest := slices.Min(bare).Seconds()*1000, slices.Min(step).Seconds()*1000
	b.ReportMetric(bareBest, "ms-bare")
	b.ReportMetric(stepBest, "ms-step")
	b.ReportMetric(stepBest-bareBest, "ms-over")
	b.ReportMetric(stepBest/bareBest, "x-bare")
	if over := stepBest - bareBest; len(step) > 20 && over > 10 {
		b.Errorf("starting an engine costs %.1f ms more than the engine", over)
	}
}

// shipped is the program, built as make build does.
func shipped(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "rsms-job")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "../../job")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return path
}
