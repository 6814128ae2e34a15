package storage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/storagetest"
)

func openFolder(t testing.TB, dir string) *storage.Folder {
	t.Helper()
	f, err := storage.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// put writes a file of the store as a user does.
func put(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFolderConformance(t *testing.T) {
	storagetest.Run(t, func(t testing.TB) storagetest.Backend {
		dir := t.TempDir()
		return storagetest.Backend{
			Open: func(t testing.TB) storagetest.Store { return openFolder(t, dir) },
			PutBasin: func(t testing.TB, basin, name string, data []byte) {
				put(t, dir, "riverbasin/"+basin+"/"+name, data)
			},
			PutScenario: func(t testing.TB, basin, scenario string, columns map[string]any) {
				data, err := json.MarshalIndent(columns, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				put(t, dir, "tables/Scenarios/"+basin+"/"+scenario+".json", data)
			},
			SpoilRun: func(t testing.TB, basin, scenario string) { // larger than any record
				put(t, dir, "tables/Runs/"+basin+"/"+scenario+".json", bytes.Repeat([]byte(" "), 1<<20+1))
			},
		}
	})
}

func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file", nil)
	for name, path := range map[string]string{"relative": "store", "missing": filepath.Join(dir, "no"), "file": filepath.Join(dir, "file")} {
		if _, err := storage.OpenFolder(path); len(reason.Faults(err)) != 1 {
			t.Errorf("%s: %v, want a fault", name, err)
		}
	}
	f := openFolder(t, dir)
	ctx := t.Context()
	f.Basin(ctx, "ohio", "FLOW.IN")
	f.Scenario(ctx, "ohio", "42")
	f.MergeScenario(ctx, "ohio", "42", map[string]any{"Status": "Queued"})
	f.Run(ctx, "ohio", "42")
	f.ListResults(ctx, "ohio", "42")
	f.RemoveResult(ctx, "ohio", "42", "result.json")
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("reading has created %v", entries)
	}
}

func TestMergeKeepsText(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"indented",
			"{\n  \"SpillMile\": 1.50,\n  \"Status\": \"Queued\",\n  \"Big\": 12345678901234567890\n}\n",
			"{\n  \"SpillMile\": 1.50,\n  \"Status\": \"Running\",\n  \"Big\": 12345678901234567890,\n  \"Attempt\": 1,\n  \"Step\": \"DAFLOW\"\n}\n"},
		{"minified", `{"Status":"x","a":1e3}`, `{"Status":"Running","a":1e3,"Attempt":1,"Step":"DAFLOW"}`},
		{"one line", `{ "a" : 1.0, "Step" : null }`, `{ "a" : 1.0, "Step" : "DAFLOW", "Attempt" : 1, "Status" : "Running" }`},
		{"one member", "{\n\t\"a\": {\"Status\": \"x\"}\n}", "{\n\t\"a\": {\"Status\": \"x\"},\n\t\"Attempt\": 1,\n\t\"Status\": \"Running\",\n\t\"Step\": \"DAFLOW\"\n}"},
		{"empty", "{}", "{\n  \"Attempt\": 1,\n  \"Status\": \"Running\",\n  \"Step\": \"DAFLOW\"\n}"},
		{"empty with blanks", "\n{ \n }\n", "\n{\n  \"Attempt\": 1,\n  \"Status\": \"Running\",\n  \"Step\": \"DAFLOW\"\n}\n"},
		{"H08 byte order mark and CRLF", "\ufeff{\r\n  \"Status\": \"x\"\r\n}\r\n",
			"\ufeff{\r\n  \"Status\": \"Running\",\r\n  \"Attempt\": 1,\r\n  \"Step\": \"DAFLOW\"\r\n}\r\n"},
		{"escaped name", `{"\u0053tatus":"x","Name":"é\u00e9","Attempt":9,"Step":[1,{"Step":2}]}`,
			`{"\u0053tatus":"Running","Name":"é\u00e9","Attempt":1,"Step":"DAFLOW"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			const name = "tables/Scenarios/ohio/42.json"
			put(t, dir, name, []byte(test.before))
			f := openFolder(t, dir)
			for range 2 { // the second changes nothing
				err := f.MergeScenario(t.Context(), "ohio", "42", map[string]any{"Status": "Running", "Step": "DAFLOW", "Attempt": 1})
				if err != nil {
					t.Fatal(err)
				}
				if got := get(t, dir, name); got != test.after {
					t.Fatalf("got\n%q, want\n%q", got, test.after)
				}
			}
		})
	}
}

func TestScenarioFaults(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
	}{
		{"empty", "", 1, 1},
		{"array", "[1]", 0, 0},
		{"number", "  1", 0, 0},
		{"cut", "{\n \"é\": 1,", 2, 9},
		{"comma", "{\n \"é\": ,}", 2, 7},
		{"more behind", "{}\nx", 2, 1},
		{"twice", "{\"a\": 1,\n  \"b\": 2, \"a\": 3}", 2, 11},
		{"NaN", `{"a": NaN}`, 1, 7},
		{"not UTF-8", "{\"a\": \"\xff\"}", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "tables/Scenarios/ohio/42.json", []byte(test.text))
			f := openFolder(t, dir)
			_, err := f.Scenario(t.Context(), "ohio", "42")
			faults := reason.Faults(err)
			if len(faults) != 1 || faults[0].File != "42.json" || faults[0].Line != test.line || faults[0].Column != test.column {
				t.Errorf("got %v, want a fault in 42.json line %d column %d", err, test.line, test.column)
			}
			err = f.MergeScenario(t.Context(), "ohio", "42", map[string]any{"a": 1})
			if len(reason.Faults(err)) != 1 || get(t, dir, "tables/Scenarios/ohio/42.json") != test.text {
				t.Errorf("merge: %v, want a fault and the file as it was", err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	f, ctx := openFolder(t, dir), t.Context()
	large := filepath.Join(dir, "riverbasin", "ohio", "FLOW.IN")
	put(t, dir, "riverbasin/ohio/FLOW.IN", nil)
	if err := os.Truncate(large, 256<<20+1); err != nil { // a hole, no disk
		t.Fatal(err)
	}
	put(t, dir, "tables/Scenarios/ohio/42.json", []byte(`{"a":"`+strings.Repeat("x", 1<<20)+`"}`))
	put(t, dir, "tables/Scenarios/ohio/43.json", []byte(`{"a":"`+strings.Repeat("x", 1<<20-100)+`"}`))
	_, err1 := f.Basin(ctx, "ohio", "FLOW.IN")
	_, err2 := f.Scenario(ctx, "ohio", "42")
	err3 := f.MergeScenario(ctx, "ohio", "43", map[string]any{"b": strings.Repeat("x", 200)})
	_, err4 := f.PutRun(ctx, "ohio", "42", make([]byte, 1<<20+1), "")
	for i, err := range []error{err1, err2, err3, err4} {
		if len(reason.Faults(err)) != 1 {
			t.Errorf("%d: %v, want a fault", i+1, err)
		}
	}
}

// Names that differ only by case are one file on some systems, so on none.
func TestLetterCase(t *testing.T) {
	dir := t.TempDir()
	f, ctx := openFolder(t, dir), t.Context()
	put(t, dir, "riverbasin/Ohio/flow.in", nil)
	put(t, dir, "tables/Scenarios/Ohio/spill.json", []byte("{}"))
	if _, err := f.PutRun(ctx, "Ohio", "spill", []byte("{}"), ""); err != nil {
		t.Fatal(err)
	}
	_, basin := f.Basin(ctx, "ohio", "flow.in")
	_, file := f.Basin(ctx, "Ohio", "FLOW.IN")
	_, exists := f.BasinExists(ctx, "OHIO")
	_, scenario := f.Scenario(ctx, "Ohio", "Spill")
	_, run := f.PutRun(ctx, "Ohio", "SPILL", []byte("{}"), "")
	for name, err := range map[string]error{"basin": basin, "file": file, "exists": exists, "scenario": scenario, "run": run} {
		if faults := reason.Faults(err); len(faults) != 1 || !strings.Contains(err.Error(), "letter case") {
			t.Errorf("%s: %v, want a fault of letter case", name, err)
		}
	}
}

func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // links need a right there that tests do not have
	}
	outside, dir := t.TempDir(), t.TempDir()
	put(t, outside, "FLOW.IN", []byte("secret"))
	put(t, outside, "42.json", []byte(`{"secret":1}`))
	put(t, dir, "shared/FLOW.IN", []byte("shared"))
	for _, folder := range []string{"riverbasin/ohio", "tables/Scenarios", "tables/Runs", "tables/PlumeByTime", "rsms-results/ohio"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"riverbasin/out":          outside,
		"riverbasin/ohio/FLOW.IN": filepath.Join(outside, "FLOW.IN"),
		"riverbasin/in":           "../shared",
		"tables/Scenarios/ohio":   outside,
		"tables/Runs/ohio":        outside,
		"tables/PlumeByTime/ohio": "../../../" + filepath.Base(outside),
		"rsms-results/ohio/42":    outside,
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	f, ctx := openFolder(t, dir), t.Context()
	if got, err := f.Basin(ctx, "in", "FLOW.IN"); err != nil || string(got) != "shared" {
		t.Errorf("a link inside: %q, %v", got, err)
	}
	errs := map[string]error{}
	_, errs["folder"] = f.Basin(ctx, "out", "FLOW.IN")
	_, errs["file"] = f.Basin(ctx, "ohio", "FLOW.IN")
	_, errs["scenario"] = f.Scenario(ctx, "ohio", "42")
	_, errs["run"] = f.PutRun(ctx, "ohio", "42", []byte("{}"), "")
	_, errs["rows"] = f.PlumeByTime(ctx, "ohio", "42")
	_, errs["result"] = f.WriteResult(ctx, "ohio", "42", "result.json")
	_, errs["read"] = f.ReadResult(ctx, "ohio", "42", "FLOW.IN")
	errs["remove"] = f.RemoveResult(ctx, "ohio", "42", "FLOW.IN")
	_, errs["list"] = f.ListResults(ctx, "ohio", "42")
	for name, err := range errs {
		if reason.Of(err) != reason.StorageDenied {
			t.Errorf("%s: %v (%s), want %s", name, err, reason.Of(err), reason.StorageDenied)
		}
	}
	entries, _ := os.ReadDir(outside)
	if len(entries) != 2 || get(t, outside, "FLOW.IN") != "secret" {
		t.Errorf("the folder outside is now %v", entries)
	}
}

func TestNotPlainFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "riverbasin/ohio/FLOW.IN/x", nil)
	put(t, dir, "rsms-results/ohio/42/run/x", nil)
	put(t, dir, "riverbasin/delaware", nil)
	f, ctx := openFolder(t, dir), t.Context()
	_, err1 := f.Basin(ctx, "ohio", "FLOW.IN")
	_, err2 := f.ReadResult(ctx, "ohio", "42", "run")
	err3 := f.RemoveResult(ctx, "ohio", "42", "run")
	_, err4 := f.BasinExists(ctx, "delaware")
	for i, err := range []error{err1, err2, err3, err4} {
		if reason.Of(err) != reason.StorageDenied {
			t.Errorf("%d: %v, want %s", i+1, err, reason.StorageDenied)
		}
	}
}

// A killed run leaves temporary files; the next write of the same name removes
// them, and no file of anybody else.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	f, ctx := openFolder(t, dir), t.Context()
	const folder = "rsms-results/ohio/42/"
	left := folder + ".tmp-result.json-ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	others := []string{folder + ".tmp-report.html-ABCDEFGHIJKLMNOPQRSTUVWXYZ", folder + ".tmp-result.json-note"}
	for _, name := range append(others, left) {
		put(t, dir, name, []byte("half"))
	}
	living, err := openFolder(t, dir).WriteResult(ctx, "ohio", "42", "result.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, left)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed run left is there: %v", err)
	}
	w, err := f.WriteResult(ctx, "ohio", "42", "result.json")
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if _, err := living.Write([]byte("all")); err != nil {
		t.Fatal(err)
	}
	if err := living.Commit(); err != nil {
		t.Errorf("the file of a living writer was removed: %v", err)
	}
	if got, err := f.ListResults(ctx, "ohio", "42"); err != nil || !slices.Equal(got, []string{"result.json"}) {
		t.Errorf("results are %q, %v", got, err)
	}
	entries, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(folder)))
	if len(entries) != len(others)+1 {
		t.Errorf("the folder has %v", entries)
	}
}

func TestPlumeFile(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir)
	writeRows(t, f, context.Background(), 3)
	if got := get(t, dir, "tables/PlumeByTime/ohio/42.csv"); got != get(t, "testdata", "plume_by_time.csv") {
		t.Errorf("PlumeByTime is\n%s", got)
	}
	if got := get(t, dir, "tables/PlumeByMile/ohio/42.csv"); got != get(t, "testdata", "plume_by_mile.csv") {
		t.Errorf("PlumeByMile is\n%s", got)
	}
}

func TestReadPlumeFaults(t *testing.T) {
	good := get(t, "testdata", "plume_by_time.csv")
	header, _, _ := strings.Cut(good, "\n")
	row := "p,k,Ohio,1.5,1,2,2026-01-02T03:00:00Z,0.5,1e-3,job"
	tests := []struct {
		name, text string
		line       int
		field      string
	}{
		{"empty", "", 1, ""},
		{"other header", "a,b\n", 1, ""},
		{"columns swapped", strings.Replace(header, "Branch,Grid", "Grid,Branch", 1) + "\n", 1, ""},
		{"field missing", header + "\n" + row + "\n" + strings.TrimSuffix(row, ",job") + "\n", 3, ""},
		{"mile", header + "\n" + strings.Replace(row, "1.5", "x", 1) + "\n", 2, "RiverMile"},
		{"time", header + "\n" + strings.Replace(row, "T03", " 03", 1) + "\n", 2, "TimeUtc"},
		{"NaN", header + "\n" + strings.Replace(row, "1e-3", "NaN", 1) + "\n", 2, "ConcentrationMgL"},
		{"quote", header + "\n\"" + row + "\n", 2, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var last error
			for _, err := range storage.ReadPlume(strings.NewReader(test.text)) {
				if last != nil {
					t.Fatal("goes on after an error")
				}
				last = err
			}
			faults := reason.Faults(last)
			if len(faults) != 1 || faults[0].Line != test.line || faults[0].Field != test.field {
				t.Errorf("got %v, want a fault in line %d, %q", last, test.line, test.field)
			}
		})
	}
	broken := errors.New("broken")
	for _, err := range storage.ReadPlume(&failing{strings.NewReader(header + "\n"), broken}) {
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want what the reader said", err)
		}
	}
	rows := 0
	for range storage.ReadPlume(bytes.NewReader([]byte(good))) {
		rows++
		break // must be possible
	}
	if rows != 1 {
		t.Errorf("%d rows before the break", rows)
	}
}

// failing returns err where the reader in it ends.
type failing struct {
	r   *strings.Reader
	err error
}

func (f *failing) Read(b []byte) (int, error) {
	if f.r.Len() == 0 {
		return 0, f.err
	}
	return f.r.Read(b)
}
