package storage_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
	"rsmsjob/internal/storage/storagetest"
)

// openAzure opens an empty store of its own in the emulator.
func openAzure(t testing.TB) (*storage.Azure, storage.Layout) {
	t.Helper()
	layout := azurite.NewNames().Layout
	a := azurite.Open(t, azurite.Connection(t), layout)
	if err := a.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, layout
}

// openProxied is openAzure with a handle that goes through a proxy as well.
func openProxied(t testing.TB) (direct, proxied *storage.Azure, proxy *faultproxy.Proxy, layout storage.Layout) {
	t.Helper()
	direct, layout = openAzure(t)
	proxy = faultproxy.New(t, azurite.Connection(t))
	return direct, azurite.Open(t, proxy.Connection(), layout), proxy, layout
}

func TestAzureConformance(t *testing.T) {
	storagetest.Run(t, func(t testing.TB) storagetest.Backend {
		a, layout := openAzure(t)
		return storagetest.Backend{
			Open: func(t testing.TB) storagetest.Store { return azurite.Open(t, azurite.Connection(t), layout) },
			PutBasin: func(t testing.TB, basin, name string, data []byte) {
				t.Helper()
				if err := a.PutBasin(t.Context(), basin, name, data); err != nil {
					t.Fatal(err)
				}
			},
			PutScenario: func(t testing.TB, basin, scenario string, columns map[string]any) {
				t.Helper()
				if err := a.PutScenario(t.Context(), basin, scenario, columns); err != nil {
					t.Fatal(err)
				}
			},
			SpoilRun: func(t testing.TB, basin, scenario string) {
				t.Helper()
				text := `{"PartitionKey":"` + basin + `","RowKey":"` + scenario + `","State":"Running"}`
				if _, err := client(t, layout.Runs).AddEntity(t.Context(), []byte(text), nil); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

// C90: what is missing is named at the start, all of it.
func TestAzureReady(t *testing.T) {
	ctx, layout := t.Context(), azurite.NewNames().Layout
	a := azurite.Open(t, azurite.Connection(t), layout)
	for name, check := range map[string]func(context.Context) error{"Ready": a.Ready, "MayWrite": a.MayWrite} {
		err := check(ctx)
		if reason.Of(err) != reason.StorageUnavailable || !storage.Missing(err) {
			t.Errorf("%s of an empty account: %v", name, err)
		}
		for _, want := range []string{layout.Results, layout.Scenarios, layout.Runs, layout.PlumeByTime, layout.PlumeByMile} {
			if !strings.Contains(reason.Detail(err), want+" cannot be used (") {
				t.Errorf("%s: %q does not name %s", name, reason.Detail(err), want)
			}
		}
		if got := strings.Contains(reason.Detail(err), layout.Basins); got != (name == "Ready") {
			t.Errorf("%s: the container of basins is named: %t", name, got)
		}
	}
	for range 2 { // the second finds all of it there
		if err := a.Create(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.Ready(ctx), a.MayWrite(ctx)); err != nil {
		t.Error(err)
	}
}

// What is denied decides the reason, and the rest is named as well.
func TestAzureReadyDenied(t *testing.T) {
	_, a, proxy, layout := openProxied(t)
	proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: layout.Runs}, Action: faultproxy.Status(404, "TableNotFound", 0)})
	proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: layout.Results}, Action: faultproxy.Status(403, "AuthorizationPermissionMismatch", 0)})
	proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: layout.PlumeByMile}, Action: faultproxy.Status(503, "ServerBusy", time.Hour)})
	err := a.Ready(t.Context())
	lines := strings.Split(reason.Detail(err), "\n")
	if reason.Of(err) != reason.StorageDenied || len(lines) != 3 {
		t.Fatalf("%s: %v", reason.Of(err), err)
	}
	for i, want := range []string{layout.Results, layout.Runs, layout.PlumeByMile} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %q does not name %s", lines[i], want)
		}
	}
}

// MayWrite sees a right that is missing, and leaves nothing.
func TestAzureMayWrite(t *testing.T) {
	direct, a, proxy, layout := openProxied(t)
	ctx := t.Context()
	if err := a.MayWrite(ctx); err != nil {
		t.Fatal(err)
	}
	for _, m := range []faultproxy.Match{{Operation: faultproxy.BlobPut}, {Operation: faultproxy.BlobDelete},
		{Operation: faultproxy.EntityMerge, Path: layout.Runs}, {Operation: faultproxy.EntityDelete, Path: layout.PlumeByTime}} {
		if proxy.Count(m) == 0 {
			t.Errorf("no %+v was tried", m)
		}
		fault := proxy.Fail(faultproxy.Rule{Match: m, Action: faultproxy.Status(403, "AuthorizationPermissionMismatch", 0)})
		if err := a.MayWrite(ctx); reason.Of(err) != reason.StorageDenied || strings.Contains(reason.Detail(err), "\n") {
			t.Errorf("%+v denied: %v", m, err)
		}
		fault.Remove()
	}
	if proxy.Count(faultproxy.Match{Path: layout.Basins}) != 0 {
		t.Error("the container of basins was written to")
	}
	for _, id := range []string{"_check", "ohio"} {
		if names, err := direct.ListResults(ctx, "ohio", id); err == nil && len(names) > 0 {
			t.Errorf("left %q", names)
		}
	}
}

func TestAzureClock(t *testing.T) {
	_, a, proxy, _ := openProxied(t)
	for _, denied := range []bool{false, true} {
		if denied {
			proxy.Fail(faultproxy.Rule{Action: faultproxy.Status(403, "AuthenticationFailed", 0)})
		}
		skew, err := a.Clock(t.Context())
		if err != nil || skew < -5*time.Second || skew > 5*time.Second {
			t.Errorf("denied %t: one machine, two clocks: %v apart, %v", denied, skew, err)
		}
	}
}

// What the suite does not call ends with its context as well.
func TestAzureEnded(t *testing.T) {
	_, a, proxy, _ := openProxied(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	lost := errors.New("lost")
	cancel(lost)
	_, clock := a.Clock(ctx)
	_, basin := a.BasinExists(ctx, "ohio")
	for name, err := range map[string]error{"Create": a.Create(ctx), "Ready": a.Ready(ctx), "MayWrite": a.MayWrite(ctx), "Clock": clock,
		"PutBasin": a.PutBasin(ctx, "ohio", "x", nil), "PutScenario": a.PutScenario(ctx, "ohio", "42", nil), "BasinExists": basin} {
		if !errors.Is(err, lost) {
			t.Errorf("%s: %v, want the cause", name, err)
		}
	}
	if list := proxy.Requests(); len(list) != 0 {
		t.Errorf("sent %+v", list)
	}
}

// A fence stops what is about to be sent, and its error comes back as it is.
func TestAzureFenced(t *testing.T) {
	_, a, proxy, _ := openProxied(t)
	lost := errors.New("lease lost")
	ctx := storage.Fenced(t.Context(), func() error { return lost })
	_, put := a.PutRun(ctx, "ohio", "42", []byte("{}"), "")
	_, get := a.Basin(ctx, "ohio", "FLOW.IN")
	merge := a.MergeScenario(ctx, "ohio", "42", map[string]any{"a": nil})
	w, err := a.WriteResult(ctx, "ohio", "42", "result.json")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "x")
	_, send := a.Queue("q-x").Send(ctx, "x", 0)
	for name, err := range map[string]error{"PutRun": put, "Basin": get, "MergeScenario": merge, "Commit": w.Commit(), "Send": send, "Ready": a.Ready(ctx)} {
		if !errors.Is(err, lost) {
			t.Errorf("%s: %v, want what the fence said", name, err)
		}
	}
	if list := proxy.Requests(); len(list) != 0 {
		t.Errorf("sent %+v", list)
	}
}
