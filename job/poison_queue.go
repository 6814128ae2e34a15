package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

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
	until   time.Time       // when it comes back that is held, at the latest
	poison  *message.Poison // nil where it has no envelope
}

func newEntry(m storage.QueueMessage, until time.Time) *entry {
	e := &entry{message: m, until: until}
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

// list returns what is known of the messages that can be seen. Few are only
// peeked at; to see more, each is taken and given back.
func (q *poisonQueue) list(ctx context.Context) ([]poisonDocument, error) {
	all := []poisonDocument{}
	_, err := q.walk(ctx, func(e *entry) bool {
		all = append(all, e.document())
		return false
	})
	if unseen := q.length - len(all); err == nil && unseen > 0 {
		q.log.Warn("there are about as many messages more, which cannot be seen now: another command holds them, for a minute at most",
			"queue", q.Name(), "messages", unseen)
	}
	return all, err
}

// find returns the message of that id, which is not held any longer.
func (q *poisonQueue) find(ctx context.Context, id string) (*entry, error) {
	e, err := q.walk(ctx, func(e *entry) bool { return e.is(id) })
	if err == nil && e == nil {
		err = q.unknown(id)
	}
	if err != nil {
		return nil, err
	}
	q.giveBack(ctx, e)
	return e, nil
}

// walk shows every message to accept, until it takes one, which is returned: nil
// where it took none. Where all fit into one look they are only peeked at.
func (q *poisonQueue) walk(ctx context.Context, accept func(*entry) bool) (*entry, error) {
	if q.length > batch {
		return q.take(ctx, accept)
	}
	list, err := q.Peek(ctx, batch)
	for _, m := range list {
		if e := newEntry(m, time.Time{}); accept(e) {
			return e, nil
		}
	}
	return nil, err
}

// take receives message after message, not only looked at (C63), until accept
// takes one. That one stays held; the others are given back, batch by batch.
// Given back, they stand behind those that are still to come, so that all were
// there when one comes again, or none.
func (q *poisonQueue) take(ctx context.Context, accept func(*entry) bool) (*entry, error) {
	seen := map[string]bool{}
	for {
		list, err := q.receive(ctx, batch)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		var taken *entry
		var back []*entry
		again := false
		for _, e := range list {
			again = again || seen[e.message.ID]
			if taken == nil && !seen[e.message.ID] && accept(e) {
				taken = e
			} else {
				back = append(back, e)
			}
			seen[e.message.ID] = true
		}
		q.giveBack(ctx, back...)
		if taken != nil || again {
			return taken, nil
		}
	}
}

// receive takes up to n messages and hides them for a while.
func (q *poisonQueue) receive(ctx context.Context, n int) ([]*entry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	list, err := q.ReceiveBatch(ctx, n, away)
	until := time.Now().Add(away)
	if ctx.Err() != nil || reason.Of(err) == reason.StorageUnavailable && !storage.Missing(err) {
		return nil, fmt.Errorf("up to %d messages of queue %s may be hidden until %s, if the answer was lost: %w", n, q.Name(), clockSeconds(until), err)
	}
	entries := make([]*entry, 0, len(list))
	for _, m := range list {
		entries = append(entries, newEntry(m, until))
	}
	return entries, err
}

// giveBack makes messages visible again, also where ctx has ended, all at the
// same time. One that is not ours any more is visible already, and so is one that
// was only peeked at.
func (q *poisonQueue) giveBack(ctx context.Context, all ...*entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), away/3)
	defer cancel()
	var hidden atomic.Int32
	var wg sync.WaitGroup
	until := time.Time{}
	for _, e := range all {
		if e.message.Receipt == "" {
			continue
		}
		if e.until.After(until) {
			until = e.until
		}
		wg.Go(func() {
			if err := q.show(ctx, e); err != nil {
				hidden.Add(1)
			}
		})
	}
	wg.Wait()
	if n := hidden.Load(); n > 0 {
		q.log.Warn("messages of the poison queue could not be given back; they are hidden until they come back by themselves",
			"queue", q.Name(), "messages", n, "until", clockSeconds(until))
	}
}

// show makes one message visible. It may be tried again: after a lost answer it
// is not ours any more.
func (q *poisonQueue) show(ctx context.Context, e *entry) (err error) {
	for range 2 {
		_, err = q.Update(ctx, e.message.ID, e.message.Receipt, e.message.Text, 0)
		if err == nil || errors.Is(err, storage.ErrNotFound) {
			return nil
		}
	}
	return err
}

// hold takes the message that is held anew, so that there is time to deal with
// it, and proves that nobody else has it.
func (q *poisonQueue) hold(ctx context.Context, e *entry) error {
	receipt, err := q.Update(ctx, e.message.ID, e.message.Receipt, e.message.Text, away)
	if errors.Is(err, storage.ErrNotFound) {
		return reason.New(reason.LeaseLost, "message %s was taken by somebody else meanwhile; nothing was done with it", e.id())
	}
	if err == nil {
		e.message.Receipt, e.until = receipt, time.Now().Add(away)
	}
	return err
}

func (e *entry) is(id string) bool { return e.id() == id || e.message.ID == id }

func (q *poisonQueue) unknown(id string) error {
	return usage("there is no message %q on queue %s; rsms-job poison list shows what is there, "+
		"but for what another command holds for a minute", id, q.Name())
}

// dealWith calls do with the message of that id, which is received. Where do
// fails the message is given back.
func (q *poisonQueue) dealWith(ctx context.Context, id string, do func(*entry) error) error {
	e, err := q.take(ctx, func(e *entry) bool { return e.is(id) })
	if err == nil && e == nil {
		err = q.unknown(id)
	}
	if err != nil {
		return err
	}
	if err := do(e); err != nil {
		q.giveBack(ctx, e)
		return err
	}
	return nil
}

// remove deletes a message of the poison queue that was dealt with. what says
// what an error leaves behind.
func (q *poisonQueue) remove(ctx context.Context, e *entry, what string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), away/3)
	defer cancel()
	err := q.Delete(ctx, e.message.ID, e.message.Receipt)
	if errors.Is(err, storage.ErrNotFound) {
		q.log.Warn("the poison message was removed, or taken by somebody else meanwhile; rsms-job poison list shows it then",
			"message_id", e.id(), "queue", q.Name())
		return nil
	}
	if err != nil {
		return fmt.Errorf("message %s is still on queue %s%s: %w", e.id(), q.Name(), what, err)
	}
	return nil
}
