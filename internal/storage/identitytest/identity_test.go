package identitytest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/identitytest"
)

var done = attempt{Message: "hello", Name: "spill", Blobs: true}

// The whole identity road, offline: managed identity by client id, three
// services with one token.
func TestIdentity(t *testing.T) {
	s := newAccount(t)
	begin := time.Now()
	s.run(t, func(a attempt) {
		if d := cmp.Diff(done, a); d != "" {
			t.Errorf("the program (-want +got):\n%s", d)
		}
	})
	took := time.Since(begin)
	requests := s.Requests()
	for _, r := range requests {
		if r.ClientID != identitytest.ClientID || r.Resource != "https://storage.azure.com" || r.Status != 200 {
			t.Errorf("token request %+v", r)
		}
	}
	if len(requests) != 1 {
		t.Errorf("%d token requests, want 1 for all three services", len(requests))
	}
	t.Logf("%v, %d connections", took, s.Attempts())
}

func TestTokenForSomethingElseIsDenied(t *testing.T) {
	s := newAccount(t)
	s.Audience("https://management.azure.com")
	n := 0
	s.run(t, func(a attempt) {
		if n++; a.Reason != reason.StorageDenied || a.NoCredential {
			t.Errorf("the program: %+v", a)
		}
	})
	if n != 1 {
		t.Errorf("%d attempts", n)
	}
}

// C49, C50, C51: the endpoint comes up late. A failed first try is not
// remembered.
func TestLateEndpoint(t *testing.T) {
	s := newAccount(t)
	s.Late(5)
	var got []attempt
	s.run(t, func(a attempt) { got = append(got, a) })
	if len(got) != 2 {
		t.Fatalf("%d attempts: %+v", len(got), got)
	}
	if a := got[0]; a.Reason != reason.StorageUnavailable || !a.NoCredential || !strings.Contains(a.Detail, "AZURE_CLIENT_ID") {
		t.Errorf("the first attempt: %+v", a)
	}
	if d := cmp.Diff(done, got[1]); d != "" {
		t.Errorf("the second attempt (-want +got):\n%s", d)
	}
	if n := len(s.Requests()); n != 6 {
		t.Errorf("%d token requests", n)
	}
}

func TestEndpointThatHangsUp(t *testing.T) {
	s := newAccount(t)
	s.Fail()
	var last attempt
	s.run(t, func(a attempt) {
		if a.Reason != "" && !a.NoCredential {
			t.Errorf("the program: %+v", a)
		}
		last = a
		s.Recover()
	})
	if d := cmp.Diff(done, last); d != "" {
		t.Errorf("the last attempt (-want +got):\n%s", d)
	}
}

// C49: no network at first, though the identity is there.
func TestLateNetwork(t *testing.T) {
	s := newAccount(t)
	s.CutNetwork()
	var got []attempt
	s.run(t, func(a attempt) {
		got = append(got, a)
		s.JoinNetwork()
	})
	if a := got[0]; a.Reason != reason.StorageUnavailable || a.NoCredential {
		t.Errorf("the first attempt: %+v", a)
	}
	if d := cmp.Diff(done, got[len(got)-1]); d != "" {
		t.Errorf("the last attempt (-want +got):\n%s", d)
	}
}

// C40: an identity that is not assigned here gets no token, and the hint says
// which variable names it. C44: a secret that is left in the environment is not
// used in the place of the identity.
func TestOtherIdentities(t *testing.T) {
	s := newAccount(t)
	n := 0
	s.run(t, func(a attempt) {
		if n++; n > 1 { // the line before told the program to go on
			if d := cmp.Diff(done, a); d != "" {
				t.Errorf("the program (-want +got):\n%s", d)
			}
			return
		}
	}, "AZURE_TENANT_ID=00000000-0000-0000-0000-000000000000", "AZURE_CLIENT_SECRET=x", "AZURE_TOKEN_CREDENTIALS=EnvironmentCredential")
	if got := s.Requests(); len(got) != 1 || got[0].ClientID != identitytest.ClientID {
		t.Errorf("token requests %+v", got)
	}
}

func TestNoCredential(t *testing.T) {
	for _, err := range []error{nil, storage.ErrNotFound, reason.New(reason.StorageUnavailable, "x")} {
		if storage.NoCredential(err) {
			t.Errorf("NoCredential of %v", err)
		}
	}
}
