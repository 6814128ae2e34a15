//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
)

// chapter is the chapter of README.md whose lines are typed here.
const chapter = "## The same run, through a queue, on your laptop"

// shellLines are the lines between fences of the chapter, as they stand there.
func shellLines(t *testing.T) []string {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(readme), "\n"+chapter+"\n")
	if !ok {
		t.Fatalf("README.md has no chapter %q", chapter)
	}
	text, _, _ = strings.Cut(text, "\n##")
	var lines []string
	for i, block := range strings.Split(text, "\n```") {
		if i%2 == 0 {
			continue
		}
		language, code, _ := strings.Cut(block, "\n")
		if language == "" {
			lines = append(lines, strings.Split(code, "\n")...)
		}
	}
	return lines
}

// shell is a terminal in which lines are typed one after the other: what one
// exports, the next has.
type shell struct {
	*testing.T
	dir   string
	env   []string
	store *storage.Azure
	names azurite.Names
	id    string // what poison list showed last
	shown string // what poison show printed last
}

// newShell is a shell in a folder like a checkout, where make up finds the
// emulator of the tests.
func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{T: t, dir: t.TempDir(), names: azurite.NewNames()}
	s.store = azurite.Open(t, azurite.Connection(t), s.names.Layout)
	for name, text := range map[string]string{
		"bin/rsms-job": `exec rsms-job "$@"`,
		"tools/make": `test "$1" = up && mkdir -p .cache/emulator && echo "AZURE_STORAGE_CONNECTION_STRING='$EMULATOR'" >.cache/emulator/env &&
			exec bin/rsms-job init --examples --env-file .cache/emulator/env`,
	} {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	work := t.TempDir()
	s.env = append(s.names.Environment("")[1:], "EMULATOR="+azurite.Connection(t), "RSMS_WORK_DIR="+work, "GORACE=atexit_sleep_ms=0",
		"HOME="+s.dir, "PATH="+filepath.Join(s.dir, "tools")+string(os.PathListSeparator)+os.Getenv("PATH"))
	return s
}

// typed is a line that was typed.
type typed struct {
	*exec.Cmd
	line        string
	out, log    bytes.Buffer
	environment string // a file with the environment behind the line
}

// start types a line. It ends with the test, or when it takes far too long.
func (s *shell) start(line string) *typed {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	s.Cleanup(cancel)
	c := &typed{Cmd: exec.CommandContext(ctx, "sh", "-c", line+"\ncode=$?; env >\"$0\"; exit $code"), line: line,
		environment: filepath.Join(s.TempDir(), "env")}
	c.Args = append(c.Args, c.environment)
	c.Dir, c.Env, c.Stdout, c.Stderr = s.dir, s.env, &c.out, &c.log
	if err := c.Start(); err != nil {
		s.Fatalf("%s: %v", line, err)
	}
	s.Cleanup(func() {
		cancel()
		c.Wait() // an error where it was waited for, which is as well
	})
	return c
}

// ends waits for the end of a line, which must be with that exit code.
func (s *shell) ends(c *typed, code int) {
	s.Helper()
	err := c.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || c.ProcessState.ExitCode() != code {
		s.Fatalf("%s: %v, want exit code %d\n%s%s", c.line, err, code, &c.out, &c.log)
	}
}

// does types a line that must end with 0 and keeps what it exports.
func (s *shell) does(line string) *typed {
	s.Helper()
	c := s.start(line)
	s.ends(c, exitDone)
	text, err := os.ReadFile(c.environment)
	if err != nil {
		s.Fatal(err)
	}
	s.env = strings.Split(strings.TrimSpace(string(text)), "\n")
	return c
}

// prints types a line and checks what it prints, and logs, where a pattern is
// given.
func (s *shell) prints(line, out, log string) *typed {
	s.Helper()
	c := s.does(line)
	for pattern, text := range map[string]string{out: c.out.String(), log: c.log.String()} {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(text) {
			s.Fatalf("%s: no match for %s\n%s%s", line, pattern, &c.out, &c.log)
		}
	}
	return c
}

// queued is the text of the first message that can be seen, "" without one.
func (s *shell) queued(name string) string {
	s.Helper()
	list, err := s.store.Queue(name).Peek(s.Context(), 1)
	if err != nil {
		s.Fatal(err)
	}
	if len(list) == 0 {
		return ""
	}
	return list[0].Text
}

// says checks the column Status of the scenario.
func (s *shell) says(status string) {
	s.Helper()
	row, err := s.store.Scenario(s.Context(), "antietam", "1970-03-24")
	if err != nil || row["Status"] != status {
		s.Fatalf("the scenario is %v, want %s: %v", row["Status"], status, err)
	}
}

// TestReadmeQueueChapter types the lines of the chapter in order and sees that
// each does what is said beside it.
func TestReadmeQueueChapter(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var enqueued, run, watch *typed
	steps := []struct {
		line string
		does func(line string)
	}{
		{"make up", func(line string) { s.prints(line, `^scenario   antietam/1970-03-24$`, ``) }},
		{"set -a; . .cache/emulator/env; set +a", func(line string) { s.does(line) }},
		{"bin/rsms-job check", func(line string) { // one line each
			if c := s.prints(line, `^ok  queue `, ``); strings.Count(c.out.String(), "\nok ") < 8 {
				t.Errorf("check printed %s", &c.out)
			}
		}},
		{"bin/rsms-job enqueue antietam 1970-03-24", func(line string) { // prints the job id
			s.prints(line, `^queued antietam 1970-03-24 as job [a-z0-9]+$`, ``)
			s.says("Queued")
		}},
		{"bin/rsms-job run", func(line string) { // one message, then exit
			s.prints(line, ``, `"state":"Completed".*"already_current":false`)
			s.says("Completed")
		}},
		{"bin/rsms-job status antietam 1970-03-24", func(line string) {
			s.prints(line, `^antietam 1970-03-24: Completed$`, ``)
			s.again()
		}},

		{`printf '#!/bin/sh\nsleep 20\nexec "$@"\n' > slow.sh && chmod +x slow.sh`, func(line string) { s.does(line) }},
		{`bin/rsms-job enqueue antietam 1970-03-24 --force && bin/rsms-job run --engine-runner "$PWD/slow.sh"`, func(line string) {
			run = s.start(line)
		}},
		{"bin/rsms-job status antietam 1970-03-24 --watch", func(line string) { // in a second terminal
			s.until("Running")
			watch = s.start(line)
		}},
		{"bin/rsms-job cancel antietam 1970-03-24", func(line string) {
			s.prints(line, `is running and was asked to stop; its worker does within seconds$`, ``)
			began := time.Now()
			s.ends(run, exitCancelled)
			s.ends(watch, exitCancelled)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("the cancel took %v", took)
			}
			if !strings.Contains(watch.out.String(), "antietam 1970-03-24: Cancelled\n") {
				t.Errorf("watch printed %s%s", &watch.out, &watch.log)
			}
		}},

		{"bin/rsms-job enqueue antietam 1970-03-24 --force --set note=again", func(line string) { enqueued = s.does(line) }},
		{"bin/rsms-job run --exe-dir /tmp", func(line string) { // poison, engine_missing
			s.prints(line, ``, `"reason":"engine_missing"`)
			s.says("Failed")
		}},
		{"bin/rsms-job poison list", func(line string) { s.lists(line, enqueued) }},
		{"bin/rsms-job poison show ID", func(line string) { s.shown = s.prints(line, `"note":"again"`, `^reason +engine_missing$`).out.String() }},
		{"bin/rsms-job poison requeue ID", func(line string) { // the original text, byte for byte
			s.prints(line, `^requeued `+s.id+` as `, ``)
			if got := s.queued(s.names.Queue); got != s.shown {
				t.Errorf("on the queue is %q, want %q", got, s.shown)
			}
			s.says("Queued")
		}},
		{"bin/rsms-job run --exe-dir /tmp", func(line string) { s.prints(line, ``, `"reason":"engine_missing"`) }},
		{"bin/rsms-job poison list", func(line string) { // under the id of the new message
			if before := s.id; s.lists(line, enqueued) == before {
				t.Errorf("the id is still %s", before)
			}
		}},
		{"bin/rsms-job poison drop ID", func(line string) { // shows it once more
			if c := s.prints(line, ``, `^dropped `+s.id+`$`); c.out.String() != s.shown {
				t.Errorf("drop printed %q, want %q", &c.out, s.shown)
			}
			if s.queued(s.names.Queue) != "" || s.queued(s.names.Poison) != "" {
				t.Error("a message is left")
			}
		}},
	}
	lines := shellLines(t)
	for i, step := range steps {
		if i >= len(lines) || strings.TrimSpace(regexp.MustCompile(` {2,}# .*`).ReplaceAllString(lines[i], "")) != step.line {
			t.Fatalf("README.md is not what this test knows; it has\n%s\nbut %q is wanted as line %d", strings.Join(lines, "\n"), step.line, i+1)
		}
		step.does(strings.ReplaceAll(lines[i], " ID", " "+s.id))
	}
	if len(lines) > len(steps) {
		t.Errorf("README.md has lines that nothing tries:\n%s", strings.Join(lines[len(steps):], "\n"))
	}
}

// again does what the chapter says behind its first lines: the same once more is
// found to be done, and an empty queue is no error.
func (s *shell) again() {
	s.Helper()
	s.prints("bin/rsms-job run", ``, `the queue is empty, nothing to do`)
	s.does("bin/rsms-job enqueue antietam 1970-03-24")
	s.prints("bin/rsms-job run", ``, `"state":"Completed".*"already_current":true`)
	if s.queued(s.names.Queue) != "" {
		s.Error("the message is not deleted")
	}
}

// until waits until the scenario has that status.
func (s *shell) until(status string) {
	s.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		row, err := s.store.Scenario(s.Context(), "antietam", "1970-03-24")
		if err != nil {
			s.Fatal(err)
		}
		if row["Status"] == status {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("the scenario is %v, not %s, after %v", row["Status"], status, patience)
		}
	}
}

// lists types the line that lists the poison queue, which has the job that was
// enqueued, and keeps and returns the id that it shows.
func (s *shell) lists(line string, enqueued *typed) string {
	s.Helper()
	words := strings.Fields(enqueued.out.String())
	c := s.prints(line, `^id +reason `, ``)
	row := regexp.MustCompile(`(?m)^(\S+) +engine_missing +(\S+) `).FindAllStringSubmatch(c.out.String(), -1)
	if len(row) != 1 || row[0][2] != words[len(words)-1] {
		s.Fatalf("%s: it printed %s", line, &c.out)
	}
	s.id = row[0][1]
	return s.id
}
