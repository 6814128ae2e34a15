//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// TestEngineScripts runs the program with engines that are shell scripts.
func TestEngineScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script/engine", map[string]scriptCommand{
		"engine": layEngine, "until": until, "gone": gone, "record": record,
		"job": job, "signal": sendSignal, "ended": ended, "patient": patient,
	})
}

// layEngine: engine [NAME FILE] makes exe a folder of whole engines, but for
// the one whose script is given, and sets EXE_DIR. A file that stands in exe
// already stays.
func layEngine(ts *testscript.TestScript, args []string) {
	if len(args) != 0 && len(args) != 2 {
		ts.Fatalf("usage: engine [NAME FILE]")
	}
	exe := ts.MkAbs("exe")
	ts.Check(os.MkdirAll(exe, 0o755))
	ts.Setenv("EXE_DIR", exe)
	whole := filepath.Join(ts.Getenv("DATA"), "engines")
	entries, err := os.ReadDir(whole)
	ts.Check(err)
	for _, e := range entries {
		from := filepath.Join(whole, e.Name())
		if len(args) == 2 && args[0] == e.Name() {
			from = ts.MkAbs(args[1])
		}
		data, err := os.ReadFile(from)
		ts.Check(err)
		to := filepath.Join(exe, e.Name())
		ts.Check(os.WriteFile(to, data, 0o755))
		ts.Check(os.Chmod(to, 0o755))
	}
}

// patience is how long a script waits for something that must happen.
const patience = 30 * time.Second

// poll asks until something is so, and ends the script when it never is.
func poll(ts *testscript.TestScript, what string, so func() bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !so(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// until: until FILE REGEXP waits for a file that matches.
func until(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "until FILE REGEXP")
	match := regexp.MustCompile(args[1])
	poll(ts, strings.Join(args, " matches "), func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && match.Match(data)
	})
}

// gone: gone FILE waits until every process whose number is in the file has
// ended.
func gone(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 1, 1, "gone FILE")
	numbers := strings.Fields(ts.ReadFile(args[0]))
	if len(numbers) == 0 {
		ts.Fatalf("%s has no process numbers", args[0])
	}
	for _, n := range numbers {
		pid, err := strconv.Atoi(n)
		ts.Check(err)
		poll(ts, "process "+n+" has ended", func() bool { return dead(pid) })
	}
}

// dead reports whether a process has ended, reaped or not.
func dead(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// record: record FIELD JSON changes a field of the run record as another
// program would, and knows how to lose a race.
func record(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "record FIELD JSON")
	ctx := context.Background()
	store, err := storage.OpenFolder(ts.MkAbs("store"))
	ts.Check(err)
	defer store.Close()
	poll(ts, "record "+args[0], func() bool {
		data, etag, err := store.Run(ctx, "tiny", "s1")
		ts.Check(err)
		fields := object(ts, string(data))
		if _, ok := fields[args[0]]; !ok {
			ts.Fatalf("the run record has no field %s: %s", args[0], data)
		}
		fields[args[0]] = json.RawMessage(args[1])
		data, err = json.Marshal(fields)
		ts.Check(err)
		_, err = store.PutRun(ctx, "tiny", "s1", data, etag)
		if err != nil && !errors.Is(err, storage.ErrConflict) {
			ts.Fatalf("%v", err)
		}
		return err == nil
	})
}

// theJob is where the background command stands that signal and ended mean.
func theJob(ts *testscript.TestScript) **exec.Cmd { return ts.Value(background{}).(**exec.Cmd) }

// job: job names the last background command as the one that signal and ended
// mean.
func job(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 0, "job")
	all := ts.BackgroundCmds()
	if len(all) == 0 {
		ts.Fatalf("nothing runs in the background")
	}
	*theJob(ts) = all[len(all)-1]
}

// sendSignal: signal INT|TERM|KILL|STOP|CONT sends a signal to the job.
func sendSignal(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 1, 1, "signal INT|TERM|KILL|STOP|CONT")
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL,
		"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}
	if signals[args[0]] == 0 {
		ts.Fatalf("no such signal: %s", args[0])
	}
	ts.Check((*theJob(ts)).Process.Signal(signals[args[0]]))
}

// ended: ended CODE [REASON REGEXP] checks how the job ended that wait has
// waited for; with a reason all that fails checks.
func ended(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 1, 3, "ended CODE [REASON REGEXP]")
	state := (*theJob(ts)).ProcessState
	if state == nil {
		ts.Fatalf("the job was not waited for")
	}
	if got := strconv.Itoa(state.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
	if len(args) == 3 {
		failed(ts, reason.Code(args[1]), args[2])
	}
}

// patient: patient CODE PROGRAM ARGS... runs a program again and again until
// it ends with another code than the given one, which must be 0.
func patient(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 99, "patient CODE PROGRAM [ARGS]")
	code := 0
	poll(ts, strings.Join(args[1:], " "), func() bool {
		code = exitOf(ts, ts.Exec(args[1], args[2:]...))
		return strconv.Itoa(code) != args[0]
	})
	if code != 0 {
		ts.Fatalf("exit code %d", code)
	}
}
