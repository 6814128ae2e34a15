package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rsmsjob/internal/engine"
	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
)

// placeOf is a Place whose job does what a test says.
type placeOf struct {
	job     func(ctx context.Context, e *Errand) (Departed, error)
	running bool
	ran     int
	removed int
}

func (p *placeOf) Running(context.Context, *Errand) (bool, error) { return p.running, nil }

func (p *placeOf) Run(ctx context.Context, e *Errand) (Departed, error) {
	p.ran++
	return p.job(ctx, e)
}

func (p *placeOf) Remove(context.Context, *Errand) error { p.removed++; return nil }

// away makes the workers of a desk have their jobs run in a place.
func (d *desk) away(p *placeOf) {
	d.change = func(j *Job) { j.Place = p }
}

// inside is the job as the program in the place runs it.
func (d *desk) inside(ctx context.Context, e *Errand, change func(*Job)) error {
	d.workers++
	job := d.worker().Job(slog.New(slog.DiscardHandler))
	job.Place, job.Owner = nil, fmt.Sprint("container ", d.workers)
	if e.Delivery != nil {
		job.Message, job.Attempt, job.Attempts, job.Since = e.Delivery.MessageID, e.Delivery.Attempt, e.Delivery.Attempts, e.Delivery.InsertedAt
	}
	if change != nil {
		change(job)
	}
	m, err := message.Decode([]byte(e.Message))
	if err != nil {
		return err
	}
	_, err = job.Run(ctx, m, m.Identity(""))
	return err
}

// run is a job that ends as it does here, changed.
func (d *desk) run(change func(*Job)) func(context.Context, *Errand) (Departed, error) {
	return func(ctx context.Context, e *Errand) (Departed, error) {
		_ = d.inside(context.WithoutCancel(ctx), e, change)
		return Departed{}, nil
	}
}

// takes is a job that takes the scenario and dies at the end of ctx.
func (d *desk) takes(ctx context.Context, e *Errand, before func()) (Departed, error) {
	d.workers++
	hold, err := runs.Take(context.WithoutCancel(ctx), d.store, runs.Request{Basin: e.Basin, Scenario: e.Scenario, JobID: e.JobID, RunKey: "k", Message: e.Delivery.MessageID,
		Owner: fmt.Sprint("container ", d.workers), Lease: time.Hour, Since: e.Delivery.InsertedAt, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return Departed{}, err
	}
	before()
	if hold.Finish(ctx, runs.Outcome{}) == nil { // it is refused, and stops to watch
		d.Error("a run ended in no state")
	}
	return Departed{Exit: 137}, context.Cause(ctx)
}

// takesTo is a job that takes the scenario and records an end.
func (d *desk) takesTo(ctx context.Context, e *Errand, out runs.Outcome) (Departed, error) {
	d.workers++
	hold, err := runs.Take(context.WithoutCancel(ctx), d.store, runs.Request{Basin: e.Basin, Scenario: e.Scenario, JobID: e.JobID, RunKey: "k", Message: e.Delivery.MessageID,
		Owner: fmt.Sprint("container ", d.workers), Lease: time.Hour, Since: e.Delivery.InsertedAt, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return Departed{}, err
	}
	return Departed{}, hold.Finish(context.WithoutCancel(ctx), out)
}

// outOfTime makes every engine take too long.
func outOfTime(j *Job) { j.StepTimeout = time.Nanosecond }

// What a job comes to in a place, its message comes to.
func TestAway(t *testing.T) {
	t.Run("completed", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		p := &placeOf{job: d.run(nil)}
		d.away(p)
		d.ends(d.next(), "")
		d.is("Completed ", 0, 0, "M Completed")
	})
	t.Run("invalid scenario", func(t *testing.T) {
		d := newDesk(t)
		put(t, d.dir, "tables/Scenarios/channel/s1.json", `{"SpillMile":"x"}`)
		d.order(never, 0)
		d.queued()
		d.away(&placeOf{job: d.run(nil)})
		d.ends(d.next(), reason.InvalidScenario)
		d.is("Failed invalid_scenario", 0, 1, "M Failed")
	})
	t.Run("tried again", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		p := &placeOf{job: d.run(outOfTime)}
		d.away(p)
		for range 4 {
			d.ends(d.next(), reason.EngineTimeout)
			d.is("Queued engine_timeout", 1, 0)
		}
		d.ends(d.next(), reason.MaxAttempts)
		d.is("Failed max_attempts", 0, 1, "M Failed")
		if p.ran != 5 {
			t.Errorf("ran %d times", p.ran)
		}
	})
	t.Run("again after a failure", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		p := &placeOf{job: d.run(outOfTime)}
		d.away(p)
		d.ends(d.next(), reason.EngineTimeout)
		p.job = d.run(nil)
		d.ends(d.next(), "")
		d.is("Completed ", 0, 0, "M Completed")
	})
	// C17: the container dies with its program, which told nobody.
	t.Run("died", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		p := &placeOf{job: func(ctx context.Context, e *Errand) (Departed, error) { return d.takes(ctx, e, func() {}) }}
		d.away(p)
		for range 4 {
			d.ends(d.next(), reason.EngineFailed)
			d.is("Queued engine_failed", 1, 0)
		}
		d.ends(d.next(), reason.MaxAttempts)
		d.is("Failed max_attempts", 0, 1, "M Failed")
		if p.ran != 5 {
			t.Errorf("ran %d times", p.ran)
		}
	})
	// Exit codes 2 and 16 say that the message was not looked at.
	for name, gone := range map[string]Departed{"settings": {Exit: 2}, "no start": {Exit: 16}, "no start, as its log says": {Log: []byte(`{"reason":"storage_denied","exit":16}`)}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.order(never, 0)
			d.queued()
			d.away(&placeOf{job: func(context.Context, *Errand) (Departed, error) { return gone, nil }})
			for range 7 {
				d.ends(d.next(), reason.StorageUnavailable)
				d.is("Queued storage_unavailable", 1, 0)
			}
		})
	}
	// The runtime of Go ends with 2 as well, and that is a failure.
	t.Run("crashed with exit code 2", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		d.away(&placeOf{job: func(ctx context.Context, e *Errand) (Departed, error) {
			_, err := d.takes(ctx, e, func() {})
			return Departed{Exit: 2}, err
		}})
		for range 4 {
			d.ends(d.next(), reason.EngineFailed)
		}
		d.ends(d.next(), reason.MaxAttempts)
		d.is("Failed max_attempts", 0, 1, "M Failed")
	})
	// Who stops a container that others wait for spends no attempt of theirs.
	t.Run("stopped by somebody", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 4) // its last delivery
		d.queued()
		p := &placeOf{job: func(ctx context.Context, e *Errand) (Departed, error) {
			stopped, stop := context.WithCancelCause(ctx)
			stop(reason.New(reason.Shutdown, "stopped"))
			_ = d.inside(stopped, e, nil)
			return Departed{Exit: 143}, nil
		}}
		d.away(p)
		for range 3 {
			d.ends(d.next(), reason.StorageUnavailable)
			d.is("Queued storage_unavailable", 1, 0)
		}
		p.job = d.run(nil)
		d.ends(d.next(), "")
		d.is("Completed ", 0, 0, "M Completed")
	})
	// C30, C54: no room is nobody's attempt.
	t.Run("no room", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		p := &placeOf{job: func(context.Context, *Errand) (Departed, error) {
			return Departed{}, &NotPlaced{Err: reason.New(reason.StorageUnavailable, "no room")}
		}}
		d.away(p)
		for range 7 {
			d.ends(d.next(), reason.StorageUnavailable)
			d.is("Queued storage_unavailable", 1, 0)
		}
		p.job = d.run(nil)
		d.ends(d.next(), "")
		d.is("Completed ", 0, 0, "M Completed")
	})
	t.Run("its log has the reason", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		d.away(&placeOf{job: func(context.Context, *Errand) (Departed, error) {
			return Departed{Log: []byte(`{"msg":"start"}` + "\n" + `{"msg":"x","reason":"engine_missing","exit":11}` + "\nnoise\n")}, nil
		}})
		d.ends(d.next(), reason.EngineMissing)
		d.is("Failed engine_missing", 0, 1, "M Failed")
	})
	t.Run("done already", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		d.away(&placeOf{job: d.run(nil)})
		d.ends(d.next(), "")
		d.notices = nil
		d.order(never, 0)
		d.queue.messages[0].ID, d.queue.messages[0].Text = "N", `{"riverbasin_id":"channel","scenario_id":"s1","job_id":"M"}`
		d.ends(d.next(), "")
		d.is("Completed ", 0, 0)
	})
}

// What the job recorded stands, whatever its Place says of it.
func TestAwayRecorded(t *testing.T) {
	for _, delivered := range []int64{0, 4} {
		for name, tt := range map[string]struct {
			change func(*Job)
			err    error
			want   reason.Code
			row    string
			notice string
			poison int
		}{
			"completed, timed out":    {nil, Overtime(time.Hour), "", "Completed ", "M Completed", 0},
			"completed, cancelled":    {nil, stoppedByUser(), "", "Completed ", "M Completed", 0},
			"completed, over":         {nil, errOver, "", "Completed ", "M Completed", 0},
			"completed, not followed": {nil, reason.New(reason.EngineFailed, "the group is gone"), "", "Completed ", "M Completed", 0},
			"failed, timed out": {func(j *Job) {
				j.Engines = func() (*engine.Set, error) { return nil, reason.New(reason.EngineMissing, "none") }
			},
				Overtime(time.Hour), reason.EngineMissing, "Failed engine_missing", "M Failed", 1},
		} {
			t.Run(fmt.Sprint(name, ", delivery ", delivered+1), func(t *testing.T) {
				d := newDesk(t)
				d.order(never, delivered)
				d.queued()
				d.away(&placeOf{job: func(ctx context.Context, e *Errand) (Departed, error) {
					_ = d.inside(context.WithoutCancel(ctx), e, tt.change)
					return Departed{Exit: -1}, tt.err
				}})
				d.ends(d.next(), tt.want)
				d.is(tt.row, 0, tt.poison, tt.notice)
			})
		}
	}
}

// A Place that never says that the job has ended is not believed for ever.
func TestAwayBlind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		hour := time.Hour
		d.away(&placeOf{job: func(ctx context.Context, e *Errand) (Departed, error) {
			if _, err := d.takesTo(ctx, e, runs.Outcome{State: runs.Failed, Reason: reason.EngineMissing}); err != nil {
				return Departed{}, err
			}
			select {
			case <-time.After(hour):
				return Departed{}, errors.New("it was waited for")
			case <-ctx.Done():
				return Departed{}, context.Cause(ctx)
			}
		}})
		began := time.Now()
		d.ends(d.next(), reason.EngineMissing)
		if took := time.Since(began); took > 2*wishPatience {
			t.Errorf("it took %s", took)
		}
	})
}

// A container that comes late does not run a job that was given up.
func TestAwayLate(t *testing.T) {
	d := newDesk(t)
	d.order(never, 0)
	d.queued()
	var late *Errand
	d.away(&placeOf{job: func(ctx context.Context, e *Errand) (Departed, error) {
		late = e
		return Departed{}, stoppedByUser()
	}})
	d.ends(d.next(), reason.Cancelled)
	d.is("Cancelled cancelled", 0, 0, "M Cancelled")
	d.ends(d.inside(t.Context(), late, nil), reason.LeaseLost)
	d.is("Cancelled cancelled", 0, 0, "M Cancelled")
}

// The answer has the numbers of the result.
func TestAwayAnswer(t *testing.T) {
	d := newDesk(t)
	d.away(&placeOf{job: d.run(nil)})
	for range 2 {
		d.workers++
		answer, err := d.worker().Job(slog.New(slog.DiscardHandler)).Run(t.Context(), messageOf("channel", "s1", false), "M")
		if err != nil {
			t.Fatal(err)
		}
		if answer.Marker == nil || math.Abs(answer.Balance.InjectedKg-250) > 1e-9 || len(answer.Intakes) != 1 || answer.Current != (d.workers > 2) {
			t.Errorf("%+v", answer)
		}
	}
}

// While somebody else runs the scenario, nothing is started for it; a job that
// is there already is joined.
func TestAwayBeside(t *testing.T) {
	d := newDesk(t)
	d.order(never, 0)
	d.queued()
	other, err := runs.Take(t.Context(), d.store, runs.Request{Basin: "channel", Scenario: "s1", JobID: "M", RunKey: "k", Owner: "container 0", Lease: time.Minute,
		Message: "M", Since: time.Now().Add(-time.Hour), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p := &placeOf{}
	d.away(p)
	d.ends(d.next(), reason.Busy)
	if p.ran != 0 {
		t.Error("it ran beside another owner")
	}
	p.running = true
	p.job = func(ctx context.Context, _ *Errand) (Departed, error) {
		return Departed{Joined: true}, other.Finish(context.WithoutCancel(ctx), runs.Outcome{State: runs.Completed})
	}
	d.ends(d.next(), "")
	d.is("Completed ", 0, 0)
}

// A cancel reaches a job that waits for its container, and one that does not
// look; one that does is left to end itself.
func TestAwayCancelled(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		d := newDesk(t)
		d.order(never, 0)
		d.queued()
		d.cancel(time.Now())
		p := &placeOf{}
		d.away(p)
		d.ends(d.next(), reason.Cancelled)
		d.is("Cancelled cancelled", 0, 0, "M Cancelled")
		if p.ran != 0 || p.removed != 1 {
			t.Errorf("ran %d times, removed %d times", p.ran, p.removed)
		}
	})
	for _, tt := range []struct {
		name    string
		taken   bool
		atLeast time.Duration
		atMost  time.Duration
	}{
		{"waiting for its container", false, 0, 2 * wishInterval},
		{"running and deaf", true, wishPatience, wishPatience + 2*wishInterval},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.order(never, 0)
				d.queued()
				var took time.Duration
				d.away(&placeOf{job: func(ctx context.Context, e *Errand) (Departed, error) {
					wait := func() {
						d.cancel(time.Now())
						began := time.Now()
						<-ctx.Done()
						took = time.Since(began)
					}
					if tt.taken {
						return d.takes(ctx, e, wait)
					}
					wait()
					return Departed{}, context.Cause(ctx)
				}})
				err := d.next()
				if took < tt.atLeast || took > tt.atMost {
					t.Errorf("stopped after %s, want %s to %s", took, tt.atLeast, tt.atMost)
				}
				d.ends(err, reason.Cancelled)
				d.is("Cancelled cancelled", 0, 0, "M Cancelled")
			})
		})
	}
}

// Who is stopped hands the message back, and the place stops the job.
func TestAwayStopped(t *testing.T) {
	d := newDesk(t)
	d.order(never, 0)
	d.queued()
	ctx, stop := context.WithCancelCause(t.Context())
	seen := false
	d.away(&placeOf{job: func(ctx context.Context, _ *Errand) (Departed, error) {
		stop(reason.New(reason.Shutdown, "stopped"))
		<-ctx.Done()
		seen = reason.Of(context.Cause(ctx)) == reason.Shutdown
		return Departed{}, context.Cause(ctx)
	}})
	_, err := d.worker().Next(ctx)
	d.ends(err, reason.Shutdown)
	if !seen {
		t.Error("the place was not told to stop")
	}
	if m := d.queue.messages[0]; time.Now().Before(m.until) {
		t.Errorf("the message is hidden until %s", m.until)
	}
}

// A job that ended, or was delivered too often, leaves nothing behind in its place.
func TestAwayVacates(t *testing.T) {
	d := newDesk(t)
	d.order(never, 5)
	d.queued()
	p := &placeOf{}
	d.away(p)
	d.ends(d.next(), reason.MaxAttempts)
	d.is("Failed max_attempts", 0, 1, "M Failed")
	if p.ran != 0 || p.removed != 1 {
		t.Errorf("ran %d times, removed %d times", p.ran, p.removed)
	}
	d.order(never, 5)
	d.ends(d.next(), reason.MaxAttempts)
	if p.ran != 0 || p.removed != 2 {
		t.Errorf("ran %d times, removed %d times", p.ran, p.removed)
	}
}

func TestLastWords(t *testing.T) {
	for _, tt := range []struct {
		log  string
		want reason.Code
	}{
		{"", ""},
		{"noise", ""},
		{`{"msg":"start","reason":"busy"}`, ""},
		{`{"reason":"busy","exit":14}` + "\n", reason.Busy},
		{`{"reason":"busy","exit":14}` + "\n" + `{"reason":"engine_failed","exit":10}` + "\n" + `{"msg":"x"}`, reason.EngineFailed},
		{`{"reason":"canary","exit":14}`, ""},
		{`..."reason":"busy","exit":14}` + "\n" + strings.Repeat("x", 1<<20), ""},
	} {
		got, exit := lastWords([]byte(tt.log))
		if got != tt.want || (exit != 0) != (tt.want != "") {
			t.Errorf("%.60s: %q, %d", tt.log, got, exit)
		}
	}
}
