//go:build unix

package e2e

import (
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/storage/faultproxy"
	"rsmsjob/internal/storage/identitytest"
)

// byIdentity is a world with a message, whose workers have an identity.
func byIdentity(tb testing.TB, s *identitytest.Server) *world {
	tb.Helper()
	w := newWorldIn(tb, s.Connection(), append(s.Environment(), "AZURE_STORAGE_CONNECTION_STRING=", "RSMS_START_DEADLINE_SEC=40")...)
	// The emulator never answers a transaction that is asked under the host name of
	// the account; so there are no rows.
	w.scenario("s1", map[string]any{"ConcentrationTolerance": 1e6})
	w.send(order("s1"))
	return w
}

func (w *world) endsByIdentity() *worker {
	w.Helper()
	k := w.run()
	k.exits(0)
	w.whole("s1")
	w.settled()
	w.told("s1", "Completed", 1, 1)
	return k
}

// A whole job by identity, whose endpoint is late, or never comes (C49 to C51).
func TestIdentity(t *testing.T) {
	t.Parallel()
	s := identitytest.Start(t)
	t.Run("in time", func(t *testing.T) {
		w := byIdentity(t, s)
		w.endsByIdentity()
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%d requests for a token", n)
		}
	})
	t.Run("late", func(t *testing.T) {
		w := byIdentity(t, s)
		s.Late(6) // more than one call tries
		k := w.endsByIdentity()
		if said := k.said("no answer from the storage yet"); said == nil || !strings.Contains(said["error"].(string), "AZURE_CLIENT_ID") {
			t.Errorf("the log says %v", said)
		}
	})
	t.Run("late network", func(t *testing.T) {
		w := byIdentity(t, s)
		s.CutNetwork()
		before := s.Attempts()
		k := w.start()
		poll(t, "the worker has tried", func() bool { return s.Attempts() > before })
		s.JoinNetwork()
		k.exits(0)
		w.whole("s1")
		w.settled()
	})
	t.Run("never", func(t *testing.T) {
		w := byIdentity(t, s)
		s.Fail()
		defer s.Recover()
		begin := time.Now()
		k := w.run("RSMS_START_DEADLINE_SEC=15", "RSMS_SHUTDOWN_GRACE_SEC=20")
		took := time.Since(begin)
		k.exits(16)
		if took > 40*time.Second {
			t.Errorf("it took %v, the deadline is 15 s", took)
		}
		if said := k.said("no start"); said["reason"] != "storage_unavailable" || !strings.Contains(said["msg"].(string), "AZURE_CLIENT_ID") {
			t.Errorf("the log says %v", said)
		}
		w.untouched()
	})
}

// Roles that come later than the identity are waited for, whatever they are
// for, and no message is taken before; roles that never come end the wait.
func TestLateRoles(t *testing.T) {
	t.Parallel()
	s := identitytest.Start(t)
	p := faultproxy.New(t, s.Connection())
	s.Through(t, p.Connection())
	for _, tt := range []struct {
		name  string
		match func(w *world) faultproxy.Match
	}{
		{"tables", func(w *world) faultproxy.Match { return faultproxy.Match{Service: faultproxy.Table, Path: w.id()} }},
		{"blobs", func(w *world) faultproxy.Match { return faultproxy.Match{Service: faultproxy.Blob, Path: w.id()} }},
		{"queues", func(w *world) faultproxy.Match { return faultproxy.Match{Service: faultproxy.Queue, Path: w.id()} }},
		{"renewal", renewals},
	} {
		t.Run(tt.name+", late", func(t *testing.T) {
			t.Parallel()
			w := byIdentity(t, s)
			fault := p.Fail(faultproxy.Rule{Match: tt.match(w), Action: denied()})
			k := w.start()
			poll(t, "the worker is refused", func() bool { return fault.Hits() > 1 })
			w.untouched()
			fault.Remove()
			k.exits(0)
			w.whole("s1")
			w.settled()
			w.told("s1", "Completed", 1, 1)
			if k.said("no answer from the storage yet") == nil || k.said("message claimed")["dequeue_count"] != 1.0 {
				t.Errorf("the log is\n%s", k.stderr.Bytes())
			}
		})
		t.Run(tt.name+", never", func(t *testing.T) {
			t.Parallel()
			w := byIdentity(t, s)
			p.Fail(faultproxy.Rule{Match: tt.match(w), Action: denied()})
			begin := time.Now()
			k := w.run("RSMS_START_DEADLINE_SEC=3")
			took := time.Since(begin)
			k.exits(16)
			if took < 3*time.Second || took > 10*time.Second {
				t.Errorf("it took %v, the deadline is 3 s", took)
			}
			if said := k.said("no start"); said["reason"] != "storage_denied" || !strings.Contains(said["msg"].(string), "Contributor") {
				t.Errorf("the log says %v", said)
			}
			w.untouched()
			if w.row("s1")["Status"] != nil || w.length(w.poison) != 0 {
				t.Errorf("the row says %v, poison %+v", w.row("s1"), w.poisoned())
			}
		})
	}
}

// id is a part of every name in a world, and in no other.
func (w *world) id() string { return w.names.Queue[1:] }
