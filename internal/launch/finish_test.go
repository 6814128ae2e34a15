package launch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rsmsjob/internal/launch/armtest"
	"rsmsjob/internal/reason"
)

// C55: a group that must end is stopped, has time to write its end, keeps its
// log and is deleted, all of it within the grace.
func TestRunStopped(t *testing.T) {
	for _, code := range []reason.Code{reason.Shutdown, reason.Cancelled, reason.TimedOut} {
		t.Run(string(code), func(t *testing.T) {
			inBubble(t, obeys(4*time.Second), func(t *testing.T, b *bench) {
				b.Removal = 2 * time.Second
				cause := reason.New(code, "the end")
				ctx, end := context.WithCancelCause(t.Context())
				var ended time.Time
				time.AfterFunc(5*time.Minute, func() { ended = time.Now(); end(cause) })
				got, err := b.groups.Run(ctx, job())
				if !errors.Is(err, cause) || got.ExitCode != 143 || !got.known() || got.Tail != "stopped" {
					t.Errorf("%+v, %v", got, err)
				}
				if took := time.Since(ended); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if b.Count(armtest.Stop, 0) != 1 {
					t.Errorf("%d stops", b.Count(armtest.Stop, 0))
				}
				b.wantGone(t)
				b.wantQuiet(t)
			})
		})
	}
}

// Whatever the service and the container do, the grace is kept, and the group is
// asked to go.
func TestRunStopsInTime(t *testing.T) {
	tests := map[string]struct {
		program armtest.Program
		faults  []armtest.Fault
		deleted bool // the deletion is taken
	}{
		"a container that does not end": {ends(time.Hour, 0, ""), nil, true},
		"a stop that fails":             {obeys(0), []armtest.Fault{{Operation: armtest.Stop, Status: 500}}, true},
		"a stop that is refused":        {obeys(0), []armtest.Fault{{Operation: armtest.Stop, Status: 403, Code: "AuthorizationFailed"}}, true},
		"a stop without an answer":      {obeys(0), []armtest.Fault{{Operation: armtest.Stop, Silent: true}}, true},
		"states without an answer":      {obeys(0), []armtest.Fault{{Operation: armtest.Get, Silent: true}}, true},
		"a log without an answer":       {obeys(0), []armtest.Fault{{Operation: armtest.Logs, Silent: true}}, true},
		"a deletion that fails twice":   {obeys(0), []armtest.Fault{{Operation: armtest.Delete, Status: 500, Times: 2}}, true},
		"a deletion that is refused":    {obeys(0), []armtest.Fault{{Operation: armtest.Delete, Status: 403, Code: "AuthorizationFailed"}}, false},
		"no answer at all": {obeys(0), []armtest.Fault{{Operation: armtest.Stop, Silent: true}, {Operation: armtest.Get, Silent: true},
			{Operation: armtest.Logs, Silent: true}, {Operation: armtest.Delete, Silent: true}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tt.program, func(t *testing.T, b *bench) {
				b.Removal = time.Second
				cause := reason.New(reason.Shutdown, "the end")
				ctx, end := context.WithCancelCause(t.Context())
				var ended time.Time
				time.AfterFunc(5*time.Minute, func() {
					ended = time.Now()
					for _, f := range tt.faults {
						b.Fail(f)
					}
					end(cause)
				})
				_, err := b.groups.Run(ctx, job())
				took := time.Since(ended)
				if !errors.Is(err, cause) || took > 20*time.Second {
					t.Errorf("%v after %v", err, took)
				}
				time.Sleep(time.Second)
				if gone := len(b.Groups()) == 0; gone != tt.deleted {
					t.Errorf("groups left: %v, log:\n%s", b.Groups(), b.log)
				}
			})
		})
	}
}

// A group that is still on its way is deleted; nothing that was never asked for
// is.
func TestRunStoppedEarly(t *testing.T) {
	cause := reason.New(reason.Shutdown, "the end")
	t.Run("while the image is pulled", func(t *testing.T) {
		inBubble(t, ends(0, 0, ""), func(t *testing.T, b *bench) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, cause)
			defer cancel()
			end, err := b.groups.Run(ctx, job())
			if !errors.Is(err, cause) || end.Started || end.ExitCode != -1 {
				t.Errorf("%+v, %v", end, err)
			}
			b.wantGone(t)
		})
	})
	t.Run("while its creation has no answer", func(t *testing.T) {
		inBubble(t, ends(time.Hour, 0, ""), func(t *testing.T, b *bench) {
			b.Fail(armtest.Fault{Operation: armtest.Create, Silent: true})
			ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, cause)
			defer cancel()
			if end, err := b.groups.Run(ctx, job()); !errors.Is(err, cause) || end.Started || b.Count(armtest.Delete, 0) != 1 {
				t.Errorf("%+v, %v", end, err)
			}
		})
	})
	t.Run("before it could be looked for", func(t *testing.T) {
		inBubble(t, ends(time.Hour, 0, ""), func(t *testing.T, b *bench) {
			b.Fail(armtest.Fault{Operation: armtest.Get, Status: 500})
			ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, cause)
			defer cancel()
			if _, err := b.groups.Run(ctx, job()); !errors.Is(err, cause) || b.Count(armtest.Delete, 0)+b.Count(armtest.Stop, 0) != 0 {
				t.Errorf("%v, calls %v", err, b.Calls())
			}
		})
	})
}

// The end of a container that came before the stop is an end.
func TestRunEndedBeforeStop(t *testing.T) {
	inBubble(t, ends(55*time.Second, 0, "x"), func(t *testing.T, b *bench) {
		b.Removal = 50 * time.Second
		ctx, cancel := context.WithTimeoutCause(t.Context(), 165*time.Second, reason.New(reason.Shutdown, "the end"))
		defer cancel()
		begin := time.Now()
		end, err := b.groups.Run(ctx, job())
		if err != nil || end.Tail != "x" || !end.known() {
			t.Errorf("%+v, %v", end, err)
		}
		if took := time.Since(begin); took > 186*time.Second { // the stop, and the grace
			t.Errorf("it took %v", took)
		}
	})
}

// A message that is lost while the group is deleted ends that at once.
func TestRunLostWhileTidying(t *testing.T) {
	inBubble(t, ends(55*time.Second, 0, "x"), func(t *testing.T, b *bench) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 155*time.Second, reason.New(reason.LeaseLost, "gone"))
		defer cancel()
		time.AfterFunc(140*time.Second, func() { b.Fail(armtest.Fault{Operation: armtest.Logs, Silent: true}) })
		begin := time.Now()
		if end, err := b.groups.Run(ctx, job()); err != nil || !end.known() {
			t.Errorf("%+v, %v", end, err)
		}
		if took := time.Since(begin); took > 156*time.Second || b.Count(armtest.Delete, 0) != 0 {
			t.Errorf("it took %v, %d deletions", took, b.Count(armtest.Delete, 0))
		}
	})
}

// A group that does not go in a minute is left for the next launcher.
func TestRunSlowRemoval(t *testing.T) {
	inBubble(t, ends(time.Minute, 0, "x"), func(t *testing.T, b *bench) {
		b.Removal = time.Hour
		end, err := b.groups.Run(t.Context(), job())
		if err != nil || time.Since(end.FinishedAt) > 80*time.Second || !strings.Contains(b.log.String(), "container group not gone") {
			t.Errorf("%+v, %v, log:\n%s", end, err, b.log)
		}
	})
}
