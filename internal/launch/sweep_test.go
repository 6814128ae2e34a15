package launch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"rsmsjob/internal/launch/armtest"
	"rsmsjob/internal/reason"
)

// leave lets a launcher die that has made a group.
func (b *bench) leave(t *testing.T, name string) {
	t.Helper()
	ctx, crash := context.WithTimeoutCause(t.Context(), time.Second, reason.New(reason.LeaseLost, "gone"))
	defer crash()
	j := job()
	j.Name = name
	if _, err := b.groups.Run(ctx, j); reason.Of(err) != reason.LeaseLost {
		t.Fatal(err)
	}
}

// What launchers leave behind that died is deleted some time after its end;
// nothing else is.
func TestSweep(t *testing.T) {
	long := GroupName("long")
	program := func(ctx context.Context, env map[string]string) (int, string) {
		time.Sleep(time.Minute)
		return 0, ""
	}
	inBubble(t, program, func(t *testing.T, b *bench) {
		b.Removal = 0
		sweep := func(want int, left ...string) {
			t.Helper()
			n, err := b.groups.Sweep(t.Context(), time.Hour)
			slices.Sort(left)
			if err != nil || n != want || !slices.Equal(b.Groups(), left) {
				t.Errorf("%d, %v; left %v, want %d and %v", n, err, b.Groups(), want, left)
			}
		}
		a, c := GroupName("a"), GroupName("c")
		b.leave(t, a)
		b.leave(t, c)
		sweep(0, a, c)
		time.Sleep(61 * time.Minute)
		b.leave(t, long)
		sweep(0, a, c, long) // made an hour ago, ended less than that ago
		b.Fail(armtest.Fault{Operation: armtest.Get, Group: a, Status: 404, Code: "ResourceNotFound", Times: 1})
		time.Sleep(5 * time.Minute)
		sweep(1, a, long)
		sweep(1, long)
	})
}

// A group that is not ours, that runs or that goes is left alone.
func TestSweepSpares(t *testing.T) {
	inBubble(t, obeys(0), func(t *testing.T, b *bench) {
		b.leave(t, job().Name)
		time.Sleep(3 * time.Hour)
		if n, err := b.groups.Sweep(t.Context(), time.Hour); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if b.State(job().Name) != "Running" {
			t.Error("it does not run any more")
		}
		if b.Count(armtest.Delete, 0) != 0 {
			t.Error("something was deleted")
		}
	})
}

// A group that never got a machine is swept as well.
func TestSweepNeverStarted(t *testing.T) {
	inBubble(t, obeys(0), func(t *testing.T, b *bench) {
		b.NoCapacity = true
		b.leave(t, job().Name)
		time.Sleep(2 * time.Hour)
		if n, err := b.groups.Sweep(t.Context(), time.Hour); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func TestSweepFails(t *testing.T) {
	for _, operation := range []armtest.Operation{armtest.List, armtest.Get, armtest.Delete} {
		t.Run(string(operation), func(t *testing.T) {
			inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
				b.leave(t, job().Name)
				time.Sleep(2 * time.Hour)
				b.Fail(armtest.Fault{Operation: operation, Status: 500})
				if n, err := b.groups.Sweep(t.Context(), time.Hour); n != 0 || reason.Of(err) != reason.StorageUnavailable {
					t.Errorf("%d, %v", n, err)
				}
				gone := errors.New("gone")
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(gone)
				if _, err := b.groups.Sweep(ctx, time.Hour); !errors.Is(err, gone) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

func TestRunning(t *testing.T) {
	inBubble(t, ends(time.Minute, 0, ""), func(t *testing.T, b *bench) {
		running := func(want bool) {
			t.Helper()
			if got, err := b.groups.Running(t.Context(), job().Name); got != want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		}
		running(false)
		b.leave(t, job().Name)
		running(true)
		time.Sleep(2 * time.Minute)
		running(true)
		time.Sleep(time.Minute)
		running(false)
		b.Fail(armtest.Fault{Operation: armtest.Get, Status: 403, Code: "AuthorizationFailed"})
		if got, err := b.groups.Running(t.Context(), job().Name); got || reason.Of(err) != reason.StorageDenied {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// What is left of a job is stopped first.
func TestRemove(t *testing.T) {
	inBubble(t, obeys(3*time.Second), func(t *testing.T, b *bench) {
		remove := func(want reason.Code) {
			t.Helper()
			if err := b.groups.Remove(t.Context(), job().Name); reason.Of(err) != want {
				t.Errorf("%v", err)
			}
		}
		remove("")
		b.leave(t, job().Name)
		time.Sleep(5 * time.Minute)
		begin := time.Now()
		remove("")
		if took := time.Since(begin); took > 20*time.Second || b.Count(armtest.Stop, 204) != 1 {
			t.Errorf("%d stops in %v", b.Count(armtest.Stop, 204), took)
		}
		b.wantGone(t)
		b.leave(t, job().Name)
		stay := b.Fail(armtest.Fault{Operation: armtest.Delete, Status: 500})
		remove(reason.StorageUnavailable)
		stay()
		time.Sleep(10 * time.Minute)
		remove("")
		b.wantGone(t)
	})
}
