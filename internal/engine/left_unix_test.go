//go:build unix

package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rsmsjob/internal/plume"
	"rsmsjob/internal/reason"
)

// withBundle puts a folder on the PATH in which rsms-job is the test binary.
func withBundle(t *testing.T, r *Runner) {
	t.Helper()
	bin := lay(t, map[string]string{"rsms-job": "#!/bin/sh\nexec '" + self(t) + "' " + bundleRole + " \"$2\"\n"})
	r.Env = append(r.Env, "PATH="+bin+":"+os.Getenv("PATH"))
}

// Programs that ask for file names get them, may end with other codes and be one
// for two steps: a whole run, equal to that of the bundled engines.
func TestAskingEngines(t *testing.T) {
	set, err := Find("testdata/asking", "", none)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(set.Version(), "asking 1.0 ") || len(set.Files) != 4 {
		t.Errorf("%s, %v", set.Version(), set.Files)
	}
	dir, plan := inputFolder(t)
	r, log := runner(t, set)
	withBundle(t, r)
	r.Check = plan.Check
	if err := r.Run(context.Background(), dir); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	own := t.TempDir()
	if err := plan.WriteInputs(own); err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs {
		if err := (&Bundle{Dir: own}).Run(o.name); err != nil {
			t.Fatal(err)
		}
		for _, name := range o.files {
			got, err1 := os.ReadFile(filepath.Join(dir, name))
			want, err2 := os.ReadFile(filepath.Join(own, name))
			if err1 != nil || err2 != nil || string(got) != string(want) {
				t.Errorf("%s differs from that of the bundled engine (%v, %v)", name, err1, err2)
			}
		}
	}
	said, err := os.ReadFile(filepath.Join(dir, "daflow.stdout"))
	if err != nil || !strings.HasPrefix(string(said), " NAME OF INPUT FILE?\n") {
		t.Errorf("%q, %v", said, err)
	}
	// Without the lines the first one ends at the end of its input.
	set.Steps[0].Stdin = nil
	dir, _ = inputFolder(t)
	ends(t, r.Run(context.Background(), dir), reason.EngineFailed, "engine daflow ended with exit code 1")
}

// shellStep is a set whose engines do nothing, but for one that is a script.
func shellStep(t *testing.T, name, program string) *Set {
	t.Helper()
	files := map[string]string{}
	for _, o := range outputs {
		files[o.name] = "#!/bin/sh\nexec rsms-job engine " + o.name + "\n"
	}
	files[name] = "#!/bin/sh\n" + program + "\n"
	set, err := Find(lay(t, files), "", none)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// H18 and what else is no output of a step.
func TestOutputs(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	const good = "rsms-job engine ctplt"
	for _, tt := range []struct {
		name, step, program string
		code                reason.Code
		want                string
	}{
		{"whole", "ctplt", good, "", ""},
		{"nothing", "bltm", "exit 0", reason.EngineOutputMissing, "engine bltm ended well but left no BLTM.CON: it must be written in the folder that the engine is started in, before the engine ends; there is: BLTM.FLW, FLOW.OUT\nengine bltm ended well but left no BLTM.OUT: "},
		{"in other case", "ctplt", good + "; mv PLUME.TIM plume.tim", reason.EngineOutputMissing, "left no PLUME.TIM: there is plume.tim; capitals count"},
		{"elsewhere", "ctplt", "mkdir out; " + good + "; mv PLUME.TIM out", reason.EngineOutputMissing, "there is: BLTM.CON, BLTM.FLW, BLTM.OUT, FLOW.OUT, out"},
		{"empty", "ctplt", ": >PLUME.TIM", reason.EngineOutputMissing, "left no PLUME.TIM: it is empty"},
		{"folder", "ctplt", "mkdir PLUME.TIM", reason.EngineOutputMissing, "left no PLUME.TIM: it is a folder"},
		{"pipe", "ctplt", "mkfifo PLUME.TIM", reason.EngineOutputMissing, "left no PLUME.TIM: it is no regular file"},
		{"link out", "ctplt", good + "; mv PLUME.TIM '" + outside + "'; ln -s '" + outside + "' PLUME.TIM", reason.EngineOutputMissing, "left no PLUME.TIM: it is a link that leads nowhere or out of the run folder"},
		{"link to nowhere", "ctplt", "ln -s nowhere PLUME.TIM", reason.EngineOutputMissing, "it is a link that leads nowhere"},
		{"link to itself", "ctplt", "ln -s PLUME.TIM PLUME.TIM", reason.EngineOutputMissing, "it is a link that leads nowhere"},
		{"link inside", "ctplt", good + "; mv PLUME.TIM fort.20; ln -s fort.20 PLUME.TIM", "", ""},
		{"H18 of an earlier run", "ctplt", good + "; touch -t 202001010000 PLUME.TIM", reason.EngineOutputMissing, "left no PLUME.TIM: it is older than the step, so it was put there and not computed"},
		{"time kept to the second", "ctplt", good + "; touch -d \"$(date '+%Y-%m-%dT%H:%M:%S')\" PLUME.TIM", "", ""},
		{"H18 of an earlier step", "bltm", "rsms-job engine bltm; echo LOCATION >PLUME.TIM; mkdir PLUME.PLT; mkfifo ctplt.stdout; ln -s '" + outside + "' ctplt.stderr", "", ""},
		{"removes an input of a later step", "bltm", "rsms-job engine bltm; rm CTPLT.IN", reason.EngineOutputInvalid, "engine bltm removed CTPLT.IN, which is read after it; an engine may write its own outputs only"},
		{"changes one", "daflow", "rsms-job engine daflow; echo >>BLTM.IN", reason.EngineOutputInvalid, "engine daflow changed BLTM.IN, which is read after it"},
		{"changes the output of an earlier step", "cxplt", "rsms-job engine cxplt; echo >>BLTM.OUT", reason.EngineOutputInvalid, "engine cxplt changed BLTM.OUT"},
		{"replaces one by a link", "ctplt", good + "; mv BLTM.CON x; ln -s x BLTM.CON", "", ""},
		{"removes its own input", "daflow", "rsms-job engine daflow; rm FLOW.IN", "", ""},
		{"short", "bltm", "rsms-job engine bltm; head -n 7 BLTM.CON >x; mv x BLTM.CON", reason.EngineOutputInvalid, "BLTM.CON line 8: "},
		{"garbage", "daflow", "head -c 500 /dev/urandom >BLTM.FLW", reason.EngineOutputInvalid, "BLTM.FLW line 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, plan := inputFolder(t)
			r, log := runner(t, shellStep(t, tt.step, tt.program))
			withBundle(t, r)
			r.Check = plan.Check
			err := r.Run(context.Background(), dir)
			if ends(t, err, tt.code, tt.want); tt.code != "" || err != nil {
				return
			}
			err = plan.Profiles(context.Background(), dir, func(int, []float64) error { return nil })
			if err == nil {
				err = plan.Curves(context.Background(), dir, func(Place, *plume.Curve) error { return nil })
			}
			if err != nil {
				t.Errorf("the outputs cannot be read: %v", err)
			}
			if strings.HasSuffix(tt.name, "earlier step") {
				for _, name := range []string{"PLUME.TIM", "PLUME.PLT", "ctplt.stdout", "ctplt.stderr"} {
					if !strings.Contains(log.String(), name+" was there before the step that makes it; removed") {
						t.Errorf("the log does not tell of %s:\n%s", name, log)
					}
				}
				if data, err := os.ReadFile(outside); err == nil && !strings.Contains(string(data), "LOCATION") {
					t.Errorf("the log of a step was written outside of the run folder: %q", data)
				}
			}
		})
	}
}

// An engine cannot have another file published as what it said.
func TestLogsAreNoLinks(t *testing.T) {
	dir, _ := inputFolder(t)
	r, _ := runner(t, shellStep(t, "daflow", "rm daflow.stdout; ln -s /etc/passwd daflow.stdout; exit 1"))
	ends(t, r.Run(context.Background(), dir), reason.EngineFailed, "exit code 1")
	if _, err := os.Lstat(filepath.Join(dir, "daflow.stdout")); !os.IsNotExist(err) {
		t.Errorf("the link is still there: %v", err)
	}
}

// What a run may write is bounded, while it writes and at its end.
func TestSizeLimit(t *testing.T) {
	life := newLifeline(t)
	for name, program := range map[string]string{
		"at its end":     "head -c 3000000 /dev/zero >BIG",
		"in a folder":    "mkdir d; head -c 3000000 /dev/zero >d/BIG",
		"with holes":     "truncate -s 1T BIG",
		"while it runs":  "exec 9>\"$LIFE\"; head -c 3000000 /dev/zero >BIG; sleep 1000",
		"without an end": "exec 9>\"$LIFE\"; while head -c 3000000 /dev/zero >>BIG; do sleep 0.1; done",
	} {
		dir, _ := inputFolder(t)
		r, _ := runner(t, shellStep(t, "daflow", program))
		r.Set.MaxBytes, r.Set.Env = 2<<20, []string{"LIFE=" + life.path}
		began := time.Now()
		err := r.Run(context.Background(), dir)
		if reason.Of(err) != reason.EngineOutputInvalid || !strings.Contains(reason.Detail(err), "engine daflow filled the run folder: its files are more than 2 MB; where a river is that large, raise output_limit_mb in engine.json") {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: stopped after %v", name, took)
		}
	}
	life.dead(t)
}

// H15, H16: two runs at once, in folders with spaces and accents, share no
// file, not even one in the temporary folder.
func TestTwoRunsAtOnce(t *testing.T) {
	set := shellStep(t, "daflow", `
echo $$ >"$TMPDIR/fort.10"; echo $$ >"$TEMP/fort.11"; echo $$ >"${TMP}/fort.12"
: >"$(dirname "$0")/began-$$"
until [ "$(ls "$(dirname "$0")" | grep -c began)" -ge 2 ]; do sleep 0.01; done
[ "$(cat "$TMPDIR/fort.10" "$TEMP/fort.11" "$TMP/fort.12" | sort -u)" = $$ ] || exit 9
exec rsms-job engine daflow`)
	var wait sync.WaitGroup
	for range 2 {
		dir, plan := inputFolder(t)
		r, log := runner(t, set)
		withBundle(t, r)
		r.Check = plan.Check
		wait.Go(func() {
			if err := r.Run(context.Background(), dir); err != nil {
				t.Errorf("%v\n%s", err, log)
			}
		})
	}
	wait.Wait()
}

// Variables that the set names reach its engines; a set cannot have others.
func TestEnvironmentOfSet(t *testing.T) {
	dir := lay(t, map[string]string{"engine.json": `{"environment": ["GIVEN", "FIXED=a b"], "steps": {"daflow": {"outputs": ["ENV"]}, "bltm": {}, "ctplt": {}, "cxplt": {}}}`,
		"daflow": "#!/bin/sh\nenv >ENV\n", "bltm": script, "ctplt": script, "cxplt": script})
	set, err := Find(dir, "", func(name string) (string, bool) { return name + " from outside", true })
	if err != nil {
		t.Fatal(err)
	}
	set.Steps = set.Steps[:1]
	r, _ := runner(t, set)
	t.Setenv("CANARY", "canary")
	work := t.TempDir()
	if err := r.Run(context.Background(), work); err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(filepath.Join(work, "ENV"))
	for _, want := range []string{"GIVEN=GIVEN from outside\n", "FIXED=a b\n", "TMPDIR=" + work + "\n"} {
		if err != nil || !strings.Contains(string(env), want) {
			t.Errorf("no %q in (%v)\n%s", want, err, env)
		}
	}
	if strings.Contains(string(env), "canary") {
		t.Errorf("too much:\n%s", env)
	}
}

// An engine that says 1 GB and will not stop costs the job no memory. The bound
// leaves room for the race detector.
func TestFloodMemory(t *testing.T) {
	engine := filepath.Join(lay(t, map[string]string{"flood": "#!/bin/sh\ntrap '' TERM\nhead -c 1000000000 /dev/zero\n"}), "flood")
	cmd := exec.Command(self(t), jobRole, engine, t.TempDir())
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rss := maxRSS(cmd.ProcessState)
	t.Logf("largest resident set of the job: %.1f MB", float64(rss)/(1<<20))
	if rss > 200<<20 {
		t.Errorf("the job took %d MB", rss>>20)
	}
}
