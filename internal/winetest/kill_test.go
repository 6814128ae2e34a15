//go:build wine && linux

package winetest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ending is a way in which a run is ended from outside.
type ending struct {
	name    string
	roads   []road
	before  []string // what the program is started by
	end     func(j *job)
	code    int  // that follows; -1 for a process that was killed
	limited bool // it must be over within a second
}

func endings() []ending {
	windows, linux := roads()[0], roads()[1]
	say := func(word string) func(j *job) {
		return func(j *job) {
			_, err := io.WriteString(j.stdin, word+"\n")
			check(j, err)
		}
	}
	host := []string{built("host.exe")}
	return []ending{
		{"process terminated", []road{windows}, host, say("terminate"), 98, true},
		{"killed", []road{windows, linux}, nil, func(j *job) { check(j, j.cmd.Process.Kill()) }, -1, true},
		{"Ctrl-C", []road{windows}, host, say("interrupt"), 130, false},
		{"asked to end", []road{linux}, nil, func(j *job) { check(j, j.cmd.Process.Signal(os.Interrupt)) }, 130, false},
		{"cancelled by a user", []road{windows, linux}, nil, func(j *job) {
			j.startCommand(j.command(nil, nil, "cancel", basin, scenario)).exits(0)
		}, 12, false},
	}
}

// C11, C12: however a run is ended, its engine and what the engine started are
// gone, also when the program was killed and could do nothing any more.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, how := range endings() {
		for _, r := range how.roads {
			for _, c := range []struct {
				name      string
				arguments []string
				processes int
			}{
				{"deaf engine", []string{"deaf"}, 1},
				{"engine with a child", []string{"keep-child"}, 3},
				{"engine with a child in a console of its own", []string{"keep-child", "0x10"}, 2},
			} {
				t.Run(how.name+"/"+r.name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					l := newLab(t, r)
					l.bad("engine.exe", c.arguments...)
					j := l.start(nil, how.before...)
					j.works(c.processes)
					how.end(j)
					if how.limited {
						l.gone(time.Second)
					}
					j.exits(how.code)
					l.gone(patience)
				})
			}
		}
	}
}

// What Wine starts besides the engines belongs to nobody's run; it is gone soon
// after the last of them.
func TestServersGo(t *testing.T) {
	t.Parallel()
	l := newLab(t, roads()[1])
	l.bad("engine.exe", "stay")
	j := l.start([]string{"TMPDIR=" + l.work()}) // a server of its own: that is where one is looked for
	j.works(1)
	ours := func() bool { return len(l.inEnvironment()) > 0 }
	if !ours() {
		t.Fatal("no process has the run folder in its environment")
	}
	check(t, j.cmd.Process.Kill())
	took := poll(t, 20*time.Second, "the servers of Wine go", func() bool { return !ours() })
	t.Logf("the servers of Wine went %.1f s after the last engine", took.Seconds())
}

// inEnvironment are the processes that inherited something of the lab.
func (l *lab) inEnvironment() []string {
	l.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	check(l, err)
	var found []string
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), l.dir) {
			found = append(found, name)
		}
	}
	return found
}
