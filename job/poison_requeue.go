package main

import (
	"context"
	"errors"
	"fmt"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

func (a *app) requeueOne(ctx context.Context, azure *storage.Azure, queue *poisonQueue, id string) error {
	return queue.dealWith(ctx, id, func(e *entry) error { return a.requeue(ctx, azure, queue, e) })
}

// requeueAll takes one message after the other, so that none waits hidden while
// others are dealt with.
func (a *app) requeueAll(ctx context.Context, azure *storage.Azure, queue *poisonQueue) error {
	done, err := a.requeueEach(ctx, azure, queue)
	if done > 0 || err == nil {
		_, printed := fmt.Fprintf(a.stdout, "%d requeued\n", done)
		err = errors.Join(err, printed)
	}
	if err != nil {
		return err
	}
	if err := queue.measure(ctx); err == nil && queue.length > 0 {
		a.log.Warn("messages are still on the poison queue: another command holds them, or a worker has put them there since",
			"queue", queue.Name(), "messages", queue.length)
	}
	return nil
}

// requeueEach requeues as many messages as there were at the beginning: what a
// worker puts aside again meanwhile stays there.
func (a *app) requeueEach(ctx context.Context, azure *storage.Azure, queue *poisonQueue) (done int, err error) {
	seen := map[string]bool{}
	for done < max(queue.length, 1) {
		list, err := queue.receive(ctx, 1)
		if err != nil || len(list) == 0 {
			return done, err
		}
		e := list[0]
		if seen[e.message.ID] { // it could not be removed
			queue.giveBack(ctx, e)
			return done, nil
		}
		seen[e.message.ID] = true
		if err := a.requeue(ctx, azure, queue, e); err != nil {
			queue.giveBack(ctx, e)
			return done, err
		}
		done++
	}
	return done, nil
}

// requeue puts an original back on the queue and removes its poison message:
// copy first, delete second, so that it is never on neither.
func (a *app) requeue(ctx context.Context, azure *storage.Azure, queue *poisonQueue, e *entry) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	as, err := a.putBack(ctx, azure, queue, e)
	if err != nil {
		return fmt.Errorf("requeue message %s: %w", e.id(), err)
	}
	if err := queue.remove(ctx, e, " besides its copy "+as+"; it must not be requeued again"); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "requeued %s as %s\n", e.id(), as)
	a.told(err)
	return nil
}

// putBack puts an original on the work queue as it is and returns the id of the
// new message. Where it asks for a scenario that exists, that becomes Queued.
func (a *app) putBack(ctx context.Context, azure *storage.Azure, queue *poisonQueue, e *entry) (id string, err error) {
	text := e.original()
	m, err := a.asksFor(ctx, azure, text)
	if err != nil {
		return "", err
	}
	if err := queue.hold(ctx, e); err != nil {
		return "", err
	}
	if m == nil {
		sent, err := a.send(ctx, azure.Queue(a.config.QueueName), text, 0)
		if err != nil {
			return "", err
		}
		return sent.ID, nil
	}
	sent, err := a.put(ctx, azure, m, text)
	if err != nil {
		return "", err
	}
	return sent.MessageID, nil
}

// asksFor is the message that a text is, where it asks for a scenario that
// exists, and nil for any other text.
func (a *app) asksFor(ctx context.Context, azure *storage.Azure, text string) (*message.Message, error) {
	m, err := message.Decode([]byte(text))
	if err != nil || m.Type != message.TypeRun {
		return nil, nil // whatever is wrong with it, the worker says
	}
	row := a.hasScenario(ctx, azure, m.Basin, m.Scenario)
	if row == nil {
		return m, nil
	}
	switch reason.Of(row) {
	case reason.StorageUnavailable, reason.StorageDenied:
		return nil, row
	}
	a.log.Warn("no scenario row was set to Queued", "riverbasin_id", m.Basin, "scenario_id", m.Scenario, "error", row)
	return nil, nil
}

func (a *app) poisonDrop(ctx context.Context, queue *poisonQueue, id string) error {
	return queue.dealWith(ctx, id, func(e *entry) error {
		if err := queue.hold(ctx, e); err != nil {
			return err
		}
		if err := a.printPoison(e); err != nil {
			return err
		}
		if err := queue.remove(ctx, e, ""); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stderr, "dropped %s\n", e.id())
		a.told(err)
		return nil
	})
}
