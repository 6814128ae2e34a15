package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func source(pairs ...string) Lookup {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func TestDefaults(t *testing.T) {
	c, err := Load(Need{})
	if err != nil {
		t.Fatal(err)
	}
	if c.LeaseSeconds != 120 || c.JobTimeoutSeconds != 7200 || c.StepSeconds != 3600 ||
		c.Tolerance != 0.001 || c.QueueName != "rsms-jobs" || c.PoisonQueue() != "rsms-jobs-poison" || c.DoneQueueName != "" ||
		c.MaxDequeueCount != 5 || c.MaxMessages != 1 || c.PollWait() != 0 || c.StartDeadline() != 90*time.Second || c.RetryDelay(1) != 15*time.Second ||
		c.BasinContainer != "riverbasin" || c.ResultsContainer != "rsms-results" || c.ScenariosTable != "Scenarios" || c.RunsTable != "Runs" ||
		c.PlumeByTimeTable != "PlumeByTime" || c.PlumeByMileTable != "PlumeByMile" || c.PublishConcurrency != 16 ||
		c.Ensemble != 0 || c.EnsembleSeed != 1 || c.VaryDispersion != 0 || c.VaryFlow != 0.1 || c.VaryRelease != 0.25 ||
		c.EndpointSuffix != DefaultEndpointSuffix || c.Connection != nil || c.LogLevel != "info" || c.LogFormat != "auto" {
		t.Errorf("defaults: %+v", c)
	}
	if c.GraceSeconds != 20 && c.GraceSeconds != 4 {
		t.Errorf("grace %d", c.GraceSeconds)
	}
}

func TestWordsInAnyCase(t *testing.T) {
	c, err := Load(Need{}, source("LOG_LEVEL", "INFO", "LOG_FORMAT", "Json", "RSMS_MESSAGE", "canary"))
	if err != nil || c.LogLevel != "info" || c.LogFormat != "json" {
		t.Errorf("%+v %v", c, err)
	}
	if list := fmt.Sprint(c.Effective()...); strings.Contains(list, "canary") || !strings.Contains(list, "RSMS_EXIT_ZERO") {
		t.Errorf("effective: %s", list)
	}
}

func TestFirstSourceWins(t *testing.T) {
	c, err := Load(Need{}, source("LOG_LEVEL", ""), source("LOG_LEVEL", "warn"), source("LOG_LEVEL", "debug", "EXE_DIR", " /opt/engines "))
	if err != nil {
		t.Fatal(err)
	}
	if c.LogLevel != "warn" || c.ExeDir != "/opt/engines" {
		t.Errorf("%+v", c)
	}
}

// C33: a configuration error names every bad variable, and none of the values.
func TestEveryBadVariableIsNamed(t *testing.T) {
	for _, tt := range []struct{ name, value string }{
		{"RSMS_JOB_TIMEOUT_SEC", "canary"}, {"RSMS_KEEP_WORK_DIR", "canary"}, {"RSMS_CONCENTRATION_TOLERANCE", "canary"},
		{"RSMS_JOB_TIMEOUT_SEC", "0"}, {"RSMS_JOB_TIMEOUT_SEC", "86401"}, {"RSMS_CONCENTRATION_TOLERANCE", "NaN"},
		{"RSMS_CONCENTRATION_TOLERANCE", "-1"}, {"LOG_LEVEL", "canary"}, {"RSMS_SHUTDOWN_GRACE_SEC", "1.5"},
		{"RSMS_WORKER_VISIBILITY_TIMEOUT_SEC", "1"},
		{"RSMS_WORKER_MAX_DEQUEUE_COUNT", "0"}, {"RSMS_WORKER_POLL_WAIT_SEC", "-1"}, {"RSMS_WORKER_MAX_MESSAGES", "0"},
		{"RSMS_RETRY_DELAY_SEC", "301"}, {"RSMS_START_DEADLINE_SEC", "0"}, {"RSMS_PUBLISH_CONCURRENCY", "0"},
		{"RSMS_ENSEMBLE", "1"}, {"RSMS_ENSEMBLE", "1001"}, {"RSMS_ENSEMBLE", "-2"}, {"RSMS_ENSEMBLE", "canary"}, {"RSMS_ENSEMBLE_SEED", "-1"},
		{"RSMS_VARY_DISPERSION", "0.5"}, {"RSMS_VARY_DISPERSION", "11"}, {"RSMS_VARY_FLOW", "1"}, {"RSMS_VARY_FLOW", "-0.1"}, {"RSMS_VARY_RELEASE_HOURS", "49"},
		{"RSMS_REPLICA_TIMEOUT_SEC", "-1"}, {"RSMS_EXIT_ON_FAILURE", "canary"}, {"RSMS_REQUIRE_IDENTITY", "canary"},
		{"AZURE_STORAGE_CONNECTION_STRING", "AccountName=canary"}, {"AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;AccountKey=canary?"},
	} {
		_, err := Load(Need{}, source(tt.name, tt.value))
		if err == nil || !strings.Contains(err.Error(), tt.name) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s=%s: %v", tt.name, tt.value, err)
		}
	}
	_, err := Load(Need{Run: true}, source("RSMS_STORE_DIR", "d", "RSMS_JOB_TIMEOUT_SEC", "x", "RSMS_EXIT_ZERO", "y", "RSMS_ENGINE_STEP_TIMEOUT_SEC", "0",
		"LOG_FORMAT", "xml", "RSMS_RUNS_TABLE", "scenarios", "RSMS_WORKER_QUEUE_NAME", "A", "AZURE_STORAGE_CONNECTION_STRING", "canary"))
	for _, name := range []string{"RSMS_MESSAGE (--message)", "RSMS_JOB_TIMEOUT_SEC", "RSMS_EXIT_ZERO", "RSMS_ENGINE_STEP_TIMEOUT_SEC", "LOG_FORMAT",
		"RSMS_RUNS_TABLE", "RSMS_WORKER_QUEUE_NAME", "AZURE_STORAGE_CONNECTION_STRING is not a list"} {
		if err == nil || strings.Count(err.Error(), name) != 1 {
			t.Errorf("%s is not there once in %v", name, err)
		}
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 8 || strings.Contains(err.Error(), "canary") {
		t.Errorf("%d lines: %v", len(lines), err)
	}
	for _, line := range err.(interface{ Unwrap() []error }).Unwrap() {
		if _, ok := errors.AsType[*BadVariable](line); !ok {
			t.Errorf("%T: %v", line, line)
		}
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Variables() {
		if v.Env == "" || v.Help == "" || seen[v.Flag] || seen[v.Env] {
			t.Errorf("%+v", v)
		}
		// A secret on the command line is seen by everybody on the machine.
		if (v.Flag == "") != v.Secret || v.Secret && v.Default != "" {
			t.Errorf("%s: secret %t, flag %q", v.Env, v.Secret, v.Flag)
		}
		seen[v.Flag], seen[v.Env] = true, true
	}
	if len(Variables()) != reflect.TypeFor[Config]().NumField()-1 { // Connection is made of another field
		t.Error("a field is missing")
	}
}

// Every variable stands in the README.
func TestVariablesAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Variables() {
		if !strings.Contains(string(readme), "`"+v.Env+"`") {
			t.Errorf("README.md does not name %s", v.Env)
		}
	}
}

func TestFile(t *testing.T) {
	for name, text := range map[string]string{
		".env":                "# settings\r\nLOG_LEVEL=debug\nexport EXE_DIR='/a b'\n",
		"local.settings.json": "\ufeff{\"IsEncrypted\":false,\"Values\":{\"LOG_LEVEL\":\"debug\",\"EXE_DIR\":\"/a b\"}}",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		get, err := File(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c, err := Load(Need{}, get)
		if err != nil || c.LogLevel != "debug" || c.ExeDir != "/a b" {
			t.Errorf("%s: %+v %v", name, c, err)
		}
	}
}

func TestFileErrorsKeepSecrets(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.env")
	for _, text := range []string{"canary-key", `{"Values":{"A":canary-key}}`, `{"Values":{"A":{"canary-key":1}}}`} {
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := File(bad); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "bad.env") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := File(filepath.Join(dir, "absent")); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("absent: %v", err)
	}
	if _, err := File(dir); err == nil {
		t.Error("a folder was accepted")
	}
}

// The line is that with which the wrong setting begins, which need not be the
// one where a reader stops.
func TestFileErrorsNameTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my.env")
	many := strings.Repeat("# nothing\n", 5000)
	for _, tt := range []struct{ text, want string }{
		{"A=1\nB 2\nC=3\n", " line 2: not of the form NAME=value"},
		{"A=1\r\n\r\nB 2\r\n", " line 3: not of the form"},
		{"no-name", " line 1: not of the form"},
		{"A=1\nno name", " line 2: not of the form"},
		{"A=1\nNAME", " line 2: not of the form"},
		{"A=1\n=2\nB=3", " line 2: not of the form"},
		{"A='1\n2'\nB=\"3\n4\n5\"\n\n# more\n-\nC='\n'", " line 8: not of the form"},
		{"A=1\nB='never\nended\nC=3\n", " line 2: not of the form"},
		{"\ufeffA=1\n?\n", " line 2: not of the form"},
		{many + "?\nA=1\n" + many, " line 5001: not of the form"},
		{"{\n \"Values\": {\n  \"A\": \"1\",\n  \"EXE_DIR\": 5\n }\n}", " line 4: not a string"},
		{"{\n \"Values\": {\n  \"AZURE_STORAGE_CONNECTION_STRING\": {\"x\": \"y\"}\n }\n}", " line 3: not a string"},
		{"{\n \"Values\": {\n  \"A\": [1]\n }\n}", " line 3: not a string"},
		{"{\n \"Values\": [\n1]}", " line 2: not a string"},
		{"\n\n{\"Values\":\n {\"A\":\"1\",}\n}", " line 4: not JSON"},
		{"{\"Values\":{\"A\":\"1\"}\n", " line 1: not JSON"},
		{"{}\n{}", " line 2: not JSON"},
		{"{\"LOG_LEVEL\":\"debug\"}", ` line 1: has no object "Values"`},
		{"{\"Values\":null}", ` line 1: has no object "Values"`},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := File(path)
		if err == nil || !strings.HasPrefix(err.Error(), "--env-file "+path+tt.want) {
			t.Errorf("%.80q: %v, want%s", tt.text, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("A=b\n"))
	f.Add([]byte(`{"Values":{"A":"b"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if values, err := parse(data); err != nil && values != nil {
			t.Error("values beside an error")
		}
	})
}
