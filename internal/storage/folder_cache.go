package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// cacheFolder holds the entries of the step cache, each a file of its key.
const cacheFolder = "cache"

// FolderCache keeps entries in the folder cache of a store. What is in it can be
// removed at any time.
type FolderCache struct{ folder *Folder }

// StepCache is the step cache of the store. Nothing is made before the first entry.
func (f *Folder) StepCache() *FolderCache { return &FolderCache{f} }

// Get opens an entry; ErrNotFound when there is none.
func (c *FolderCache) Get(ctx context.Context, key string) (io.ReadCloser, CacheEntry, error) {
	name, err := c.name(ctx, key)
	if err != nil {
		return nil, CacheEntry{}, err
	}
	file, info, err := c.folder.open(name)
	if err != nil {
		return nil, CacheEntry{}, err
	}
	return file, CacheEntry{key, info.Size(), info.ModTime()}, nil
}

// Put writes an entry, or replaces it. Nobody sees anything of it before write is
// done; where that fails its error is returned and the entry is as it was.
func (c *FolderCache) Put(ctx context.Context, key string, write func(io.Writer) error) error {
	name, err := c.name(ctx, key)
	if err != nil {
		return err
	}
	p, err := c.folder.create(ctx, name)
	if err != nil {
		return err
	}
	defer p.Abort()
	p.loose = true // entries have hashes
	if err := write(p); err != nil {
		return err
	}
	return p.Commit()
}

// Delete removes an entry; that there is none is fine.
func (c *FolderCache) Delete(ctx context.Context, key string) error {
	name, err := c.name(ctx, key)
	if err != nil {
		return err
	}
	return c.folder.remove(ctx, name)
}

// pageSize is how many entries are looked at before a list goes on.
const pageSize = 1000

// List gives page all entries, some at a time and in no order. What killed
// processes left of entries that they were writing is removed.
func (c *FolderCache) List(ctx context.Context, page func([]CacheEntry)) error {
	if err := ended(ctx); err != nil {
		return err
	}
	names, err := c.folder.names(cacheFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failure("list", cacheFolder, err)
	}
	for some := range slices.Chunk(names, pageSize) {
		if err := ended(ctx); err != nil {
			return err
		}
		page(c.entries(some))
	}
	return nil
}

// entries are those of names that are entries.
func (c *FolderCache) entries(names []string) (entries []CacheEntry) {
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, tempPrefix); ok && len(rest) > cacheKeyLength && isCacheKey(rest[:cacheKeyLength]) {
			c.folder.removeLeft(path.Join(cacheFolder, rest[:cacheKeyLength]))
		}
		if !isCacheKey(name) {
			continue
		}
		info, err := c.folder.root.Stat(path.Join(cacheFolder, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // gone since, or nothing of ours
		}
		entries = append(entries, CacheEntry{name, info.Size(), info.ModTime()})
	}
	return entries
}

func (c *FolderCache) name(ctx context.Context, key string) (string, error) {
	if err := checkCacheKey(key); err != nil {
		return "", err
	}
	return path.Join(cacheFolder, key), ended(ctx)
}
