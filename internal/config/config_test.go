package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func source(pairs ...string) Lookup {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func TestDefaults(t *testing.T) {
	c, err := Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.LeaseSeconds != 120 || c.JobTimeoutSeconds != 7200 || c.StepSeconds != 3600 ||
		c.Tolerance != 0.001 || c.LogLevel != "info" || c.LogFormat != "auto" {
		t.Errorf("defaults: %+v", c)
	}
	if c.GraceSeconds != 20 && c.GraceSeconds != 4 {
		t.Errorf("grace %d", c.GraceSeconds)
	}
}

func TestWordsInAnyCase(t *testing.T) {
	c, err := Load(nil, source("LOG_LEVEL", "INFO", "LOG_FORMAT", "Json", "RSMS_MESSAGE", "canary"))
	if err != nil || c.LogLevel != "info" || c.LogFormat != "json" {
		t.Errorf("%+v %v", c, err)
	}
	if list := fmt.Sprint(c.Effective()...); strings.Contains(list, "canary") || !strings.Contains(list, "RSMS_EXIT_ZERO") {
		t.Errorf("effective: %s", list)
	}
}

func TestFirstSourceWins(t *testing.T) {
	c, err := Load(nil, source("LOG_LEVEL", ""), source("LOG_LEVEL", "warn"), source("LOG_LEVEL", "debug", "EXE_DIR", " /opt/engines "))
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
	} {
		_, err := Load(nil, source(tt.name, tt.value))
		if err == nil || !strings.Contains(err.Error(), tt.name) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s=%s: %v", tt.name, tt.value, err)
		}
	}
	_, err := Load([]string{"RSMS_STORE_DIR", "LOG_LEVEL"}, source("RSMS_JOB_TIMEOUT_SEC", "x", "RSMS_EXIT_ZERO", "y", "RSMS_ENGINE_STEP_TIMEOUT_SEC", "0", "LOG_FORMAT", "xml"))
	for _, name := range []string{"RSMS_STORE_DIR", "LOG_LEVEL", "RSMS_JOB_TIMEOUT_SEC", "RSMS_EXIT_ZERO", "RSMS_ENGINE_STEP_TIMEOUT_SEC", "LOG_FORMAT"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s missing in %v", name, err)
		}
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Variables() {
		if v.Env == "" || v.Flag == "" || v.Help == "" || seen[v.Flag] || seen[v.Env] {
			t.Errorf("%+v", v)
		}
		seen[v.Flag], seen[v.Env] = true, true
	}
	if len(Variables()) != reflect.TypeFor[Config]().NumField() {
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
		c, err := Load(nil, get)
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

func FuzzParse(f *testing.F) {
	f.Add([]byte("A=b\n"))
	f.Add([]byte(`{"Values":{"A":"b"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if values, err := parse(data); err != nil && values != nil {
			t.Error("values beside an error")
		}
	})
}
