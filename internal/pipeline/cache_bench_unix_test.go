//go:build unix

package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkStepCache runs a job of 500 steps without a cache, with an empty one, with
// one that has the flows (another mass in the same river) and with one that has every
// step, in turns. Each is given as its part of the first, by the clock and by the time
// of the processors of all processes.
func BenchmarkStepCache(b *testing.B) {
	for _, branches := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(100*branches), func(b *testing.B) {
			dir := b.TempDir()
			writeRiver(b, dir, layout{branches: branches, grids: 100, subreachKm: 0.5, mileSense: 0.3})
			put(b, dir, "tables/Scenarios/channel/s1.json", benchScenario)
			put(b, dir, "tables/Scenarios/channel/s2.json", strings.Replace(benchScenario, "5000", "7000", 1))
			without := jobOn(b, dir)
			with, _ := cached(b, dir)
			wall, work := map[string]time.Duration{}, map[string]time.Duration{}
			measure := func(name string, j *Job, scenario string, left ...string) {
				for _, name := range append(left, "rsms-results") {
					if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
						b.Fatal(err)
					}
				}
				began, before := time.Now(), processors(b)
				mustRun(b, j, messageOf("channel", scenario, false))
				wall[name] += time.Since(began)
				work[name] += processors(b) - before
			}
			for b.Loop() {
				measure("without", without, "s1")
				measure("miss", with, "s1", "cache")
				measure("what-if", with, "s2")
				measure("hit", with, "s1")
			}
			b.ReportMetric(wall["without"].Seconds()/float64(b.N), "s-without")
			for _, name := range []string{"miss", "what-if", "hit"} {
				b.ReportMetric(wall[name].Seconds()/wall["without"].Seconds(), name)
				b.ReportMetric(work[name].Seconds()/work["without"].Seconds(), name+"-cpu")
			}
		})
	}
}

// processors is the time of processors that this process and its children have had.
func processors(b *testing.B) time.Duration {
	b.Helper()
	var total time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return total
}
