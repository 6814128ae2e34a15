//go:build unix

package e2e

import (
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/storage/identitytest"
)

// A whole job by identity, whose endpoint is late, or never comes (C49 to C51).
func TestIdentity(t *testing.T) {
	t.Parallel()
	s := identitytest.Start(t)
	identity := func(w *world) {
		w.settings = append(w.settings, append(s.Environment(), "AZURE_STORAGE_CONNECTION_STRING=", "RSMS_START_DEADLINE_SEC=40")...)
		// The emulator never answers a transaction that is asked under the host name of
		// the account; so there are no rows.
		w.scenario("s1", map[string]any{"ConcentrationTolerance": 1e6})
		w.send(order("s1"))
	}
	ends := func(w *world) *worker {
		w.Helper()
		k := w.run()
		k.exits(0)
		w.completed("s1", w.snapshot("s1"))
		w.settled()
		w.told("s1", "Completed", 1, 1)
		return k
	}
	t.Run("in time", func(t *testing.T) {
		w := newWorldIn(t, s.Connection())
		identity(w)
		ends(w)
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%d requests for a token", n)
		}
	})
	t.Run("late", func(t *testing.T) {
		w := newWorldIn(t, s.Connection())
		identity(w)
		s.Late(6) // more than one call tries
		k := ends(w)
		if said := k.said("no answer from the storage yet"); said == nil || !strings.Contains(said["error"].(string), "AZURE_CLIENT_ID") {
			t.Errorf("the log says %v", said)
		}
	})
	t.Run("late network", func(t *testing.T) {
		w := newWorldIn(t, s.Connection())
		identity(w)
		s.CutNetwork()
		before := s.Attempts()
		k := w.start()
		poll(t, "the worker has tried", func() bool { return s.Attempts() > before })
		s.JoinNetwork()
		k.exits(0)
		w.completed("s1", w.snapshot("s1"))
		w.settled()
	})
	t.Run("never", func(t *testing.T) {
		w := newWorldIn(t, s.Connection())
		identity(w)
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
		if !w.visible() {
			t.Error("the message was touched")
		}
	})
}
