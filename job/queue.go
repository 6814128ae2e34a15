package main

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/spf13/cobra"

	"rsmsjob/internal/message"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/storage"
)

// runQueue takes one message from the queue and sees it to its end, or more of
// them where that is wanted.
func (a *app) runQueue(c *cobra.Command) error {
	azure, err := a.openAzure()
	if err != nil {
		return err
	}
	defer azure.Close()
	run := rand.Text()
	jobs, err := a.jobs(azure, run)
	if err != nil {
		return err
	}
	defer a.progress.end()
	w := &pipeline.Worker{Queue: azure.Queue(a.config.QueueName), Poison: azure.Queue(a.config.PoisonQueue()),
		Lease: a.config.Lease(), Attempts: a.config.MaxDequeueCount, RetryDelay: a.config.RetryDelay, JobTimeout: a.config.JobTimeout(),
		Patience: a.patience(), PollWait: a.config.PollWait(), Answer: min(a.config.StartDeadline(), a.config.Grace()),
		Job: jobs, Run: run, Log: a.log,
		Probe: func(ctx context.Context, m *message.Message, jobID string) error {
			return a.probe(ctx, azure, m, jobID)
		}}
	var first error
	for range a.config.MaxMessages {
		a.runLog.begin()
		_, err := w.Next(c.Context())
		a.progress.end()
		if errors.Is(err, pipeline.ErrEmpty) {
			a.log.Info("the queue is empty, nothing to do", "queue", a.config.QueueName)
			break
		}
		if first == nil {
			first, a.ofJob = err, a.progress.log
		}
		if _, gone := errors.AsType[*pipeline.NoStart](err); gone || c.Context().Err() != nil {
			break
		}
	}
	return noQueue(first)
}

// noQueue turns the missing queue of a first call into a mistake of the
// settings.
func noQueue(err error) error {
	if _, ok := errors.AsType[*pipeline.NoStart](err); ok && storage.Missing(err) {
		return named(err, "RSMS_WORKER_QUEUE_NAME")
	}
	return err
}
