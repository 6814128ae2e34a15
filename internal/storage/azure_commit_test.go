package storage_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/faultproxy"
)

const marker = "result.json"

// replaceMarker puts a marker in the place of any other.
func replaceMarker(t *testing.T, a *storage.Azure, data string) {
	t.Helper()
	ctx := t.Context()
	if err := errors.Join(a.RemoveResult(ctx, "ohio", "42", marker), a.CreateResult(ctx, "ohio", "42", marker, []byte(data))); err != nil {
		t.Fatal(err)
	}
}

func checkMarker(t *testing.T, a *storage.Azure, want string) {
	t.Helper()
	if got, err := readResult(t.Context(), a, marker); err != nil || string(got) != want {
		t.Errorf("the marker is %q, %v, want %q", got, err, want)
	}
}

// Requests of a dead worker that the network holds up land behind the result of
// another one, and change nothing.
func TestAzureLateMarker(t *testing.T) {
	direct, a, proxy, _ := openProxied(t)
	replaceMarker(t, direct, "old")
	old, err := direct.ResultVersion(t.Context(), "ohio", "42", marker)
	if err != nil {
		t.Fatal(err)
	}
	for op, call := range map[faultproxy.Operation]func(context.Context) error{
		faultproxy.BlobPut:    func(ctx context.Context) error { return a.CreateResult(ctx, "ohio", "42", marker, []byte("dead")) },
		faultproxy.BlobDelete: func(ctx context.Context) error { return a.RemoveVersion(ctx, "ohio", "42", marker, old) },
	} {
		release := make(chan struct{})
		held := proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: op}, Times: 1, Action: faultproxy.Hold(release)})
		ctx, kill := context.WithCancelCause(t.Context())
		killed := errors.New("killed")
		ended := make(chan error)
		go func() { ended <- call(ctx) }()
		<-held.Hit()
		kill(killed)
		if err := <-ended; !errors.Is(err, killed) {
			t.Errorf("%s: %v, want the cause", op, err)
		}
		replaceMarker(t, direct, "new")
		close(release)
		for slices.ContainsFunc(proxy.Requests(), func(r faultproxy.Request) bool { return r.Executed == 0 }) {
			runtime.Gosched() // the proxy is in this process
		}
		if proxy.Count(faultproxy.Match{Operation: op}) != 1 {
			t.Errorf("%s was sent %d times", op, proxy.Count(faultproxy.Match{Operation: op}))
		}
		checkMarker(t, direct, "new")
		held.Remove()
	}
}

// A write whose answer was lost is sent again and knows its own bytes; those of
// somebody else, who came between, are a conflict.
func TestAzureMarkerAnswerLost(t *testing.T) {
	direct, a, proxy, _ := openProxied(t)
	put := faultproxy.Match{Operation: faultproxy.BlobPut}
	lost := proxy.Fail(faultproxy.Rule{Match: put, Times: 1, Action: faultproxy.DropResponse()})
	if err := a.CreateResult(t.Context(), "ohio", "42", marker, []byte("ours")); err != nil || lost.Hits() != 1 || proxy.Count(put) != 2 {
		t.Errorf("%v, sent %d times", err, proxy.Count(put))
	}
	checkMarker(t, direct, "ours")
	proxy.Fail(faultproxy.Rule{Match: put, Times: 1, Action: faultproxy.Sequence(
		faultproxy.CallAfter(func() { replaceMarker(t, direct, "of others") }), faultproxy.DropResponse())})
	if err := direct.RemoveResult(t.Context(), "ohio", "42", marker); err != nil {
		t.Fatal(err)
	}
	if err := a.CreateResult(t.Context(), "ohio", "42", marker, []byte("ours")); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	checkMarker(t, direct, "of others")

	// A removal that is sent again finds what was put there meanwhile.
	version, err := direct.ResultVersion(t.Context(), "ohio", "42", marker)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.BlobDelete}, Times: 1, Action: faultproxy.Sequence(
		faultproxy.CallAfter(func() { replaceMarker(t, direct, "newer") }), faultproxy.DropResponse())})
	if err := a.RemoveVersion(t.Context(), "ohio", "42", marker, version); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	checkMarker(t, direct, "newer")
}

// The marker goes out as one write, of the type that its name says.
func TestAzureMarkerType(t *testing.T) {
	a, layout := openAzure(t)
	replaceMarker(t, a, "{}")
	p, err := results(t, layout).NewBlobClient("ohio/42/"+marker).GetProperties(t.Context(), nil)
	if err != nil || *p.ContentType != "application/json" {
		t.Errorf("%v, %v", p.ContentType, err)
	}
}
