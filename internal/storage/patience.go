package storage

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// How long a call to Azure Storage is tried depends on what it is for. All of
// them honour Retry-After and end with their context.

// once is for calls whose repetition their caller must know of, such as those
// that use up a pop receipt.
func once() policy.RetryOptions {
	return policy.RetryOptions{MaxRetries: -1, TryTimeout: 15 * time.Second}
}

// brief is for small reads and writes that somebody waits for: about 10 s where
// the service answers that it cannot, a minute where it does not answer.
func brief(ctx context.Context) context.Context { return briefFor(ctx, 0) }

// briefFor is brief for a write of so many bytes that somebody waits for: each
// try has the time that they take on a slow line on top.
func briefFor(ctx context.Context, size int) context.Context {
	const line = 2 << 20 // bytes a second
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: 4, TryTimeout: 10*time.Second + time.Duration(size/line)*time.Second,
		RetryDelay: 300 * time.Millisecond, MaxRetryDelay: 30 * time.Second})
}

// hasty is for the step cache, which is not worth a wait: a run is as good without.
func hasty(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: 2, TryTimeout: 10 * time.Second,
		RetryDelay: 200 * time.Millisecond, MaxRetryDelay: time.Second})
}

// patient is for the inputs and the results of a run, which cost minutes or
// hours to make again: several minutes, and each try as long as 256 MiB take
// on a slow line.
func patient(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: 9, TryTimeout: 2 * time.Minute,
		RetryDelay: 300 * time.Millisecond, MaxRetryDelay: time.Minute})
}

type singleKey struct{}

// unrepeated is for a GET that must not be sent twice, such as the one that
// takes a message: see single.
func unrepeated(ctx context.Context) context.Context {
	return context.WithValue(ctx, singleKey{}, true)
}

// single keeps net/http from repeating a GET by itself. It does so when a
// connection that was used before ends without an answer, since it takes every
// GET without a body for harmless. A body that it cannot have again stops it;
// an empty one is not sent.
type single struct{}

func (single) Do(r *policy.Request) (*http.Response, error) {
	if r.Raw().Context().Value(singleKey{}) != nil {
		r.Raw().Body = io.NopCloser(strings.NewReader(""))
	}
	return r.Next()
}
