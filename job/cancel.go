package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/runs"
	"rsmsjob/internal/storage"
)

func (a *app) cancelCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cancel BASIN SCENARIO",
		Short: "ask a queued or running job to stop",
		Long: "cancel asks the job of a scenario to stop. A worker that runs it sees that within seconds;\n" +
			"a job that waits on the queue is ended when its message is taken.",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := scenarioMessage(args[0], args[1]); err != nil {
				return err
			}
			return a.onStore(c, func(ctx context.Context, s store) error { return a.cancelJob(ctx, s, args[0], args[1]) })
		},
	}
	settings(c.Flags())
	return c
}

func (a *app) cancelJob(ctx context.Context, s store, basin, scenario string) error {
	var record *runs.Record
	var now time.Time
	err := a.first(ctx, s, "", func(ctx context.Context) error {
		skew, err := clockSkew(ctx, s)
		if err != nil {
			return err
		}
		now = time.Now().Add(-skew)
		record, err = runs.Cancel(ctx, s, basin, scenario, now)
		return err
	})
	if errors.Is(err, storage.ErrNotFound) {
		record, err = &runs.Record{}, a.hasScenario(ctx, s, basin, scenario)
	}
	if err != nil {
		return a.scenarioError(basin, scenario, err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s: %s\n", basin, scenario, a.words().cancelled(record, now))
	return err
}

// clockSkew is how far the clock of this machine is ahead of the one by which a
// store tells when a job was asked for: that of the service, which stamps the
// messages of a queue. A laptop may be minutes off.
func clockSkew(ctx context.Context, s store) (time.Duration, error) {
	if azure, ok := s.(*storage.Azure); ok {
		return azure.Clock(ctx)
	}
	return 0, nil
}

// cancelled says what a cancel came to that left this record.
func (w words) cancelled(r *runs.Record, now time.Time) string {
	job := "the job"
	if r.JobID != "" {
		job = "job " + r.JobID
	}
	switch {
	case r.Live(now):
		return job + " is running and was asked to stop; its worker does within seconds"
	case r.State == runs.Running:
		return job + " was asked to stop; " + w.silence(r.LeaseUntil) + ", and ends then"
	case r.State == runs.Queued:
		return job + " waits and will be cancelled when " + w.taken
	case r.FinishedAt != nil:
		return fmt.Sprintf("nothing to cancel, %s is %s since %s", job, r.State, clockSeconds(*r.FinishedAt))
	case r.State != "":
		return fmt.Sprintf("nothing to cancel, %s is %s", job, r.State)
	}
	return "nothing to cancel, no job was asked for"
}
