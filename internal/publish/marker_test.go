package publish

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rsmsjob/internal/reason"
)

// The marker of a dead worker may land at any point, also behind ours; ours is
// what stays, with all that it names, or nothing is.
func TestPublishLateMarker(t *testing.T) {
	whole := earlier()
	if _, err := Publish(t.Context(), whole, always, clock, result()); err != nil {
		t.Fatal(err)
	}
	const late = `{"job_id":"dead"}`
	for i, op := range whole.log {
		store := earlier()
		landed := false
		store.fail = func(string) error {
			if len(store.log) == i && !landed {
				landed = true
				store.blobs[MarkerName] = []byte(late)
			}
			return nil
		}
		m, err := Publish(t.Context(), store, always, clock, result())
		if err != nil {
			t.Errorf("late at %q: %v", op, err)
			continue
		}
		want, err := marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(store.blobs[MarkerName]); got != string(want) || got == late {
			t.Errorf("late at %q: the marker is %s, want %s", op, got, want)
		}
	}
}

// Who has lost the scenario removes no marker of another run, not even one that
// is in the way of its own.
func TestPublishLateMarkerAfterLoss(t *testing.T) {
	const newer = `{"job_id":"newer"}`
	lost := reason.New(reason.LeaseLost, "lost")
	for _, op := range []string{"remove " + MarkerName, "create " + MarkerName} {
		store := earlier()
		gone := false
		store.fail = func(at string) error {
			if at == op && !gone { // another worker has published meanwhile
				gone = true
				store.blobs[MarkerName] = []byte(newer)
			}
			return nil
		}
		held := func() error {
			if gone {
				return lost
			}
			return nil
		}
		if _, err := Publish(t.Context(), store, held, clock, result()); !errors.Is(err, lost) {
			t.Errorf("at %q: %v, want %v", op, err, lost)
		}
		if got := string(store.blobs[MarkerName]); got != newer {
			t.Errorf("at %q: the marker is %s, want that of the newer run", op, got)
		}
	}
}

// An answer that was lost: the same marker is there already.
func TestPublishOwnMarker(t *testing.T) {
	store := newMemory()
	m, err := Publish(t.Context(), store, always, clock, result())
	if err != nil {
		t.Fatal(err)
	}
	n := len(store.log)
	p := publisher{ctx: t.Context(), store: store, held: always, basin: ids.Basin, scenario: ids.Scenario}
	if err := p.putMarker(m); err != nil || !slices.Equal(store.log[n:], []string{"create " + MarkerName}) {
		t.Errorf("%v, %q", err, store.log[n:])
	}
}

// Somebody who writes markers all the time is an end, not a loop.
func TestPublishContested(t *testing.T) {
	for _, op := range []string{"remove " + MarkerName, "create " + MarkerName} {
		store := earlier()
		n := 0
		store.fail = func(at string) error {
			if at == op {
				n++
				store.blobs[MarkerName] = fmt.Appendf(nil, "%d", n)
			}
			return nil
		}
		_, err := Publish(t.Context(), store, always, clock, result())
		if reason.Of(err) != reason.StorageUnavailable || !strings.Contains(reason.Detail(err), "scenario 42 of basin ohio") || n != rounds {
			t.Errorf("%s: %v after %d rounds, want %d", op, err, n, rounds)
		}
	}
}
