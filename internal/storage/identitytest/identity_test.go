package identitytest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage/faultproxy"
	"rsmsjob/internal/storage/identitytest"
)

// The whole identity road, offline.
func TestIdentity(t *testing.T) {
	s := newAccount(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T, *account)
	}{
		{"C40: managed identity by client id", managed},
		{"C44: a secret in the environment is not used", secretLeft},
		{"a token for something else", wrongAudience},
		{"C40: an identity that is not assigned", unknownIdentity},
		{"C50, C51: the endpoint fails at first", lateEndpoint},
		{"C51: the endpoint hangs up at first", deadEndpoint},
		{"C49: no network at first", lateNetwork},
		{"a road through something that refuses", refused},
		{"workload identity", workload},
		{"az login", azLogin},
		{"nobody", nobody},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, s) })
	}
}

var done = attempt{Message: "hello", Name: "spill", Blobs: true}

func wantDone(t *testing.T, got ...attempt) {
	t.Helper()
	if len(got) == 0 {
		t.Fatal("no attempt")
	}
	if d := cmp.Diff(done, got[len(got)-1]); d != "" {
		t.Errorf("the last of %d attempts (-want +got):\n%s", len(got), d)
	}
}

// wantNoToken sees that an attempt ended for want of a token, with a hint.
func wantNoToken(t *testing.T, a attempt, hint string) {
	t.Helper()
	if a.Reason != reason.StorageUnavailable || !a.NoCredential || !strings.Contains(a.Detail, hint) {
		t.Errorf("want no token and a hint with %q, got %+v", hint, a)
	}
}

func managed(t *testing.T, s *account) {
	var got []attempt
	tokens := s.run(t, 1, s.Environment(), func(a attempt) { got = append(got, a) })
	wantDone(t, got...)
	// One for all services.
	if len(tokens) != 1 || tokens[0].ClientID != identitytest.ClientID || tokens[0].Resource != "https://storage.azure.com" || tokens[0].Status != http.StatusOK {
		t.Errorf("token requests %+v", tokens)
	}
}

func secretLeft(t *testing.T, s *account) {
	environment := append(s.Environment(), "AZURE_TENANT_ID=00000000-0000-0000-0000-000000000000", "AZURE_CLIENT_SECRET=x",
		"AZURE_TOKEN_CREDENTIALS=EnvironmentCredential")
	tokens := s.run(t, 1, environment, func(a attempt) { wantDone(t, a) })
	if len(tokens) != 1 {
		t.Errorf("token requests %+v", tokens)
	}
}

func wrongAudience(t *testing.T, s *account) {
	s.Audience("https://management.azure.com")
	defer s.Audience("https://storage.azure.com")
	n := 0
	s.run(t, 2, s.Environment(), func(a attempt) {
		if n++; a.Reason != reason.StorageDenied || a.NoCredential {
			t.Errorf("the program: %+v", a)
		}
	})
	if n != 1 {
		t.Errorf("%d attempts", n)
	}
}

func unknownIdentity(t *testing.T, s *account) {
	other := "99999999-2222-3333-4444-555555555555"
	tokens := s.run(t, 1, append(s.Environment(), "AZURE_CLIENT_ID="+other), func(a attempt) { wantNoToken(t, a, "AZURE_CLIENT_ID; is it assigned") })
	if len(tokens) != 1 || tokens[0].ClientID != other || tokens[0].Status != http.StatusBadRequest {
		t.Errorf("token requests %+v", tokens)
	}
}

// A failed first try is not remembered.
func lateEndpoint(t *testing.T, s *account) {
	s.Late(5)
	var got []attempt
	tokens := s.run(t, 9, s.Environment(), func(a attempt) { got = append(got, a) })
	wantDone(t, got...)
	wantNoToken(t, got[0], "AZURE_CLIENT_ID")
	if len(got) != 2 || len(tokens) != 6 {
		t.Errorf("%d attempts, %d token requests, want 2 and 6", len(got), len(tokens))
	}
}

func deadEndpoint(t *testing.T, s *account) {
	s.Fail()
	defer s.Recover()
	var got []attempt
	s.run(t, 9, s.Environment(), func(a attempt) {
		got = append(got, a)
		s.Recover()
	})
	wantDone(t, got...)
	wantNoToken(t, got[0], "AZURE_CLIENT_ID")
}

func lateNetwork(t *testing.T, s *account) {
	s.CutNetwork()
	defer s.JoinNetwork()
	before := s.Attempts()
	var got []attempt
	s.run(t, 9, s.Environment(), func(a attempt) {
		if got = append(got, a); len(got) == 3 {
			s.JoinNetwork()
		}
	})
	wantDone(t, got...)
	if a := got[0]; a.Reason != reason.StorageUnavailable || a.NoCredential || s.Attempts() == before {
		t.Errorf("the first attempt: %+v", a)
	}
}

// What stands between the program and the account sees all that it asks.
func refused(t *testing.T, s *account) {
	p := faultproxy.New(t, s.Connection())
	s.Through(t, p.Connection())
	fault := p.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.EntityGet},
		Action: faultproxy.Status(http.StatusForbidden, "AuthorizationPermissionMismatch", 0)})
	s.run(t, 1, s.Environment(), func(a attempt) {
		if a.Reason != reason.StorageDenied || a.NoCredential || a.Message != "hello" {
			t.Errorf("the program: %+v", a)
		}
	})
	fault.Remove()
	s.run(t, 1, s.Environment(), func(a attempt) { wantDone(t, a) })
	if p.Count(faultproxy.Match{Service: faultproxy.Blob}) == 0 || p.Count(faultproxy.Match{Operation: faultproxy.QueueReceive}) != 2 {
		t.Errorf("the requests were %+v", p.Requests())
	}
}

// A cluster's variables go before the endpoint of the machine.
func workload(t *testing.T, s *account) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := append(s.Environment(), "AZURE_TENANT_ID=00000000-0000-0000-0000-000000000000", "AZURE_FEDERATED_TOKEN_FILE="+file)
	if tokens := s.run(t, 1, environment, func(a attempt) { wantNoToken(t, a, "workload identity") }); len(tokens) != 0 {
		t.Errorf("token requests %+v", tokens)
	}
}

// developer is the environment of a machine without an identity, with one
// folder of programs.
func developer(s *account, bin string) []string {
	environment := slices.DeleteFunc(s.Environment(), func(v string) bool {
		return strings.HasPrefix(v, "AZURE_CLIENT_ID=") || strings.HasPrefix(v, "IDENTITY_")
	})
	return append(environment, "PATH="+bin)
}

func azLogin(t *testing.T, s *account) {
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho '%s'\n", s.azToken(t))
	if err := os.WriteFile(filepath.Join(bin, "az"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s.run(t, 1, developer(s, bin), func(a attempt) { wantDone(t, a) })
}

// azToken is a token as az account get-access-token prints it.
func (s *account) azToken(t *testing.T) []byte {
	t.Helper()
	token := s.Token()
	text, err := json.Marshal(map[string]any{"accessToken": token.Text, "expires_on": token.ExpiresOn.Unix(), "tokenType": "Bearer"})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func nobody(t *testing.T, s *account) {
	tokens := s.run(t, 1, developer(s, t.TempDir()), func(a attempt) { wantNoToken(t, a, "az login") })
	if len(tokens) != 0 {
		t.Errorf("token requests %+v", tokens)
	}
}
