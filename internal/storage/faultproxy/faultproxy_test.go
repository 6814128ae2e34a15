package faultproxy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rsmsjob/internal/config"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

// Nothing goes wrong without a rule: the whole life of a message, signed.
func TestPassesThrough(t *testing.T) {
	s := newSetting(t)
	s.KeepBodies(1 << 10)
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err := s.queue.Send(ctx, "hello, <world>", 0)
	check("send", err)
	_, err = s.queue.Peek(ctx, 1)
	check("peek", err)
	m, err := s.queue.Receive(ctx, time.Minute)
	check("receive", err)
	if m == nil || m.Text != "hello, <world>" {
		t.Fatalf("received %+v", m)
	}
	receipt, err := s.queue.Update(ctx, m.ID, m.Receipt, m.Text, time.Minute)
	check("update", err)
	check("delete", s.queue.Delete(ctx, m.ID, receipt))
	_, err = s.queue.Length(ctx)
	check("length", err)

	type line struct {
		Operation        faultproxy.Operation
		Executed, Status int
	}
	var got []line
	for _, r := range s.Requests() {
		got = append(got, line{r.Operation, r.Executed, r.Status})
		if !strings.HasPrefix(r.Path, "/"+s.names.Queue) || r.Service != faultproxy.Queue || r.At.IsZero() {
			t.Errorf("logged %+v", r)
		}
	}
	want := []line{{faultproxy.QueueSend, 201, 201}, {faultproxy.QueuePeek, 200, 200}, {faultproxy.QueueReceive, 200, 200},
		{faultproxy.QueueUpdate, 204, 204}, {faultproxy.QueueDelete, 204, 204}, {faultproxy.QueueProperties, 200, 200}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("log (-want +got):\n%s", d)
	}
	if !s.Sent("hello, &lt;world&gt;") || s.Sent("never said") {
		t.Errorf("the bodies are not kept: %q", s.Requests()[0].Body)
	}
	if n := s.Count(faultproxy.Match{Method: http.MethodPut}); n != 1 {
		t.Errorf("%d PUTs", n)
	}
}

// What each action does to a send: what the emulator has afterwards, what the
// log says and what the program is told.
func TestActions(t *testing.T) {
	opened := make(chan struct{})
	close(opened)
	calls := new(atomic.Int32)
	tests := []struct {
		name             string
		action           faultproxy.Action
		arrives          bool
		executed, status int
		reason           reason.Code // "" where the send succeeds
	}{
		{"busy", faultproxy.Status(503, "ServerBusy", time.Second), false, 0, 503, reason.StorageUnavailable},
		{"throttled", faultproxy.Status(429, "TooManyRequests", 0), false, 0, 429, reason.StorageUnavailable},
		{"C47: denied", faultproxy.Status(403, "AuthorizationPermissionMismatch", 0), false, 0, 403, reason.StorageDenied},
		{"request lost", faultproxy.DropRequest(), false, 0, 0, reason.StorageUnavailable},
		{"answer lost", faultproxy.DropResponse(), true, 201, 0, reason.StorageUnavailable},
		{"half an answer", faultproxy.CutResponse(), true, 201, 201, reason.StorageUnavailable},
		{"late", faultproxy.Delay(time.Millisecond), true, 201, 201, ""},
		{"held", faultproxy.Hold(opened), true, 201, 201, ""},
		{"answer held", faultproxy.HoldResponse(opened), true, 201, 201, ""},
		{"call", faultproxy.Call(func() { calls.Add(1) }), true, 201, 201, ""},
		{"call after", faultproxy.CallAfter(func() { calls.Add(1) }), true, 201, 201, ""},
		{"call, then lost", faultproxy.Sequence(faultproxy.Call(func() { calls.Add(1) }), faultproxy.DropRequest()), false, 0, 0, reason.StorageUnavailable},
		{"executed, call, then lost", faultproxy.Sequence(faultproxy.CallAfter(func() { calls.Add(1) }), faultproxy.DropResponse()), true, 201, 0, reason.StorageUnavailable},
		{"answered, so no call", faultproxy.Sequence(faultproxy.Status(503, "ServerBusy", 0), faultproxy.Call(func() { calls.Add(100) })), false, 0, 503, reason.StorageUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSetting(t)
			f := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueSend}, Action: tt.action})
			_, err := s.queue.Send(t.Context(), "x", 0)
			if got := reason.Of(err); got != tt.reason {
				t.Errorf("reason %q, want %q: %v", got, tt.reason, err)
			}
			if got := s.length(t) == 1; got != tt.arrives {
				t.Errorf("arrived: %v, want %v", got, tt.arrives)
			}
			r := s.Requests()[0]
			if len(s.Requests()) != 1 || r.Executed != tt.executed || r.Status != tt.status || f.Hits() != 1 {
				t.Errorf("%d hits, log %+v", f.Hits(), s.Requests())
			}
			<-f.Hit()
		})
	}
	if n := calls.Load(); n != 4 {
		t.Errorf("%d calls, want 4", n)
	}
}

// A short pause brings a program to the end of its repetitions at once.
func TestShortPause(t *testing.T) {
	s := newSetting(t)
	s.Fail(faultproxy.Rule{Action: faultproxy.Status(503, "ServerBusy", time.Millisecond)})
	begin := time.Now()
	_, err := s.queue.Peek(t.Context(), 1)
	if took := time.Since(begin); reason.Of(err) != reason.StorageUnavailable || took > 2*time.Second || len(s.Requests()) < 3 {
		t.Errorf("%d requests in %v, error %v", len(s.Requests()), took, err)
	}
}

func TestSkipTimesAndRemove(t *testing.T) {
	s := newSetting(t)
	send := func() bool { _, err := s.queue.Send(t.Context(), "x", 0); return err == nil }
	f := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Service: faultproxy.Queue, Path: "/messages"}, Skip: 2, Times: 2,
		Action: faultproxy.Status(500, "InternalError", 0)})
	var got []bool
	for range 6 {
		got = append(got, send())
	}
	if d := cmp.Diff([]bool{true, true, false, false, true, true}, got); d != "" || f.Hits() != 2 {
		t.Errorf("%d hits, sends (-want +got):\n%s", f.Hits(), d)
	}
	always := s.Fail(faultproxy.Rule{Action: faultproxy.DropRequest(),
		When: func(r *http.Request) bool { return r.Header.Get("Authorization") != "" }})
	select {
	case <-always.Hit():
		t.Error("hit before any request")
	default:
	}
	for range 2 {
		if send() {
			t.Error("the rule does not act")
		}
	}
	always.Remove()
	if !send() || always.Hits() != 2 {
		t.Errorf("the rule is removed and has %d hits", always.Hits())
	}
	if other := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Service: faultproxy.Table}, Action: faultproxy.DropRequest()}); !send() || other.Hits() != 0 {
		t.Error("a rule for tables hit a queue")
	}
}

// All that matches acts: a call of one rule and the answer of the next.
func TestRulesActTogether(t *testing.T) {
	s := newSetting(t)
	called := false
	first := s.Fail(faultproxy.Rule{Action: faultproxy.Call(func() { called = true })})
	second := s.Fail(faultproxy.Rule{Action: faultproxy.Status(503, "ServerBusy", 0)})
	third := s.Fail(faultproxy.Rule{Action: faultproxy.DropRequest()})
	if _, err := s.queue.Send(t.Context(), "x", 0); reason.Of(err) != reason.StorageUnavailable {
		t.Errorf("sent: %v", err)
	}
	if !called || first.Hits() != 1 || second.Hits() != 1 || third.Hits() != 0 {
		t.Errorf("called %v, hits %d %d %d", called, first.Hits(), second.Hits(), third.Hits())
	}
}

// A program that has given up does not call back what it sent.
func TestHeldRequestIsExecutedAfterTheProgramGaveUp(t *testing.T) {
	s := newSetting(t)
	release := make(chan struct{})
	f := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueSend}, Action: faultproxy.Hold(release)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := s.queue.Send(ctx, "x", 0); done <- err }()
	<-f.Hit()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the send ended with %v", err)
	}
	close(release)
	for s.Requests()[0].Executed == 0 {
		runtime.Gosched()
	}
	if n := s.length(t); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// A kept connection that ends before an answer makes net/http send a GET again
// by itself, unseen by the program. A message that was received with the first
// one stays hidden; the log shows both.
func TestTransportRepeatsGet(t *testing.T) {
	s := newSetting(t)
	s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueReceive}, Times: 1, Action: faultproxy.DropResponse()})
	account, err := config.ParseConnection(s.Connection())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/q", "/q/messages"} { // the first one opens the connection
		r, err := client.Get(account.Queue + path)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	if n := s.Count(faultproxy.Match{Operation: faultproxy.QueueReceive}); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := newSetting(t)
	f := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueSend}, Times: 10, Action: faultproxy.DropResponse()})
	var failed atomic.Int32
	var g sync.WaitGroup
	for range 40 {
		g.Go(func() {
			if _, err := s.queue.Send(t.Context(), "x", 0); err != nil {
				failed.Add(1)
			}
		})
	}
	g.Wait()
	if f.Hits() != 10 || failed.Load() != 10 || s.length(t) != 40 || s.Count(faultproxy.Match{}) != 40 {
		t.Errorf("%d hits, %d failed, %d messages, %d requests", f.Hits(), failed.Load(), s.length(t), s.Count(faultproxy.Match{}))
	}
}

// The end of the test frees whatever waits, and nothing is left of the proxy.
func TestEndsClean(t *testing.T) {
	var done sync.WaitGroup
	t.Run("with requests in a black hole", func(t *testing.T) {
		s := newSetting(t)
		hole := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueSend}, Action: faultproxy.BlackHole()})
		held := s.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.QueueReceive}, Action: faultproxy.Hold(nil)})
		ctx := context.WithoutCancel(t.Context())
		done.Go(func() {
			if _, err := s.queue.Send(ctx, "x", 0); reason.Of(err) != reason.StorageUnavailable {
				t.Errorf("sent: %v", err)
			}
		})
		done.Go(func() { s.queue.Receive(ctx, time.Second) })
		<-hole.Hit()
		<-held.Hit()
	})
	done.Wait()
	for buffer := make([]byte, 1<<20); ; runtime.Gosched() {
		stacks := buffer[:runtime.Stack(buffer, true)]
		if !bytes.Contains(stacks, []byte("faultproxy.(*listener)")) && !bytes.Contains(stacks, []byte("httptest.(*Server)")) {
			break
		}
	}
}

// A black hole ends when the program stops waiting.
func TestBlackHoleEndsWithTheProgram(t *testing.T) {
	s := newSetting(t)
	f := s.Fail(faultproxy.Rule{Action: faultproxy.BlackHole()})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-f.Hit(); cancel() }()
	if _, err := s.queue.Send(ctx, "x", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("the send ended with %v", err)
	}
}

func TestConnectionIsTheSameAccount(t *testing.T) {
	p := faultproxy.New(t, azurite.Connection(t))
	if !strings.HasPrefix(p.Connection(), "AccountName=devstoreaccount1;AccountKey=") {
		t.Error("the account is another one")
	}
	sas := faultproxy.New(t, "AccountName=a;SharedAccessSignature=sv=1&sig=x;BlobEndpoint=http://127.0.0.1:1/a;QueueEndpoint=http://127.0.0.1:2/a;TableEndpoint=http://127.0.0.1:3/a")
	if !strings.Contains(sas.Connection(), ";SharedAccessSignature=sv=1&sig=x;") {
		t.Errorf("the signature is lost")
	}
}

func BenchmarkPeek(b *testing.B) {
	names := azurite.NewNames()
	direct := azurite.Connection(b)
	for _, way := range []struct{ name, connection string }{{"direct", direct}, {"proxy", faultproxy.New(b, direct).Connection()}} {
		b.Run(way.name, func(b *testing.B) {
			q := azurite.Open(b, way.connection, storage.Layout{}).Queue(names.Queue)
			if err := q.Create(b.Context()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := q.Peek(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
