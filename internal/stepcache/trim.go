package stepcache

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rsmsjob/internal/storage"
)

const (
	// trimLimit is how long all of Trim may take: what is left then is found by the
	// run that keeps something next.
	trimLimit = 30 * time.Second
	// trimmers is how many entries are removed at a time.
	trimmers = 4
)

var errTrimmed = errors.New("the time for removing old entries is over")

// Trim removes the entries that are too old to be used and then, the oldest
// first, those that are more than the cache may hold. It does nothing where
// nothing was kept, and takes half a minute at most.
func (c *Cache) Trim(ctx context.Context) {
	if !c.kept.Load() || c.off.Load() || c.o.MaxBytes <= 0 && c.o.MaxAge <= 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, trimLimit, errTrimmed)
	defer cancel()
	var all []storage.CacheEntry
	err := c.within(ctx, func(ctx context.Context, alive func()) error {
		return c.store.List(ctx, func(some []storage.CacheEntry) {
			all = append(all, some...)
			alive()
		})
	})
	if err != nil {
		c.trouble(ctx, err)
		return
	}
	var removed, bytes atomic.Int64
	var pool errgroup.Group
	pool.SetLimit(trimmers)
	for _, e := range c.surplus(all) {
		if c.off.Load() || ctx.Err() != nil {
			break
		}
		pool.Go(func() error {
			if c.drop(ctx, e.Key) {
				removed.Add(1)
				bytes.Add(e.Size)
			}
			return nil
		})
	}
	_ = pool.Wait() // what went wrong is told
	if n := removed.Load(); n > 0 {
		c.o.Log.Info("old entries of the step cache removed", "entries", n, "bytes", bytes.Load())
	}
}

// surplus are the entries to remove, the oldest first.
func (c *Cache) surplus(all []storage.CacheEntry) []storage.CacheEntry {
	slices.SortFunc(all, func(a, b storage.CacheEntry) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Key, b.Key)) })
	var surplus []storage.CacheEntry
	bytes := int64(0)
	for _, e := range all {
		if bytes += e.Size; c.old(e) || c.o.MaxBytes > 0 && bytes > c.o.MaxBytes {
			surplus = append(surplus, e)
		}
	}
	slices.Reverse(surplus) // time may be over before the end
	return surplus
}
