package storage_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
	"rsmsjob/internal/storage/storagetest"
)

func TestFolderCacheConformance(t *testing.T) {
	storagetest.RunCache(t, func(t testing.TB) (one, other storagetest.Cache) {
		dir := t.TempDir()
		return openFolder(t, dir).StepCache(), openFolder(t, dir).StepCache()
	})
}

func TestAzureCacheConformance(t *testing.T) {
	storagetest.RunCache(t, func(t testing.TB) (one, other storagetest.Cache) {
		a, layout := openAzure(t)
		return a.StepCache(), azurite.Open(t, azurite.Connection(t), layout).StepCache()
	})
}

// What a killed writer left goes with the next look, and what is not ours stays.
func TestFolderCacheLeftovers(t *testing.T) {
	dir, key := t.TempDir(), strings.Repeat("a", 64)
	left := filepath.Join(dir, "cache", ".tmp-"+key+"-ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	theirs := filepath.Join(dir, "cache", "README")
	if err := os.Mkdir(filepath.Join(dir, "cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{left, theirs} {
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := storagetest.Entries(t.Context(), openFolder(t, dir).StepCache()); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a killed writer left is still there")
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
}

// A container that is missing or denied is told as such, and soon.
func TestAzureCacheWithoutContainer(t *testing.T) {
	direct, proxied, proxy, layout := openProxied(t)
	ctx, key := t.Context(), strings.Repeat("a", 64)
	if err := direct.StepCache().MayUse(ctx); err != nil {
		t.Error(err)
	}
	proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: layout.Cache}, Action: faultproxy.Status(403, "AuthorizationPermissionMismatch", 0)})
	_, _, err := proxied.StepCache().Get(ctx, key)
	if reason.Of(err) != reason.StorageDenied || !strings.Contains(reason.Detail(err), "step cache container "+layout.Cache) ||
		!strings.Contains(reason.Detail(err), "the role Storage Blob Data Contributor, and") {
		t.Errorf("denied: %v", err)
	}
	layout.Cache = "c" + layout.Cache
	missing := azurite.Open(t, azurite.Connection(t), layout).StepCache()
	began := time.Now()
	_, _, get := missing.Get(ctx, key)
	_, list := storagetest.Entries(ctx, missing)
	for name, err := range map[string]error{"Get": get, "Put": missing.Put(ctx, key, func(io.Writer) error { return nil }), "List": list, "MayUse": missing.MayUse(ctx)} {
		if !storage.Missing(err) || !strings.Contains(reason.Detail(err), "rsms-job init") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("that took %v", took)
	}
}

// An entry that is replaced while it is read, on a line that breaks, is told as that.
func TestAzureCacheReplacedMeanwhile(t *testing.T) {
	direct, proxied, proxy, _ := openProxied(t)
	ctx, key := t.Context(), strings.Repeat("a", 64)
	write := func(text string) {
		t.Helper()
		if err := direct.StepCache().Put(ctx, key, func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat(text, 1<<20))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	proxy.Fail(faultproxy.Rule{Match: faultproxy.Match{Path: key}, Times: 1, Action: faultproxy.Sequence(faultproxy.CallAfter(func() { write("b") }), faultproxy.CutResponse())})
	body, _, err := proxied.StepCache().Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if n, err := io.Copy(io.Discard, body); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
