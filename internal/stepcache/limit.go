package stepcache

import (
	"context"
	"errors"
	"io"
	"time"
)

var (
	errSlow   = errors.New("its store takes too long for one entry")
	errSilent = errors.New("its store does not answer")
)

// within does one thing with the store in the time that it may take. alive is to
// be called whenever something has come or gone.
func (c *Cache) within(ctx context.Context, do func(ctx context.Context, alive func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := func() {}
	if c.o.Limit > 0 {
		defer time.AfterFunc(c.o.Limit, func() { cancel(errSlow) }).Stop()
	}
	if c.o.Silence > 0 {
		silent := time.AfterFunc(c.o.Silence, func() { cancel(errSilent) })
		defer silent.Stop()
		alive = func() { silent.Reset(c.o.Silence) }
	}
	err := do(ctx, alive)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// source reads an entry from its store, and keeps what went wrong there.
type source struct {
	ctx   context.Context
	r     io.Reader
	alive func()
	err   error // of the store, nil at its end
}

func (s *source) Read(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		s.err = context.Cause(s.ctx)
		return 0, s.err
	}
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	s.alive()
	return n, err
}

// sink writes an entry to its store.
type sink struct {
	w     io.Writer
	alive func()
	n     int64 // bytes so far
	limit int64 // 0 for none
}

func (s *sink) Write(b []byte) (int, error) {
	if s.n += int64(len(b)); s.limit > 0 && s.n > s.limit {
		return 0, &unkept{"it is larger than the cache may be"}
	}
	n, err := s.w.Write(b)
	s.alive()
	return n, err
}
