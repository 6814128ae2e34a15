package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

func writeResult(ctx context.Context, a *storage.Azure, name string, data []byte) error {
	w, err := a.WriteResult(ctx, "ohio", "42", name)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Commit()
}

func readResult(ctx context.Context, a *storage.Azure, name string) ([]byte, error) {
	r, err := a.ReadResult(ctx, "ohio", "42", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// results opens the container of results as another program does.
func results(t *testing.T, layout storage.Layout) *container.Client {
	t.Helper()
	blobs, err := azblob.NewClientFromConnectionString("DefaultEndpointsProtocol=http;"+azurite.Connection(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return blobs.ServiceClient().NewContainerClient(layout.Results)
}

// C91: a result is one small or large write, of the type that its name says.
func TestAzureResultWrite(t *testing.T) {
	_, a, proxy, layout := openProxied(t)
	ctx := t.Context()
	blobs := results(t, layout)
	names := map[string]string{
		"result.json": "application/json", "report.html": "text/html; charset=utf-8", "run/j/daflow.stdout": "text/plain; charset=utf-8",
		"run/j/bltm.stderr": "text/plain; charset=utf-8", "run/j/run-1.log": "text/plain; charset=utf-8", "run/j/.job_id": "text/plain; charset=utf-8",
		"a.txt": "text/plain; charset=utf-8", "a.CSV": "text/csv; charset=utf-8", "a.png": "image/png", "a.svg": "image/svg+xml",
		"a.b": "application/octet-stream", "FLOW": "application/octet-stream",
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 4<<16) // 4 MiB
	for name, kind := range names {
		if err := writeResult(ctx, a, name, large[:len(large)/len(names)]); err != nil {
			t.Fatal(err)
		}
		p, err := blobs.NewBlobClient("ohio/42/"+name).GetProperties(ctx, nil)
		if err != nil || *p.ContentType != kind {
			t.Errorf("%s has the type %q, %v, want %q", name, *p.ContentType, err, kind)
		}
	}
	if err := writeResult(ctx, a, "result.json", large); err != nil {
		t.Fatal(err)
	}
	if got, err := readResult(ctx, a, "result.json"); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes, %v, want %d", len(got), err, len(large))
	}
	puts := proxy.Count(faultproxy.Match{Service: faultproxy.Blob, Method: http.MethodPut}) - proxy.Count(faultproxy.Match{Operation: faultproxy.BlobAppend})
	if n := proxy.Count(faultproxy.Match{Operation: faultproxy.BlobPut}); n != len(names)+1 || puts != n {
		t.Errorf("%d writes, %d of them whole, want %d", puts, n, len(names)+1)
	}
}

func TestAzureResultLimit(t *testing.T) {
	_, a, proxy, _ := openProxied(t)
	w, err := a.WriteResult(t.Context(), "ohio", "42", "x")
	if err != nil {
		t.Fatal(err)
	}
	most := make([]byte, 256<<20)
	if _, err := w.Write(most[:1]); err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(most)
	if len(reason.Faults(err)) != 1 || len(reason.Faults(w.Commit())) != 1 {
		t.Errorf("%v, want a fault, and then no result", err)
	}
	if n := len(proxy.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A download that breaks off goes on where it was; one that changes meanwhile
// or stays broken is an error, never a shorter file.
func TestAzureReadBroken(t *testing.T) {
	direct, a, proxy, _ := openProxied(t)
	ctx := t.Context()
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := errors.Join(direct.PutBasin(ctx, "ohio", "FLOW.IN", data), writeResult(ctx, direct, "x", data)); err != nil {
		t.Fatal(err)
	}
	get := faultproxy.Match{Operation: faultproxy.BlobGet}
	cut := func(times int) *faultproxy.Fault {
		return proxy.Fail(faultproxy.Rule{Match: get, Times: times, Action: faultproxy.CutResponse()})
	}
	fault := cut(3)
	if got, err := a.Basin(ctx, "ohio", "FLOW.IN"); err != nil || !bytes.Equal(got, data) || fault.Hits() != 3 {
		t.Errorf("Basin: %d bytes, %v, after %d cuts", len(got), err, fault.Hits())
	}
	fault = cut(3)
	if got, err := readResult(ctx, a, "x"); err != nil || !bytes.Equal(got, data) || fault.Hits() != 3 {
		t.Errorf("ReadResult: %d bytes, %v, after %d cuts", len(got), err, fault.Hits())
	}
	for name, then := range map[string]func(){
		"changed": func() {
			if err := writeResult(ctx, direct, "x", data[1:]); err != nil {
				t.Error(err)
			}
		},
		"removed": func() {
			if err := direct.RemoveResult(ctx, "ohio", "42", "x"); err != nil {
				t.Error(err)
			}
		},
	} {
		if err := writeResult(ctx, direct, "x", data); err != nil {
			t.Fatal(err)
		}
		proxy.Fail(faultproxy.Rule{Match: get, Times: 1, Action: faultproxy.Sequence(faultproxy.CallAfter(then), faultproxy.CutResponse())})
		got, err := readResult(ctx, a, "x")
		if reason.Of(err) != reason.StorageUnavailable || len(got) >= len(data) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if err := writeResult(ctx, direct, "x", data); err != nil {
		t.Fatal(err)
	}
	cut(1)
	r, err := a.ReadResult(ctx, "ohio", "42", "x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	proxy.Fail(faultproxy.Rule{Match: get, Action: faultproxy.Status(403, "AuthorizationPermissionMismatch", 0)})
	if got, err := io.ReadAll(r); reason.Of(err) != reason.StorageDenied || len(got) >= len(data) {
		t.Errorf("denied in the middle: %d bytes, %v", len(got), err)
	}
}

// The size is known before the first byte.
func TestAzureBasinLimit(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Ms-Version", "2025-11-05")
		w.Header().Set("Content-Length", fmt.Sprint(256<<20+1))
		w.WriteHeader(http.StatusOK)
	}))
	defer s.Close()
	a := azurite.Open(t, "AccountName=a;AccountKey=AAAA;BlobEndpoint="+s.URL+";QueueEndpoint="+s.URL+";TableEndpoint="+s.URL, azurite.NewNames().Layout)
	_, err := a.Basin(t.Context(), "ohio", "FLOW.IN")
	if faults := reason.Faults(err); len(faults) != 1 || faults[0].File != "FLOW.IN" {
		t.Errorf("%v, want a fault of FLOW.IN", err)
	}
}

// Basins and scenarios are folders: one whose name begins like another's is not
// of it.
func TestAzureListIsOfOne(t *testing.T) {
	a, _ := openAzure(t)
	ctx := t.Context()
	if err := a.PutBasin(ctx, "ohio2", "FLOW.IN", nil); err != nil {
		t.Fatal(err)
	}
	if ok, err := a.BasinExists(ctx, "ohio"); ok || err != nil {
		t.Errorf("BasinExists: %t, %v", ok, err)
	}
	for _, scenario := range []string{"42", "421", "4"} {
		w, err := a.WriteResult(ctx, "ohio", scenario, "in-"+scenario)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := a.ListResults(ctx, "ohio", "42"); err != nil || !slices.Equal(got, []string{"in-42"}) {
		t.Errorf("ListResults: %q, %v", got, err)
	}
}
