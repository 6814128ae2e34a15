package identitytest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// secret is what the endpoint wants in the header X-IDENTITY-HEADER.
const secret = "0f2e4a"

// lifetime of a token.
const lifetime = time.Hour

// endpoint gives tokens the way App Service and Container Apps do.
type endpoint struct {
	mu       sync.Mutex
	audience string
	late     int  // requests still to be answered 500
	down     bool // hangs up
	requests []TokenRequest
}

// TokenRequest is one request for a token.
type TokenRequest struct {
	ClientID, Resource string
	At                 time.Time
	Status             int // of the answer; 0 where the endpoint hung up
}

// Late lets the endpoint answer the next n requests with a status 500.
func (e *endpoint) Late(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.late = n
}

// Fail lets the endpoint hang up on everybody until Recover.
func (e *endpoint) Fail() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = true
}

// Recover ends Late and Fail.
func (e *endpoint) Recover() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.late, e.down = 0, false
}

// Audience sets who the tokens are for; the emulator takes those for
// https://storage.azure.com, as they are at first.
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
	json.NewEncoder(w).Encode(answer) // an error means that the program has gone away
}

// decide enters a request into the list and answers it at a time.
func (e *endpoint) decide(r *http.Request, now time.Time) (status int, answer map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	query := r.URL.Query()
	q := TokenRequest{ClientID: query.Get("client_id"), Resource: query.Get("resource"), At: now}
	switch {
	case e.down:
	case e.late > 0:
		e.late--
		q.Status = http.StatusInternalServerError
	case r.Header.Get("X-IDENTITY-HEADER") != secret:
		q.Status = http.StatusUnauthorized
	case r.Method != http.MethodGet || query.Get("api-version") != "2019-08-01" || q.Resource == "" || q.ClientID != ClientID:
		q.Status = http.StatusBadRequest
	default:
		q.Status = http.StatusOK
	}
	e.requests = append(e.requests, q)
	if q.Status != http.StatusOK {
		return q.Status, map[string]any{"statusCode": q.Status, "message": "no token"}
	}
	t := newToken(e.audience, now)
	return q.Status, map[string]any{"access_token": t.Text, "token_type": "Bearer", "resource": q.Resource,
		"client_id": q.ClientID, "expires_on": strconv.FormatInt(t.ExpiresOn.Unix(), 10)}
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
	return newToken(e.audience, time.Now())
}

// newToken makes an unsigned JSON web token, which is what the emulator looks
// into.
func newToken(audience string, now time.Time) Token {
	part := func(v map[string]any) string {
		text, _ := json.Marshal(v) // strings and numbers always can
		return base64.RawURLEncoding.EncodeToString(text)
	}
	end := now.Add(lifetime)
	return Token{part(map[string]any{"alg": "none", "typ": "JWT"}) + "." + part(map[string]any{"aud": audience,
		"iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/", "appid": ClientID,
		"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": end.Unix()}) + ".", end}
}
