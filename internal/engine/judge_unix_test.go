//go:build unix

package engine

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rsmsjob/internal/reason"
)

// lifeline is a named pipe that an engine and all it starts hold open: it ends
// when the last of them is dead.
type lifeline struct {
	path  string
	file  *os.File
	extra *os.File // a writer of ours, so that it does not end before it began
	lines *bufio.Reader
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l := &lifeline{path: filepath.Join(t.TempDir(), "life")}
	if err := unix.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.file, err = os.OpenFile(l.path, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.file.Close() })
	if l.extra, err = os.OpenFile(l.path, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.file.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	l.lines = bufio.NewReader(l.file)
	return l
}

// await waits until an engine says that it is alive.
func (l *lifeline) await() error {
	_, err := l.lines.ReadString('\n')
	return err
}

// dead checks that nothing of the engine is left.
func (l *lifeline) dead(t *testing.T) {
	t.Helper()
	l.extra.Close()
	if _, err := io.Copy(io.Discard, l.lines); err != nil {
		t.Errorf("a process of the engine is left: %v", err)
	}
}

// alive begins a shell engine that holds the lifeline.
const alive = "#!/bin/sh\nexec 9>\"$LIFE\"\n"

// Every way in which an engine ends badly has its own reason and a sentence that
// says what to do, and leaves nothing running.
func TestJudge(t *testing.T) {
	foreign := "\x7fELF\x02\x02\x01" + strings.Repeat("\x00", 11) + "\x00\x16" + strings.Repeat("\x00", 100) // big-endian s390x
	for _, tt := range []struct {
		name, program string
		change        func(*Step)
		code          reason.Code
		sentence      string
	}{
		{"nonzero", alive + "echo no such river >&2; exit 3", nil, reason.EngineFailed, "engine daflow ended with exit code 3, 0 means success; see daflow.stderr and daflow.stdout"},
		{"accepted nonzero", alive + "exit 3", func(s *Step) { s.ExitCodes = []int{0, 3} }, "", ""},
		{"zero that is not accepted", alive + "exit 0", func(s *Step) { s.ExitCodes = []int{3, 4} }, reason.EngineFailed, "ended with exit code 0, 3 or 4 means success"},
		{"crash", alive + "kill -SEGV $$", nil, reason.EngineFailed, "was ended by signal SIGSEGV: it crashed, as programs do on inputs beyond their fixed sizes; try it by hand"},
		{"C17 out of memory", alive + "kill -KILL $$", nil, reason.EngineFailed, "was ended by signal SIGKILL; the system kills so when memory runs out: give the job more of it"},
		{"C17 out of memory below a shell", alive + "sh -c 'kill -KILL $$'; exit $?", nil, reason.EngineFailed, "exit code 137, 0 means success (137: a program that it calls was ended by signal SIGKILL; the system kills so when memory"},
		{"somebody's signal", alive + "kill -TERM $$", nil, reason.EngineFailed, "was ended by signal SIGTERM; somebody else sent it"},
		{"calls what is not there", alive + "no-such-program", nil, reason.EngineFailed, "exit code 127, 0 means success (127: a program that it calls was not found)"},
		{"calls what may not be executed", alive + ": >x; ./x", nil, reason.EngineFailed, "(126: a program that it calls may not be executed)"},
		{"ignores the interrupt", alive + "trap '' TERM INT\nsleep 1000 &\nwait; wait", func(s *Step) { s.Timeout = time.Second }, reason.EngineTimeout,
			"was stopped at its time limit of 1 s (timeout_seconds in engine.json); it did not end when it was asked to, and was killed; raise it, or give"},
		{"time limit", alive + "sleep 1000", func(s *Step) { s.Timeout = time.Second }, reason.EngineTimeout, "at its time limit of 1 s (timeout_seconds in engine.json)"},
		{"floods its output", alive + "exec yes \"$(head -c 4000 /dev/zero | tr '\\0' x)\"", nil, reason.EngineFailed, "was stopped: it wrote more than 64 MiB to its output"},
		{"forks and exits", alive + "(sleep 1000; echo late >BLTM.FLW) &\nexit 0", func(s *Step) { s.Outputs = []string{flowFile} }, reason.EngineOutputMissing,
			"engine daflow ended well but left no BLTM.FLW: it must be written in the folder that the engine is started in, before the engine ends; there is: nothing but inputs"},
		{"waits on standard input", alive + "read -r name || { echo 'Fortran runtime error: End of file' >&2; exit 2; }", nil, reason.EngineFailed,
			"exit code 2, 0 means success (it read past the end of a file: standard input had 0 lines, which stdin in engine.json can give)"},
		{"wants more lines", alive + "read -r a; read -r b || { echo unexpected EOF; exit 2; }", func(s *Step) { s.Stdin = []byte("one\n") }, reason.EngineFailed, "standard input had 1 lines"},
		{"asks again for ever", alive + "until read -r name; do sleep 0.01; done", func(s *Step) { s.Timeout = time.Second }, reason.EngineTimeout, "time limit of 1 s"},
		{"does not say that it succeeded", alive + "echo ERROR IN LINE 7", func(s *Step) { s.Success = "NORMAL END" }, reason.EngineFailed, "ended with exit code 0 but did not print the success_text of its set; see daflow.stdout and daflow.stderr"},
		{"says so on standard error", alive + "echo '** NORMAL END **' >&2", func(s *Step) { s.Success = "NORMAL END" }, "", ""},
		{"text without #!", "exit 0\n", nil, reason.EngineMissing, "engine daflow (engine) cannot be started: it is a text without a #! line; put #!/bin/sh"},
		{"empty", "", nil, reason.EngineMissing, "cannot be started: the file is empty"},
		{"CR LF", "#!/bin/sh\r\nexit 0\r\n", nil, reason.EngineMissing, "cannot be started: its lines end as on Windows (CR LF), so that"},
		{"no interpreter", "#!/no/such/python\n", nil, reason.EngineMissing, "cannot be started: its interpreter /no/such/python is missing; install it, or correct the #! line"},
		{"wrong architecture", foreign, nil, reason.EngineMissing, "cannot be started: it is a program for s390x machines, and this is "},
		{"Windows program", "MZ\x90\x00\x03\x00 not for here", nil, reason.EngineMissing, "it is a Windows program that this machine does not take; set RSMS_ENGINE_RUNNER=wine"},
		{"macOS program", "\xcf\xfa\xed\xfe\x07\x00", nil, reason.EngineMissing, "it is a program for macOS"},
		{"damaged program", "\x00\x01\x02\x03", nil, reason.EngineMissing, "it is no program for this system, or damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			life := newLifeline(t)
			path := filepath.Join(lay(t, map[string]string{"engine": tt.program}), "engine")
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
			r, _ := runner(t, oneStep(path, tt.change))
			r.Set.Env = []string{"LIFE=" + life.path}
			ends(t, r.Run(context.Background(), t.TempDir()), tt.code, tt.sentence)
			life.dead(t)
		})
	}
}

func TestJudgeFiles(t *testing.T) {
	dir := lay(t, map[string]string{"folder/x": "", "plain": "#!/bin/sh\n"})
	if err := os.WriteFile(filepath.Join(dir, "barred"), []byte("#!/dev/null\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "plain"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"nowhere": "it is not there any more", "folder": "it is a folder; the file to start is wanted", "plain": "it may not be executed; give permission (chmod +x)",
		"barred": "the system refuses to execute it or its interpreter"} {
		r, _ := runner(t, oneStep(filepath.Join(dir, name), nil))
		ends(t, r.Run(context.Background(), t.TempDir()), reason.EngineMissing, want)
	}
	r, _ := runner(t, oneStep(filepath.Join(dir, "plain"), nil))
	r.Supervisor = []string{filepath.Join(dir, "nowhere")}
	if err := os.Chmod(filepath.Join(dir, "plain"), 0o755); err != nil {
		t.Fatal(err)
	}
	ends(t, r.Run(context.Background(), t.TempDir()), reason.Internal, "the program that watches over engines cannot be started")
}

// A program that was built, and then lost a library, or never had its loader.
func TestJudgeLibraries(t *testing.T) {
	dir := t.TempDir()
	lib, path := filepath.Join(dir, "libflow.so"), filepath.Join(dir, "daflow")
	build(t, lib, "int flow(void) { return 0; }", "-shared", "-fPIC")
	build(t, path, "int flow(void); int main(void) { return flow(); }", lib)
	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	r, _ := runner(t, oneStep(path, nil))
	err := r.Run(context.Background(), t.TempDir())
	ends(t, err, reason.EngineMissing, "engine daflow (daflow) cannot be started: a shared library that it needs is missing; the log has its name: install it, or name its folder in LD_LIBRARY_PATH")
	if !strings.Contains(err.Error(), "libflow.so") {
		t.Errorf("the log does not name the library: %v", err)
	}
	build(t, path, "int main(void) { return 0; }", "-Wl,--dynamic-linker=/no/such/ld.so")
	ends(t, r.Run(context.Background(), t.TempDir()), reason.EngineMissing, "the loader it was built for is missing: it is for another C library, or a 32-bit program")
	build(t, path, "#include <stdlib.h>\nint main(void) { abort(); }")
	ends(t, r.Run(context.Background(), t.TempDir()), reason.EngineFailed, "was ended by signal SIGABRT: it crashed")
}

// A run that is cancelled says why, and ends an engine that does not want to.
func TestCancelStubbornEngine(t *testing.T) {
	life := newLifeline(t)
	path := filepath.Join(lay(t, map[string]string{"engine": alive + "trap '' TERM INT\nsleep 1000 &\necho up >&9\nwait; wait"}), "engine")
	r, _ := runner(t, oneStep(path, nil))
	r.Set.Env, r.Set.MaxBytes = []string{"LIFE=" + life.path}, 1<<30
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("a user asked for it")
	go func() {
		_ = life.await() // an engine that never begins shows by the time limit
		cancel(why)
	}()
	if err := r.Run(ctx, t.TempDir()); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	life.dead(t)
}

// The shorter of two time limits counts, and is named.
func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		set, job, want time.Duration
		name           string
	}{
		{0, time.Hour, time.Hour, "RSMS_ENGINE_STEP_TIMEOUT_SEC"},
		{time.Minute, time.Hour, time.Minute, "timeout_seconds in engine.json"},
		{2 * time.Hour, time.Hour, time.Hour, "RSMS_ENGINE_STEP_TIMEOUT_SEC"},
		{time.Minute, 0, time.Minute, "timeout_seconds in engine.json"},
	} {
		r := Runner{StepTimeout: tt.job}
		if got, name := r.limit(Step{Timeout: tt.set}), r.limitName(Step{Timeout: tt.set}); got != tt.want || name != tt.name {
			t.Errorf("%v of the set, %v of the job: %v by %s", tt.set, tt.job, got, name)
		}
	}
}

// A text that means success is found wherever it stands.
func TestHolds(t *testing.T) {
	for _, n := range []int{0, 1, 65530, 65536 - 5, 65536 - 4, 65535, 65536, 131070, 200000} {
		for _, end := range []string{"", "\n", strings.Repeat("y", 70000)} {
			if !holds(strings.NewReader(strings.Repeat("x", n)+"NORMAL"+end), []byte("NORMAL")) {
				t.Errorf("not found behind %d bytes", n)
			}
			if holds(strings.NewReader(strings.Repeat("x", n)+"NORMA"+end), []byte("NORMAL")) {
				t.Errorf("found what is not there behind %d bytes", n)
			}
		}
	}
	if !holds(strings.NewReader("xxy"), []byte("y")) || holds(strings.NewReader(""), []byte("y")) {
		t.Error("one letter")
	}
}
