package armtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"time"
)

// answer is what is said to a call. A status of 0 hangs up.
type answer struct {
	status int
	header http.Header
	body   any
}

func said(status int, body any) answer { return answer{status, http.Header{}, body} }

// failed is an error in the form of Azure.
func failed(status int, code string) answer {
	return said(status, map[string]any{"error": map[string]string{"code": code, "message": "the test says so"}})
}

var errHungUp = errors.New("armtest: connection reset by peer")

// Do makes the server a transport of a client.
func (s *Server) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	a, ok := s.call(r)
	if !ok {
		return nil, r.Context().Err()
	}
	if a.status == 0 {
		return nil, errHungUp
	}
	w := httptest.NewRecorder()
	write(w, a)
	response := w.Result()
	response.Request = r
	return response, nil
}

// serve is an [http.HandlerFunc].
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	a, ok := s.call(r)
	if !ok || a.status == 0 {
		panic(http.ErrAbortHandler)
	}
	write(w, a)
}

func write(w http.ResponseWriter, a answer) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	if a.body != nil {
		json.NewEncoder(w).Encode(a.body) // an error means that the client has gone away
	}
}

const prefix = "/subscriptions/" + Subscription + "/resourceGroups/" + ResourceGroup + "/providers/Microsoft.ContainerInstance/containerGroups"

// call answers a call and notes it; ok is false where its sender gave up.
func (s *Server) call(r *http.Request) (a answer, ok bool) {
	o, name := operation(r)
	s.mu.Lock()
	n := len(s.calls)
	s.calls = append(s.calls, Call{Operation: o, Group: name, At: time.Now()})
	fault := s.fault(o, name)
	s.mu.Unlock()
	switch {
	case fault != nil && fault.Silent:
		<-r.Context().Done()
		return answer{}, false
	case fault != nil && !fault.Done:
		a = fault.answer()
	default:
		a = s.admit(r, o, name)
		if fault != nil {
			a = fault.answer()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[n].Status = a.status
	return a, true
}

// operation is what a call asks for, and of which group; "" for neither.
func operation(r *http.Request) (o Operation, name string) {
	rest, ok := strings.CutPrefix(r.URL.Path, prefix)
	if !ok {
		return "", ""
	}
	if rest == "" && r.Method == http.MethodGet {
		return List, ""
	}
	found := regexp.MustCompile(`^/([^/]+)(/stop|/containers/[^/]+/logs)?$`).FindStringSubmatch(rest)
	if found == nil {
		return "", ""
	}
	name = found[1]
	switch {
	case found[2] == "/stop" && r.Method == http.MethodPost:
		return Stop, name
	case found[2] != "" && r.Method == http.MethodGet:
		return Logs, name
	case found[2] != "":
		return "", name
	}
	return map[string]Operation{http.MethodGet: Get, http.MethodPut: Create, http.MethodDelete: Delete}[r.Method], name
}

// admit answers a call that nothing happens to.
func (s *Server) admit(r *http.Request, o Operation, name string) answer {
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		return failed(http.StatusUnauthorized, "AuthenticationFailed")
	case r.URL.Query().Get("api-version") == "":
		return failed(http.StatusBadRequest, "MissingApiVersionParameter")
	case !strings.HasPrefix(r.URL.Path, "/subscriptions/"+Subscription+"/"):
		return failed(http.StatusNotFound, "SubscriptionNotFound")
	case !strings.HasPrefix(r.URL.Path, prefix):
		return failed(http.StatusNotFound, "ResourceGroupNotFound")
	}
	switch o {
	case List:
		return s.list()
	case Get:
		return s.get(name)
	case Create:
		return s.create(r.Body, name)
	case Logs:
		return s.logs(name, r.URL.Query().Get("tail"))
	case Stop:
		return s.stop(name)
	case Delete:
		return s.remove(name)
	}
	return failed(http.StatusBadRequest, "InvalidResourceType")
}
