package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"rsmsjob/internal/message"
	"rsmsjob/internal/reason"
	"rsmsjob/internal/storage"
)

// poisonQueue is the poison queue while somebody looks at it.
type poisonQueue struct {
	*storage.Queue
	log    *slog.Logger
	length int // about, at the beginning
}

const (
	batch = 32 // messages that the service gives at once
	// away is how long messages stay hidden that are held meanwhile. Where the
	// process is killed they come back then.
	away = 60 * time.Second
)

// entry is one message of the poison queue.
type entry struct {
	message storage.QueueMessage
	poison  *message.Poison // nil where it has no envelope
}

func newEntry(m storage.QueueMessage) *entry {
	e := &entry{message: m}
	if p, err := message.DecodePoison(m.Text); err == nil {
		e.poison = p
	}
	return e
}

// id is that of the original message.
func (e *entry) id() string {
	if e.poison != nil && e.poison.MessageID != "" {
		return e.poison.MessageID
	}
	return e.message.ID
}

// original is the text that was put aside; a message without an envelope is
// its own.
func (e *entry) original() string {
	if e.poison != nil {
		return e.poison.Original
	}
	return e.message.Text
}

func (q *poisonQueue) measure(ctx context.Context) (err error) {
	q.length, err = q.Length(ctx)
	return err
}

// look returns what is on the queue. Few messages are only peeked at; to see
// more, each is taken and given back.
func (q *poisonQueue) look(ctx context.Context) ([]*entry, error) {
	if q.length > batch {
		var all []*entry
		err := q.walk(ctx, func(e *entry) (bool, error) {
			all = append(all, e)
			return false, nil
		})
		return all, err
	}
	list, err := q.Peek(ctx, batch)
	if err != nil {
		return nil, err
	}
	all := make([]*entry, 0, len(list))
	for _, m := range list {
		all = append(all, newEntry(m))
	}
	return all, nil
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// walk takes every message of the queue and calls visit once for each, which
// reports whether it has removed it. What is left is given back at the end.
func (q *poisonQueue) walk(ctx context.Context, visit func(*entry) (removed bool, err error)) error {
	held := map[string]storage.QueueMessage{}
	defer func() { q.giveBack(ctx, held) }()
	seen := map[string]bool{}
	for {
		list, err := q.ReceiveBatch(ctx, batch, away)
		if err != nil {
			return err
		}
		for _, m := range list {
			held[m.ID] = m
		}
		fresh := 0
		for _, m := range list {
			if seen[m.ID] { // it was held for so long that it came back
				continue
			}
			seen[m.ID] = true
			fresh++
			removed, err := visit(newEntry(m))
			if removed {
				delete(held, m.ID)
			}
			if errors.Is(err, errStop) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if fresh == 0 {
			return nil
		}
	}
}

// giveBack makes messages visible again, also where ctx has ended. One that is
// not ours any more is visible already.
func (q *poisonQueue) giveBack(ctx context.Context, held map[string]storage.QueueMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), away/3)
	defer cancel()
	left := 0
	for _, m := range held {
		if _, err := q.Update(ctx, m.ID, m.Receipt, m.Text, 0); err != nil && !errors.Is(err, storage.ErrNotFound) {
			left++
		}
	}
	if left > 0 {
		q.log.Warn("messages of the poison queue stay hidden for a minute", "queue", q.Name(), "messages", left)
	}
}

// pick finds a message by the id of its original, or by its own.
func (q *poisonQueue) pick(all []*entry, id string) (*entry, error) {
	for _, e := range all {
		if e.is(id) {
			return e, nil
		}
	}
	return nil, q.unknown(id)
}

func (e *entry) is(id string) bool { return e.id() == id || e.message.ID == id }

func (q *poisonQueue) unknown(id string) error {
	return usage("there is no message %q on queue %s; rsms-job poison list shows what is there, "+
		"but for what another command holds for a minute", id, q.Name())
}

// take calls do with the message of that id, received and not only looked at
// (C63). do reports whether it has removed it.
func (q *poisonQueue) take(ctx context.Context, id string, do func(*entry) (removed bool, err error)) error {
	found := false
	err := q.walk(ctx, func(e *entry) (bool, error) {
		if !e.is(id) {
			return false, nil
		}
		found = true
		removed, err := do(e)
		if err == nil {
			err = errStop
		}
		return removed, err
	})
	if err == nil && !found {
		return q.unknown(id)
	}
	return err
}

func (a *app) poisonRequeue(c *cobra.Command, args []string) error {
	all, err := c.Flags().GetBool("all")
	if err != nil {
		return err
	}
	if all == (len(args) == 1) {
		return usage("an ID or --all is wanted; see %s -h", c.CommandPath())
	}
	open, queue, err := a.openPoison(c)
	if err != nil {
		return err
	}
	defer open.Close()
	if !all {
		return queue.take(c.Context(), args[0], func(e *entry) (bool, error) { return a.requeue(c.Context(), open, queue, e) })
	}
	done := 0
	err = queue.walk(c.Context(), func(e *entry) (bool, error) {
		// What a worker puts aside again meanwhile stays there.
		if done >= max(queue.length, 1) {
			return false, errStop
		}
		removed, err := a.requeue(c.Context(), open, queue, e)
		if err == nil {
			done++
		}
		return removed, err
	})
	if done > 0 || err == nil {
		_, printed := fmt.Fprintf(a.stdout, "%d requeued\n", done)
		err = errors.Join(err, printed)
	}
	return err
}

// requeue puts an original back on the queue and removes its poison message:
// copy first, delete second, so that it is never on neither.
func (a *app) requeue(ctx context.Context, azure *storage.Azure, queue *poisonQueue, e *entry) (removed bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	as, err := a.putBack(ctx, azure, e.original())
	if err != nil {
		return false, fmt.Errorf("requeue message %s: %w", e.id(), err)
	}
	if err := queue.remove(ctx, e); err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(a.stdout, "requeued %s as %s\n", e.id(), as)
	return true, err
}

// remove deletes a message of the poison queue that was dealt with.
func (q *poisonQueue) remove(ctx context.Context, e *entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), away/3)
	defer cancel()
	err := q.Delete(ctx, e.message.ID, e.message.Receipt)
	if errors.Is(err, storage.ErrNotFound) {
		q.log.Warn("the poison message was removed, or taken by somebody else meanwhile; rsms-job poison list shows it then",
			"message_id", e.id(), "queue", q.Name())
		return nil
	}
	if err != nil {
		return fmt.Errorf("the copy of message %s is made, but it is still on queue %s, from where it must not be requeued again: %w", e.id(), q.Name(), err)
	}
	return nil
}

// putBack puts a text on the work queue as it is and returns the id of the new
// message. Where it asks for a scenario that exists, that becomes Queued.
func (a *app) putBack(ctx context.Context, azure *storage.Azure, text string) (id string, err error) {
	if m, err := message.Decode([]byte(text)); err == nil && m.Type == message.TypeRun {
		row := a.hasScenario(ctx, azure, m.Basin, m.Scenario)
		if row == nil {
			sent, err := a.put(ctx, azure, m, text)
			if err != nil {
				return "", err
			}
			return sent.MessageID, nil
		}
		switch reason.Of(row) {
		case reason.StorageUnavailable, reason.StorageDenied:
			return "", row
		}
		a.log.Warn("no scenario row was set to Queued", "riverbasin_id", m.Basin, "scenario_id", m.Scenario, "error", row)
	}
	sent, err := a.send(ctx, azure.Queue(a.config.QueueName), text, 0)
	if err != nil {
		return "", err
	}
	return sent.ID, nil
}

func (a *app) poisonDrop(c *cobra.Command, id string) error {
	open, queue, err := a.openPoison(c)
	if err != nil {
		return err
	}
	defer open.Close()
	return queue.take(c.Context(), id, func(e *entry) (bool, error) {
		if err := a.printPoison(e); err != nil {
			return false, err
		}
		if err := queue.Delete(c.Context(), e.message.ID, e.message.Receipt); err != nil {
			return false, fmt.Errorf("message %s is still on queue %s: %w", e.id(), queue.Name(), err)
		}
		_, err := fmt.Fprintf(a.stderr, "dropped %s\n", e.id())
		return true, err
	})
}
