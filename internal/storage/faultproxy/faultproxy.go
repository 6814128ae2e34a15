// Package faultproxy stands between a program under test and the storage
// emulator and breaks what it is told to. Invariant: a request reaches the
// emulator at most once and unchanged, so signatures stay valid, and the log
// says of every request what the emulator did and what the program was told.
package faultproxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rsmsjob/internal/config"
)

// The services of an account.
const (
	Blob  = "blob"
	Queue = "queue"
	Table = "table"
)

// Proxy is three listeners on this machine, one per service of the account.
// Any number of goroutines may use it.
type Proxy struct {
	account   config.Connection // with the addresses of the proxy
	transport *http.Transport
	ended     context.Context // done when the test ends: nothing waits any longer

	mu     sync.Mutex
	faults []*Fault
	log    []*Request
	keep   int // bytes of each request body
}

// New starts a proxy to the account of a connection string. It is closed at the
// end of the test, with every connection and everything that waits in it.
func New(tb testing.TB, connectionString string) *Proxy {
	tb.Helper()
	emulator, err := config.ParseConnection(connectionString)
	if err != nil {
		tb.Fatalf("the connection string %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	// An emulator may close a connection that was idle for 5 s.
	p := &Proxy{account: *emulator, ended: ended, transport: &http.Transport{DisableCompression: true, IdleConnTimeout: time.Second}}
	var servers []*httptest.Server
	for _, service := range []struct {
		name    string
		address *string
	}{{Blob, &p.account.Blob}, {Queue, &p.account.Queue}, {Table, &p.account.Table}} {
		target, err := url.Parse(*service.address)
		if err != nil {
			tb.Fatalf("the address of the %s service: %v", service.name, err)
		}
		s := httptest.NewServer(&listener{proxy: p, service: service.name, target: target})
		servers = append(servers, s)
		*service.address = s.URL + target.Path
	}
	tb.Cleanup(func() {
		end()
		for _, s := range servers {
			s.Close()
		}
		p.transport.CloseIdleConnections()
	})
	return p
}

// Connection is the connection string of the account behind the proxy.
func (p *Proxy) Connection() string {
	secret := "AccountKey=" + p.account.Key.Reveal()
	if p.account.SAS != "" {
		secret = "SharedAccessSignature=" + p.account.SAS.Reveal()
	}
	return strings.Join([]string{"AccountName=" + p.account.Account, secret, "BlobEndpoint=" + p.account.Blob,
		"QueueEndpoint=" + p.account.Queue, "TableEndpoint=" + p.account.Table}, ";")
}

// Request is one request as the proxy saw it.
type Request struct {
	Service, Method string
	Operation       Operation
	Path            string // without the account, unescaped, such as /jobs/messages
	Query           string // raw
	At              time.Time
	// Executed is the status that the emulator gave, 0 where it was not asked
	// or has not answered yet.
	Executed int
	// Status is the status that the program was given, 0 where its connection
	// was cut first or it still waits.
	Status int
	// Body is the beginning of the body, where KeepBodies asked for it.
	Body []byte
}

// KeepBodies lets the log keep the first limit bytes of each request body from
// now on.
func (p *Proxy) KeepBodies(limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = limit
}

// Requests returns the log in order of arrival.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Request, len(p.log))
	for i, r := range p.log {
		list[i] = *r
	}
	return list
}

// Count returns how many requests of the log match.
func (p *Proxy) Count(m Match) int {
	n := 0
	for _, r := range p.Requests() {
		if m.fits(&r) {
			n++
		}
	}
	return n
}

// Sent reports whether text stands in the kept part of any request body.
func (p *Proxy) Sent(text string) bool {
	return slices.ContainsFunc(p.Requests(), func(r Request) bool { return bytes.Contains(r.Body, []byte(text)) })
}

func (p *Proxy) arrived(r *Request, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Body = bytes.Clone(body[:min(len(body), p.keep)])
	p.log = append(p.log, r)
}

// note changes an entry of the log.
func (p *Proxy) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// listener serves one service.
type listener struct {
	proxy   *Proxy
	service string
	target  *url.URL
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut()
	}
	path := strings.TrimPrefix(r.URL.Path, l.target.Path)
	e := &exchange{proxy: l.proxy, target: l.target, w: w, request: r, body: body,
		entry: &Request{Service: l.service, Method: r.Method, Operation: operation(l.service, r, path), Path: path,
			Query: r.URL.RawQuery, At: time.Now()}}
	l.proxy.arrived(e.entry, body)
	e.run()
}
