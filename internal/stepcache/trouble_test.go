package stepcache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// A store with many entries is listed for as long as it goes on answering, and all
// of Trim takes half a minute: the rest is removed the next time.
func TestTrimTakesNotLong(t *testing.T) {
	for name, tt := range map[string]struct {
		list, remove time.Duration // for an entry
		left         int           // at least
		took         time.Duration
	}{
		"a long list":     {200 * time.Millisecond, 0, 0, 20 * time.Second},
		"an endless list": {time.Second, 0, 100, trimLimit},
		"slow to remove":  {0, 2 * time.Second, 40, trimLimit},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := newShelf()
			for i := range 100 {
				store.entries[fmt.Sprintf("%064x", i)] = kept{nil, time.Now().Add(-2 * time.Hour)}
			}
			c, log := newCache(store, Options{MaxAge: time.Hour, Silence: 10 * time.Second, Limit: 2 * time.Minute})
			c.kept.Store(true)
			store.fault = func(ctx context.Context, call string) error {
				wait := map[string]time.Duration{"list": tt.list, "delete": tt.remove}[call]
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(wait):
					return nil
				}
			}
			began := time.Now()
			c.Trim(t.Context())
			if took := time.Since(began); took != tt.took || tt.left == 0 != (len(store.entries) == 0) || len(store.entries) < tt.left {
				t.Errorf("%s: %d left, in %v", name, len(store.entries), took)
			}
			if strings.Contains(log.String(), "level=WARN") {
				t.Errorf("%s: told\n%s", name, log)
			}
		})
	}
}

// What a folder refuses is no fault of the store, which is used for the next step.
func TestFolderRefuses(t *testing.T) {
	store := newShelf()
	c, log := newCache(store, Options{})
	put(t, c, key("a"), sample())
	dir := folder(t, nil)
	if err := dir.Mkdir(taking+"0", 0o700); err != nil {
		t.Fatal(err)
	}
	if sums, done := c.Take(t.Context(), key("a"), dir); len(sums) > 0 {
		t.Error("it was taken")
	} else {
		done()
	}
	if files, _ := taken(t, c, key("a")); len(files) == 0 || strings.Count(log.String(), "cannot be put into the run folder") != 1 {
		t.Errorf("%d files\n%s", len(files), log)
	}
}

// An entry that is replaced while it is read is not there; the store is not to blame.
func TestReplacedMeanwhile(t *testing.T) {
	store := newShelf()
	c, log := newCache(store, Options{})
	put(t, c, key("a"), sample())
	store.fault = func(context.Context, string) error {
		store.fault = nil
		return fmt.Errorf("container: %w", storage.ErrConflict)
	}
	if files, _ := taken(t, c, key("a")); len(files) > 0 {
		t.Error("it was taken")
	}
	if files, _ := taken(t, c, key("a")); len(files) == 0 || log.Len() > 0 {
		t.Errorf("the store is not used any more\n%s", log)
	}
}

// A store that fails is told of once, and left alone.
func TestTrouble(t *testing.T) {
	denied := reason.New(reason.StorageDenied, "no right to read container rsms-cache")
	for _, call := range []string{"get", "put", "delete", "list"} {
		store, calls := newShelf(), 0
		c, log := newCache(store, Options{MaxBytes: 1 << 30})
		put(t, c, key("a"), sample())
		store.fault = func(_ context.Context, now string) error {
			if now == call {
				calls++
				return denied
			}
			return nil
		}
		for range 3 {
			taken(t, c, key("b"))
			put(t, c, key("b"), sample())
			c.Trim(t.Context())
			if call == "delete" {
				c.Drop(t.Context(), key("b"))
			}
		}
		if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "no right to read container rsms-cache") || call != "delete" && calls != 1 {
			t.Errorf("%s: %d calls\n%s", call, calls, log)
		}
	}
	// The end of a run is no trouble.
	store := newShelf()
	c, log := newCache(store, Options{})
	store.fault = func(ctx context.Context, _ string) error { return context.Cause(ctx) }
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason.New(reason.Cancelled, "cancelled"))
	_, done := c.Take(ctx, key("a"), folder(t, nil))
	done()
	c.Keep(ctx, key("a"), folder(t, nil), nil)
	c.Drop(ctx, key("a"))
	store.fault = func(context.Context, string) error { return reason.New(reason.LeaseLost, "lost") }
	taken(t, c, key("a"))
	if log.Len() > 0 {
		t.Errorf("told:\n%s", log)
	}
}

// A store that is silent or slow holds a job up for so long once.
func TestPatience(t *testing.T) {
	for want, o := range map[string]Options{
		"its store does not answer":              {Silence: 10 * time.Second, Limit: 2 * time.Minute},
		"its store takes too long for one entry": {Silence: time.Hour, Limit: 20 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := newShelf()
			store.fault = func(ctx context.Context, _ string) error { <-ctx.Done(); return context.Cause(ctx) }
			c, log := newCache(store, o)
			began := time.Now()
			for range 4 {
				taken(t, c, key("a"))
				put(t, c, key("a"), sample())
			}
			if took := time.Since(began); took != min(o.Silence, o.Limit) || !strings.Contains(log.String(), "costs time only: "+want) {
				t.Errorf("held up for %v\n%s", took, log)
			}
		})
	}
}

// Bytes that trickle in are waited for, up to the limit.
func TestTrickle(t *testing.T) {
	for limit, want := range map[time.Duration]bool{time.Hour: true, 30 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			store := newShelf()
			c, _ := newCache(store, Options{})
			put(t, c, key("a"), map[string]string{"A": "x"})
			slow, log := newCache(trickling{store}, Options{Silence: 10 * time.Second, Limit: limit})
			if files, _ := taken(t, slow, key("a")); len(files) > 0 != want {
				t.Errorf("limit %v: %v\n%s", limit, files, log)
			}
		})
	}
}

type trickling struct{ *shelf }

func (s trickling) Get(ctx context.Context, key string) (io.ReadCloser, storage.CacheEntry, error) {
	r, e, err := s.shelf.Get(ctx, key)
	if err == nil {
		r = io.NopCloser(slowly{r})
	}
	return r, e, err
}

type slowly struct{ r io.Reader }

func (s slowly) Read(b []byte) (int, error) {
	time.Sleep(time.Second)
	return s.r.Read(b[:1])
}

// A store that breaks off is to blame, not the entry.
func TestBreaksOff(t *testing.T) {
	store := newShelf()
	c, _ := newCache(store, Options{})
	put(t, c, key("a"), sample())
	broken, log := newCache(breaking{store}, Options{})
	if files, sums := taken(t, broken, key("a")); len(files)+len(sums) > 0 || !strings.Contains(log.String(), "connection lost") {
		t.Errorf("%v\n%s", sums, log)
	}
	if files, _ := taken(t, c, key("a")); len(files) == 0 {
		t.Error("the entry was dropped")
	}
}

type breaking struct{ *shelf }

func (s breaking) Get(ctx context.Context, key string) (io.ReadCloser, storage.CacheEntry, error) {
	r, e, err := s.shelf.Get(ctx, key)
	if err == nil {
		r = io.NopCloser(io.MultiReader(io.LimitReader(r, 200), failing{}))
	}
	return r, e, err
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection lost") }
