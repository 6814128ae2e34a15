package storage_test

import (
	"bytes"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"rsmsjob/internal/storage/faultproxy"
)

// What tells of a run is an append blob, anything else is not: that is how a
// lifecycle rule tells them apart.
func TestAzureOfRun(t *testing.T) {
	direct, a, proxy, layout := openProxied(t)
	blobs := results(t, layout)
	large := bytes.Repeat([]byte("0123456789abcdef"), 10<<16) // 10 MiB
	for _, tt := range []struct {
		name string
		data []byte
		kind string
	}{{"run/j/.job_id", []byte("j"), "AppendBlob"}, {"run/j/daflow.stdout", nil, "AppendBlob"}, {"run/j/bltm.stdout", large, "AppendBlob"},
		{"intakes.json", large, "BlockBlob"}, {"running.json", nil, "BlockBlob"}} {
		for range 2 { // the second time over the first
			if err := writeResult(t.Context(), a, tt.name, tt.data); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := readResult(t.Context(), direct, tt.name); err != nil || !bytes.Equal(got, tt.data) {
			t.Errorf("%s has %d bytes, %v, want %d", tt.name, len(got), err, len(tt.data))
		}
		if got := blobType(t, blobs, tt.name); got != tt.kind {
			t.Errorf("%s is a %s, want %s", tt.name, got, tt.kind)
		}
	}
	// Lost answers append nothing twice.
	for _, op := range []faultproxy.Operation{faultproxy.BlobPut, faultproxy.BlobAppend} {
		lost := proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: op}, Times: 1, Action: faultproxy.DropResponse()})
		if err := writeResult(t.Context(), a, "run/j/bltm.stdout", large); err != nil || lost.Hits() != 1 {
			t.Errorf("%s: %v", op, err)
		}
		if got, err := readResult(t.Context(), direct, "run/j/bltm.stdout"); err != nil || !bytes.Equal(got, large) {
			t.Errorf("%s: %d bytes, %v, want %d", op, len(got), err, len(large))
		}
	}
	// Somebody else who writes the same is seen.
	mixed := proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Operation: faultproxy.BlobAppend}, Times: 1,
		Action: faultproxy.CallAfter(func() {
			if err := writeResult(t.Context(), direct, "run/j/bltm.stdout", []byte("of others")); err != nil {
				t.Error(err)
			}
		})})
	if err := writeResult(t.Context(), a, "run/j/bltm.stdout", large); err == nil || mixed.Hits() != 1 {
		t.Error("two wrote one blob, and neither saw it")
	}
}

func blobType(t *testing.T, blobs *container.Client, name string) string {
	t.Helper()
	p, err := blobs.NewBlobClient("ohio/42/"+name).GetProperties(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(*p.BlobType)
}
