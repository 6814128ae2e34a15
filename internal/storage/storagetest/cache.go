package storagetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"rsmsjob/internal/storage"
)

// Cache is all that is needed of a store to keep a step cache in.
type Cache interface {
	Get(ctx context.Context, key string) (io.ReadCloser, storage.CacheEntry, error)
	Put(ctx context.Context, key string, write func(io.Writer) error) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, page func([]storage.CacheEntry)) error
}

// Entries are all entries of a cache.
func Entries(ctx context.Context, c Cache) (all []storage.CacheEntry, err error) {
	err = c.List(ctx, func(some []storage.CacheEntry) { all = append(all, some...) })
	return all, err
}

// RunCache runs the suite of step caches; open returns a new, empty cache and
// another handle on it, as another process has one.
func RunCache(t *testing.T, open func(t testing.TB) (one, other Cache)) {
	for name, run := range map[string]func(t *testing.T, one, other Cache){
		"RoundTrip": testCacheRoundTrip, "Large": testCacheLarge, "Unseen": testCacheUnseen, "Race": testCacheRace,
		"Keys": testCacheKeys, "ContextEnded": testCacheEnded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			run(t, one, other)
		})
	}
}

func cacheKey(digit string) string { return strings.Repeat(digit, 64) }

func writing(data []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(data); return err }
}

func got(c Cache, key string) ([]byte, storage.CacheEntry, error) {
	r, entry, err := c.Get(context.Background(), key)
	if err != nil {
		return nil, entry, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return data, entry, err
}

func testCacheRoundTrip(t *testing.T, one, other Cache) {
	ctx, a, b := t.Context(), cacheKey("a"), cacheKey("b")
	if _, _, err := one.Get(ctx, a); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Get of an empty cache: %v, want ErrNotFound", err)
	}
	if entries, err := Entries(ctx, one); err != nil || len(entries) != 0 {
		t.Errorf("List of an empty cache: %v, %v", entries, err)
	}
	if err := one.Delete(ctx, a); err != nil {
		t.Errorf("Delete of what is not there: %v", err)
	}
	began := time.Now()
	for key, text := range map[string]string{a: "first", b: ""} {
		if err := one.Put(ctx, key, writing([]byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	data, entry, err := got(other, a)
	if err != nil || string(data) != "first" || entry.Key != a || entry.Size != 5 {
		t.Errorf("%q, %+v, %v", data, entry, err)
	}
	if off := entry.Time.Sub(began); off < -2*time.Second || off > time.Minute {
		t.Errorf("written at %v, it is %v", entry.Time, began)
	}
	if data, _, err := got(other, b); err != nil || len(data) != 0 {
		t.Errorf("an empty entry: %q, %v", data, err)
	}
	if err := other.Put(ctx, a, writing([]byte("second one"))); err != nil {
		t.Fatal(err)
	}
	if data, _, err := got(one, a); err != nil || string(data) != "second one" {
		t.Errorf("replaced: %q, %v", data, err)
	}
	entries, err := Entries(ctx, one)
	sizes := map[string]int64{}
	for _, e := range entries {
		sizes[e.Key] = e.Size
		if e.Time.IsZero() {
			t.Errorf("%s has no time", e.Key)
		}
	}
	if err != nil || len(entries) != 2 || sizes[a] != 10 || sizes[b] != 0 {
		t.Errorf("List: %+v, %v", entries, err)
	}
	if err := one.Delete(ctx, a); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Get(ctx, a); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Get after Delete: %v", err)
	}
}

// An entry of several blocks, which do not end where writes do.
func testCacheLarge(t *testing.T, one, other Cache) {
	data := make([]byte, 9<<20+123)
	source := rand.NewChaCha8([32]byte{1})
	source.Read(data)
	err := one.Put(t.Context(), cacheKey("c"), func(w io.Writer) error {
		for part := data; len(part) > 0; {
			n := min(len(part), 1<<16+7)
			if _, err := w.Write(part[:n]); err != nil {
				return err
			}
			part = part[n:]
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if back, entry, err := got(other, cacheKey("c")); err != nil || !bytes.Equal(back, data) || entry.Size != int64(len(data)) {
		t.Errorf("%d bytes back, %+v, %v", len(back), entry, err)
	}
}

// Nobody sees an entry before it is whole, nor one that was given up.
func testCacheUnseen(t *testing.T, one, other Cache) {
	ctx, key, enough := t.Context(), cacheKey("d"), errors.New("enough")
	for _, large := range []int{10, 9 << 20} {
		err := one.Put(ctx, key, func(w io.Writer) error {
			if _, err := w.Write(make([]byte, large)); err != nil {
				return err
			}
			if _, _, err := other.Get(ctx, key); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("before the end: %v", err)
			}
			return enough
		})
		if !errors.Is(err, enough) {
			t.Errorf("the error of the writer is lost: %v", err)
		}
		if _, _, err := other.Get(ctx, key); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("what was given up is there: %v", err)
		}
	}
	if entries, err := Entries(ctx, other); err != nil || len(entries) != 0 {
		t.Errorf("List: %v, %v", entries, err)
	}
}

// Of two that write the same key at once, one stands, whole, and both are content:
// an entry may have several blocks, which are all on their way.
func testCacheRace(t *testing.T, one, other Cache) {
	for _, size := range []int{1 << 16, 9 << 20} {
		var wg, under sync.WaitGroup
		under.Add(4)
		for i := range 4 {
			wg.Go(func() {
				data := bytes.Repeat([]byte{byte('0' + i)}, size)
				err := []Cache{one, other}[i%2].Put(t.Context(), cacheKey("e"), func(w io.Writer) error {
					if _, err := w.Write(data[:size-1]); err != nil {
						return err
					}
					under.Done()
					under.Wait()
					_, err := w.Write(data[size-1:])
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		data, _, err := got(one, cacheKey("e"))
		if err != nil || len(data) != size || !bytes.Equal(data, bytes.Repeat(data[:1], size)) {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
}

func testCacheKeys(t *testing.T, one, _ Cache) {
	ctx := t.Context()
	for _, key := range []string{"", "a", strings.Repeat("A", 64), strings.Repeat("a", 63) + "/", strings.Repeat("a", 65), "../" + strings.Repeat("a", 61)} {
		if _, _, err := one.Get(ctx, key); err == nil || errors.Is(err, storage.ErrNotFound) {
			t.Errorf("Get of %q: %v", key, err)
		}
		if one.Put(ctx, key, writing(nil)) == nil || one.Delete(ctx, key) == nil {
			t.Errorf("%q is taken for a key", key)
		}
	}
}

func testCacheEnded(t *testing.T, one, _ Cache) {
	why := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, _, get := one.Get(ctx, cacheKey("f"))
	_, list := Entries(ctx, one)
	for name, err := range map[string]error{"Get": get, "List": list, "Put": one.Put(ctx, cacheKey("f"), writing(nil)), "Delete": one.Delete(ctx, cacheKey("f"))} {
		if !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
