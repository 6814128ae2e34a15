package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"rsmsjob/internal/reason"
)

const containerSecret = "s3cr3t-header"

var storageToken = policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}}

// groupIdentity is the identity of a container group whose endpoint is service.
func groupIdentity(t *testing.T, service *answers) *identity {
	t.Helper()
	endpoint, err := url.Parse("http://169.254.128.1:2377/metadata/identity/oauth2/token?api-version=1.0")
	if err != nil {
		t.Fatal(err)
	}
	c := containerIdentityOver(service, endpoint, IdentityOptions{PrincipalID: "p-1", Header: containerSecret})
	return &identity{c, c.hint(), nil}
}

func said(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// good is an answer with a token that is good for an hour from now on.
func good(token string) *http.Response {
	return said(http.StatusOK, fmt.Sprintf(`{"access_token":%q,"expires_on":"%d"}`, token, time.Now().Add(time.Hour).Unix()))
}

// wantNone sees that an error says that there is no token and what to do, and
// does not say the secret.
func wantNone(t *testing.T, err error) {
	t.Helper()
	if !NoCredential(err) || reason.Of(err) != reason.StorageUnavailable || !strings.Contains(reason.Detail(err), "RSMS_IDENTITY_PRINCIPAL_ID") {
		t.Errorf("the error is %v", err)
	}
	if err != nil && strings.Contains(fmt.Sprintf("%+v", err), containerSecret) {
		t.Errorf("the error says the secret: %v", err)
	}
}

// C52: the request is that of Container Instances, not that of App Service.
func TestContainerIdentityAsks(t *testing.T) {
	c := groupIdentity(t, &answers{f: func(_ int, r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet || r.Header.Get("secret") != containerSecret || r.Header.Get("X-IDENTITY-HEADER") != "" ||
			r.URL.String() != "http://169.254.128.1:2377/metadata/identity/oauth2/token?api-version=1.0&principalId=p-1&resource=https%3A%2F%2Fstorage.azure.com" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		return good("x"), nil
	}})
	token, err := c.GetToken(t.Context(), storageToken)
	if err != nil || token.Token != "x" {
		t.Errorf("%v, %v", token, err)
	}
	if _, err := c.GetToken(t.Context(), policy.TokenRequestOptions{}); err == nil {
		t.Error("a token for nothing")
	}
}

// The identity of the group itself is not named.
func TestContainerIdentityOfGroup(t *testing.T) {
	at, err := url.Parse("http://h/token")
	if err != nil {
		t.Fatal(err)
	}
	c := containerIdentityOver(&answers{f: func(_ int, r *http.Request) (*http.Response, error) {
		if r.URL.RawQuery != "resource=https%3A%2F%2Fstorage.azure.com" {
			t.Errorf("asked for %s", r.URL)
		}
		return good("x"), nil
	}}, at, IdentityOptions{Header: "h"})
	if _, err := c.GetToken(t.Context(), storageToken); err != nil || strings.Contains(c.hint(), "PRINCIPAL") {
		t.Errorf("%v, %s", err, c.hint())
	}
}

func TestContainerIdentityAnswers(t *testing.T) {
	in := func(format string, d time.Duration) string { return fmt.Sprintf(format, time.Now().Add(d).Unix()) }
	tests := []struct {
		name   string
		status int
		body   string
		want   string // of the error; "" = a token
	}{
		{"expires_on as text", 200, in(`{"access_token":"x","expires_on":"%d"}`, time.Hour), ""},
		{"expires_on as a number", 200, in(`{"access_token":"x","expires_on":%d}`, time.Hour), ""},
		{"expires_in alone", 200, `{"access_token":"x","expires_in":"28799"}`, ""},
		{"expires_on as a date", 200, `{"access_token":"x","expires_on":"09/14/2027 00:00:00 +00:00","expires_in":3600}`, ""},
		{"no end", 200, `{"access_token":"x"}`, "does not say when"},
		{"ended", 200, in(`{"access_token":"x","expires_on":%d}`, -time.Second), "expired"},
		{"no token", 200, in(`{"expires_on":%d}`, time.Hour), "without an access_token"},
		{"no JSON", 200, "<html>", "no JSON"},
		{"empty", 200, "", "no JSON"},
		{"an array", 200, "[]", "not of the form"},
		{"endless", 200, strings.Repeat(" ", 1<<20), "more than 65536 bytes"},
		{"wrong secret", 401, `{"error":{"code":"SecretHeaderNotFound","message":"` + containerSecret + `"}}`, "status 401 (SecretHeaderNotFound)"},
		{"unknown identity", 400, `{"error":"invalid_request","error_description":"` + containerSecret + `"}`, "status 400 (invalidrequest)"},
		{"a code that is none", 400, `{"error":{"code":"` + containerSecret + `"}}`, "status 400"},
		{"redirected", 302, "", "status 302"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service := &answers{f: func(int, *http.Request) (*http.Response, error) { return said(tt.status, tt.body), nil }}
			token, err := groupIdentity(t, service).GetToken(t.Context(), storageToken)
			if service.tries != 1 {
				t.Errorf("%d tries", service.tries)
			}
			if tt.want == "" {
				if err != nil || token.Token != "x" || time.Until(token.ExpiresOn) < 50*time.Minute {
					t.Errorf("%v, %v", token, err)
				}
				return
			}
			wantNone(t, err)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
		})
	}
}

// C49, C50, C51: an endpoint that is late is tried for some seconds within a
// call, and then by the next one.
func TestContainerIdentityLate(t *testing.T) {
	refused := errors.New("connectex: no route to host")
	tests := map[string]func() (*http.Response, error){
		"no network": func() (*http.Response, error) { return nil, refused },
		"not found":  func() (*http.Response, error) { return said(404, ""), nil },
		"broken":     func() (*http.Response, error) { return said(500, ""), nil },
	}
	for name, late := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				service := &answers{f: func(int, *http.Request) (*http.Response, error) {
					if time.Since(begin) < 40*time.Second {
						return late()
					}
					return good("x"), nil
				}}
				c, calls := groupIdentity(t, service), 0
				for {
					calls++
					call := time.Now()
					_, err := c.GetToken(t.Context(), storageToken)
					if err == nil {
						break
					}
					wantNone(t, err)
					if took := time.Since(call); took > 10*time.Second {
						t.Fatalf("one call took %v", took)
					}
				}
				if took := time.Since(begin); calls < 4 || took > 50*time.Second {
					t.Errorf("%d calls in %v", calls, took)
				}
			})
		})
	}
}

// A token serves until shortly before its end, for each resource its own; one
// that still holds serves while there is no new one.
func TestContainerIdentityKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := false
		service := &answers{}
		service.f = func(try int, _ *http.Request) (*http.Response, error) {
			if down {
				return said(400, ""), nil
			}
			return good(fmt.Sprint(try)), nil
		}
		c := groupIdentity(t, service)
		get := func(want string, o policy.TokenRequestOptions) {
			t.Helper()
			token, err := c.GetToken(t.Context(), o)
			if token.Token != want || (err != nil) != (want == "") {
				t.Errorf("%q, %v, want %q", token.Token, err, want)
			}
		}
		other := policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}}
		get("1", storageToken)
		get("2", other)
		time.Sleep(54 * time.Minute)
		get("1", storageToken)
		time.Sleep(2 * time.Minute)
		get("3", storageToken)
		down = true
		get("2", other)
		get("", policy.TokenRequestOptions{Scopes: other.Scopes, Claims: "{}"})
		time.Sleep(5 * time.Minute)
		get("", other)
		down = false
		get("3", storageToken)
		get("7", policy.TokenRequestOptions{Scopes: storageToken.Scopes, Claims: "{}"})
	})
}

// Many who need a token cost one request, and one who cannot wait is let go.
func TestContainerIdentityConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &answers{f: func(int, *http.Request) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return good("x"), nil
		}}
		c := groupIdentity(t, service)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if token, err := c.GetToken(t.Context(), storageToken); err != nil || token.Token != "x" {
					t.Errorf("%v, %v", token, err)
				}
			})
		}
		synctest.Wait()
		gone := errors.New("gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, gone)
		defer cancel()
		if _, err := c.GetToken(ctx, storageToken); !errors.Is(err, gone) {
			t.Errorf("who cannot wait: %v", err)
		}
		all.Wait()
		if service.tries != 1 {
			t.Errorf("%d requests", service.tries)
		}
	})
}

// Which identity a program has.
func TestInContainerGroup(t *testing.T) {
	full := IdentityOptions{Endpoint: "http://h", Header: "x"}
	named, client := full, full
	named.PrincipalID, client.ClientID = "p", "c"
	tests := []struct {
		o    IdentityOptions
		goos string
		want bool
	}{
		{IdentityOptions{}, "windows", false},
		{full, "windows", true},
		{full, "linux", false}, // App Service and Container Apps set the same variables
		{client, "windows", false},
		{named, "linux", true},
		{named, "windows", true},
		{IdentityOptions{Endpoint: "http://h"}, "windows", false},
		{IdentityOptions{PrincipalID: "p"}, "linux", true},
	}
	for _, tt := range tests {
		if got := tt.o.inContainerGroup(tt.goos); got != tt.want {
			t.Errorf("%+v on %s: %v", tt.o, tt.goos, got)
		}
	}
}

// A principal id without an endpoint is told at once, without what stands there.
func TestContainerIdentityWithoutEndpoint(t *testing.T) {
	for _, o := range []IdentityOptions{{}, {Header: containerSecret}, {Endpoint: "http://h"}, {Endpoint: "h:1/x", Header: containerSecret},
		{Endpoint: "http://%zz" + containerSecret, Header: containerSecret}, {Endpoint: "file:///x", Header: containerSecret}} {
		o.PrincipalID = "p"
		c, err := Identity(o)
		if c != nil || err == nil || !strings.Contains(err.Error(), "IDENTITY_ENDPOINT") {
			t.Errorf("%v, %v", c, err)
		}
		wantNone(t, err)
	}
}
