package identitytest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// secret is what the endpoint wants in the header X-IDENTITY-HEADER or, of a
// container group, in the header secret.
const secret = "0f2e4a"

// The paths of the two protocols. Container Instances has a query in its
// address from the start.
const (
	appServicePath = "/msi/token"
	containerPath  = "/metadata/identity/oauth2/token"
	containerQuery = "api-version=1.0"
)

// lifetime of a token.
const lifetime = time.Hour

// endpoint gives tokens the way App Service and Container Apps do and, at
// another path, the way Container Instances does in a Windows container.
type endpoint struct {
	mu       sync.Mutex
	audience string // "" = who they are asked for
	late     int    // requests still to be answered with status
	status   int
	text     string // answered instead of a token, where there is one
	down     bool   // hangs up
	requests []TokenRequest
}

// TokenRequest is one request for a token.
type TokenRequest struct {
	ClientID, Resource string
	PrincipalID        string // in a container group
	At                 time.Time
	Status             int // of the answer; 0 where the endpoint hung up
}

// Late lets the endpoint answer the next n requests with a status 500.
func (e *endpoint) Late(n int) { e.LateWith(n, http.StatusInternalServerError) }

// LateWith lets the endpoint answer the next n requests with a status.
func (e *endpoint) LateWith(n, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.late, e.status = n, status
}

// Say lets the endpoint answer with a text instead of a token until Recover.
func (e *endpoint) Say(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = text
}

// Fail lets the endpoint hang up on everybody until Recover.
func (e *endpoint) Fail() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = true
}

// Recover ends Late, Say and Fail.
func (e *endpoint) Recover() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.late, e.text, e.down = 0, "", false
}

// Audience sets who the tokens are for, instead of who they are asked for; the
// emulator takes those for https://storage.azure.com.
func (e *endpoint) Audience(audience string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.audience = audience
}

// Requests returns all requests for a token in order of arrival.
func (e *endpoint) Requests() []TokenRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// serve is an [http.HandlerFunc].
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	status, answer := e.decide(r, time.Now())
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, answer) // an error means that the program has gone away
}

// decide enters a request into the list and answers it at a time.
func (e *endpoint) decide(r *http.Request, now time.Time) (status int, answer string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	query := r.URL.Query()
	q := TokenRequest{ClientID: query.Get("client_id"), Resource: query.Get("resource"), PrincipalID: query.Get("principalId"), At: now}
	switch {
	case e.down:
	case e.late > 0:
		e.late--
		q.Status = e.status
	case r.URL.Path == containerPath:
		q.Status = containerStatus(r, q)
	default:
		q.Status = appServiceStatus(r, q)
	}
	e.requests = append(e.requests, q)
	switch {
	case q.Status != http.StatusOK:
		return q.Status, object(map[string]any{"statusCode": q.Status, "message": "no token"})
	case e.text != "":
		return q.Status, e.text
	}
	t := newToken(cmp.Or(e.audience, q.Resource), now)
	return q.Status, object(map[string]any{"access_token": t.Text, "token_type": "Bearer", "resource": q.Resource,
		"client_id": ClientID, "expires_on": strconv.FormatInt(t.ExpiresOn.Unix(), 10)})
}

func appServiceStatus(r *http.Request, q TokenRequest) int {
	switch {
	case r.Header.Get("X-IDENTITY-HEADER") != secret:
		return http.StatusUnauthorized
	case r.Method != http.MethodGet || r.URL.Query().Get("api-version") != "2019-08-01" || q.Resource == "" || q.ClientID != ClientID:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func containerStatus(r *http.Request, q TokenRequest) int {
	switch {
	case r.Header.Get("secret") != secret:
		return http.StatusUnauthorized
	case r.Method != http.MethodGet || r.URL.Query().Get("api-version") != "1.0" || q.Resource == "" || q.PrincipalID != PrincipalID:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// object is a JSON object of strings and numbers, which always can be written.
func object(v map[string]any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// Token is one token.
type Token struct {
	Text      string
	ExpiresOn time.Time
}

// Token gives a token by hand, for another way to get one than the endpoint.
func (e *endpoint) Token() Token {
	e.mu.Lock()
	defer e.mu.Unlock()
	return newToken(cmp.Or(e.audience, storageAudience), time.Now())
}

// newToken makes an unsigned JSON web token, which is what the emulator looks
// into.
func newToken(audience string, now time.Time) Token {
	part := func(v map[string]any) string { return base64.RawURLEncoding.EncodeToString([]byte(object(v))) }
	end := now.Add(lifetime)
	return Token{part(map[string]any{"alg": "none", "typ": "JWT"}) + "." + part(map[string]any{"aud": audience,
		"iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/", "appid": ClientID,
		"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": end.Unix()}) + ".", end}
}
