//go:build unix

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/faultproxy"
)

// where a message is after a worker.
type where string

const (
	none    where = "none"
	visible where = "visible"
	hidden  where = "hidden"
	poison  where = "poison"
)

func (w *world) where() where {
	w.Helper()
	switch {
	case w.length(w.poison) > 0:
		return poison
	case w.length(w.queue) == 0:
		return none
	case w.visible():
		return visible
	}
	return hidden
}

// exitCase is a line of the table of exit codes, contract section 1.
type exitCase struct {
	name string
	code int
	zero int // with RSMS_EXIT_ZERO=true
	then where
	// run runs one worker with the settings to its end; a message for scenario
	// s1 is on the queue.
	run func(w *world, settings ...string) *worker
}

func exitCases() []exitCase {
	plain := func(more ...string) func(*world, ...string) *worker {
		return func(w *world, settings ...string) *worker { return w.run(append(settings, more...)...) }
	}
	signalled := func(s syscall.Signal) func(*world, ...string) *worker {
		return func(w *world, settings ...string) *worker {
			g, runner := newGate(w, "bltm")
			k := w.start(append(settings, runner)...)
			g.reached()
			check(w, k.cmd.Process.Signal(s))
			k.wait()
			g.gone()
			return k
		}
	}
	answered := func(op faultproxy.Operation, action faultproxy.Action, more ...string) func(*world, ...string) *worker {
		return func(w *world, settings ...string) *worker {
			p := w.proxy()
			p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: op}, Action: action})
			return w.run(append(append(settings, more...), via(p))...)
		}
	}
	useless := func(w *world, settings ...string) *worker {
		w.scenario("s1", map[string]any{"SpillMile": -4.0})
		return w.run(settings...)
	}
	return []exitCase{
		{"done", 0, 0, none, plain()},
		{"empty queue", 0, 0, none, func(w *world, settings ...string) *worker {
			w.run().exits(0)
			return w.run(settings...)
		}},
		{"duplicate", 0, 0, none, func(w *world, settings ...string) *worker {
			w.run().exits(0)
			w.send(order("s1"))
			return w.run(settings...)
		}},
		{"poison as designed", 0, 0, poison, useless},
		// What the service calls malformed is a mistake of the program.
		{"internal error", 1, 1, hidden, answered(faultproxy.EntityInsert, faultproxy.Status(http.StatusBadRequest, "InvalidInput", 0))},
		{"bad settings", 2, 2, visible, plain("RSMS_JOB_TIMEOUT_SEC=soon", "RSMS_RETRY_DELAY_SEC=-1")},
		{"tried again", 10, 0, visible, plain("RSMS_ENGINE_RUNNER=false")},
		{"storage away in mid-run", 10, 0, visible, answered(faultproxy.QueueSend, faultproxy.DropRequest())},
		{"failed for good", 11, 0, poison, func(w *world, settings ...string) *worker {
			return useless(w, append(settings, "RSMS_EXIT_ON_FAILURE=true")...)
		}},
		{"cancelled", 12, 0, none, func(w *world, settings ...string) *worker {
			w.setStatus("s1", "Queued")
			w.command("cancel", basin, "s1").exits(0)
			return w.run(settings...)
		}},
		{"lease lost", 13, 0, hidden, func(w *world, settings ...string) *worker {
			g, runner := newGate(w, "daflow")
			p := w.proxy()
			p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueUpdate}, Skip: 1, When: claimed(p),
				Action: faultproxy.Status(http.StatusNotFound, "MessageNotFound", 0)})
			k := w.run(append(settings, via(p), runner, "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=15")...)
			g.gone()
			return k
		}},
		{"busy", 14, 0, visible, func(w *world, settings ...string) *worker {
			now := time.Now().UTC()
			w.putRecord("s1", runs.Record{JobID: "other", State: runs.Running, Owner: "somebody", StartedAt: now, LeaseUntil: now.Add(time.Hour)})
			return w.run(settings...)
		}},
		{"time limit", 15, 0, visible, func(w *world, settings ...string) *worker {
			return w.run(append(settings, w.failing("daflow", "sleep 100"), "RSMS_JOB_TIMEOUT_SEC=1")...)
		}},
		{"no start", 16, 16, visible, answered(faultproxy.QueueReceive, denied())},
		{"interrupted", 130, 130, visible, signalled(syscall.SIGINT)},
		{"terminated", 143, 0, visible, signalled(syscall.SIGTERM)},
	}
}

// Every line of the table of exit codes, and what becomes of the message.
// However the job ends, its log names it.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range exitCases() {
		for _, zero := range []bool{false, true} {
			name, code, setting := tt.name, tt.code, "RSMS_EXIT_ZERO=false"
			if zero && tt.zero == code && code != 16 { // which stands for all of them
				continue
			}
			if zero {
				name, code, setting = name+", as zero", tt.zero, "RSMS_EXIT_ZERO=true"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.scenario("s1", nil)
				w.send(order("s1"))
				k := tt.run(w, setting, "LOG_LEVEL=debug")
				k.exits(code)
				if got := w.where(); got != tt.then {
					t.Errorf("the message is %s, want %s", got, tt.then)
				}
				if k.stdout.Len() > 0 {
					t.Errorf("standard output: %s", k.stdout.Bytes())
				}
				w.tidy()
				if tt.code == 2 {
					for _, name := range []string{"RSMS_JOB_TIMEOUT_SEC", "RSMS_RETRY_DELAY_SEC"} {
						if !strings.Contains(k.stderr.String(), name) {
							t.Errorf("standard error does not name %s: %s", name, k.stderr.Bytes())
						}
					}
					return
				}
				if tt.code != 16 && tt.name != "empty queue" {
					k.namesItsJob()
				}
				lines := k.log()
				if end := lines[len(lines)-1]; tt.code != 0 && (end["exit"] != float64(tt.code) || end["level"] != "ERROR" || end["reason"] == "") {
					t.Errorf("the log ends with %v", end) // the truth, whatever the exit code
				}
			})
		}
	}
}

// putRecord makes a run record.
func (w *world) putRecord(scenario string, r runs.Record) {
	w.Helper()
	data, err := json.Marshal(r)
	check(w, err)
	_, err = w.store.PutRun(w.Context(), basin, scenario, data, "")
	check(w, err)
}

// editRecord changes the run record of a scenario.
func (w *world) editRecord(scenario string, change func(*runs.Record)) {
	w.Helper()
	r := w.record(scenario)
	change(r)
	_, etag, err := w.store.Run(w.Context(), basin, scenario)
	check(w, err)
	data, err := json.Marshal(r)
	check(w, err)
	_, err = w.store.PutRun(w.Context(), basin, scenario, data, etag)
	check(w, err)
}

// What ended with 1, 13 or 14 comes back by itself and ends well.
func TestComesBack(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for _, tt := range exitCases() {
		if tt.code != 1 && tt.code != 13 {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.scenario("s1", nil)
			w.send(order("s1"))
			tt.run(w).exits(tt.code)
			w.finish([]int{0, 14})
			w.completed("s1", want)
			w.settled()
			w.told("s1", "Completed", 1, 1)
		})
	}
}
