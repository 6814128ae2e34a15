//go:build wine && linux

package winetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// C11, C17: an engine that misbehaves costs its run and no more: the program
// says what it did and leaves nothing of it.
func TestBadEngine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		program   string
		arguments []string
		settings  []string
		code      int
		reason    string
		says      []string
	}{
		{"takes no notice of its time limit", "engine.exe", []string{"deaf"}, []string{"RSMS_ENGINE_STEP_TIMEOUT_SEC=1"},
			10, "engine_timeout", []string{"time limit of 1 s"}},
		{"floods", "engine.exe", []string{"flood"}, nil, 10, "engine_failed", []string{"more than 64 MiB"}},
		{"leaves a child that holds its output", "engine.exe", []string{"leave-child"}, nil, 10, "engine_failed", []string{"exit code 5"}},
		{"crashes", "engine.exe", []string{"crash"}, nil, 10, "engine_failed", []string{"exception STATUS_ACCESS_VIOLATION"}},
		{"finds no memory", "engine.exe", []string{"memory"}, nil, 10, "engine_failed", []string{"exception STATUS_NO_MEMORY", "memory ran out"}},
		{"wants to read", "engine.exe", []string{"read"}, nil, 10, "engine_failed", []string{"exit code 6", "nothing to read"}},
		{"has a library missing", "needs.exe", nil, nil, 11, "engine_missing", []string{"library"}},
	} {
		for _, r := range roads() {
			t.Run(c.name+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, r)
				l.bad(c.program, c.arguments...)
				j := l.start(c.settings)
				j.exits(c.code)
				last := j.last()
				message, _ := last["msg"].(string)
				for _, words := range c.says {
					if !strings.Contains(message, words) {
						t.Errorf("it does not say %q: %s", words, message)
					}
				}
				if last["reason"] != c.reason {
					t.Errorf("reason %v, want %s: %s", last["reason"], c.reason, message)
				}
				l.gone(patience)
				for _, name := range []string{"result.json", "edge_timeseries.json"} {
					if _, err := os.Stat(filepath.Join(l.store, "rsms-results", basin, scenario, name)); err == nil {
						t.Errorf("there is a %s", name)
					}
				}
			})
		}
	}
}
