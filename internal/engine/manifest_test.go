package engine

import (
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

// What is wrong with an engine.json is said all at once, each with file, line,
// field and what is allowed.
func TestManifestFaults(t *testing.T) {
	steps := func(daflow string) string {
		return `{"steps": {` + "\n" + `"daflow": ` + daflow + `, "bltm": {}, "ctplt": {}, "cxplt": {}}}`
	}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"engine.json line 1 column 1: is not JSON from here on; JSON has no comments, and no comma behind the last item"}},
		{"comment", "{\n  // ours\n}", []string{"engine.json line 2 column 3: is not JSON from here on"}},
		{"comma", "{\n  \"name\": \"x\",\n}", []string{"engine.json line 3 column 1: is not JSON"}},
		{"two documents", "{}\n{}", []string{"engine.json line 2 column 1: is not JSON"}},
		{"as Windows saves it", "\xff\xfe{\x00}\x00", []string{"engine.json line 1 column 1: is not UTF-8; save the file as UTF-8"}},
		{"list", "[]", []string{"engine.json line 1 column 1: must be an object with the engines of the folder"}},
		{"no steps", "{}", []string{"engine.json line 1 column 1 steps: is missing; it must be an object with the steps daflow, bltm, ctplt, cxplt"}},
		{"a step left out", `{"steps": {"daflow": {}, "bltm": {}, "cxplt": {}}}`, []string{"line 1 column 11 steps.ctplt: is missing; it must be an object that describes the step; {} takes what is usual"}},
		{"unknown", "{\n \"step\": 1, \"steps\": {\"daflow\": {}, \"bltm\": {}, \"ctplt\": {},\n  \"cxplt\": {\"exit_code\": 0}}}", []string{
			"engine.json line 2 column 2 step: is not known; allowed are $schema, name, version, runner, environment, output_limit_mb, steps",
			"engine.json line 3 column 13 steps.cxplt.exit_code: is not known; allowed are executable, arguments, stdin, outputs, exit_codes, timeout_seconds, success_text"}},
		{"unknown of any letters", `{"pass word!": 1, "steps": {"daflow": {}, "bltm": {}, "ctplt": {}, "cxplt": {}}}`, []string{"engine.json line 1 column 2: is not known; allowed are"}},
		{"in other case", strings.Replace(steps("{}"), "daflow", "Daflow", 1), []string{"line 2 column 1 steps.Daflow: is not known; allowed are daflow, bltm, ctplt, cxplt", "line 1 column 11 steps.daflow: is missing"}},
		{"twice", steps(`{"executable": "A",` + "\n" + `"executable": "B"}`), []string{"line 3 column 1 steps.daflow.executable: is given twice; keep one of the two"}},
		{"a step twice", steps("{},\n \"daflow\": {}"), []string{"line 3 column 2 steps.daflow: is given twice"}},
		{"null", steps(`{"stdin": null}`), []string{"line 2 column 21 steps.daflow.stdin: must be a list of at most 1000 lines"}},
		{"a word for a list", steps(`{"arguments": "-x"}`), []string{"steps.daflow.arguments: must be a list of at most 100 strings"}},
		{"a word for a number", steps(`{"timeout_seconds": "60"}`), []string{"steps.daflow.timeout_seconds: must be a whole number from 1 to 86400"}},
		{"an item", steps(`{"stdin": ["FLOW.IN", 7]}`), []string{"steps.daflow.stdin[2]: must be a line of at most 1000 characters, without line breaks"}},
		{"out of the folder", steps(`{"executable": "../DAFLOW"}`), []string{"steps.daflow.executable: must be a file name or a relative path inside EXE_DIR, neither absolute nor with .."}},
		{"absolute", steps(`{"executable": "/usr/bin/DAFLOW"}`), []string{"neither absolute"}},
		{"absolute on Windows", steps(`{"executable": "C:\\rsms\\DAFLOW.EXE"}`), []string{"neither absolute"}},
		{"credential", `{"environment": ["AZURE_STORAGE_CONNECTION_STRING"], "steps": {"daflow": {}, "bltm": {}, "ctplt": {}, "cxplt": {}}}`,
			[]string{"environment[1]: must be NAME or NAME=value, and no name of a credential or of a setting of the job"}},
		{"output with a path", steps(`{"outputs": ["out/BLTM.FLW"]}`), []string{"steps.daflow.outputs[1]: must be a bare file name, and not that of an input or a log of the run"}},
		{"input as output", steps(`{"outputs": ["flow.in"]}`), []string{"steps.daflow.outputs[1]: must be a bare file name, and not that of an input"}},
		{"one output, two steps", steps(`{"outputs": ["BLTM.FLW", "BLTM.OUT"]}`), []string{"steps.bltm.outputs: an output has two steps to make it, daflow and bltm; name it in the one that does"}},
		{"an output in other case", steps(`{"outputs": ["BLTM.FLW", "plume.TXT"]}`), nil},
		{"an output as nobody reads it", steps("{\"outputs\":\n [\"Bltm.flw\"]}"), []string{"engine.json line 3 column 3 steps.daflow.outputs: must be spelt BLTM.FLW, as who reads it does"}},
		{"nobody makes it", `{"steps": {"daflow": {}, "bltm": {"outputs": []}, "ctplt": {}, "cxplt": {}}}`, []string{"steps: no step has BLTM.OUT among its outputs, which the job reads; as a rule it is bltm that makes it"}},
		{"reads what nobody makes", steps("{\"reads\": [\"FLOW.IN\",\n \"BLTM.FLW\"]}"), []string{"engine.json line 3 column 2 steps.daflow.reads: is neither an input of the run nor an output of an earlier step; inputs are FLOW.IN, BLTM.IN"}},
		{"reads in other case", steps(`{"reads": ["flow.in"]}`), []string{"steps.daflow.reads: is neither an input"}},
		{"reads what was made", `{"steps": {"daflow": {"outputs": ["BLTM.FLW", "GRID.TAB"]}, "bltm": {"reads": ["BLTM.IN", "BLTM.FLW", "GRID.TAB"]}, "ctplt": {}, "cxplt": {}}}`, nil},
		{"reads nothing", steps(`{"reads": []}`), []string{"steps.daflow.reads: must be a list of 1 to 50 file names"}},
		{"a number for a truth", steps(`{"cache": 0}`), []string{"steps.daflow.cache: must be true or false"}},
		{"deep", `{"name": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, []string{"is nested deeper than 16 levels"}},
		{"all at once", "{\n\"name\": 1,\n\"steps\": {\"daflow\": [],\n \"bltm\": {\"exit_codes\": []}, \"ctplt\": {\"success_text\": \"\"}}}", []string{
			"line 2 column 9 name: must be 1 to 40 letters", "line 3 column 21 steps.daflow: must be an object that describes the step", "line 4 column 25 steps.bltm.exit_codes: must be a list of 1 to 50 whole numbers",
			"steps.ctplt.success_text: must be a text of 1 to 200 characters", "line 3 column 10 steps.cxplt: is missing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := parseManifest([]byte(tt.text), manifestName)
			if err == nil {
				err = m.tree.faults.Err()
			}
			faults := reason.Faults(err)
			if len(faults) != len(tt.want) {
				t.Errorf("%d faults, want %d: %v", len(faults), len(tt.want), err)
			}
			for _, want := range tt.want {
				if !slices.ContainsFunc(faults, func(f *reason.Fault) bool { return strings.Contains(f.Detail(), want) }) {
					t.Errorf("nothing says %q; said is:\n%v", want, err)
				}
			}
			for _, f := range faults {
				if strings.Contains(f.Detail(), "pass word") || strings.Contains(f.Detail(), "CONNECTION_STRING") {
					t.Errorf("the detail has text of the file: %s", f.Detail())
				}
			}
		})
	}
}

// A step may be there for nothing where another makes its output.
func TestManifestStepWithoutOutputs(t *testing.T) {
	m, err := parseManifest([]byte("\xef\xbb\xbf"+`{"steps": {"daflow": {}, "bltm": {"outputs": ["BLTM.OUT", "PLUME.TIM"]}, "ctplt": {"outputs": []}, "cxplt": {}}}`), manifestName)
	if err != nil || m.tree.faults.Err() != nil {
		t.Fatal(err, m.tree.faults.Err())
	}
	if got := m.steps[2].outputs; got == nil || len(got) != 0 {
		t.Errorf("outputs of ctplt: %q", got)
	}
}
