package faultproxy_test

import (
	"context"
	"os"
	"testing"

	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
	"rsmsjob/internal/storage/faultproxy"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// setting is a queue behind a proxy, and the same queue without it.
type setting struct {
	*faultproxy.Proxy
	queue, direct *storage.Queue
	names         azurite.Names
}

func newSetting(t *testing.T) *setting {
	t.Helper()
	p := faultproxy.New(t, azurite.Connection(t))
	names := azurite.NewNames()
	s := &setting{p, azurite.Open(t, p.Connection(), names.Layout).Queue(names.Queue),
		azurite.Open(t, azurite.Connection(t), names.Layout).Queue(names.Queue), names}
	if err := s.direct.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// length is how many messages the emulator has.
func (s *setting) length(t *testing.T) int {
	t.Helper()
	n, err := s.direct.Length(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
