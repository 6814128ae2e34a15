package stepcache

import (
	"cmp"
	"context"
	"slices"

	"rsmsjob/internal/storage"
)

// Trim removes the entries that are too old to be used and then, the oldest
// first, those that are more than the cache may hold. It does nothing where
// nothing was kept.
func (c *Cache) Trim(ctx context.Context) {
	if !c.kept.Load() || c.off.Load() || c.o.MaxBytes <= 0 && c.o.MaxAge <= 0 {
		return
	}
	var all []storage.CacheEntry
	err := c.within(ctx, func(ctx context.Context, _ func()) (err error) {
		all, err = c.store.List(ctx)
		return err
	})
	if err != nil {
		c.trouble(ctx, err)
		return
	}
	removed, bytes := 0, int64(0)
	for _, e := range c.surplus(all) {
		if c.off.Load() || ctx.Err() != nil {
			return
		}
		c.Drop(ctx, e.Key)
		removed, bytes = removed+1, bytes+e.Size
	}
	if removed > 0 {
		c.o.Log.Info("old entries of the step cache removed", "entries", removed, "bytes", bytes)
	}
}

// surplus are the entries to remove.
func (c *Cache) surplus(all []storage.CacheEntry) []storage.CacheEntry {
	slices.SortFunc(all, func(a, b storage.CacheEntry) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Key, b.Key)) })
	var surplus []storage.CacheEntry
	bytes := int64(0)
	for _, e := range all {
		if bytes += e.Size; c.old(e) || c.o.MaxBytes > 0 && bytes > c.o.MaxBytes {
			surplus = append(surplus, e)
		}
	}
	return surplus
}
