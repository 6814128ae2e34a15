package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"rsmsjob/internal/config"
	"rsmsjob/internal/publish"
	"rsmsjob/internal/reason"
)

// TestScripts runs the program as a whole, as testdata/script says.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", nil)
}

// runScripts runs the scripts of a folder. In each, RSMS_STORE_DIR, RSMS_MESSAGE
// and RSMS_WORK_DIR point at the scenario that the command store lays out, so
// that "rsms-job" alone runs it.
func runScripts(t *testing.T, dir string, more map[string]scriptCommand) {
	commands := map[string]scriptCommand{
		"store": layStore, "set": setColumn, "edit": editFile,
		"exits": exits, "fails": fails, "refused": refused, "unpublished": unpublished,
		"snapshot": snapshot, "unchanged": unchanged, "same": same,
		"whole": whole, "json": jsonIs, "documented": documented, "quoted": quoted, "absent": absent,
	}
	for name, c := range more {
		commands[name] = c
	}
	funcs := map[string]func(*testscript.TestScript, bool, []string){}
	for name, c := range commands {
		funcs[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("! %s means nothing", name)
			}
			c(ts, args)
		}
	}
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, Cmds: funcs, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("DATA", data)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each process ends a second late
			env.Setenv("RSMS_STORE_DIR", filepath.Join(env.WorkDir, "store"))
			env.Setenv("RSMS_WORK_DIR", filepath.Join(env.WorkDir, "work"))
			env.Setenv("RSMS_MESSAGE", `{"riverbasin_id":"tiny","scenario_id":"s1","job_id":"j1"}`)
			env.Values[background{}] = new(*exec.Cmd)
			env.Values[snapshots{}] = map[string]map[string]file{}
			return os.Mkdir(filepath.Join(env.WorkDir, "work"), 0o755)
		}})
}

// background is the key of the background command that a script means.
type background struct{}

// A scriptCommand is a command of a script; args are behind its name.
type scriptCommand func(ts *testscript.TestScript, args []string)

// usageOf ends the script where a command has not so many arguments.
func usageOf(ts *testscript.TestScript, args []string, least, most int, usage string) {
	if len(args) < least || len(args) > most {
		ts.Fatalf("usage: %s", usage)
	}
}

// layStore: store [DIR] makes DIR the store of testdata and nothing else.
func layStore(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 1, "store [DIR]")
	dir := ts.MkAbs(append(args, "store")[0])
	ts.Check(os.RemoveAll(dir))
	ts.Check(os.CopyFS(dir, os.DirFS(filepath.Join(ts.Getenv("DATA"), "store"))))
}

// scenarioFile is where the scenario row of store stands.
const scenarioFile = "store/tables/Scenarios/tiny/s1.json"

// setColumn: set COLUMN JSON sets a column of the scenario row; - removes it.
func setColumn(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "set COLUMN JSON")
	row := object(ts, ts.ReadFile(scenarioFile))
	if row[args[0]] = json.RawMessage(args[1]); args[1] == "-" {
		delete(row, args[0])
	}
	data, err := json.MarshalIndent(row, "", "  ")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(scenarioFile), data, 0o644))
}

// object decodes a JSON object and nothing behind it.
func object(ts *testscript.TestScript, text string) map[string]any {
	v, ok := value(ts, text).(map[string]any)
	if !ok {
		ts.Fatalf("not a JSON object: %s", text)
	}
	return v
}

func value(ts *testscript.TestScript, text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		ts.Fatalf("not JSON: %v: %s", err, text)
	}
	if _, err := dec.Token(); err != io.EOF {
		ts.Fatalf("more than one JSON document: %s", text)
	}
	return v
}

// editFile: edit FILE OLD NEW replaces the one OLD of a file; both may have
// the escapes of Go.
func editFile(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 3, 3, "edit FILE OLD NEW")
	for i := 1; i < 3; i++ {
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[i], `"`, `\"`) + `"`)
		ts.Check(err)
		args[i] = text
	}
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, args[1]); n != 1 {
		ts.Fatalf("%s has %q %d times", args[0], args[1], n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
}

// exits: exits CODE PROGRAM ARGS... runs a program, which must end with the code.
func exits(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 99, "exits CODE PROGRAM [ARGS]")
	if got := exitOf(ts, ts.Exec(args[1], args[2:]...)); strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func exitOf(ts *testscript.TestScript, err error) int {
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("the program did not run: %v", err)
	}
	return exit.ExitCode()
}

// refused: refused REASON REGEXP is fails 11 REASON REGEXP.
func refused(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "refused REASON REGEXP")
	fails(ts, append([]string{"11"}, args...))
}

// fails: fails CODE REASON REGEXP runs the scenario, which must end with the
// exit code, the reason and a message that matches, and leave nothing behind
// but a scenario row that says so.
func fails(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 3, 3, "fails CODE REASON REGEXP")
	exits(ts, []string{args[0], "rsms-job"})
	failed(ts, reason.Code(args[1]), args[2])
}

// failed checks what fails checks, of a run that has just ended.
func failed(ts *testscript.TestScript, why reason.Code, match string) {
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output: %s", out)
	}
	said := lastError(ts)
	if said["reason"] != string(why) || !regexp.MustCompile(match).MatchString(said["msg"].(string)) {
		ts.Fatalf("reason %v: %v\nwant %s: %s", said["reason"], said["msg"], why, match)
	}
	unpublished(ts, nil)
	data, err := os.ReadFile(ts.MkAbs(scenarioFile))
	row := map[string]any{}
	if err != nil || json.Unmarshal(data, &row) != nil || row["note"] == nil {
		return // no row that could be told
	}
	if !strings.Contains(ts.Getenv("RSMS_MESSAGE"), `"scenario_id":"s1"`) {
		why = reason.ScenarioNotFound // of this row
	}
	if !toldOf(ts, why) {
		if row["Status"] != nil {
			ts.Fatalf("the scenario row was touched:\n%s", data)
		}
		return
	}
	if status := statusOf(why); status != "" && (row["Status"] != status || row["Reason"] != string(why) || row["FinishedAt"] == "") {
		ts.Fatalf("the scenario row does not say %s %s:\n%s", status, why, data)
	}
	if row["Status"] == "Completed" || statusOf(why) == "" && row["Reason"] == string(why) {
		ts.Fatalf("the scenario row says what it must not:\n%s", data)
	}
}

// toldOf reports whether a run that ended for the reason had a record, which it
// must have but for what is found out before.
func toldOf(ts *testscript.TestScript, why reason.Code) bool {
	_, err := os.Stat(ts.MkAbs("store/tables/Runs/tiny/s1.json"))
	switch why {
	case reason.Undecodable, reason.InvalidMessage, reason.UnsupportedCommand, reason.ScenarioNotFound,
		reason.BasinNotFound, reason.EngineMissing:
		return err == nil
	}
	return true
}

// statusOf is what a scenario row must say of a run that ended for a reason,
// "" where the run has no say in it.
func statusOf(why reason.Code) string {
	switch why {
	case reason.Busy, reason.LeaseLost:
		return ""
	case reason.Cancelled:
		return "Cancelled"
	case reason.TimedOut:
		return "TimedOut"
	}
	return "Failed"
}

// lastError is the last line of the log, which must be an error.
func lastError(ts *testscript.TestScript) map[string]any {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
	said := object(ts, lines[len(lines)-1])
	if said["level"] != "ERROR" {
		ts.Fatalf("the last line of the log is no error: %v", said)
	}
	return said
}

// unpublished: unpublished [DIR] checks that a store has no result and no
// plume, only logs, and that no run folder is left.
func unpublished(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 1, "unpublished [DIR]")
	for name := range files(ts, append(args, "store")[0]) {
		if log := filepath.Ext(name); strings.HasPrefix(name, "rsms-results/") && log != ".stdout" && log != ".stderr" && log != ".log" ||
			strings.HasPrefix(name, "tables/Plume") && !strings.Contains(name, "/.lock-") {
			ts.Fatalf("published: %s", name)
		}
	}
	left, err := os.ReadDir(ts.Getenv("RSMS_WORK_DIR"))
	ts.Check(err)
	if len(left) > 0 {
		ts.Fatalf("run folder left behind: %v", left)
	}
}

// file is what snapshot keeps of a file.
type file struct {
	data    string
	changed time.Time
}

// files are the files below a folder by slash path.
func files(ts *testscript.TestScript, dir string) map[string]file {
	dir = ts.MkAbs(dir)
	found := map[string]file{}
	ts.Check(filepath.WalkDir(dir, func(full string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, full)
		found[filepath.ToSlash(name)] = file{string(data), info.ModTime()}
		return err
	}))
	return found
}

// snapshots is the key of what snapshot has kept, by folder.
type snapshots struct{}

// snapshot: snapshot DIR keeps what the files of a folder are like.
func snapshot(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 1, 1, "snapshot DIR")
	ts.Value(snapshots{}).(map[string]map[string]file)[args[0]] = files(ts, args[0])
}

// unchanged: unchanged DIR checks that no file was written since snapshot but
// the logs of runs.
func unchanged(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 1, 1, "unchanged DIR")
	before, after := ts.Value(snapshots{}).(map[string]map[string]file)[args[0]], files(ts, args[0])
	if len(before) == 0 {
		ts.Fatalf("no snapshot of %s", args[0])
	}
	for name := range union(before, after) {
		if before[name] != after[name] && !strings.HasSuffix(name, ".log") {
			ts.Fatalf("%s was written, from %v to %v:\n%s", name, before[name].changed, after[name].changed, after[name].data)
		}
	}
}

func union(a, b map[string]file) map[string]bool {
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	return names
}

// same: same A B FIELD... checks that two folders hold the same files, byte for
// byte once the values of the named JSON fields are blotted out; logs of runs
// do not count.
func same(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 99, "same A B [FIELD...]")
	a, b := files(ts, args[0]), files(ts, args[1])
	for _, all := range []map[string]file{a, b} { // the log of a run has times in it
		maps.DeleteFunc(all, func(name string, _ file) bool { return strings.HasSuffix(name, ".log") })
	}
	if len(a) == 0 {
		ts.Fatalf("%s has no files", args[0])
	}
	// In result.json a blob that differs shows by its hash as well.
	fields := regexp.MustCompile(`("(?:` + strings.Join(append(args[2:], "no field"), "|") + `)":)("[^"]*"|[0-9]+)`)
	for name := range union(a, b) {
		x, y := fields.ReplaceAllString(a[name].data, "$1"), fields.ReplaceAllString(b[name].data, "$1")
		if x != y || x == "" && (a[name] == file{} || b[name] == file{}) {
			ts.Fatalf("%s differs:\n%s\n%s", name, a[name].data, b[name].data)
		}
	}
}

// whole: whole [DIR] checks that every result.json in a store names every blob
// of its run, with its true size and hash.
func whole(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 1, "whole [DIR]")
	all, results := files(ts, append(args, "store")[0]), 0
	for name, f := range all {
		folder, base := path.Split(name)
		if base != publish.MarkerName {
			continue
		}
		results++
		marker, err := publish.ReadMarker(strings.NewReader(f.data))
		ts.Check(err)
		for _, b := range marker.Blobs {
			data := all[folder+b.Name].data
			if sum := sha256.Sum256([]byte(data)); int64(len(data)) != b.Size || hex.EncodeToString(sum[:]) != b.SHA256 {
				ts.Fatalf("%s is not what %s says of it: %+v", b.Name, name, b)
			}
			delete(all, folder+b.Name)
		}
	}
	if results == 0 {
		ts.Fatalf("there is no result")
	}
	for name := range all {
		if strings.HasPrefix(name, "rsms-results/") && path.Base(name) != publish.MarkerName && !strings.Contains(name, "/run/") {
			ts.Fatalf("%s is of no result", name)
		}
	}
}

// jsonIs: json FILE [PATH JSON] checks that a file is one JSON document and
// what it holds at a path of names and numbers, "-" for nothing.
func jsonIs(ts *testscript.TestScript, args []string) {
	if len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: json FILE [PATH JSON]")
	}
	v := value(ts, ts.ReadFile(args[0]))
	if len(args) == 1 {
		return
	}
	for part := range strings.SplitSeq(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[part]
		case []any:
			i, err := strconv.Atoi(part)
			if v = nil; err == nil && i < len(at) {
				v = at[i]
			}
		default:
			v = nil
		}
	}
	if args[2] == "-" && v == nil {
		return
	}
	if got, err := json.Marshal(v); err != nil || args[2] == "-" || !reflect.DeepEqual(v, value(ts, args[2])) {
		ts.Fatalf("%s of %s is %s, want %s", args[1], args[0], got, args[2])
	}
}

// documented: documented [COMMAND] checks that the help just printed names every
// setting, its flag and its variable; those of the command too, if one is given.
func documented(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 1, "documented [COMMAND]")
	help := ts.ReadFile("stdout")
	for _, v := range config.Variables() {
		if v.Only != "" && !slices.Contains(args, v.Only) {
			if strings.Contains(help, v.Env) {
				ts.Fatalf("the help names %s, which %s alone reads", v.Env, v.Only)
			}
			continue
		}
		line := regexp.MustCompile(fmt.Sprintf(`--%s\b.*\[%s\]`, regexp.QuoteMeta(v.Flag), v.Env))
		if !line.MatchString(help) {
			ts.Fatalf("the help does not name --%s [%s]", v.Flag, v.Env)
		}
	}
}

// quoted: quoted PATTERN checks that every line just printed that matches the
// pattern, and there is one, stands in README.md as it is.
func quoted(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 1, 1, "quoted PATTERN")
	readme := ts.ReadFile(ts.MkAbs(filepath.Join(ts.Getenv("DATA"), "..", "..", "README.md")))
	pattern := regexp.MustCompile(args[0])
	found := false
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		if pattern.MatchString(line) {
			found = true
			if !strings.Contains(readme, "\n"+line) {
				ts.Fatalf("README.md does not have the line %q", line)
			}
		}
	}
	if !found {
		ts.Fatalf("no line matches %s", pattern)
	}
}

// absent: absent TEXT DIR [ALLOWED...] checks that a text is in no file below
// DIR but the allowed ones, and in those for certain.
func absent(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 99, "absent TEXT DIR [ALLOWED...]")
	for name, f := range files(ts, args[1]) {
		if has, may := bytes.Contains([]byte(f.data), []byte(args[0])), slices.Contains(args[2:], name); has != may {
			ts.Fatalf("%s in %s: %t, want %t", args[0], name, has, may)
		}
	}
}
