//go:build wine && linux

package winetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/storage/azurite"
)

// patience is how long a test waits for what must happen, on a busy machine.
const patience = time.Minute

// builtVariable holds the folder of what is built for the tests, and
// prefixVariable the Wine prefix.
const (
	builtVariable  = "RSMS_TEST_BUILT"
	prefixVariable = "WINEPREFIX"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gives the tests a Wine prefix, both programs, engines that misbehave and a
// storage emulator.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rsms-wine-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	prefix, err := build(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv(builtVariable, dir)
	os.Setenv(prefixVariable, prefix)
	// One server for all tests, so that Wine starts once only.
	if err := quietly("wineserver", "-p"); err != nil {
		fmt.Fprintln(os.Stderr, "start the server of Wine:", err)
		return 1
	}
	defer quietly("wineserver", "-k")
	// The prefix of the image has these settings.
	if err := quietly("wine", "regedit", "/S", "../../scripts/wine/prefix.reg"); err != nil {
		fmt.Fprintln(os.Stderr, "start Wine:", err)
		return 1
	}
	return azurite.Main(m)
}

// quietly runs a program without streams: the servers of Wine would hold those of
// the program that starts them.
func quietly(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = environment()
	return cmd.Run()
}

// build builds all that the tests run into dir, and returns a Wine prefix.
func build(dir string) (prefix string, err error) {
	const mingw = "x86_64-w64-mingw32-gcc"
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range [][]string{
		{"go", "build", "-o", at("rsms-job"), "../../job"},
		{"go", "build", "-o", at("rsms-job.exe"), "../../job"},
		{mingw, "-O1", "-Wall", "-Werror", "-o", at("engine.exe"), "testdata/engine.c"},
		{mingw, "-O1", "-Wall", "-Werror", "-o", at("host.exe"), "testdata/host.c"},
		{mingw, "-shared", "-o", at("missing.dll"), "testdata/missing.c"},
		{mingw, "-o", at("needs.exe"), "testdata/needs.c", at("missing.dll")},
	} {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if strings.HasSuffix(c[3], ".exe") {
			cmd.Env = append(cmd.Env, "GOOS=windows", "GOARCH=amd64")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", strings.Join(c, " "), err, out)
		}
	}
	if err := os.Remove(at("missing.dll")); err != nil {
		return "", err
	}
	script := exec.Command("../../scripts/wine.sh")
	script.Stderr = os.Stderr
	out, err := script.Output()
	return strings.TrimSpace(string(out)), err
}

func built(name string) string { return filepath.Join(os.Getenv(builtVariable), name) }

// environment is what programs have, natively and under Wine, and more.
func environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		prefixVariable + "=" + os.Getenv(prefixVariable), "WINEARCH=win64", "WINEDEBUG=-all,err+module"}, more...)
}

// utf8 is what Wine needs for paths that are not ASCII; the program for Linux
// gives it to its engines.
const utf8 = "LANG=C.UTF-8"

// windowsPath is how a Windows program under Wine calls a file of ours.
func windowsPath(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// poll asks until something is so, and ends the test when it is not in time. It
// returns how long that took.
func poll(tb testing.TB, limit time.Duration, what string, so func() bool) time.Duration {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		if so() {
			return time.Since(began)
		}
		if time.Since(began) > limit {
			tb.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// road is a way to run Windows engines.
type road struct {
	name    string
	windows bool // the program is the one for Windows
}

func roads() []road { return []road{{"windows", true}, {"linux with wine", false}} }

// lab is the place of one run: a store with the basin tiny, and a folder of
// engines, below a folder of its own.
type lab struct {
	testing.TB
	road
	dir, store, engines string
}

const basin, scenario = "tiny", "s1"

// newLab makes one, in a folder whose name is hard on programs.
func newLab(tb testing.TB, r road) *lab {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "Flüsse à côté")
	l := &lab{TB: tb, road: r, dir: dir, store: filepath.Join(dir, "store"), engines: filepath.Join(dir, "engines n° 1")}
	check(tb, os.CopyFS(l.store, os.DirFS("../../job/testdata/store")))
	for _, name := range []string{l.engines, l.work()} {
		check(tb, os.Mkdir(name, 0o755))
	}
	tb.Cleanup(func() {
		if left := l.processes(); len(left) > 0 {
			tb.Errorf("processes are left: %q", left)
		}
	})
	return l
}

// work is the folder of the run folders.
func (l *lab) work() string { return filepath.Join(l.dir, "work") }

// path is how the program of the lab calls a file.
func (l *lab) path(name string) string {
	if l.windows {
		return windowsPath(name)
	}
	return name
}

// link puts what was built into the folder of engines.
func (l *lab) link(from, to string) {
	l.Helper()
	check(l, os.Link(built(from), filepath.Join(l.engines, to)))
}

// copies puts copies of the program there, under the names of the engines.
func (l *lab) copies() {
	l.Helper()
	for _, name := range []string{"DAFLOW.EXE", "BLTM.EXE", "CTPLT.EXE", "CXPLT.EXE"} {
		l.link("rsms-job.exe", name)
	}
}

// bad puts a set there whose first engine is of the kind, with the arguments.
func (l *lab) bad(program string, arguments ...string) {
	l.Helper()
	l.link(program, "bad engine.exe")
	step := map[string]any{"executable": "bad engine.exe"}
	if len(arguments) > 0 {
		step["arguments"] = arguments
	}
	steps := map[string]any{}
	for _, name := range []string{"daflow", "bltm", "ctplt", "cxplt"} {
		steps[name] = step
	}
	data, err := json.Marshal(map[string]any{"steps": steps})
	check(l, err)
	check(l, os.WriteFile(filepath.Join(l.engines, "engine.json"), data, 0o644))
}

// command is the program of the lab with its settings. before, where there is
// any, is a Windows program that is started with all that as its arguments.
func (l *lab) command(settings []string, before []string, args ...string) *exec.Cmd {
	argv := []string{built("rsms-job")}
	if l.windows {
		argv = append(append([]string{"wine"}, before...), built("rsms-job.exe"))
	}
	argv = append(argv, args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = l.dir
	cmd.Env = environment("RSMS_STORE_DIR="+l.path(l.store), "RSMS_WORK_DIR="+l.path(l.work()),
		"RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=5", "RSMS_SHUTDOWN_GRACE_SEC=2", "LOG_FORMAT=json")
	if entries, err := os.ReadDir(l.engines); err == nil && len(entries) > 0 {
		cmd.Env = append(cmd.Env, "EXE_DIR="+l.path(l.engines))
		if !l.windows {
			cmd.Env = append(cmd.Env, "RSMS_ENGINE_RUNNER=wine")
		}
	}
	if l.windows {
		cmd.Env = append(cmd.Env, utf8)
	}
	cmd.Env = append(cmd.Env, settings...)
	return cmd
}

// order are the arguments that run the scenario.
func order() []string {
	return []string{"run", "--message", fmt.Sprintf(`{"riverbasin_id":%q,"scenario_id":%q,"job_id":"job-1"}`, basin, scenario)}
}

// job is a run of the program.
type job struct {
	*lab
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

// start starts the scenario; see command.
func (l *lab) start(settings []string, before ...string) *job {
	l.Helper()
	return l.startCommand(l.command(settings, before, order()...))
}

func (l *lab) startCommand(cmd *exec.Cmd) *job {
	l.Helper()
	j := &job{lab: l, cmd: cmd, ended: make(chan struct{})}
	// What is left behind could hold the pipes; it must not hold the test.
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &j.stdout, &j.stderr, time.Second
	var err error
	j.stdin, err = cmd.StdinPipe()
	check(l, err)
	check(l, cmd.Start())
	go func() {
		defer close(j.ended)
		cmd.Wait()
	}()
	l.Cleanup(func() {
		cmd.Process.Kill()
		<-j.ended
		if l.Failed() {
			l.Logf("%s\n%s", &j.stdout, &j.stderr)
		}
	})
	return j
}

// exits waits for the end, which must have the code.
func (j *job) exits(code int) {
	j.Helper()
	select {
	case <-j.ended:
	case <-time.After(patience):
		j.Fatalf("the program did not end within %v", patience)
	}
	if got := j.cmd.ProcessState.ExitCode(); got != code {
		j.Fatalf("exit code %d, want %d", got, code)
	}
}

// last is the last line of the log.
func (j *job) last() (fields map[string]any) {
	j.Helper()
	lines := bytes.Split(bytes.TrimSpace(j.stderr.Bytes()), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &fields); err != nil {
		j.Fatalf("the last line of the log: %v", err)
	}
	return fields
}

// processes are the command lines of the engines of the lab, and of who watches
// over them.
func (l *lab) processes() []string {
	l.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(l, err)
	var found []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		line := strings.ReplaceAll(strings.ReplaceAll(string(data), "\x00", " "), `\`, "/")
		if strings.Contains(line, l.dir) {
			found = append(found, line)
		}
	}
	return found
}

// works waits until so many processes of the engine are there.
func (j *job) works(n int) {
	j.Helper()
	poll(j, patience, "the engine works", func() bool {
		select {
		case <-j.ended:
			j.Fatalf("the program ended with %d before its engine worked", j.cmd.ProcessState.ExitCode())
		default:
		}
		said, err := filepath.Glob(filepath.Join(j.work(), "*", "daflow.stdout"))
		check(j, err)
		if len(said) != 1 {
			return false
		}
		text, err := os.ReadFile(said[0])
		return err == nil && strings.Count(string(text), "pid ") >= n
	})
}

// gone waits until no process of the lab is left.
func (l *lab) gone(limit time.Duration) {
	l.Helper()
	took := poll(l, limit, "all processes are gone", func() bool { return len(l.processes()) == 0 })
	l.Logf("gone in %d ms", took.Milliseconds())
}
