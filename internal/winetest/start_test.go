//go:build wine && linux

package winetest

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// How long a program that does nothing takes under Wine: where Wine has to
// start first, and where it runs already.
func TestStart(t *testing.T) {
	temporary := t.TempDir() // where the server of Wine is looked for
	var took []time.Duration
	for range 6 {
		cmd := exec.Command("wine", built("engine.exe"), "read")
		cmd.Env = environment("TMPDIR=" + temporary)
		began := time.Now()
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != 6 {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	later := slices.Sorted(slices.Values(took[1:]))
	t.Logf("start under Wine: the first %.2f s, later ones %.3f s (median of %d)", took[0].Seconds(), later[2].Seconds(), len(later))
}
