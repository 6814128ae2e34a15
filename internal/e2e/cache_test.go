//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage/faultproxy"
	"rsmsjob/internal/storage/storagetest"
)

const withCache = "RSMS_STEP_CACHE=true"

// taken are the steps that a worker took from the cache, by blanks.
func (k *worker) taken() string {
	k.world.Helper()
	var steps []string
	for _, line := range k.log() {
		if line["msg"] == "step taken from the cache" {
			steps = append(steps, line["engine"].(string))
		}
	}
	return strings.Join(steps, " ")
}

// A worker is killed in an engine; the next one takes what the first had made, and
// publishes the same bytes as one without a cache.
func TestResumesFromCache(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for engine, before := range map[string]string{"daflow": "", "bltm": "daflow", "cxplt": "daflow bltm ctplt"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withCache)
			w.scenario("s1", nil)
			w.send(order("s1"))
			g, runner := newGate(t, engine)
			k := w.start(runner)
			g.reached()
			pollEvery(t, slow, "the steps before are kept", func() bool {
				entries, err := storagetest.Entries(t.Context(), w.store.StepCache())
				return err == nil && len(entries) == len(strings.Fields(before))
			})
			k.kill()
			g.gone()
			check(t, os.Remove(filepath.Join(g.dir, "fifo")))
			all := w.drain(runner)
			w.completed("s1", want)
			w.settled()
			if got := last(all).taken(); got != before {
				t.Errorf("taken were %q, want %q", got, before)
			}
		})
	}
}

// A what-if on the same flows skips daflow; a job that is forced takes nothing
// that is older than its message.
func TestWhatIfTakesFlows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withCache, longLease)
	run := func(text, want string) {
		t.Helper()
		w.send(text)
		k := w.run()
		k.exits(0)
		if got := k.taken(); got != want {
			t.Errorf("taken were %q, want %q", got, want)
		}
	}
	w.scenario("s1", nil)
	run(order("s1"), "")
	w.completed("s1", reference(t))
	w.scenario("s2", map[string]any{"SpillMassKg": 300.0, "HalfLifeHours": 5.0})
	run(order("s2"), "daflow")
	w.scenario("s3", nil)
	run(order("s3"), "daflow bltm ctplt cxplt")
}

// A cache that is missing, denied, broken or silent is told of once and costs a
// job little time.
func TestCacheInTheWay(t *testing.T) {
	t.Parallel()
	want := reference(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for _, tt := range []struct {
		name   string
		action *faultproxy.Action
		says   string
	}{
		{"missing", nil, "cannot be used (ContainerNotFound); rsms-job init creates what is missing"},
		{"denied", actionOf(faultproxy.Status(403, "AuthorizationPermissionMismatch", 0)), "no right to read step cache container"},
		{"broken", actionOf(faultproxy.Status(503, "ServerBusy", 0)), "was too busy or broken to read step cache container"},
		{"silent", actionOf(faultproxy.Hold(never)), "its store does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withCache, longLease)
			setting := "RSMS_CACHE_BLOB_CONTAINER=" + w.names.Layout.Cache + "none"
			if tt.action != nil {
				proxy := w.proxy()
				proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: "/" + w.names.Layout.Cache}, Action: *tt.action})
				setting = via(proxy)
			}
			w.scenario("s1", nil)
			w.send(order("s1"))
			began := time.Now()
			k := w.run(setting)
			k.exits(0)
			w.completed("s1", want)
			w.settled()
			told := 0
			for _, line := range k.log() {
				if text, _ := line["msg"].(string); strings.HasPrefix(text, "the step cache is not used from here on") {
					told++
					if !strings.Contains(text, tt.says) || line["level"] != "WARN" {
						t.Errorf("it says %q, want …%s…", text, tt.says)
					}
				}
			}
			if told != 1 {
				t.Errorf("told %d times", told)
			}
			if took := time.Since(began); took > 45*time.Second {
				t.Errorf("that took %v", took)
			}
		})
	}
}

func actionOf(a faultproxy.Action) *faultproxy.Action { return &a }

// Who waits for the cache ends as soon as the job is to end.
func TestCancelWhileCacheIsSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withCache, longLease)
	proxy := w.proxy()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	held := proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: "/" + w.names.Layout.Cache}, Action: faultproxy.Hold(never)})
	w.scenario("s1", nil)
	w.send(order("s1"))
	k := w.start(via(proxy))
	within(t, "the worker asks the cache", held.Hit())
	check(t, k.cmd.Process.Signal(syscall.SIGTERM))
	asked := time.Now()
	k.exits(143)
	if took := time.Since(asked); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	if r := w.record("s1"); r.Reason != reason.Shutdown {
		t.Errorf("the record says %s", r.Reason)
	}
}
