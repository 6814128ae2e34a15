package main

import (
	"context"
	"log/slog"
	"time"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/stepcache"
	"rsmsjob/internal/storage"
)

const (
	// cacheLimit is how long one entry of the step cache may hold a job up, and
	// cacheSilence how long a store may be silent: longer, and the rest of the job
	// does without.
	cacheLimit   = 2 * time.Minute
	cacheSilence = 10 * time.Second
)

// cachesSteps is the step cache of a store.
func cachesSteps(s store) stepcache.Store {
	switch s := s.(type) {
	case *storage.Azure:
		return s.StepCache()
	case interface{ StepCache() *storage.FolderCache }: // a shadow run has its own
		return s.StepCache()
	}
	return nil
}

// stepCache returns what makes the step cache of a job, nil where none is wanted.
func (a *app) stepCache(s store, log *slog.Logger) func(anew bool, since time.Time) engine.Cache {
	kept := cachesSteps(s)
	if kept == nil || !a.config.StepCache {
		return nil
	}
	return func(anew bool, since time.Time) engine.Cache {
		a.cache = stepcache.New(kept, stepcache.Options{MaxBytes: int64(a.config.CacheMaxMB) << 20, MaxAge: a.config.CacheMaxAge(),
			Anew: anew, NotBefore: since, Limit: cacheLimit, Silence: cacheSilence, Log: log})
		return a.cache
	}
}

// trimCache removes what the step cache of the last job has too much, for as long
// as it may take: see stepcache.Cache.Trim. The result is there and recorded, and a
// message of ours is dealt with. Under launch it is not yet: who holds it waits for
// the end of this program. So ctx must end when the time of the job does.
func (a *app) trimCache(ctx context.Context) {
	if a.cache != nil {
		a.cache.Trim(ctx)
	}
	a.cache = nil
}
