package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"rsmsjob/internal/message"
	"rsmsjob/internal/pipeline"
	"rsmsjob/internal/reason"
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
		Look: a.canRun(azure), Job: jobs, Run: run, Log: a.log,
		Probe: func(ctx context.Context, log *slog.Logger, m *message.Message, jobID string) error {
			return a.probe(ctx, log, azure, m, jobID)
		}}
	var worst error
	for range a.config.MaxMessages {
		a.runLog.begin()
		// The host gives a job so long, and kills what goes on behind that.
		inTime, cancel := context.WithTimeout(c.Context(), w.JobTimeout)
		answer, err := w.Next(c.Context())
		a.progress.end()
		a.trimCache(inTime)
		cancel()
		if errors.Is(err, pipeline.ErrEmpty) {
			a.log.Info("the queue is empty, nothing to do", "queue", a.config.QueueName)
			break
		}
		if answer != nil && err == nil {
			if err := a.printQueued(c, answer); err != nil {
				return err
			}
		}
		worst = a.worse(worst, err)
		if _, gone := errors.AsType[*pipeline.NoStart](err); gone || c.Context().Err() != nil {
			break
		}
	}
	return worst
}

// worse returns which of two errors the exit code is to tell of: the first, but
// a message that was put aside, which is as designed, hides nothing. The other
// one is logged.
func (a *app) worse(before, now error) error {
	if now == nil {
		return before
	}
	worst, log := now, a.progress.log
	other, otherLog := before, a.ofJob
	if _, aside := errors.AsType[*pipeline.Poisoned](before); before != nil && !aside {
		worst, log, other, otherLog = other, otherLog, worst, log
	}
	if other != nil {
		a.ofJob = otherLog
		a.report(other, a.code(other))
	}
	a.ofJob = log
	return worst
}

// printQueued prints the answer of a message from the queue where somebody wants
// it as JSON; the log has it in any case.
func (a *app) printQueued(c *cobra.Command, answer *pipeline.Answer) error {
	asJSON, err := c.Flags().GetBool("json")
	if asJSON && err == nil {
		a.told(a.printJSON(answerDocument(answer)))
	}
	return err
}

// canRun sees whether a message waits and, if so, that its job could run: what is
// missing here is found out before the message is taken, which costs it no
// attempt.
func (a *app) canRun(azure *storage.Azure) func(ctx context.Context) (bool, error) {
	queue := azure.Queue(a.config.QueueName)
	return func(ctx context.Context) (bool, error) {
		waiting, err := queue.Peek(ctx, 1)
		if err != nil || len(waiting) == 0 {
			return false, named(err, "RSMS_WORKER_QUEUE_NAME")
		}
		looks := []func() error{
			func() error { return mayUpdate(ctx, queue) },
			func() error { return a.namedStore(azure.Ready(ctx)) },
			func() error { return a.groupsReady(ctx) },
			func() error { return isThere(ctx, azure, a.config.PoisonQueue(), "RSMS_WORKER_POISON_QUEUE_NAME") },
			func() error { return isThere(ctx, azure, a.config.DoneQueueName, "RSMS_DONE_QUEUE_NAME") },
		}
		wrong := make([]error, len(looks))
		var all sync.WaitGroup
		for i, look := range looks {
			all.Go(func() { wrong[i] = look() })
		}
		all.Wait()
		err = errors.Join(wrong...)
		return err == nil, err
	}
}

// isThere sees that the queue of a setting exists, if it names one. Who may send
// there need not be allowed to look.
func isThere(ctx context.Context, azure *storage.Azure, name, variable string) error {
	if name == "" {
		return nil
	}
	_, err := azure.Queue(name).Length(ctx)
	if reason.Of(err) == reason.StorageDenied {
		return nil
	}
	return named(err, variable)
}
