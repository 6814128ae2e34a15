package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// However settings are printed, no key and no message is in it.
func TestSecretsStayHidden(t *testing.T) {
	const key, sas = "Y2FuYXJ5LWtleQ==", "sv=1&sig=canary-sas"
	for _, connection := range []string{"AccountName=ohio;AccountKey=" + key, "AccountName=ohio;SharedAccessSignature=" + sas} {
		c, err := Load(Need{Queue: true}, source(connectionString, connection))
		if err != nil {
			t.Fatal(err)
		}
		if c.ConnectionString.Reveal() != connection || c.Connection.Key.Reveal()+c.Connection.SAS.Reveal() == "" {
			t.Error("the secret itself is lost")
		}
		shown := map[string]string{}
		for _, v := range []any{c, *c, c.Connection, *c.Connection, []any{*c}, map[string]any{"c": *c.Connection}, c.ConnectionString, c.Settings(), c.Effective()} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
				shown[fmt.Sprintf("%T %s", v, verb)] = fmt.Sprintf(verb, v)
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			shown[fmt.Sprintf("%T as JSON", v)] = string(text)
			var b bytes.Buffer
			for _, handler := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
				slog.New(handler).Info("x", "v", v)
				slog.New(handler).With("v", v).Info("x", c.Effective()...)
			}
			shown[fmt.Sprintf("%T in a log", v)] = b.String()
		}
		for way, text := range shown {
			for _, secret := range []string{connection, key, sas, "canary", fmt.Sprintf("%x", key), fmt.Sprintf("%x", sas), "AccountKey="} {
				if strings.Contains(text, secret) {
					t.Errorf("%s shows %s: %s", way, secret, text)
				}
			}
		}
		if !strings.Contains(fmt.Sprint(c.Effective()...), connectionString+"***") {
			t.Errorf("effective: %v", c.Effective())
		}
	}
}

func TestSecretShowsWhetherItIsThere(t *testing.T) {
	if got := fmt.Sprintf("%s|%v|%d", Secret(""), Secret("x"), Secret("x")); got != "|***|***" {
		t.Errorf("got %s", got)
	}
}

// The effective settings as check --json prints them: one object, in order.
func TestSettings(t *testing.T) {
	c, err := Load(Need{}, source(messageText, "canary", queueName, "work", "LOG_LEVEL", "WARN", "RSMS_EXIT_ZERO", "1"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.Settings())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`{"AZURE_STORAGE_CONNECTION_STRING":"","AZURE_STORAGE_ACCOUNT_NAME":"",`,
		`"RSMS_WORKER_QUEUE_NAME":"work","RSMS_WORKER_POISON_QUEUE_NAME":"work-poison","RSMS_DONE_QUEUE_NAME":"",`,
		`"RSMS_CONCENTRATION_TOLERANCE":0.001,`, `"RSMS_EXIT_ZERO":true,`, `"LOG_LEVEL":"warn","LOG_FORMAT":"auto"}`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
	var names []string
	for _, v := range Variables() {
		if v.Env != messageText && v.Only == "" {
			names = append(names, v.Env)
		}
	}
	if got := c.Settings(); !slices.EqualFunc(got, names, func(s Setting, name string) bool { return s.Name == name }) {
		t.Errorf("%v, want %v", got, names)
	}
	c, err = Load(Need{}, source(launchImage, "r.azurecr.io/rsms-job-windows:1"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(c.Settings()), len(Variables())-1; got != want {
		t.Errorf("%d settings of a launcher, want %d", got, want)
	}
	if strings.Contains(string(text), "canary") {
		t.Error("the message is shown")
	}
	if empty, err := json.Marshal(Settings{}); err != nil || string(empty) != "{}" {
		t.Errorf("%s, %v", empty, err)
	}
}

// C19: the log says which execution this is.
func TestPlatform(t *testing.T) {
	t.Setenv("CONTAINER_APP_JOB_NAME", "")
	t.Setenv("CONTAINER_APP_JOB_EXECUTION_NAME", "")
	t.Setenv("CONTAINER_APP_REPLICA_NAME", "")
	if got := Platform(); len(got) != 0 {
		t.Errorf("elsewhere: %v", got)
	}
	t.Setenv("CONTAINER_APP_JOB_NAME", "rsms")
	t.Setenv("CONTAINER_APP_REPLICA_NAME", "rsms-abc")
	if got := Platform(); !slices.Equal(got, []any{"CONTAINER_APP_JOB_NAME", "rsms", "CONTAINER_APP_REPLICA_NAME", "rsms-abc"}) {
		t.Errorf("in Container Apps: %v", got)
	}
}
