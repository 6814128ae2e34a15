package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/reason"
	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

func (a *app) statusCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "status BASIN SCENARIO",
		Short: "show how a scenario stands",
		Long: "status shows state, step, percent, attempt and reason of the last job of a scenario. With\n" +
			"--watch it follows a job that waits or runs to its end, and then exits with 0 for Completed,\n" +
			"11 for Failed, 12 for Cancelled, 15 for TimedOut.",
		Args: cobra.ExactArgs(2),
	}
	settings(c.Flags())
	watch := c.Flags().Bool("watch", false, "follow the job until it ends")
	asJSON := c.Flags().Bool("json", false, "print one JSON document")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := scenarioMessage(args[0], args[1]); err != nil {
			return err
		}
		return a.onStore(c, func(ctx context.Context, s store) error {
			return a.status(ctx, s, args[0], args[1], *watch, *asJSON)
		})
	}
	return c
}

// standing is how a scenario stands, and the document of status. A scenario
// that was never asked for has no state.
type standing struct {
	Basin           string      `json:"riverbasin_id"`
	Scenario        string      `json:"scenario_id"`
	State           runs.State  `json:"state"`
	Step            string      `json:"step"`
	Percent         float64     `json:"percent"`
	Attempt         int         `json:"attempt"`
	Reason          reason.Code `json:"reason"`
	Detail          string      `json:"detail"`
	JobID           string      `json:"job_id"`
	StartedAt       *time.Time  `json:"started_at"`
	FinishedAt      *time.Time  `json:"finished_at"`
	Engine          string      `json:"engine"`
	Commit          string      `json:"commit"`
	CancelRequested bool        `json:"cancel_requested"`
	// SilentSince is set where the worker of a running job gives no sign of life.
	SilentSince *time.Time `json:"silent_since"`
	// Waiting are jobs of the scenario that wait behind this one.
	Waiting []string `json:"waiting"`
}

// pending reports whether the job waits or runs.
func (s *standing) pending() bool { return s.State == runs.Queued || s.State == runs.Running }

func (a *app) status(ctx context.Context, s store, basin, scenario string, watch, asJSON bool) error {
	look := a.look
	if watch {
		look = a.watch
	}
	now, err := look(ctx, s, basin, scenario)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(now)
	} else {
		err = a.printStatus(now)
	}
	if err != nil || !watch {
		return err
	}
	return now.end()
}

// watch follows a job until it ends.
func (a *app) watch(ctx context.Context, s store, basin, scenario string) (*standing, error) {
	p := a.newProgress()
	defer p.end()
	pause := 2 * time.Second
	if a.terminal != nil {
		pause = time.Second
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	silent := false
	for {
		now, err := a.look(ctx, s, basin, scenario)
		if err != nil || !now.pending() {
			return now, err
		}
		if now.SilentSince != nil && !silent {
			a.log.Warn(a.words().silence(*now.SilentSince), "job_id", now.JobID)
		}
		silent = now.SilentSince != nil
		p.show(now.activity(), now.Percent)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// activity is what the progress line calls the step.
func (s *standing) activity() string {
	if s.State == runs.Queued {
		return "queued"
	}
	return s.Step
}

// end is the error with which a watch ends.
func (s *standing) end() error {
	what := fmt.Sprintf("job %s of scenario %s of basin %s", s.JobID, s.Scenario, s.Basin)
	switch s.State {
	case runs.Cancelled:
		return reason.New(reason.Cancelled, "%s was cancelled", what)
	case runs.TimedOut:
		return reason.New(reason.TimedOut, "%s reached its time limit", what)
	case runs.Failed:
		code := s.Reason
		if exitCode(reason.New(code, "")) != exitFailed { // nobody tries it again
			code = reason.MaxAttempts
		}
		return reason.New(code, "%s failed: %s", what, s.Reason)
	}
	return nil
}

// look reads how a scenario stands. The row counts where there is no run
// record, or where it was set to Queued since the last run ended: an API knows
// nothing of records.
func (a *app) look(ctx context.Context, s store, basin, scenario string) (*standing, error) {
	var record *runs.Record
	err := a.first(ctx, s, "RSMS_RUNS_TABLE", func(ctx context.Context) (err error) {
		record, err = runs.Read(ctx, s, basin, scenario)
		return err
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, a.scenarioError(basin, scenario, err)
	}
	now := &standing{Basin: basin, Scenario: scenario}
	if record != nil {
		now.fromRecord(record, leaseClock(ctx, s, record))
		if !record.Over() {
			return now, nil
		}
	}
	row, err := s.Scenario(ctx, basin, scenario)
	if record == nil {
		if err != nil {
			return nil, a.scenarioError(basin, scenario, err)
		}
		now.fromRow(row)
	} else if err == nil && row["Status"] == string(runs.Queued) {
		now = &standing{Basin: basin, Scenario: scenario, State: runs.Queued}
		if id, _ := row["JobId"].(string); id != record.JobID {
			now.JobID = id
		}
	}
	return now, nil
}

// leaseClock is the time by which the lease of a record is judged. A lease that
// ran out may mean that the clock of this machine is wrong, so that of the
// service is asked then; without its answer there is only ours.
func leaseClock(ctx context.Context, s store, r *runs.Record) time.Time {
	now := time.Now()
	if r.State != runs.Running || r.Live(now) {
		return now
	}
	skew, err := clockSkew(ctx, s)
	if err != nil {
		return now
	}
	return time.Now().Add(-skew)
}

func (s *standing) fromRecord(r *runs.Record, now time.Time) {
	s.State, s.Step, s.Percent, s.Attempt, s.Reason, s.Detail = r.State, r.Step, r.Progress, r.Attempt, r.Reason, r.Detail
	s.JobID, s.FinishedAt, s.Engine, s.Commit, s.CancelRequested = r.JobID, r.FinishedAt, r.Engine, r.Commit, r.CancelRequested
	if !r.StartedAt.IsZero() {
		s.StartedAt = &r.StartedAt
	}
	s.Waiting = append([]string{}, r.Waiting...)
	if r.State == runs.Running && !r.Live(now) {
		s.SilentSince = &r.LeaseUntil
	}
}

// fromRow reads the status columns of a scenario row, whoever wrote them.
func (s *standing) fromRow(row map[string]any) {
	text := func(name string) string { v, _ := row[name].(string); return v }
	number := func(name string) float64 {
		v, _ := row[name].(json.Number)
		x, _ := v.Float64()
		return x
	}
	moment := func(name string) *time.Time {
		t, err := time.Parse(time.RFC3339, text(name))
		if err != nil {
			return nil
		}
		return &t
	}
	s.State, s.Step, s.Percent, s.Attempt = runs.State(text("Status")), text("Step"), number("Progress"), int(number("Attempt"))
	s.Reason, s.Detail, s.JobID = reason.Code(text("Reason")), text("StatusDetail"), text("JobId")
	s.StartedAt, s.FinishedAt, s.Engine = moment("StartedAt"), moment("FinishedAt"), text("EngineVersion")
}

// words are what answers say differently of a folder store: it has no queue, so
// nothing there waits to be taken by itself.
type words struct {
	never  string // what to do about a scenario that nobody asked for
	queued string // what to do about a job that waits; "" where a worker takes it
	taken  string // the moment when a job that waits begins
	again  string // the moment when a job goes on whose worker is gone
}

func (a *app) words() words {
	if a.config.StoreDir != "" {
		return words{never: "rsms-job run --store DIR --message JSON runs it", queued: "it was handed back, run it again",
			taken: "it is run again", again: "it is run again"}
	}
	return words{never: "rsms-job enqueue does", taken: "its message is taken", again: "its message comes back"}
}

// silence says what it means that a lease ran out.
func (w words) silence(since time.Time) string {
	return "its worker is silent since " + clockSeconds(since) + "; the job is taken over when " + w.again
}

func clockSeconds(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func (a *app) printStatus(s *standing) error {
	head, words := string(s.State), a.words()
	switch s.State {
	case "":
		head = "never asked for; " + words.never
	case runs.Queued:
		if words.queued != "" {
			head += "; " + words.queued
		}
	case runs.Running:
		head += fmt.Sprintf(", %s, %.0f %%", s.Step, s.Percent)
	}
	fmt.Fprintf(a.stdout, "%s %s: %s\n", s.Basin, s.Scenario, head)
	t := newTable(a.stdout)
	line := func(name, value string) {
		if value != "" {
			t.row("  "+name, value)
		}
	}
	line("job", s.JobID)
	if s.Attempt > 0 {
		line("attempt", fmt.Sprint(s.Attempt))
	}
	line("reason", string(s.Reason))
	line("detail", oneLine(s.Detail))
	for _, at := range []struct {
		name string
		time *time.Time
	}{{"started", s.StartedAt}, {"finished", s.FinishedAt}} {
		if at.time != nil {
			line(at.name, clockSeconds(*at.time))
		}
	}
	line("engine", s.Engine)
	line("commit", s.Commit)
	if s.CancelRequested && s.pending() {
		line("cancel", "asked for")
	}
	if len(s.Waiting) > 0 {
		line("waiting", strings.Join(s.Waiting, ", "))
	}
	if s.SilentSince != nil {
		line("silent", words.silence(*s.SilentSince))
	}
	return t.flush()
}
