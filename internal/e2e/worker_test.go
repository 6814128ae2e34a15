//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// worker is one process of the program.
type worker struct {
	world          *world
	cmd            *exec.Cmd
	ended          chan struct{} // closed when it is over; then the rest may be read
	stdout, stderr bytes.Buffer
}

// start starts the program without arguments, which takes one message. It is
// killed at the end of the test if it still runs.
func (w *world) start(settings ...string) *worker {
	w.Helper()
	return w.startWith(nil, settings...)
}

func (w *world) startWith(args []string, settings ...string) *worker {
	w.Helper()
	k := &worker{world: w, cmd: exec.Command(os.Getenv(binaryVariable), args...), ended: make(chan struct{})}
	k.cmd.Env = append(append([]string{}, w.settings...), settings...)
	k.cmd.Dir = w.work
	k.cmd.Stdout, k.cmd.Stderr = &k.stdout, &k.stderr
	check(w, k.cmd.Start())
	go func() {
		defer close(k.ended)
		k.cmd.Wait() // how it ended is in ProcessState
	}()
	w.Cleanup(func() {
		k.cmd.Process.Kill()
		<-k.ended
		if w.Failed() {
			w.Logf("worker, exit code %d:\n%s%s", k.cmd.ProcessState.ExitCode(), k.stdout.Bytes(), k.stderr.Bytes())
		}
	})
	return k
}

// run runs the program to its end.
func (w *world) run(settings ...string) *worker {
	w.Helper()
	k := w.start(settings...)
	k.wait()
	return k
}

// wait waits for the end of the process and returns its exit code, -1 where a
// signal ended it.
func (k *worker) wait() int {
	k.world.Helper()
	within(k.world, "the end of a worker", k.ended)
	return k.cmd.ProcessState.ExitCode()
}

// exits waits for the end of the process, which must have the code.
func (k *worker) exits(code int) {
	k.world.Helper()
	if got := k.wait(); got != code {
		k.world.Fatalf("exit code %d, want %d", got, code)
	}
}

// kill ends the process as nothing can prevent, and waits for it.
func (k *worker) kill() {
	k.cmd.Process.Kill()
	<-k.ended
}

// log is what an ended worker logged.
func (k *worker) log() []map[string]any {
	k.world.Helper()
	var lines []map[string]any
	for line := range bytes.Lines(k.stderr.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			k.world.Fatalf("a line of the log is not JSON: %v: %s", err, line)
		}
		lines = append(lines, fields)
	}
	return lines
}

// said returns the last line of the log that begins like that, nil for none.
func (k *worker) said(msg string) map[string]any {
	k.world.Helper()
	var found map[string]any
	for _, line := range k.log() {
		if text, _ := line["msg"].(string); strings.HasPrefix(text, msg) {
			found = line
		}
	}
	return found
}

// next waits until a worker would find a message, or the queue is empty, which
// is false.
func (w *world) next() bool {
	w.Helper()
	if w.length(w.queue) == 0 {
		return false // and nobody sends one meanwhile
	}
	w.comesBack()
	return true
}

// comesBack waits until a worker would find a message.
func (w *world) comesBack() {
	w.Helper()
	pollEvery(w, slow, "a message is visible", w.visible)
}

// finish runs workers until the queue is empty, each when it finds a message.
// Each must end with one of the codes.
func (w *world) finish(codes []int, settings ...string) []*worker {
	w.Helper()
	var all []*worker
	for w.next() {
		k := w.run(settings...)
		all = append(all, k)
		if code := k.wait(); !slices.Contains(codes, code) {
			w.Fatalf("worker %d exits %d, want one of %v", len(all), code, codes)
		}
	}
	return all
}

// drain is finish with the long lease. A worker may find the scenario busy while
// the run record of a dead one is still believed.
func (w *world) drain(settings ...string) []*worker {
	w.Helper()
	return w.finish([]int{0, 14}, append([]string{longLease}, settings...)...)
}

// last is the last of drain's workers that ran a message to its end.
func last(all []*worker) *worker {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].cmd.ProcessState.ExitCode() == 0 && all[i].said("message claimed") != nil {
			return all[i]
		}
	}
	return nil
}

// snapshot is all that a scenario has published: every row of the plume tables
// and every blob but the logs of runs, by name. result.json stands without its
