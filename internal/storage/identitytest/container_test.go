package identitytest_test

import (
	"net/http"
	"strings"
	"testing"

	"rsmsjob/internal/storage/identitytest"
)

// C52: the identity road of a Windows container group, offline.
func TestContainerIdentity(t *testing.T) {
	s := newAccount(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T, *account)
	}{
		{"managed identity by principal id", inGroup},
		{"an identity that is not assigned", strangerInGroup},
		{"a wrong secret", wrongSecret},
		{"no JSON", noJSON},
		{"C50, C51: the endpoint is not there at first", absentInGroup},
		{"C50, C51: the endpoint fails at first", lateInGroup},
		{"C50: the endpoint hangs up at first", deadInGroup},
		{"C49: no network at first", noNetworkInGroup},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, s) })
	}
}

const groupHint = "RSMS_IDENTITY_PRINCIPAL_ID"

func inGroup(t *testing.T, s *account) {
	tokens := s.run(t, 1, s.ContainerEnvironment(), func(a attempt) { wantDone(t, a) })
	if len(tokens) != 1 || tokens[0].PrincipalID != identitytest.PrincipalID || tokens[0].ClientID != "" ||
		tokens[0].Resource != "https://storage.azure.com" || tokens[0].Status != http.StatusOK {
		t.Errorf("token requests %+v", tokens)
	}
}

// set is an environment with one variable set to something else.
func set(environment []string, name, value string) []string {
	return append(environment, name+"="+value)
}

func strangerInGroup(t *testing.T, s *account) {
	environment := set(s.ContainerEnvironment(), "RSMS_IDENTITY_PRINCIPAL_ID", "other")
	tokens := s.run(t, 1, environment, func(a attempt) { wantNoToken(t, a, groupHint) })
	if len(tokens) != 1 || tokens[0].Status != http.StatusBadRequest {
		t.Errorf("token requests %+v", tokens)
	}
}

func wrongSecret(t *testing.T, s *account) {
	environment := set(s.ContainerEnvironment(), "IDENTITY_HEADER", "wr0ng-5ecret")
	tokens := s.run(t, 1, environment, func(a attempt) {
		wantNoToken(t, a, groupHint)
		if strings.Contains(a.Error, "wr0ng-5ecret") {
			t.Errorf("the secret is told: %s", a.Error)
		}
	})
	if len(tokens) != 1 || tokens[0].Status != http.StatusUnauthorized {
		t.Errorf("token requests %+v", tokens)
	}
}

func noJSON(t *testing.T, s *account) {
	s.Say("<html>not yet</html>")
	defer s.Recover()
	var got []attempt
	s.run(t, 9, s.ContainerEnvironment(), func(a attempt) {
		got = append(got, a)
		s.Recover()
	})
	wantDone(t, got...)
	wantNoToken(t, got[0], groupHint)
}

func absentInGroup(t *testing.T, s *account) { lateWith(t, s, http.StatusNotFound) }
func lateInGroup(t *testing.T, s *account)   { lateWith(t, s, http.StatusInternalServerError) }

func lateWith(t *testing.T, s *account, status int) {
	s.LateWith(5, status)
	var got []attempt
	tokens := s.run(t, 9, s.ContainerEnvironment(), func(a attempt) { got = append(got, a) })
	wantDone(t, got...)
	wantNoToken(t, got[0], groupHint)
	if len(got) != 2 || len(tokens) != 6 {
		t.Errorf("%d attempts, %d token requests, want 2 and 6", len(got), len(tokens))
	}
}

func deadInGroup(t *testing.T, s *account) {
	s.Fail()
	defer s.Recover()
	var got []attempt
	s.run(t, 9, s.ContainerEnvironment(), func(a attempt) {
		got = append(got, a)
		s.Recover()
	})
	wantDone(t, got...)
	wantNoToken(t, got[0], groupHint)
}

func noNetworkInGroup(t *testing.T, s *account) {
	s.CutNetwork()
	defer s.JoinNetwork()
	var got []attempt
	s.run(t, 9, s.ContainerEnvironment(), func(a attempt) {
		if got = append(got, a); len(got) == 2 {
			s.JoinNetwork()
		}
	})
	wantDone(t, got...)
	if got[0].NoCredential {
		t.Errorf("the first attempt: %+v", got[0])
	}
}
