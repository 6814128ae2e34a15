//go:build wine && linux

package winetest

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// C11, C12: a child without a console of its engine is in a session of its own
// under Wine, and one in another folder is no server of Wine for that.
func TestChildElsewhere(t *testing.T) {
	t.Parallel()
	const program = "elsewhere.exe"
	if out, err := exec.Command("x86_64-w64-mingw32-gcc", "-O1", "-Wall", "-Werror", "-o", built(program),
		"testdata/elsewhere.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, flags := range []struct{ name, value string }{
		{"same console", "0"},
		{"CREATE_NO_WINDOW", "0x08000000"},
		{"DETACHED_PROCESS", "0x00000008"},
		{"CREATE_NEW_CONSOLE", "0x00000010"},
		{"CREATE_NEW_PROCESS_GROUP", "0x00000200"},
	} {
		for _, r := range roads() {
			t.Run(flags.name+"/"+r.name+"/killed", func(t *testing.T) {
				t.Parallel()
				l := newLab(t, r)
				l.bad(program, flags.value)
				j := l.start(nil)
				j.works(1)
				check(t, j.cmd.Process.Kill())
				l.gone(time.Second)
				j.exits(-1)
			})
			t.Run(flags.name+"/"+r.name+"/engine ends", func(t *testing.T) {
				t.Parallel()
				l := newLab(t, r)
				l.bad(program, flags.value, "and end")
				j := l.start(nil)
				j.exits(10)
				if message, _ := j.last()["msg"].(string); !strings.Contains(message, "exit code 5") {
					t.Errorf("it says %s", message)
				}
				if left := l.processes(); len(left) > 0 {
					t.Errorf("processes are left: %q", left)
				}
			})
		}
	}
}
