package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"rsmsjob/internal/storage"
)

const marker = "result.json"

func create(s Store, data string) error {
	return s.CreateResult(context.Background(), "ohio", "42", marker, []byte(data))
}

func version(t testing.TB, s Store) string {
	t.Helper()
	etag, err := s.ResultVersion(context.Background(), "ohio", "42", marker)
	if err != nil || etag == "" {
		t.Fatalf("ResultVersion: %q, %v", etag, err)
	}
	return etag
}

// A result that is there is not replaced; that it holds the same is fine, since
// an earlier try may have put it there.
func testResultCreate(t *testing.T, b Backend) {
	s := b.Open(t)
	if _, err := s.ResultVersion(t.Context(), "ohio", "42", marker); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("ResultVersion of an empty store: %v, want ErrNotFound", err)
	}
	for range 2 {
		if err := create(s, `{"a":1}`); err != nil {
			t.Fatal(err)
		}
	}
	etag := version(t, s)
	for _, other := range []string{"", `{"a":1`, `{"a":2}`, `{"a":1} `, `{"a":1, "b":2}`} {
		if err := create(b.Open(t), other); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("create %q over another: %v, want ErrConflict", other, err)
		}
	}
	if got, err := read(s, marker); err != nil || string(got) != `{"a":1}` {
		t.Errorf("%q, %v: not the first one", got, err)
	}
	if now := version(t, b.Open(t)); now != etag {
		t.Errorf("version %s has become %s", etag, now)
	}
	if names := list(t, s); !slices.Equal(names, []string{marker}) {
		t.Errorf("results are %q", names)
	}
	write(t, s, marker, nil)
	if err := errors.Join(create(s, ""), s.RemoveVersion(t.Context(), "ohio", "42", marker, version(t, s))); err != nil {
		t.Errorf("an empty one: %v", err)
	}
}

// Of many that create one result at once, one does.
func testResultCreateRace(t *testing.T, b Backend) {
	const workers = 8
	won := make(chan string, workers)
	var wg sync.WaitGroup
	for i := range workers {
		s := b.Open(t)
		data := bytes.Repeat(fmt.Appendf(nil, "worker %d\n", i), 1000)
		wg.Go(func() {
			err := create(s, string(data))
			switch {
			case err == nil:
				won <- string(data)
			case !errors.Is(err, storage.ErrConflict):
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d have created it, want 1", len(won))
	}
	if got, err := read(b.Open(t), marker); err != nil || string(got) != <-won {
		t.Errorf("%d bytes, %v: not those of the one", len(got), err)
	}
}

// Who removes a version removes no later one.
func testResultRemoveVersion(t *testing.T, b Backend) {
	ctx, s := t.Context(), b.Open(t)
	remove := func(etag string) error { return s.RemoveVersion(ctx, "ohio", "42", marker, etag) }
	if err := create(s, "old"); err != nil {
		t.Fatal(err)
	}
	old := version(t, s)
	if err := remove(old); err != nil {
		t.Fatal(err)
	}
	if err := remove(old); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
	for _, data := range []string{"new", "newer"} {
		if err := create(s, data); err != nil {
			t.Fatal(err)
		}
		now := version(t, s)
		for _, etag := range []string{old, "", "*", "x"} {
			if err := remove(etag); !errors.Is(err, storage.ErrConflict) {
				t.Errorf("remove version %q of %q: %v, want ErrConflict", etag, now, err)
			}
		}
		if got, err := read(b.Open(t), marker); err != nil || string(got) != data {
			t.Errorf("%q, %v, want %q", got, err, data)
		}
		if err := remove(now); err != nil {
			t.Error(err)
		}
		if names := list(t, s); len(names) != 0 {
			t.Errorf("left %q", names)
		}
	}
}
