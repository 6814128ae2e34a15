//go:build unix

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rsmsjob/internal/launch/armtest"
	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage/identitytest"
)

// harbour is a world whose workers launch container groups. The container is the
// program again, with what the group tells it and nothing else.
type harbour struct {
	*world
	arm *armtest.Server

	mu   sync.Mutex
	more []string // settings of the image
	now  *os.Process
	exit int // what a container that is killed exits with instead
}

func newHarbour(t *testing.T, identity *identitytest.Server, settings ...string) *harbour {
	t.Helper()
	h := &harbour{}
	h.arm = armtest.New(h.container)
	h.arm.Pull, h.arm.Removal = 20*time.Millisecond, 20*time.Millisecond
	const guid = "0a1b2c3d-0000-4000-8000-123456789abc"
	h.world = newWorld(t, append(append(identity.Environment(), "AZURE_STORAGE_ACCOUNT_NAME=", "RSMS_ARM_ENDPOINT="+h.arm.Serve(t, identity.Certificate()),
		"RSMS_ACI_SUBSCRIPTION_ID="+armtest.Subscription, "RSMS_ACI_RESOURCE_GROUP="+armtest.ResourceGroup, "RSMS_ACI_LOCATION=eastus2", "RSMS_ACI_IMAGE=r.azurecr.io/rsms-job-windows:1",
		"RSMS_ACI_IDENTITY_ID=/subscriptions/"+guid+"/resourceGroups/rsms/providers/Microsoft.ManagedIdentity/userAssignedIdentities/rsms-group",
		"RSMS_ACI_IDENTITY_CLIENT_ID="+guid, "RSMS_ACI_IDENTITY_PRINCIPAL_ID="+guid, "RSMS_ACI_POLL_SEC=1", longLease), settings...)...)
	h.scenario("s1", nil)
	return h
}

// container is a run of the container until it ends or ctx does.
func (h *harbour) container(ctx context.Context, env map[string]string) (int, string) {
	var log bytes.Buffer
	c := exec.Command(os.Getenv(binaryVariable))
	c.Env = append(c.Env, "PATH="+os.Getenv("PATH"), "RSMS_WORK_DIR="+h.work, "RSMS_SHUTDOWN_GRACE_SEC=4")
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	h.mu.Lock()
	c.Env = append(c.Env, h.more...)
	h.mu.Unlock()
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		return -1, err.Error()
	}
	h.mu.Lock()
	h.now = c.Process
	h.mu.Unlock()
	defer context.AfterFunc(ctx, func() { c.Process.Signal(syscall.SIGTERM) })()
	c.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if code := c.ProcessState.ExitCode(); code >= 0 || h.exit == 0 {
		return code, log.String()
	}
	return h.exit, log.String()
}

// kill kills the container that runs, whose exit code is another one then, 0 for
// that of a kill.
func (h *harbour) kill(exit int) {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.exit = exit
	check(h, h.now.Kill())
}

// image changes the settings that the image brings along.
func (h *harbour) image(settings ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.more = settings
}

func (h *harbour) launch(settings ...string) *worker {
	h.Helper()
	return h.startWith([]string{"launch"}, settings...)
}

func (h *harbour) launches(code int, settings ...string) *worker {
	h.Helper()
	k := h.launch(settings...)
	k.exits(code)
	return k
}

// left sees how many groups were made, and that none is left.
func (h *harbour) left(made int) {
	h.Helper()
	if n := len(h.arm.Created()); n != made {
		h.Errorf("%d groups were made, want %d", n, made)
	}
	if groups := h.arm.Groups(); len(groups) != 0 {
		h.Errorf("groups are left: %v", groups)
	}
}

// One message, one group; the message, row, record and result are as those of a
// job that runs here.
func TestLaunch(t *testing.T) {
	t.Parallel()
	identity := identitytest.Start(t)
	t.Run("to its end", func(t *testing.T) {
		h := newHarbour(t, identity)
		h.send(order("s1"))
		k := h.launches(0)
		h.whole("s1")
		h.settled()
		h.told("s1", "Completed", 1, 1)
		h.left(1)
		made := h.arm.Created()[0]
		if made.Secrets["RSMS_MESSAGE"] == "" || made.Env["RSMS_EXIT_ZERO"] != "true" || made.Env["EXE_DIR"] != "" {
			t.Errorf("the container has %v", made.Env)
		}
		for name, value := range made.Env {
			if strings.Contains(value, "AccountKey") {
				t.Errorf("%s shows a key", name)
			}
		}
		if d, err := message.ParseDelivery(made.Env["RSMS_DELIVERY"]); err != nil || d.Attempt != 1 || d.MessageID == "" {
			t.Errorf("delivery %+v, %v", d, err)
		}
		if k.said("container log") == nil {
			t.Error("the log of the container is not in that of the launcher")
		}
		if r := h.record("s1"); len(r.Ended) != 1 || r.Attempt != 1 {
			t.Errorf("record %+v", r)
		}
	})
	t.Run("by hand", func(t *testing.T) {
		h := newHarbour(t, identity)
		k := h.launches(0, "RSMS_MESSAGE="+order("s1"))
		h.whole("s1")
		h.left(1)
		if said := k.stdout.String(); !strings.Contains(said, "Upper intake") || !strings.Contains(said, "released 100,") {
			t.Errorf("it says %s", said)
		}
		if made := h.arm.Created()[0]; made.Env["RSMS_DELIVERY"] != "" {
			t.Errorf("delivery %q of no message", made.Env["RSMS_DELIVERY"])
		}
		h.scenario("s2", map[string]any{"SpillMile": -5.0})
		h.launches(11, "RSMS_MESSAGE="+order("s2"))
	})
	t.Run("empty queue", func(t *testing.T) {
		h := newHarbour(t, identity)
		h.launches(0)
		if calls := h.arm.Calls(); len(calls) != 0 {
			t.Errorf("an empty queue cost %v", calls)
		}
	})
	t.Run("fails for good", func(t *testing.T) {
		h := newHarbour(t, identity)
		h.scenario("s1", map[string]any{"SpillMile": -5.0})
		h.send(order("s1"))
		h.launches(0)
		h.failed(reason.InvalidScenario)
		h.left(1)
	})
	t.Run("fails again and again", func(t *testing.T) {
		h := newHarbour(t, identity, "RSMS_WORKER_MAX_DEQUEUE_COUNT=2")
		h.image(h.failing("bltm", "exit 3"))
		h.send(order("s1"))
		h.launches(10)
		if row := h.row("s1"); row["Status"] != "Queued" || row["Reason"] != "engine_failed" {
			t.Errorf("the row says %v %v", row["Status"], row["Reason"])
		}
		h.comesBack()
		h.launches(0)
		h.failed(reason.MaxAttempts)
		h.left(2)
	})
	// C17: the container is killed with all in it, and cannot say so.
	t.Run("container killed", func(t *testing.T) {
		h := newHarbour(t, identity)
		gate, setting := newGate(t, "bltm")
		h.image(setting)
		h.send(order("s1"))
		k := h.launch()
		gate.reached()
		h.kill(0)
		k.exits(10)
		if row := h.row("s1"); row["Status"] != "Queued" || row["Reason"] != "engine_failed" {
			t.Errorf("the row says %v %v", row["Status"], row["Reason"])
		}
		h.image()
		h.comesBack()
		h.launches(0) // though the lease of the dead one is not over
		h.whole("s1")
		h.settled()
		h.left(2)
	})
	// C49 to C51: the container found no storage, so it looked at nothing.
	t.Run("no start in the container", func(t *testing.T) {
		h := newHarbour(t, identity, "RSMS_WORKER_MAX_DEQUEUE_COUNT=1")
		h.image("AZURE_STORAGE_CONNECTION_STRING="+strings.Replace(h.connection, "AccountKey=", "AccountKey=AAAA", 1), "RSMS_START_DEADLINE_SEC=1")
		h.send(order("s1"))
		for range 2 {
			h.comesBack()
			h.launches(10)
		}
		h.image()
		h.comesBack()
		h.launches(0)
		h.whole("s1")
		h.settled()
		h.left(3)
	})
	// The runtime of Go ends with the exit code of bad settings.
	t.Run("crashed with exit code 2", func(t *testing.T) {
		h := newHarbour(t, identity, "RSMS_WORKER_MAX_DEQUEUE_COUNT=1")
		gate, setting := newGate(t, "bltm")
		h.image(setting)
		h.send(order("s1"))
		k := h.launch()
		gate.reached()
		h.kill(2)
		k.exits(0)
		h.is("s1", runs.Failed, reason.MaxAttempts)
		if len(h.poisoned()) != 1 {
			t.Error("the message is not in the poison queue")
		}
	})
	t.Run("refuses its settings", func(t *testing.T) {
		h := newHarbour(t, identity)
		h.image("RSMS_PUBLISH_CONCURRENCY=many")
		h.send(order("s1"))
		h.launches(10)
		if row := h.row("s1"); row["Status"] != "Queued" || !strings.Contains(row["StatusDetail"].(string), "settings") {
			t.Errorf("the row says %v %v", row["Status"], row["StatusDetail"])
		}
		if h.length(h.queue) != 1 || h.length(h.poison) != 0 {
			t.Error("the message did not stay")
		}
	})
}

// C30, C54: what Azure refuses is nobody's attempt, and shows before anything is
// taken where it can.
func TestLaunchRefused(t *testing.T) {
	t.Parallel()
	identity := identitytest.Start(t)
	t.Run("quota", func(t *testing.T) {
		h := newHarbour(t, identity, "RSMS_WORKER_MAX_DEQUEUE_COUNT=2")
		h.send(order("s1"))
		full := h.arm.Fail(armtest.QuotaReached())
		for range 4 {
			h.comesBack()
			k := h.launches(10)
			if k.said("message handed back") == nil {
				t.Error("the message was not handed back")
			}
		}
		full()
		h.comesBack()
		h.launches(0)
		h.whole("s1")
		h.settled()
		h.left(1)
	})
	t.Run("no image", func(t *testing.T) {
		h := newHarbour(t, identity)
		h.arm.PullError = "manifest unknown"
		h.send(order("s1"))
		h.launches(10)
		if row := h.row("s1"); row["Status"] != "Queued" || !strings.Contains(row["StatusDetail"].(string), "RSMS_ACI_IMAGE") {
			t.Errorf("the row says %v %v", row["Status"], row["StatusDetail"])
		}
		h.left(1)
	})
	t.Run("no role", func(t *testing.T) {
		h := newHarbour(t, identity, "RSMS_START_DEADLINE_SEC=2")
		h.arm.Fail(armtest.Fault{Operation: armtest.List, Status: 403, Code: "AuthorizationFailed"})
		h.send(order("s1"))
		k := h.launches(16)
		if said := k.said("no start"); said == nil || !strings.Contains(said["msg"].(string), "Container Instances Contributor") {
			t.Errorf("the log says %v", said)
		}
		h.untouched()
	})
	t.Run("no resource group", func(t *testing.T) {
		h := newHarbour(t, identity)
		h.arm.Fail(armtest.Fault{Operation: armtest.List, Status: 404, Code: "ResourceGroupNotFound"})
		h.send(order("s1"))
		k := h.launches(2)
		if !strings.Contains(k.stderr.String(), "RSMS_ACI_RESOURCE_GROUP") {
			t.Errorf("it says %s", k.stderr.String())
		}
		h.untouched()
	})
}

// A launcher that dies leaves its group running; the next one goes on with it.
func TestLauncherDies(t *testing.T) {
	t.Parallel()
	h := newHarbour(t, identitytest.Start(t))
	gate, setting := newGate(t, "bltm")
	h.image(setting)
	h.send(order("s1"))
	first := h.launch("RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=5")
	gate.reached()
	first.kill()
	h.comesBack()
	second := h.launch()
	poll(t, "the next launcher goes on", func() bool { return h.arm.Count(armtest.Get, 200) > 3 && len(h.arm.Created()) == 1 && !h.visible() })
	gate.open()
	second.exits(0)
	h.whole("s1")
	h.settled()
	h.told("s1", "Completed", 1, 1)
	h.left(1)
	if said := second.said("container group found"); said == nil || said["adopted"] != true {
		t.Errorf("the log says %v", said)
	}
}

// C12, C55: who is told to stop hands the message back and stops the group; a
// cancel reaches the container, or the group that has none yet.
func TestLaunchStopped(t *testing.T) {
	t.Parallel()
	identity := identitytest.Start(t)
	t.Run("signal", func(t *testing.T) {
		h := newHarbour(t, identity, "RSMS_SHUTDOWN_GRACE_SEC=20")
		gate, setting := newGate(t, "bltm")
		h.image(setting)
		h.send(order("s1"))
		k := h.launch()
		gate.reached()
		k.signal(syscall.SIGTERM)
		k.exits(143)
		h.left(1)
		if r := h.record("s1"); r.State != runs.Queued || r.Reason != reason.Shutdown {
			t.Errorf("record %+v", r)
		}
		if !h.visible() {
			t.Error("the message is hidden")
		}
		h.image()
		h.launches(0)
		h.whole("s1")
		h.settled()
	})
	t.Run("cancel in mid-run", func(t *testing.T) {
		h := newHarbour(t, identity)
		gate, setting := newGate(t, "bltm")
		h.image(setting)
		h.send(order("s1"))
		k := h.launch()
		gate.reached()
		h.command("cancel", basin, "s1").exits(0)
		k.exits(12)
		h.wasCancelled(k)
		h.left(1)
	})
	t.Run("cancel behind a dead launcher", func(t *testing.T) {
		h := newHarbour(t, identity)
		h.arm.Pull = time.Hour
		h.command("enqueue", basin, "s1", "--job-id", jobOf("s1")).exits(0)
		h.comesBack()
		k := h.launch("RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=5")
		poll(t, "a group is made", func() bool { return len(h.arm.Created()) == 1 })
		k.kill()
		h.command("cancel", basin, "s1").exits(0)
		h.comesBack()
		h.launches(12)
		h.left(1)
	})
	// The launcher cannot see what its container did, which has told the record.
	t.Run("blind", func(t *testing.T) {
		h := newHarbour(t, identity, "RSMS_JOB_TIMEOUT_SEC=8")
		gate, setting := newGate(t, "bltm")
		h.image(setting, "RSMS_JOB_TIMEOUT_SEC=60")
		h.send(order("s1"))
		k := h.launch()
		gate.reached()
		h.arm.Fail(armtest.Fault{Operation: armtest.Get, Status: 403, Code: "AuthorizationFailed"})
		gate.open()
		k.exits(0)
		h.whole("s1")
		h.settled()
		h.told("s1", "Completed", 1, 1)
	})
	t.Run("cancel in mid-pull", func(t *testing.T) {
		h := newHarbour(t, identity)
		h.arm.Pull = time.Hour
		h.command("enqueue", basin, "s1", "--job-id", jobOf("s1")).exits(0)
		h.comesBack()
		k := h.launch()
		poll(t, "a group is made", func() bool { return len(h.arm.Created()) == 1 })
		h.command("cancel", basin, "s1").exits(0)
		k.exits(12)
		h.is("s1", runs.Cancelled, reason.Cancelled)
		h.empty()
		h.left(1)
	})
}
