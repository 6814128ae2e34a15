package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	"rsmsjob/internal/reason"
)

// TestScripts runs the program as a whole, as testdata/script says.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script", nil) }

// runScripts runs the scripts of a folder. In each, RSMS_STORE_DIR, RSMS_MESSAGE
// and RSMS_WORK_DIR point at the scenario that the command store lays out, so
// that "rsms-job" alone runs it.
func runScripts(t *testing.T, dir string, more map[string]scriptCommand) {
	commands := map[string]scriptCommand{
		"store": layStore, "set": setColumn, "edit": editFile,
		"exits": exits, "refused": refused, "unpublished": unpublished,
		"snapshot": snapshot, "unchanged": unchanged, "same": same,
		"json": jsonIs, "documented": documented, "absent": absent,
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
			env.Values[snapshots{}] = map[string]map[string]file{}
			return os.Mkdir(filepath.Join(env.WorkDir, "work"), 0o755)
		}})
}

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

// refused: refused REASON REGEXP runs the scenario, which must end with exit
// code 11, the reason and a message that matches, and leave nothing behind but
// a scenario row that says so.
func refused(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 2, "refused REASON REGEXP")
	exits(ts, []string{"11", "rsms-job"})
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output: %s", out)
	}
	said := lastError(ts)
	if said["reason"] != args[0] || !regexp.MustCompile(args[1]).MatchString(said["msg"].(string)) {
		ts.Fatalf("reason %v: %v\nwant %s: %s", said["reason"], said["msg"], args[0], args[1])
	}
	unpublished(ts, nil)
	data, err := os.ReadFile(ts.MkAbs(scenarioFile))
	row := map[string]any{}
	if err != nil || json.Unmarshal(data, &row) != nil || row["Name"] == nil {
		return // no row that could be told
	}
	status, why := "Failed", args[0]
	switch reason.Code(why) {
	case reason.Undecodable, reason.InvalidMessage, reason.UnsupportedCommand:
		if row["Status"] != nil {
			ts.Fatalf("the scenario row was touched: %s", data)
		}
		return
	}
	if row["Status"] != status || row["Reason"] != why || row["FinishedAt"] == "" || row["note"] == nil {
		ts.Fatalf("the scenario row does not say %s %s:\n%s", status, why, data)
	}
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
// plume, only engine logs, and that no run folder is left.
func unpublished(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 1, "unpublished [DIR]")
	for name := range files(ts, append(args, "store")[0]) {
		if log := filepath.Ext(name); strings.HasPrefix(name, "rsms-results/") && log != ".stdout" && log != ".stderr" ||
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
	ts.Check(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
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

// unchanged: unchanged DIR checks that no file was written since snapshot.
func unchanged(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 1, 1, "unchanged DIR")
	before, after := ts.Value(snapshots{}).(map[string]map[string]file)[args[0]], files(ts, args[0])
	if len(before) == 0 {
		ts.Fatalf("no snapshot of %s", args[0])
	}
	for name := range union(before, after) {
		if before[name] != after[name] {
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
// byte once the values of the named JSON fields are blotted out.
func same(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 2, 99, "same A B [FIELD...]")
	a, b := files(ts, args[0]), files(ts, args[1])
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

// documented: documented checks that the help just printed names every setting,
// its flag and its variable.
func documented(ts *testscript.TestScript, args []string) {
	usageOf(ts, args, 0, 0, "documented")
	help := ts.ReadFile("stdout")
	for _, v := range config.Variables() {
		line := regexp.MustCompile(fmt.Sprintf(`--%s\b.*\[%s\]`, regexp.QuoteMeta(v.Flag), v.Env))
		if !line.MatchString(help) {
			ts.Fatalf("the help does not name --%s [%s]", v.Flag, v.Env)
		}
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
