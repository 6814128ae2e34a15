// Package stepcache keeps what engine steps left, so that a step that was given
// the same is not run again. It is there to save time: whatever goes wrong in it
// is told once and costs a run no more than that. Invariant: what is taken is byte
// for byte what was kept under its key, all of it or nothing.
package stepcache

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// Store is where entries are: storage.FolderCache, storage.AzureCache.
type Store interface {
	Get(ctx context.Context, key string) (io.ReadCloser, storage.CacheEntry, error)
	Put(ctx context.Context, key string, write func(io.Writer) error) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, page func([]storage.CacheEntry)) error
}

// Options say what is kept and used. The zero value of a limit is no limit.
type Options struct {
	// MaxBytes is what all entries may have together, as they are stored; one that
	// alone has more is not kept.
	MaxBytes int64
	// MaxAge is how old an entry may be that is used.
	MaxAge time.Duration
	// Anew is set for a run that is to do all anew: it uses what this cache has kept
	// itself and, where NotBefore is not zero, what was written since that, which is a
	// time of the store. A time of this machine says nothing there: its clock may be
	// another.
	Anew      bool
	NotBefore time.Time
	// Limit is how long one entry may take to be read or written, and Silence how
	// long its store may do nothing meanwhile. A store that needs longer is left
	// alone from then on.
	Limit, Silence time.Duration
	Log            *slog.Logger
}

// Cache is a step cache: engine.Cache says how it is used.
type Cache struct {
	store Store
	o     Options

	off  atomic.Bool // the store failed: it is left alone
	kept atomic.Bool // there is more than there was

	mu      sync.Mutex
	flights map[string]*flight // what is being looked for or made, by key
	own     map[string]bool    // keys of what this cache has kept
}

// flight is a key that somebody in this process has.
type flight struct {
	ended chan struct{}
	there bool // an entry is there
}

// New returns a cache on a store.
func New(store Store, o Options) *Cache {
	return &Cache{store: store, o: o, flights: map[string]*flight{}, own: map[string]bool{}}
}

// Take puts what is kept under key into dir; see engine.Cache.
func (c *Cache) Take(ctx context.Context, key string, dir *os.Root) (files map[string]string, done func()) {
	f, mine := c.claim(key)
	if !mine {
		select {
		case <-f.ended:
		case <-ctx.Done():
			return nil, func() {}
		}
		if !f.there { // nobody waits for the next one as well
			return nil, func() {}
		}
		return c.restore(ctx, key, dir), func() {}
	}
	files = c.restore(ctx, key, dir)
	if len(files) > 0 {
		f.there = true
		c.release(key, f)
		return files, func() {}
	}
	return nil, sync.OnceFunc(func() { c.release(key, f) })
}

// claim returns the flight of a key, and whether the caller is to end it.
func (c *Cache) claim(key string) (f *flight, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[key]; f != nil {
		return f, false
	}
	f = &flight{ended: make(chan struct{})}
	c.flights[key] = f
	return f, true
}

func (c *Cache) release(key string, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, key)
	close(f.ended)
}

// restore puts an entry into dir and returns the hashes of its files; none where
// there is no entry that can be used.
func (c *Cache) restore(ctx context.Context, key string, dir *os.Root) map[string]string {
	if c.off.Load() {
		return nil
	}
	var files map[string]string
	err := c.within(ctx, func(ctx context.Context, alive func()) error {
		body, entry, err := c.store.Get(ctx, key)
		if err != nil {
			return err
		}
		defer body.Close()
		if c.stale(entry) {
			return storage.ErrNotFound
		}
		files, err = unpack(ctx, &source{ctx: ctx, r: body, alive: alive}, key, dir, mostUnpacked)
		return err
	})
	_, damaged := errors.AsType[*damage](err)
	_, refused := errors.AsType[*noRoom](err)
	switch {
	case err == nil:
		return files
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrConflict), errors.Is(err, errThere):
	case refused && ctx.Err() == nil:
		c.o.Log.Warn("an entry of the step cache cannot be put into the run folder; the step is run", "key", key, "error", err)
	case damaged && ctx.Err() == nil:
		c.o.Log.Warn("an entry of the step cache cannot be used and is removed; the step is run", "key", key, "error", err)
		c.Drop(ctx, key)
	default:
		c.trouble(ctx, err)
	}
	return nil
}

// storeTimes is how much later, by the times of a store, an entry must have been
// written than the job was asked for. The times are whole seconds, and those of
// queues and blobs come from two clocks.
const storeTimes = 2 * time.Second

// stale reports whether an entry is too old for this run.
func (c *Cache) stale(e storage.CacheEntry) bool {
	c.mu.Lock()
	own := c.own[e.Key]
	c.mu.Unlock()
	anew := c.o.Anew && !own && (c.o.NotBefore.IsZero() || e.Time.Before(c.o.NotBefore.Add(storeTimes)))
	return anew || c.old(e)
}

// old reports whether an entry is too old for any run.
func (c *Cache) old(e storage.CacheEntry) bool {
	return c.o.MaxAge > 0 && time.Since(e.Time) > c.o.MaxAge
}

// Keep keeps files of dir under key; see engine.Cache.
func (c *Cache) Keep(ctx context.Context, key string, dir *os.Root, files map[string]fs.FileInfo) {
	if c.off.Load() || ctx.Err() != nil {
		return
	}
	began, packed := time.Now(), &sink{limit: c.o.MaxBytes}
	err := c.within(ctx, func(ctx context.Context, alive func()) error {
		packed.alive = alive
		return c.store.Put(ctx, key, func(w io.Writer) error {
			packed.w = w
			return pack(ctx, packed, key, dir, files)
		})
	})
	if no, ok := errors.AsType[*unkept](err); ok {
		c.o.Log.Info(no.Error(), "key", key)
		return
	}
	if err != nil {
		c.trouble(ctx, err)
		return
	}
	c.kept.Store(true)
	c.mu.Lock()
	c.own[key] = true
	if f := c.flights[key]; f != nil {
		f.there = true
	}
	c.mu.Unlock()
	c.o.Log.Debug("step kept in the cache", "key", key, "files", len(files), "bytes", packed.n, "seconds", time.Since(began).Seconds())
}

// Drop forgets what is kept under key; see engine.Cache.
func (c *Cache) Drop(ctx context.Context, key string) { c.drop(ctx, key) }

// drop reports whether the entry is gone.
func (c *Cache) drop(ctx context.Context, key string) bool {
	err := c.within(ctx, func(ctx context.Context, _ func()) error { return c.store.Delete(ctx, key) })
	if err != nil {
		c.trouble(ctx, err)
		return false
	}
	return true
}

// trouble tells, once, that the store failed, and leaves it alone from then on.
// The end of ctx is nobody's fault.
func (c *Cache) trouble(ctx context.Context, err error) {
	if ctx.Err() != nil || reason.Of(err) == reason.LeaseLost || c.off.Swap(true) {
		return
	}
	c.o.Log.Warn("the step cache is not used from here on; that costs time only: "+detail(err), "error", err)
}

// detail is what an error says to people.
func detail(err error) string {
	if _, ok := errors.AsType[*reason.Error](err); ok {
		return reason.Detail(err)
	}
	return err.Error()
}
