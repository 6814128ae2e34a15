// Package armtest is the part of Azure Resource Manager that runs container
// groups, for tests: groups live in memory and go from Pending to Running to
// Terminated, and what runs in a container is a function of the test.
// Invariant: a server starts nothing that Close does not wait for, and never
// tells the value of a secure variable to who asks for a group.
package armtest

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
)

// What the server knows.
const (
	Subscription  = "00000000-1111-2222-3333-444444444444"
	ResourceGroup = "groups"
)

// Program is what runs in a container, with the variables that it was given,
// secure ones included. ctx ends when the group is stopped or deleted; what is
// returned behind that counts as well. Text is all that it wrote.
type Program func(ctx context.Context, env map[string]string) (exitCode int, text string)

// Operation is one kind of call.
type Operation string

const (
	Create Operation = "create"
	Get    Operation = "get"
	List   Operation = "list"
	Logs   Operation = "logs"
	Stop   Operation = "stop"
	Delete Operation = "delete"
)

// Call is one call that came in.
type Call struct {
	Operation Operation
	Group     string // "" of a list
	Status    int    // of the answer; 0 where there was none
	At        time.Time
}

// Created is a group as it was asked for.
type Created struct {
	Name    string
	Group   armcontainerinstance.ContainerGroup
	Env     map[string]string // what is no secret
	Secrets map[string]string
}

// Server is the service. Its fields are set before the first call. Any number of
// goroutines may use it.
type Server struct {
	Program Program
	// Pull is how long an image takes; Removal how long a group takes to go.
	Pull, Removal time.Duration
	// Quota is how many groups there may be, in any state; 0 = 100.
	Quota int
	// PullError is what the events say instead of the image being there.
	PullError string
	// NoCapacity lets a group that was taken fail, for want of a machine.
	NoCapacity bool
	// Restart lets a container run again that ended with another code than 0.
	Restart bool

	mu      sync.Mutex
	groups  map[string]*group
	calls   []Call
	created []Created
	faults  []*Fault
	work    sync.WaitGroup
}

// New returns a server that is called without a network, as a transport of the
// clients. Close must be called.
func New(program Program) *Server {
	return &Server{Program: program, groups: map[string]*group{}}
}

// Serve serves over TLS for the time of a test and returns the address. Who
// calls must trust the certificate, which is for 127.0.0.1; one is in package
// identitytest.
func (s *Server) Serve(tb testing.TB, certificate tls.Certificate) string {
	tb.Helper()
	front := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	front.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	front.StartTLS()
	tb.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		s.Close()
	})
	return front.URL
}

// Close ends all that runs and waits for it.
func (s *Server) Close() {
	s.mu.Lock()
	for _, g := range s.groups {
		g.end()
	}
	s.mu.Unlock()
	s.work.Wait()
}

// Calls returns all calls in order of arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Count returns how many calls of a kind were answered with a status; 0 counts
// them all.
func (s *Server) Count(o Operation, status int) int {
	n := 0
	for _, c := range s.Calls() {
		if c.Operation == o && (status == 0 || c.Status == status) {
			n++
		}
	}
	return n
}

// Created returns every group that was asked for and taken, in order.
func (s *Server) Created() []Created {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.created)
}

// Groups returns the names of the groups that are there, in order.
func (s *Server) Groups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.groups {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// State is that of the container of a group: Waiting, Running or Terminated; ""
// where there is no such group.
func (s *Server) State(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.groups[name]; g != nil {
		return g.current
	}
	return ""
}

func (s *Server) quota() int { return cmp.Or(s.Quota, 100) }
