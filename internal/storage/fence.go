package storage

import "context"

type fenceKey struct{}

// Fenced returns a context under which nothing is sent to an Azure store any
// more once held returns an error; the call returns that error. It is asked
// before every try of every request, so that a machine that wakes up from a
// suspension as an owner no longer does not send what it was about to.
func Fenced(ctx context.Context, held func() error) context.Context {
	return context.WithValue(ctx, fenceKey{}, held)
}
