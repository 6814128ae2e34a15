package armtest

import (
	"net/http"
	"slices"
	"strconv"
)

// Fault is what happens to a call instead of, or behind, what it asks for.
type Fault struct {
	Operation  Operation
	Group      string // "" = any
	Times      int    // how often; 0 = always
	Status     int    // answered without anything done; 0 = hang up
	Code       string
	RetryAfter int // seconds; 0 = none
	// Done lets the call do what it asks for; only its answer is another one.
	Done bool
	// Silent lets the call wait until its sender gives up.
	Silent bool
}

// Faults of creating a group, by name.

func QuotaReached() Fault { return refusal(http.StatusConflict, "ContainerGroupQuotaReached") }

func NoMachine() Fault { return refusal(http.StatusConflict, "ServiceUnavailable") }

func Down() Fault { return refusal(http.StatusServiceUnavailable, "") }

func NoRole() Fault { return refusal(http.StatusForbidden, "AuthorizationFailed") }

func Throttled(seconds int) Fault {
	f := refusal(http.StatusTooManyRequests, "TooManyRequests")
	f.RetryAfter = seconds
	return f
}

// LostAnswer lets one group be made and hangs up.
func LostAnswer() Fault { return Fault{Operation: Create, Times: 1, Done: true} }

func refusal(status int, code string) Fault {
	return Fault{Operation: Create, Status: status, Code: code}
}

// Fail adds a fault; the first that fits counts. It returns what takes the fault
// away again.
func (s *Server) Fail(f Fault) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := &f
	s.faults = append(s.faults, added)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(f *Fault) bool { return f == added })
	}
}

// fault is what happens to a call, nil for nothing. s.mu is held.
func (s *Server) fault(o Operation, name string) *Fault {
	for i, f := range s.faults {
		if f.Operation != o || f.Group != "" && f.Group != name {
			continue
		}
		if f.Times == 1 {
			s.faults = slices.Delete(s.faults, i, i+1)
		} else if f.Times > 1 {
			f.Times--
		}
		return f
	}
	return nil
}

// answer is that of a fault.
func (f *Fault) answer() answer {
	a := failed(f.Status, f.Code)
	if f.RetryAfter > 0 {
		a.header.Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	return a
}
