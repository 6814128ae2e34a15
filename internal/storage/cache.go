package storage

import (
	"time"

	"rsmsjob/internal/reason"
)

// CacheEntry is one entry of a step cache.
type CacheEntry struct {
	Key  string
	Size int64     // bytes, as it is stored
	Time time.Time // when it was written, by the clock of the store
}

// cacheKeyLength is the length of a key: a SHA-256 in hexadecimal.
const cacheKeyLength = 64

func isCacheKey(key string) bool {
	if len(key) != cacheKeyLength {
		return false
	}
	for i := range len(key) {
		if c := key[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func checkCacheKey(key string) error {
	if !isCacheKey(key) {
		return &reason.Fault{Field: "key", Problem: "not a key of the step cache", Text: key}
	}
	return nil
}
