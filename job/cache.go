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
func (a *app) stepCache(s store, log *slog.Logger) func(since time.Time) engine.Cache {
	kept := cachesSteps(s)
	if kept == nil || !a.config.StepCache {
		return nil
	}
	return func(since time.Time) engine.Cache {
		a.cache = stepcache.New(kept, stepcache.Options{MaxBytes: int64(a.config.CacheMaxMB) << 20, MaxAge: a.config.CacheMaxAge(),
			NotBefore: since, Limit: cacheLimit, Silence: cacheSilence, Log: log})
		return a.cache
	}
}

// trimCache removes what the step cache of the last job has too much. The message
// is dealt with by then.
func (a *app) trimCache(ctx context.Context) {
	if a.cache != nil {
		a.cache.Trim(ctx)
	}
	a.cache = nil
}
