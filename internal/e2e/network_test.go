//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rsmsjob/internal/config"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// silent is an address of this machine that is taken and refuses connections:
// nobody listens there, and nobody but the test can.
type silent struct {
	tb      testing.TB
	socket  *os.File // bound
	address string
}

func nobody(tb testing.TB) *silent {
	tb.Helper()
	syscall.ForkLock.RLock() // no worker inherits it
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	check(tb, err)
	s := &silent{tb: tb, socket: os.NewFile(uintptr(fd), "a bound socket")}
	tb.Cleanup(func() { s.socket.Close() })
	check(tb, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound, err := syscall.Getsockname(fd)
	check(tb, err)
	s.address = fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
	return s
}

// serve begins to listen, and tunnels to a service.
func (s *silent) serve(service string) {
	s.tb.Helper()
	to, err := url.Parse(service)
	check(s.tb, err)
	check(s.tb, syscall.Listen(int(s.socket.Fd()), 16))
	l, err := net.FileListener(s.socket)
	check(s.tb, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { tunnel(from, to.Host) })
		}
	})
	s.tb.Cleanup(func() { l.Close(); all.Wait() })
}

// tunnel copies both ways until one of them ends.
func tunnel(from net.Conn, host string) {
	defer from.Close()
	to, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	var up sync.WaitGroup
	up.Go(func() { io.Copy(to, from); to.Close() })
	io.Copy(from, to)
	from.Close()
	up.Wait()
}

// elsewhere is the connection string of the emulator with other addresses.
func elsewhere(tb testing.TB, blob, queue, table string) string {
	tb.Helper()
	c, err := config.ParseConnection(azurite.Connection(tb))
	check(tb, err)
	return "AZURE_STORAGE_CONNECTION_STRING=AccountName=" + c.Account + ";AccountKey=" + c.Key.Reveal() +
		";BlobEndpoint=http://" + blob + "/" + c.Account + ";QueueEndpoint=http://" + queue + "/" + c.Account +
		";TableEndpoint=http://" + table + "/" + c.Account
}

// A storage that cannot be reached, or that takes a call and says nothing, is
// waited for until the deadline, and no message is touched.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	const deadline = 3 * time.Second
	for _, tt := range []struct {
		name string
		to   func(w *world) string
	}{
		{"connection refused", func(w *world) string { a := nobody(w).address; return elsewhere(w, a, a, a) }},
		{"accepts and hangs up", func(w *world) string {
			p := w.proxy()
			p.Fail(faultproxy.Rule{Action: faultproxy.DropRequest()})
			return via(p)
		}},
		{"accepts and never answers", func(w *world) string {
			p := w.proxy()
			p.Fail(faultproxy.Rule{Action: faultproxy.BlackHole()})
			return via(p)
		}},
		{"always busy", func(w *world) string {
			p := w.proxy()
			p.Fail(faultproxy.Rule{Action: faultproxy.Status(http.StatusServiceUnavailable, "ServerBusy", time.Second)})
			return via(p)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "RSMS_START_DEADLINE_SEC=3")
			w.scenario("s1", nil)
			w.send(order("s1"))
			begin := time.Now()
			k := w.run(tt.to(w))
			took := time.Since(begin)
			k.exits(16)
			if took < deadline || took > deadline+3*time.Second {
				t.Errorf("it took %v, the deadline is %v", took, deadline)
			}
			if said := k.said("no start"); said["reason"] != "storage_unavailable" {
				t.Errorf("the log says %v", said)
			}
			w.untouched()
		})
	}
}

// A slow storage is none that is away.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_WORKER_VISIBILITY_TIMEOUT_SEC=10", "RSMS_SHUTDOWN_GRACE_SEC=20")
	w.scenario("s1", nil)
	w.send(order("s1"))
	p := w.proxy()
	p.Fail(faultproxy.Rule{Action: faultproxy.Delay(200 * time.Millisecond)})
	w.run(via(p)).exits(0)
	w.whole("s1")
	w.settled()
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) has(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.text.String(), text)
}

// C49: there is no network at first, then there is.
func TestLateNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RSMS_START_DEADLINE_SEC=50")
	w.scenario("s1", nil)
	w.send(order("s1"))
	c, err := config.ParseConnection(azurite.Connection(t))
	check(t, err)
	blob, queue, table := nobody(t), nobody(t), nobody(t)
	log := &journal{}
	k := exec.CommandContext(t.Context(), os.Getenv(binaryVariable))
	k.Env, k.Stderr = append(w.settings, elsewhere(t, blob.address, queue.address, table.address)), log
	check(t, k.Start())
	poll(t, "the worker has tried", func() bool { return log.has("no answer from the storage yet") })
	blob.serve(c.Blob)
	queue.serve(c.Queue)
	table.serve(c.Table)
	if err := k.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, log.text.String())
	}
	w.whole("s1")
	w.settled()
}
