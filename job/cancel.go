package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
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
		RunE: func(c *cobra.Command, args []string) error { return a.cancelJob(c, args[0], args[1]) },
	}
	settings(c.Flags())
	return c
}

func (a *app) cancelJob(c *cobra.Command, basin, scenario string) error {
	if _, err := scenarioMessage(basin, scenario); err != nil {
		return err
	}
	if err := a.configure(c, config.Need{Store: true}); err != nil {
		return err
	}
	s, err := a.openStore()
	if err != nil {
		return err
	}
	defer s.Close()
	asked := time.Now()
	var record *runs.Record
	err = a.first(c.Context(), s, func(ctx context.Context) (err error) {
		record, err = runs.Cancel(ctx, s, basin, scenario, asked)
		return err
	})
	if errors.Is(err, storage.ErrNotFound) {
		record, err = &runs.Record{}, a.hasScenario(c.Context(), s, basin, scenario)
	}
	if err != nil {
		return scenarioError(basin, scenario, err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s: %s\n", basin, scenario, cancelled(record, time.Now()))
	return err
}

// cancelled says what a cancel came to that left this record.
func cancelled(r *runs.Record, now time.Time) string {
	job := "the job"
	if r.JobID != "" {
		job = "job " + r.JobID
	}
	switch {
	case r.Live(now):
		return job + " is running and was asked to stop; its worker does within seconds"
	case r.State == runs.Running:
		return job + " was asked to stop; " + silence(r.LeaseUntil) + ", and ends then"
	case r.State == runs.Queued:
		return job + " waits and will be cancelled when its message is taken"
	case r.FinishedAt != nil:
		return fmt.Sprintf("nothing to cancel, %s is %s since %s", job, r.State, clockSeconds(*r.FinishedAt))
	case r.State != "":
		return fmt.Sprintf("nothing to cancel, %s is %s", job, r.State)
	}
	return "nothing to cancel, no job was asked for"
}
