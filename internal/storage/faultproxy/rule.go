package faultproxy

import (
	"net/http"
	"slices"
	"strings"
)

// Match is what requests have in common; a field that is "" matches all.
type Match struct {
	Service   string
	Method    string
	Operation Operation
	Path      string // part of Request.Path
}

func (m Match) fits(r *Request) bool {
	return (m.Service == "" || m.Service == r.Service) && (m.Method == "" || m.Method == r.Method) &&
		(m.Operation == "" || m.Operation == r.Operation) && strings.Contains(r.Path, m.Path)
}

// Rule says which requests go wrong and how.
type Rule struct {
	Match
	// When, where it is set, must agree as well. The body has been read already.
	When func(*http.Request) bool
	// Skip requests pass before the rule acts, then it acts on Times of them;
	// 0 means on all.
	Skip, Times int
	Action      Action
}

// Fault is a rule that is in force.
type Fault struct {
	proxy *Proxy
	rule  Rule
	hit   chan struct{}

	seen, hits int // under the mutex of the proxy
}

// Fail puts a rule in force. Where several match a request, all act, in the
// order in which they were added, up to one that answers or cuts by itself.
func (p *Proxy) Fail(rule Rule) *Fault {
	f := &Fault{proxy: p, rule: rule, hit: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return f
}

// Hits returns how often the rule has acted.
func (f *Fault) Hits() int {
	f.proxy.mu.Lock()
	defer f.proxy.mu.Unlock()
	return f.hits
}

// Hit is closed when the rule begins to act for the first time.
func (f *Fault) Hit() <-chan struct{} { return f.hit }

// Remove takes the rule out of force. What it holds up already stays so.
func (f *Fault) Remove() {
	f.proxy.mu.Lock()
	defer f.proxy.mu.Unlock()
	f.proxy.faults = slices.DeleteFunc(f.proxy.faults, func(other *Fault) bool { return other == f })
}

func (p *Proxy) current() []*Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// due reports whether f acts on the request, and counts it.
func (p *Proxy) due(f *Fault, e *exchange) bool {
	if !f.rule.fits(e.entry) || (f.rule.When != nil && !f.rule.When(e.request)) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.faults, f) {
		return false
	}
	f.seen++
	if f.seen <= f.rule.Skip || (f.rule.Times > 0 && f.hits >= f.rule.Times) {
		return false
	}
	if f.hits++; f.hits == 1 {
		close(f.hit)
	}
	return true
}
